"""The grader from Python: the same records as those of the command line."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.result import Result

if TYPE_CHECKING:
    from grader.batch.grading import Run
    from grader.exercise.pack import Pack
    from grader.intake.collect import Intake
    from grader.people import ListFile, Person

PathLike = str | Path


class Checked:
    """What a check of one submission gave; in a notebook it shows the student's page.

    Attributes:
        result: The Result record in its student's view, as ``grader check --json`` writes it.
    """

    def __init__(self, result: Result, checks: int | None = None) -> None:
        self._full = result
        # How many there are where a part of them was run.
        self._checks = checks
        self.result = result.for_student()

    @property
    def status(self) -> str:
        """As in the record."""
        return self.result.status

    @property
    def score(self) -> float | None:
        """Points; None when the grader failed."""
        return self.result.score

    @property
    def max_score(self) -> float:
        """Full marks."""
        return self.result.max_score

    @property
    def passed(self) -> bool:
        """Whether it has full marks."""
        return self.result.status == "passed"

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return self.result.to_dict()

    def html(self) -> str:
        """The student's page, complete in itself."""
        from grader.report.html import student_page

        return student_page(self._full)

    def __str__(self) -> str:
        """The report as ``grader check`` prints it, without colours."""
        from rich.console import Console

        from grader.report.terminal.console import show
        from grader.report.terminal.submission import check_report

        text = io.StringIO()
        terminal = Console(file=text, width=100, color_system=None, force_jupyter=False)
        show(terminal, check_report(self._full, checks=self._checks))
        return text.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's styles from the notebook's, and the notebook's from the page.
        frame = escape(self.html(), quote=True)
        return (
            '<iframe title="grader check" sandbox="allow-scripts" style="width:100%;height:40em;border:0" '
            f'srcdoc="{frame}"></iframe>'
        )


def check(
    what: PathLike | Callable[..., Any] | ModuleType,
    *,
    exercise: PathLike | None = None,
    root: PathLike | None = None,
    cases: str | Sequence[str] = (),
    clauses: str | Sequence[str] = (),
) -> Checked:
    """Check one submission.

    Args:
        what: The path of a file, a notebook or a folder with one submission; or a live function, or a module
            with the functions that are asked for, which are called in this process, without the sandbox, and
            get the visible checks only.
        exercise: Name of the exercise, or path of a pack. When left out, the only one of the root, or
            ``mlm_forward``; where there is no root, the student's pack beside the file or in the current
            folder.
        root: The folder that holds ``cases/`` and ``reference/``.
        cases: Run these cases only, and keep all that they print.
        clauses: Run the cases of these clauses only.

    Raises:
        GraderError: The path or the exercise is at fault, or the path holds several submissions.
    """
    pack = _pack(exercise, root, beside=[Path(what)] if isinstance(what, str | Path) else [Path()])
    checks = None
    if cases or clauses:
        from grader.exercise.select import select

        checks = len(pack.cases)
        pack = select(pack, cases=_several(cases), clauses=_several(clauses))
    if not isinstance(what, str | Path):
        from grader.batch.live import check_function

        return Checked(check_function(pack, what))
    from grader.batch.runner import Runner

    intake = _collected(pack, what, single=True)
    if len(intake.submissions) > 1:
        raise GraderError(f"{what} holds {len(intake.submissions)} submissions; grade them with grader.grade")
    with Runner(pack, prints=checks is not None) as runner:
        return Checked(runner.grade(intake.submissions[0]), checks)


