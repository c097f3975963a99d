"""The command line: parse, call, and end every fault in a message and a status."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import grader
from grader import warm
from grader.commands import shared
from grader.errors import ExerciseError, GraderError, OwnFaultError, Problem
from grader.exercise.near import did_you_mean
from grader.sandbox.levels import LEVELS

COMMANDS = ("check", "grade", "report", "validate", "pack", "schema")


class Help(argparse.HelpFormatter):
    """Help as wide as the terminal.

    The base class asks for the width by a module that takes longer to import than all else here, and does so
    whenever an argument is added.
    """

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        if columns.isdigit() and int(columns):
            width = int(columns)
        else:
            try:
                width = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns
            except (OSError, ValueError, AttributeError):
                width = 80
        super().__init__(prog, width=width - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors say what to do next."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": Help} | options)

    def error(self, message: str) -> NoReturn:
        """Raise GraderError with the message and where help is to be had."""
        raise GraderError(f"{message}\nsee {self.prog} --help")


def _lazily(module: str, name: str) -> Callable[[argparse.Namespace], int]:
    """A command's function, whose module is imported when it is called."""

    def run(chosen: argparse.Namespace) -> int:
        found: Callable[[argparse.Namespace], int] = getattr(
            importlib.import_module(f"grader.commands.{module}"), name
        )
        return found(chosen)

    return run


def _command(
    added: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str = ""
) -> argparse.ArgumentParser:
    description = f"{summary} {more}".strip()
    parser: argparse.ArgumentParser = added.add_parser(
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
    added = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    one = _command(
        added,
        "check",
        _lazily("check", "check"),
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
    one.add_argument(
        "--require-isolation",
        choices=LEVELS,
        default=LEVELS[0],
        metavar="LEVEL",
        help="refuse to run the file below this level of isolation: full, partial or none (default: none)",
    )
    one.add_argument("--all", action="store_true", help="explain every failing check, not only the first")
    one.add_argument(
        "--snippet",
        action="store_true",
        help="print Python text that makes the calls of the case named by --case and says whether it holds",
    )

    many = _command(
        added,
        "grade",
        _lazily("grade", "grade"),
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
        help="go on although this machine can't keep submissions fully apart (level partial or none)",
    )

    again = _command(
        added,
        "report",
        _lazily("folder", "report"),
        "Write the pages and tables of a graded folder anew, without running anything.",
    )
    again.add_argument("folder", type=Path, metavar="DIR", help="the --out folder of an earlier grader grade")

    proof = _command(
        added,
        "validate",
        _lazily("authoring", "validate"),
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
    proof.add_argument(
        "--fast", action="store_true", help="leave out mutants, worked submissions and the second build"
    )
    _json(proof)
    proof.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")

    bundle = _command(
        added,
        "pack",
        _lazily("authoring", "pack"),
        "Write an exercise's pack: one data-only file with all that grading needs.",
    )
    bundle.add_argument("name", nargs="?", metavar="NAME", help="exercise (default: the only one)")
    bundle.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the pack is written")
    bundle.add_argument("--student", action="store_true", help="leave the hidden cases out")
    _root(bundle)

    shape = _command(
        added,
        "schema",
        _lazily("authoring", "schema"),
        "Print the JSON Schema of an exercise's YAML files, for editors.",
    )
    shape.add_argument("what", metavar="exercise|cases|policy", help="which file the schema is of")
    return parser


def main() -> None:
    """Run the command line; every expected fault ends in a message and a status, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Unicode shows a sign less, not a fault.
            stream.reconfigure(errors="replace")
    try:
        if len(sys.argv) > 2 and sys.argv[1] == "check" and not {"--help", "--snippet"} & set(sys.argv):
            # The fork server imports numpy while this process imports the rest.
            warm.start()
        status = _run(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(status)
    except GraderError as error:
        _say_fault(error)
        _print_fault_json(str(error), list(error.problems) if isinstance(error, ExerciseError) else [])
        sys.exit(shared.USER_FAULT)
    except OwnFaultError as error:
        print(f"grader: a fault of the grader itself: {error}", file=sys.stderr)
        _print_fault_json(str(error), [])
        sys.exit(shared.GRADER_FAULT)
    except KeyboardInterrupt:
        print("grader: interrupted", file=sys.stderr)
        sys.exit(shared.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(shared.OK)
    except Exception as error:
        if os.environ.get("GRADER_DEBUG"):
            raise
        said = f"{type(error).__name__}: {error}"
        print(f"grader: a fault of the grader itself: {said} (GRADER_DEBUG=1 shows where)", file=sys.stderr)
        _print_fault_json(said, [])
        sys.exit(shared.GRADER_FAULT)
    finally:
        warm.stop()


def _run(arguments: list[str]) -> int:
    parser = build_parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return shared.USER_FAULT
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


def _print_fault_json(message: str, problems: list[Problem]) -> None:
    """The document of a command that could not do its work, where one was asked for and none was written."""
    if "--json" not in sys.argv or shared.json_written:
        return
    command = sys.argv[1]
    if command == "check":
        shared.print_json([])
    elif command == "grade":
        shared.print_json(
            {"schema": "grader.batch/1", "submissions": 0, "graded": 0, "counts": {}, "error": message}
        )
    elif command == "validate":
        from grader.validation import SCHEMA

        rows = [{"code": "exercise_fault", **vars(p)} for p in problems]
        if not rows:
            rows = [{"code": "exercise_fault", "message": message, "file": "", "line": 0}]
        shared.print_json({"schema": SCHEMA, "sound": False, "weaknesses": rows, "error": message})
