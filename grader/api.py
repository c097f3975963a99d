"""The grader from Python: the same records as those of the command line."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.result import Result


class Checked:
    """What a check of one submission gave; in a notebook it shows the student's page.

    Attributes:
        result: The Result record in its student's view, as ``grader check --json`` writes it.
    """

    def __init__(self, result: Result) -> None:
        self._full = result
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

        from grader.report.terminal import check_report, show

        text = io.StringIO()
        show(Console(file=text, width=100, color_system=None), check_report(self._full))
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
    what: str | Path | Callable[..., Any],
    *,
    exercise: str | None = None,
    root: str | Path | None = None,
    cases: Sequence[str] = (),
    clauses: Sequence[str] = (),
) -> Checked:
    """Check one submission.

    Args:
        what: The path of a file, a notebook or a folder with one submission; or a live function, which is
            called in this process, without the sandbox, and gets the visible checks only.
        exercise: Name of the exercise, or path of a pack; the only one, or ``mlm_forward``, when left out.
        root: The folder that holds ``cases/`` and ``reference/``.
        cases: Run these cases only.
        clauses: Run the cases of these clauses only.

    Raises:
        GraderError: The path or the exercise is at fault, or the path holds several submissions.
    """
    from grader.exercise.resolve import resolve_pack

    pack = resolve_pack(exercise, Path(root) if root is not None else None)
    if cases or clauses:
        from grader.exercise.select import select

        pack = select(pack, cases=list(cases), clauses=list(clauses))
    if not isinstance(what, str | Path):
        from grader.batch.live import check_function

        return Checked(check_function(pack, what))
    from grader.batch.runner import Runner
    from grader.intake.collect import Asked, collect, require_some

    asked = Asked(pack.exercise.entry, pack.exercise.packages, pack.exercise.parameters)
    intake = collect([Path(what)], asked)
    require_some(intake)
    if len(intake.submissions) > 1:
        raise GraderError(f"{what} holds {len(intake.submissions)} submissions; grade them with grader.grade")
    with Runner(pack) as runner:
        return Checked(runner.grade(intake.submissions[0]))