class Graded(Sequence[Result]):
    """The newest Result record of every submission, by id.

    Attributes:
        folder: Where everything was written; None where nothing was kept.
        ran, rejudged, kept: How many were run, judged without running them, left as they were.
        warnings: What a teacher should know, a sentence each; with the paths that could not be used.
        left_out: Files that were not used, with the reason.
        missing: Who of the class list handed in nothing.
    """

    def __init__(self, results: Sequence[Result], run: Run, intake: Intake, folder: Path | None) -> None:
        self._results = tuple(results)
        self.folder = folder
        self.ran, self.rejudged, self.kept = run.ran, run.rejudged, run.kept
        self.warnings: tuple[str, ...] = (*intake.problems, *intake.notes, *run.warnings)
        self.left_out: tuple[str, ...] = tuple(map(str, intake.left_out))
        self.missing: tuple[Person, ...] = run.missing
        self._seconds = run.seconds

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._results[number]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __str__(self) -> str:
        """What ``grader grade`` prints at its end."""
        from rich.console import Console

        from grader.report.terminal.batch import batch_summary
        from grader.report.terminal.console import show

        text = io.StringIO()
        summary = batch_summary(self._results, self._seconds, self.ran, self.rejudged)
        show(Console(file=text, width=100, color_system=None, force_jupyter=False), summary)
        return text.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return str(self)


def grade(
    *paths: PathLike,
    exercise: PathLike | None = None,
    out: PathLike | None = None,
    root: PathLike | None = None,
    layout: str | None = None,
    roster: PathLike | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    only: str | Sequence[str] = (),
    faults: bool = False,
    force: bool = False,
    fresh: bool = False,
    pages: bool = True,
    allow_weak_isolation: bool = False,
) -> Graded:
    """Grade a class, as ``grader grade`` does; the options are those of the command.

    Args:
        paths: Files, notebooks, folders and archives of submissions.
        exercise: Name of the exercise, or path of a pack; the only one, or ``mlm_forward``, when left out.
        out: The folder for results, continued when it has a gradebook. Without one nothing is kept.
        root: The folder that holds ``cases/`` and ``reference/``.
        layout: Which platform's download it is; recognized when left out.
        roster: The class list, a CSV file; that of an earlier run into the same folder when left out.
        workers: Processes that grade; one a core when left out.
        scheduler: The address of a Dask cluster that grades instead.
        only: Look at this student alone, or at these.
        faults: Run again what the grader itself failed on.
        force: Run everything again.
        fresh: Forget what the folder holds.
        pages: Make the pages of each submission.
        allow_weak_isolation: Go on where submissions can't be kept fully apart.

    Raises:
        GraderError: A path, an option, the exercise or the folder is at fault.
        KeyboardInterrupt: It was interrupted; what was graded until then is kept.
    """
    from grader.batch.grading import grade_class, kept_list

    pack = _pack(exercise, root)
    known: Path | ListFile | None = Path(roster) if roster is not None else None
    if roster is None and out is not None and not fresh:
        known = kept_list(Path(out))
    intake = _collected(pack, *paths, layout=layout, roster=known)
    if not allow_weak_isolation and scheduler is None:
        from grader.sandbox.levels import require

        require("full", "allow_weak_isolation=True grades all the same: only files of people you trust")
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(out) if out is not None else Path(passing) / "out"
        run = grade_class(
            pack,
            intake.submissions,
            folder,
            workers=workers,
            fresh=fresh,
            only=_several(only),
            faults=faults,
            force=force,
            scheduler=scheduler,
            roster=intake.roster if intake.list_file is not None else None,
            list_file=intake.list_file,
            missing=intake.missing,
            replaced=intake.replaced,
            reports=pages and out is not None,
            weak_isolation=allow_weak_isolation,
        )
        results = run.results
    if run.interrupted:
        raise KeyboardInterrupt
    return Graded(results, run, intake, folder if out is not None else None)


def _several(names: str | Sequence[str]) -> list[str]:
    """One name alone is no sequence of letters."""
    return [names] if isinstance(names, str) else list(names)


def _pack(exercise: PathLike | None, root: PathLike | None, beside: Sequence[Path] = ()) -> Pack:
    from grader.exercise.resolve import resolve_pack

    named = str(exercise) if exercise is not None else None
    return resolve_pack(named, Path(root) if root is not None else None, beside=beside)


def _collected(
    pack: Pack,
    *paths: PathLike,
    layout: str | None = None,
    roster: Path | ListFile | None = None,
    single: bool = False,
) -> Intake:
    from grader.batch.asking import asked_of
    from grader.intake.collect import collect, require_some

    intake = collect(
        [Path(path) for path in paths], asked_of(pack), layout=layout, roster=roster, single=single
    )
    require_some(intake)
    return intake
