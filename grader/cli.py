"""The commands: parse, call, render."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import grader
from grader.errors import ExerciseError, GraderError, Problem
from grader.exercise.near import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from grader.exercise.pack import Pack
    from grader.intake.submission import Submission
    from grader.result import Result
    from grader.sandbox.server import ForkServer

OK, LESS_THAN_FULL, USER_FAULT, GRADER_FAULT, INTERRUPTED = 0, 1, 2, 3, 130

MAX_LEFT_OUT = 10
COMMANDS = ("check", "grade", "report", "validate", "pack", "schema")

_started: ForkServer | None = None
_json_written = False


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors say what to do next."""

    def error(self, message: str) -> NoReturn:
        """Raise GraderError with the message and where help is to be had."""
        raise GraderError(f"{message}\nsee {self.prog} --help")


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str = ""
) -> argparse.ArgumentParser:
    description = f"{summary} {more}".strip()
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description, allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


def _paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="files and folders of submissions"
    )


def _exercise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exercise",
        metavar="NAME|PACK",
        help="exercise by name, or a pack file (default: the only exercise)",
    )
    _root(parser)


def _root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help="folder that holds cases/ and reference/ (default: GRADER_ROOT, the current folder or a parent)",
    )


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="write one JSON document to standard output and nothing else there",
    )


