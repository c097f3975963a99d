"""The commands: parse, call, render."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import grader
from grader.errors import ExerciseError, GraderError, Problem

if TYPE_CHECKING:
    from rich.console import Console

    from grader.exercise.pack import Pack
    from grader.intake.submission import Submission
    from grader.result import Result
    from grader.sandbox.server import ForkServer

OK, LESS_THAN_FULL, USER_FAULT, GRADER_FAULT, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    name="grader",
    help="Grade exercises in which a student writes a numeric function.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

ExerciseOption = Annotated[
    str | None,
    typer.Option(
        "--exercise",
        metavar="NAME|PACK",
        help="Exercise by name, or a pack file. Default: the only exercise.",
    ),
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Folder that holds cases/ and reference/. Default: GRADER_ROOT, "
        "else the current folder or a parent.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]

_started: ForkServer | None = None
_json_written = False


def main() -> None:
    """Run the command line; every expected fault ends in a message and a status, never in a traceback."""
    global _started
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Unicode shows a sign less, not a fault.
            stream.reconfigure(errors="replace")
    if len(sys.argv) > 2 and sys.argv[1] == "check" and not {"--help", "--snippet"} & set(sys.argv):
        # The fork server imports numpy while this process imports the rest.
        from grader.sandbox.server import ForkServer, SandboxError

        try:
            _started = ForkServer()
        except SandboxError:
            _started = None
    try:
        app()
    except SystemExit as ended:
        if ended.code == USER_FAULT:
            _print_fault_json("the command line is at fault; see standard error", [])
        raise
    except GraderError as error:
        _say_fault(error)
        _print_fault_json(str(error), list(error.problems) if isinstance(error, ExerciseError) else [])
        sys.exit(USER_FAULT)
    except KeyboardInterrupt:
        print("grader: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OK)
    except Exception as error:
        if os.environ.get("GRADER_DEBUG"):
            raise
        said = f"{type(error).__name__}: {error}"
        print(f"grader: a fault of the grader itself: {said} (GRADER_DEBUG=1 shows where)", file=sys.stderr)
        _print_fault_json(said, [])
        sys.exit(GRADER_FAULT)
    finally:
        if _started is not None:
            _started.close()


def _say_fault(error: GraderError) -> None:
    for line in str(error).splitlines():
        print(f"grader: {line}", file=sys.stderr)


def _console(*, stderr: bool = False) -> Console:
    from grader.report.terminal import console

    return console(stderr=stderr)


def _print_json(value: Any) -> None:
    global _json_written
    _json_written = True
    # Escapes for everything beyond ASCII: right under every locale.
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def _print_fault_json(message: str, problems: list[Problem]) -> None:
    """The document of a command that could not do its work, where one was asked for and none was written."""
    if "--json" not in sys.argv or _json_written:
        return
    command = sys.argv[1]
    if command == "check":
        _print_json([])
    elif command == "grade":
        _print_json(
            {"schema": "grader.batch/1", "submissions": 0, "graded": 0, "counts": {}, "error": message}
        )
    elif command == "validate":
        from grader.validation import SCHEMA

        rows = [{"code": "exercise_fault", **vars(p)} for p in problems]
        if not rows:
            rows = [{"code": "exercise_fault", "message": message, "file": "", "line": 0}]
        _print_json({"schema": SCHEMA, "sound": False, "weaknesses": rows, "error": message})


def _version(wanted: bool) -> None:
    if wanted:
        print(f"grader {grader.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


# --- check ------------------------------------------------------------------------------------


@app.command()
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders to check.")],
    exercise: ExerciseOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the student page (a folder for several).")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="ID", help="Run this case only; may be repeated.")
    ] = None,
    clause: Annotated[
        list[str] | None,
        typer.Option("--clause", metavar="NAME", help="Run the cases of this clause only; may be repeated."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Explain every failing check, not only the first.")
    ] = False,
    snippet: Annotated[
        bool,
        typer.Option(
            "--snippet", help="Print Python text that makes the calls of the cases named by --case."
        ),
    ] = False,
) -> None:
    """Check submissions and tell which requirement is broken, why, and how to reproduce it.

    Status 0: full marks. 1: some submission has less. 2: a path or the exercise is at fault. 3: the grader.
    """
    from grader.exercise.resolve import resolve_pack

    pack = resolve_pack(exercise, root)
    if case or clause:
        from grader.exercise.select import select

        pack = select(pack, cases=case or [], clauses=clause or [])
    if snippet:
        _print_snippets(pack, paths, bool(case))
        return
    from grader.batch.runner import Runner
    from grader.intake.folders import collect

    intake = collect(paths, pack.exercise.entry)
    console = _console()
    results: list[Result] = []
    global _started
    started, _started = _started, None
    with Runner(pack, started) as runner:
        for submission in intake.submissions:
            result = runner.grade(submission)
            results.append(result)
            if not as_json:
                _show(console, result, submission, every, first=len(results) == 1)
    for problem in intake.problems:
        print(f"grader: {problem}", file=sys.stderr)
    if as_json:
        _print_json([result.for_student().to_dict() for result in results])
    if html is not None:
        _write_pages(html, results)
    raise typer.Exit(_check_status(results, bool(intake.problems) or not results))


def _show(console: Console, result: Result, submission: Submission, every: bool, *, first: bool) -> None:
    from grader.report.terminal import check_report

    if not first:
        console.print()
    console.print(check_report(result, show_all=every, source=submission.source or ""))


def _check_status(results: list[Result], fault: bool) -> int:
    if any(r.status == "grader_fault" for r in results):
        return GRADER_FAULT
    if fault:
        return USER_FAULT
    return LESS_THAN_FULL if any(r.status != "passed" for r in results) else OK


def _write_pages(html: Path, results: list[Result]) -> None:
    from grader.report.html import student_page

    try:
        if len(results) == 1 and not html.is_dir():
            html.write_text(student_page(results[0]), "utf-8")
            return
        html.mkdir(parents=True, exist_ok=True)
        for result in results:
            (html / f"{result.submission.id}.html").write_text(student_page(result), "utf-8")
    except OSError as error:
        raise GraderError(f"{html} can't be written: {error.strerror}") from None


def _print_snippets(pack: Pack, paths: list[Path], chosen: bool) -> None:
    from grader.judge.details import snippet

    if not chosen:
        raise GraderError("--snippet needs --case ID; the ids stand in the report of grader check")
    for case in pack.cases:
        if case.visibility == "hidden":
            raise GraderError(f"{case.id} is hidden; its inputs are not shown")
        text = snippet(pack, case, paths[0].stem)
        if not text:
            raise GraderError(f"the inputs of {case.id} are too large to be written out")
        sys.stdout.write(text)


# --- grade ------------------------------------------------------------------------------------


@app.command()
def grade(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders of submissions.")],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder for results; continued when it holds a gradebook."),
    ],
    exercise: ExerciseOption = None,
    root: RootOption = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, metavar="N", help="Processes that grade. Default: one a core."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over: forget what the folder holds.")] = False,
    as_json: JsonOption = False,
    allow_weak_isolation: Annotated[
        bool,
        typer.Option("--allow-weak-isolation", help="Don't warn that submissions run without confinement."),
    ] = False,
) -> None:
    """Grade a class into a folder: gradebook, results.jsonl, a page for each student and one for the class.

    Run again, it goes on where it was and grades only what is new. Status 0 whatever the marks; 2: a path or
    the exercise is at fault (the rest is graded all the same). 3: the grader failed on some submission.
    """
    from grader.batch.grading import grade_class
    from grader.exercise.resolve import resolve_pack
    from grader.intake.folders import collect, require_some
    from grader.report.terminal import batch_summary

    pack = resolve_pack(exercise, root)
    intake = collect(paths, pack.exercise.entry)
    require_some(intake)
    for problem in intake.problems:
        print(f"grader: {problem}", file=sys.stderr)
    if not allow_weak_isolation:
        print(
            "grader: submissions run in processes of their own with limits, but without confinement: "
            "grade only files of people you trust (--allow-weak-isolation leaves this out)",
            file=sys.stderr,
        )
    with _Progress() as progress:
        run = grade_class(
            pack, intake.submissions, out, workers=workers, fresh=fresh, progress=progress.update
        )
    faults = [r.submission.id for r in run.results if r.status == "grader_fault"]
    if as_json:
        counts: dict[str, int] = {}
        for result in run.results:
            counts[result.status] = counts.get(result.status, 0) + 1
        _print_json(
            {
                "schema": "grader.batch/1",
                "exercise": {"name": pack.exercise.name, "pack": pack.id},
                "submissions": len(run.results),
                "graded": run.graded,
                "counts": counts,
                "faults": faults,
                "problems": list(intake.problems),
                "interrupted": run.interrupted,
                "seconds": round(run.seconds, 3),
                "paths": {
                    name: str(out / name)
                    for name in (
                        "index.html",
                        "results.jsonl",
                        "gradebook.csv",
                        "gradebook.sqlite",
                        "students",
                    )
                },
            }
        )
    else:
        console = _console()
        console.print(batch_summary(run.results, run.seconds, run.graded))
        console.print(f"class page: {out / 'index.html'}", soft_wrap=True)
    if faults:
        print(
            f"grader: the grader failed on {', '.join(faults[:10])}; run the same command again",
            file=sys.stderr,
        )
    if run.interrupted:
        print("grader: interrupted; the same command goes on where it was", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(GRADER_FAULT if faults else USER_FAULT if intake.problems else OK)


class _Progress:
    """A progress bar on standard error, shown only where someone can see it."""

    def __enter__(self) -> _Progress:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = _console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("grading", total=None, rate="")
        self._bar.start()
        return self

    def update(self, done: int, total: int) -> None:
        """Show how many of how many are done."""
        self._bar.update(self._task, completed=done, total=total)
        speed = self._bar.tasks[0].speed
        if speed:
            self._bar.update(self._task, rate=f"{speed:.0f}/s")

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()


# --- report -----------------------------------------------------------------------------------


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an earlier grader grade.")],
) -> None:
    """Write the pages and tables of a graded folder anew from its gradebook, without running anything."""
    from grader.gradebook.journal import FILE, Gradebook
    from grader.report import files

    if not (folder / FILE).is_file():
        raise GraderError(f"{folder} holds no {FILE}; name the --out folder of a grader grade")
    files.prepare_folder(folder, fresh=False)
    with Gradebook(folder, None) as gradebook:
        results = tuple(gradebook.newest())
    for result in results:
        files.write_pages(folder, result)
    files.write_class(folder, results, grader.__version__)
    print(f"{len(results)} submissions: {folder / 'index.html'}")


# --- authoring --------------------------------------------------------------------------------


@app.command()
def validate(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Exercise. Default: the only one.")
    ] = None,
    root: RootOption = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="Draw, measure and write frozen.json first (needs the author extra)."),
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Leave out the worked submissions.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check an exercise: right answers pass, known wrong ones lose points, the pack is reproducible.

    Status 0: sound. 1: a weakness. 2: the exercise is at fault or frozen.json is stale. 3: the grader failed.
    """
    from grader.authoring.validation import Validator
    from grader.exercise import source as sources
    from grader.exercise.cache import write_atomically
    from grader.exercise.roots import exercise_folder, require_root
    from grader.report.validation import validation_report

    folder = exercise_folder(require_root(root), name)
    errors = _console(stderr=True)
    source = sources.load(folder)
    with errors.status("reading") as status:
        if write:
            from grader.authoring.freeze import freeze

            frozen = freeze(source, lambda case: status.update(f"measuring {case}"))
            try:
                write_atomically(source.frozen_path, frozen.dumps().encode())
            except OSError as error:
                raise GraderError(f"{source.frozen_path} can't be written: {error.strerror}") from None
            source = sources.load(folder)
        validation = Validator(source, lambda what: status.update(f"checking {what}")).run(fast=fast)
    if as_json:
        _print_json(validation.to_dict())
    else:
        _console().print(validation_report(validation))
    raise typer.Exit(OK if validation.sound else LESS_THAN_FULL)