def _positive(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; expected 1 or more")
    return number


def build_parser() -> Parser:
    """The command line."""
    parser = Parser(
        prog="grader",
        description="Grade exercises in which a student writes a numeric function.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"grader {grader.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    one = _command(
        commands,
        "check",
        check,
        "Check submissions: which requirement is broken, why, and how to reproduce it.",
        "Status 0: full marks; 1: some submission has less; 2: a path or the exercise is at fault; "
        "3: the grader.",
    )
    _paths(one)
    _exercise(one)
    _json(one)
    one.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report as a page (a folder for several)"
    )
    one.add_argument(
        "--case", action="append", default=[], metavar="ID", help="run this case only; may be repeated"
    )
    one.add_argument(
        "--clause",
        action="append",
        default=[],
        metavar="NAME",
        help="run this clause's cases; may be repeated",
    )
    one.add_argument("--all", action="store_true", help="explain every failing check, not only the first")
    one.add_argument(
        "--snippet",
        action="store_true",
        help="print Python text that makes the calls of the cases named by --case",
    )

    many = _command(
        commands,
        "grade",
        grade,
        "Grade a class into a folder: gradebook, records, a page a student and one for the class.",
        "Run again, it goes on where it was and grades only what is new. Status 0 whatever the marks; 2: a "
        "path or the exercise is at fault, the rest is graded all the same; 3: the grader failed on some.",
    )
    _paths(many)
    many.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for results; continued if it has a gradebook",
    )
    _exercise(many)
    many.add_argument(
        "--workers", type=_positive, metavar="N", help="processes that grade (default: one a core)"
    )
    many.add_argument("--fresh", action="store_true", help="start over: forget what the folder holds")
    _json(many)
    many.add_argument(
        "--allow-weak-isolation",
        action="store_true",
        help="don't warn that submissions run without confinement",
    )

    again = _command(
        commands,
        "report",
        report,
        "Write the pages and tables of a graded folder anew, without running anything.",
    )
    again.add_argument("folder", type=Path, metavar="DIR", help="the --out folder of an earlier grader grade")

    proof = _command(
        commands,
        "validate",
        validate,
        "Check an exercise: right answers pass, known wrong ones lose points, the pack is reproducible.",
        "Status 0: sound; 1: a weakness; 2: the exercise is at fault or frozen.json is stale; 3: the grader.",
    )
    proof.add_argument("name", nargs="?", metavar="NAME", help="exercise (default: the only one)")
    _root(proof)
    proof.add_argument(
        "--write",
        action="store_true",
        help="first draw, measure and write frozen.json (needs the author extra)",
    )
    proof.add_argument("--fast", action="store_true", help="leave out the worked submissions")
    _json(proof)

    bundle = _command(
        commands, "pack", pack, "Write an exercise's pack: one data-only file with all that grading needs."
    )
    bundle.add_argument("name", nargs="?", metavar="NAME", help="exercise (default: the only one)")
    bundle.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the pack is written")
    bundle.add_argument("--student", action="store_true", help="leave the hidden cases out")
    _root(bundle)

    shape = _command(
        commands, "schema", schema, "Print the JSON Schema of an exercise's YAML files, for editors."
    )
    shape.add_argument("what", metavar="exercise|cases|policy", help="which file the schema is of")
    return parser


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
        status = _run(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(status)
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


def _run(arguments: list[str]) -> int:
    parser = build_parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return USER_FAULT
    if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise GraderError(
            f"no command {arguments[0]!r}{did_you_mean(arguments[0], COMMANDS)}\nsee grader --help"
        )
    chosen = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    return run(chosen)


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


# --- check ------------------------------------------------------------------------------------


def check(chosen: argparse.Namespace) -> int:
    """``grader check``."""
    from grader.exercise.resolve import resolve_pack

    pack = resolve_pack(chosen.exercise, chosen.root)
    if chosen.case or chosen.clause:
        from grader.exercise.select import select

        pack = select(pack, cases=chosen.case, clauses=chosen.clause)
    if chosen.snippet:
        _print_snippets(pack, chosen.paths[0], bool(chosen.case))
        return OK
    from grader.batch.runner import Runner
    from grader.intake.folders import collect

    intake = collect(chosen.paths, pack.exercise.entry)
    console = _console()
    results: list[Result] = []
    global _started
    started, _started = _started, None
    with Runner(pack, started) as runner:
        for submission in intake.submissions:
            result = runner.grade(submission)
            results.append(result)
            if not chosen.json:
                _show(console, result, submission, chosen.all, first=len(results) == 1)
    for problem in intake.problems:
        print(f"grader: {problem}", file=sys.stderr)
    if chosen.json:
        _print_json([result.for_student().to_dict() for result in results])
    if chosen.html is not None:
        _write_pages(chosen.html, results)
    return _check_status(results, bool(intake.problems) or not results)


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


def _print_snippets(pack: Pack, path: Path, chosen: bool) -> None:
    from grader.judge.details import snippet

    if not chosen:
        raise GraderError("--snippet needs --case ID; the ids stand in the report of grader check")
    for case in pack.cases:
        if case.visibility == "hidden":
            raise GraderError(f"{case.id} is hidden; its inputs are not shown")
        text = snippet(pack, case, path.name)
        if not text:
            raise GraderError(f"the inputs of {case.id} are too large to be written out")
        sys.stdout.write(text)


# --- grade ------------------------------------------------------------------------------------


def grade(chosen: argparse.Namespace) -> int:
    """``grader grade``."""
    from grader.batch.grading import grade_class
    from grader.exercise.resolve import resolve_pack
    from grader.intake.folders import collect, require_some
    from grader.report.terminal import batch_summary

    pack = resolve_pack(chosen.exercise, chosen.root)
    intake = collect(chosen.paths, pack.exercise.entry)
    require_some(intake)
    for problem in intake.problems:
        print(f"grader: {problem}", file=sys.stderr)
    for left in intake.left_out[:MAX_LEFT_OUT]:
        print(f"grader: left out {left}", file=sys.stderr)
    if len(intake.left_out) > MAX_LEFT_OUT:
        print(f"grader: left out {len(intake.left_out) - MAX_LEFT_OUT} more files", file=sys.stderr)
    if not chosen.allow_weak_isolation:
        print(
            "grader: submissions run in processes of their own with limits, but without confinement: "
            "grade only files of people you trust (--allow-weak-isolation leaves this out)",
            file=sys.stderr,
        )
    out: Path = chosen.out
    with _Progress() as progress:
        run = grade_class(
            pack,
            intake.submissions,
            out,
            workers=chosen.workers,
            fresh=chosen.fresh,
            progress=progress.update,
        )
    faults = [r.submission.id for r in run.results if r.status == "grader_fault"]
    if chosen.json:
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
        return INTERRUPTED
    return GRADER_FAULT if faults else USER_FAULT if intake.problems else OK


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


def report(chosen: argparse.Namespace) -> int:
    """``grader report``."""
    from grader.gradebook.journal import FILE, Gradebook
    from grader.report import files

    folder: Path = chosen.folder
    if not (folder / FILE).is_file():
        raise GraderError(f"{folder} holds no {FILE}; name the --out folder of a grader grade")
    files.prepare_folder(folder, fresh=False)
    with Gradebook(folder, None) as gradebook:
        results = tuple(gradebook.newest())
    for result in results:
        files.write_pages(folder, result)
    files.write_class(folder, results, grader.__version__)
    print(f"{len(results)} submissions: {folder / 'index.html'}")
    return OK


# --- authoring --------------------------------------------------------------------------------


def validate(chosen: argparse.Namespace) -> int:
    """``grader validate``."""
    from grader.authoring.validation import Validator
    from grader.exercise import source as sources
    from grader.exercise.cache import write_atomically
    from grader.exercise.roots import exercise_folder, require_root
    from grader.report.validation import validation_report

    folder = exercise_folder(require_root(chosen.root), chosen.name)
    errors = _console(stderr=True)
    source = sources.load(folder)
    with errors.status("reading") as status:
        if chosen.write:
            from grader.authoring.freeze import freeze

            frozen = freeze(source, lambda case: status.update(f"measuring {case}"))
            try:
                write_atomically(source.frozen_path, frozen.dumps().encode())
            except OSError as error:
                raise GraderError(f"{source.frozen_path} can't be written: {error.strerror}") from None
            source = sources.load(folder)
        validation = Validator(source, lambda what: status.update(f"checking {what}")).run(fast=chosen.fast)
    if chosen.json:
        _print_json(validation.to_dict())
    else:
        _console().print(validation_report(validation), soft_wrap=True)
    return OK if validation.sound else LESS_THAN_FULL


def pack(chosen: argparse.Namespace) -> int:
    """``grader pack``."""
    from grader.exercise.cache import cached_pack, write_atomically
    from grader.exercise.roots import exercise_folder, require_root

    out: Path = chosen.out
    found = require_root(chosen.root)
    built = cached_pack(found, exercise_folder(found, chosen.name).name, student=chosen.student)
    try:
        write_atomically(out, built.data)
    except OSError as error:
        raise GraderError(f"{out} can't be written: {error.strerror}") from None
    kind = "student pack" if built.student else "pack"
    print(f"{kind} of {built.exercise.name}: {len(built.cases)} cases, {len(built.data):,} bytes, {out}")
    return OK


def schema(chosen: argparse.Namespace) -> int:
    """``grader schema``."""
    from grader.exercise.schemas import SCHEMAS, json_schema

    if chosen.what not in SCHEMAS:
        raise GraderError(f"no schema {chosen.what!r}{did_you_mean(chosen.what, sorted(SCHEMAS))}")
    sys.stdout.write(json.dumps(json_schema(chosen.what), indent=2) + "\n")
    return OK