@app.command()
def pack(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Exercise. Default: the only one.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the pack is written.")] = ...,  # type: ignore[assignment]
    student: Annotated[bool, typer.Option("--student", help="Leave the hidden cases out.")] = False,
    root: RootOption = None,
) -> None:
    """Write an exercise's pack: one data-only file that holds all that grading needs."""
    from grader.exercise.cache import cached_pack, write_atomically
    from grader.exercise.roots import exercise_folder, require_root

    found = require_root(root)
    built = cached_pack(found, exercise_folder(found, name).name, student=student)
    try:
        write_atomically(out, built.data)
    except OSError as error:
        raise GraderError(f"{out} can't be written: {error.strerror}") from None
    kind = "student pack" if built.student else "pack"
    print(f"{kind} of {built.exercise.name}: {len(built.cases)} cases, {len(built.data):,} bytes, {out}")


@app.command()
def schema(
    what: Annotated[
        str, typer.Argument(metavar="exercise|cases|policy", help="Which file the schema is of.")
    ],
) -> None:
    """Print the JSON Schema of an exercise's YAML files, for editors that complete and check them."""
    from grader.exercise.schemas import SCHEMAS, json_schema

    if what not in SCHEMAS:
        from grader.exercise.near import did_you_mean

        raise GraderError(f"no schema {what!r}{did_you_mean(what, sorted(SCHEMAS))}")
    sys.stdout.write(json.dumps(json_schema(what), indent=2) + "\n")
