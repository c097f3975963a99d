"""The command line's arguments, and which function each command calls."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import grader
from grader.errors import GraderError
from grader.sandbox.levels import LEVELS

COMMANDS = (
    "check",
    "explain",
    "intake",
    "grade",
    "report",
    "adjust",
    "export",
    "gradescope-bundle",
    "new",
    "validate",
    "demo",
    "pack",
    "release",
    "schema",
)
LAYOUTS = ("plain", "canvas", "moodle", "gradescope", "blackboard", "brightspace", "classroom", "samples")


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
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="files, notebooks, folders and archives of submissions",
    )


def _whose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--layout",
        metavar="NAME",
        help=f"which platform's download it is: {', '.join(LAYOUTS)} (default: recognized)",
    )
    parser.add_argument(
        "--roster",
        type=Path,
        metavar="CSV",
        help="the class list, or the platform's own gradebook export: who handed in nothing gets a row too",
    )


def _exercise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exercise",
        metavar="NAME|PACK",
        help="exercise by name, or a pack file (default: the only exercise, or mlm_forward)",
    )
    _root(parser)


def _root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help="folder that holds cases/ and reference/ (default: GRADER_ROOT, the current folder or a parent)",
    )


def _json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="write one JSON document to standard output and nothing else there",
    )


def _quiet(parser: argparse.ArgumentParser, left: str) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help=f"print {left}")


def _output(parser: argparse.ArgumentParser, what: str) -> None:
    """What is written to standard output: text, JSON or GitHub's workflow commands."""
    chosen = parser.add_mutually_exclusive_group()
    _json(chosen)
    chosen.add_argument("--format", choices=("text", "github"), default="text", help=what)


def _hidden(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hidden",
        choices=("visible", "after_due_date", "after_published", "hidden"),
        default="visible",
        help="gradescope: when students see the lines of hidden checks, which tell clause and verdict only",
    )


def _positive(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, found {text!r}")
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
        "Where no folder with exercises is found, a student's pack beside the file or in the current folder "
        "says what is asked. Status 0: full marks; 1: some submission has less; 2: a path or the exercise is "
        "at fault; 3: the grader; 130: interrupted, which is how --watch ends.",
    )
    _paths(one)
    _exercise(one)
    _output(one, "github: annotations at the lines, the job's summary and the step's outputs (default: text)")
    one.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report as a page (a folder for several)"
    )
    one.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="ID",
        help="run this case only and show all that it prints; may be repeated",
    )
    one.add_argument(
        "--clause",
        action="append",
        default=[],
        metavar="NAME",
        help="run this clause's cases and show all that they print; may be repeated",
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
    one.add_argument(
        "--debug",
        action="store_true",
        help="step through the call of the case named by --case in pdb, or in PYTHONBREAKPOINT's debugger; "
        "without isolation",
    )
    one.add_argument(
        "--watch",
        action="store_true",
        help="check again on every save, also of imported modules, and show what changed since the last run, "
        "until Ctrl-C (needs the watch extra)",
    )
    _quiet(one, "one line a submission: id, status and points")

    page = _command(
        added,
        "explain",
        _lazily("explain", "explain"),
        "Explain a clause, a check, a known mistake, a rule of the policy, a verdict or a word of reports.",
        "Without a name it lists what can be explained. Where no folder with exercises is found, a student's "
        "pack in the current folder is what is explained.",
    )
    page.add_argument("name", nargs="*", metavar="ID", help="its id, as reports show it, or its title")
    _exercise(page)
    _json(page)

    look = _command(
        added,
        "intake",
        _lazily("intake", "intake"),
        "Show what would be graded: who, from which file, by which rule, and what is left out. Nothing runs.",
        "Status 0; 2: a path is at fault, or there is nothing to grade.",
    )
    _paths(look)
    _whose(look)
    _exercise(look)
    _json(look)

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
    _whose(many)
    many.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="STUDENT",
        help="look at these alone, by id, name, number or e-mail address; may be repeated",
    )
    many.add_argument(
        "--faults",
        action="store_true",
        help="look alone at what the grader itself failed on, and run it again",
    )
    many.add_argument(
        "--force",
        action="store_true",
        help="run again whatever is known; with --only or --faults those alone",
    )
    many.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="grade on the Dask cluster with this scheduler, such as tcp://HOST:8786 (needs the dask extra)",
    )
    many.add_argument("--no-pages", action="store_true", help="make no page for each student")
    many.add_argument("--fresh", action="store_true", help="start over: forget what the folder holds")
    _json(many)
    _quiet(many, "warnings and faults only")
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
    again.add_argument(
        "--since",
        metavar="PACK",
        help="tell what changed since this pack (default: the last other one)",
    )
    _quiet(again, "warnings and faults only")

    hand = _command(
        added,
        "adjust",
        _lazily("folder", "adjust"),
        "Give or take points by hand, with a reason; that stays through later runs. Nothing runs.",
        "Without --points it lists what was given.",
    )
    hand.add_argument("folder", type=Path, metavar="DIR", help="the --out folder of an earlier grader grade")
    hand.add_argument("student", nargs="?", metavar="STUDENT", help="id, name, number or e-mail address")
    hand.add_argument("--points", type=float, metavar="N", help="points to add; negative to take")
    hand.add_argument("--reason", metavar="TEXT", help="what the student is told")
    _quiet(hand, "warnings and faults only; a list that is asked for is printed all the same")
    hand.add_argument("--remove", type=_positive, metavar="NUMBER", help="take back the one with this number")

    out = _command(
        added,
        "export",
        _lazily("export", "export"),
        "Write the marks of a graded folder in another system's format.",
        "Formats: gradescope, canvas, moodle, moodle-feedback, brightspace, brightspace-feedback, junit, "
        "github, csv, jsonl, parquet, pass-at-k.",
    )
    out.add_argument("folder", type=Path, metavar="DIR", help="the --out folder of an earlier grader grade")
    out.add_argument("--format", required=True, metavar="FORMAT", help="which format")
    out.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="a folder, or a name such as marks.csv where one file is written (default: DIR/exports/FORMAT)",
    )
    out.add_argument(
        "--template",
        type=Path,
        metavar="FILE",
        help="the platform's own gradebook export, whose rows and columns are filled in",
    )
    out.add_argument(
        "--assignment", default="", metavar="NAME", help="the column: the assignment's name or id"
    )
    out.add_argument(
        "--missing",
        choices=("blank", "zero"),
        default="blank",
        help="the mark of those who handed in nothing (default: blank)",
    )
    _quiet(out, "warnings and faults only; figures that are asked for are printed all the same")
    _hidden(out)
    out.add_argument(
        "--decimal",
        choices=(".", ","),
        default="",
        metavar="MARK",
        help="moodle, brightspace: decimal mark of grades, . or , (default: that of the template)",
    )
    out.add_argument("--base", default="", metavar="DIR", help="github: the files' folder in the repository")
    out.add_argument("--flat", action="store_true", help="jsonl: a row a case instead of one a submission")
    out.add_argument(
        "--k", action="append", type=_positive, metavar="K", help="pass-at-k: for this k; may be repeated"
    )

    ready = _command(
        added,
        "gradescope-bundle",
        _lazily("export", "gradescope_bundle"),
        "Write the zip for Gradescope's autograder: the grader, the pack, setup.sh and run_autograder.",
    )
    _exercise(ready)
    ready.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the zip is written")
    _hidden(ready)
    _quiet(ready, "warnings and faults only")
    ready.add_argument(
        "--allow-weak-isolation",
        action="store_true",
        help="run submissions also where nothing keeps them from the pack and the results",
    )

    begun = _command(
        added,
        "new",
        _lazily("new", "new"),
        "Write a new exercise: a small one that is complete, to be changed into yours.",
        "Nothing is written over. Its cases are drawn and measured where the author extra is installed.",
    )
    begun.add_argument("name", metavar="NAME", help="the exercise, and the function that students write")
    begun.add_argument("--title", default="", metavar="TEXT", help="its title (default: made from the name)")
    begun.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help="folder that holds cases/ and reference/, or a new one (default: GRADER_ROOT, the nearest such "
        "folder around, or the current folder)",
    )
    _quiet(begun, "warnings and faults only")

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
    _output(proof, "github: annotations at the lines at fault, and the job's summary (default: text)")
    _quiet(proof, "a line for each weakness, and nothing when there is none")
    proof.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")

    seen = _command(
        added,
        "demo",
        _lazily("demo", "demo"),
        "Show an exercise's reference at work: what it gives, and what happens on the way.",
        "The examples are those of reference/NAME/demo.py; without that file they are made from public "
        "cases. Status 0; 2: the exercise or its demo.py is at fault.",
    )
    seen.add_argument("name", nargs="?", metavar="NAME", help="exercise (default: the only one)")
    _root(seen)
    seen.add_argument(
        "--example",
        action="append",
        default=[],
        metavar="ID",
        help="show this example only; may be repeated",
    )
    seen.add_argument("--html", type=Path, metavar="FILE", help="write the examples as a page")
    _json(seen)
    _quiet(seen, "warnings and faults only")

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
    _quiet(bundle, "warnings and faults only")

    given = _command(
        added,
        "release",
        _lazily("release", "release"),
        "Write what a student gets: statement page, starter, notebook, checks and instructions.",
        "A hand-out that is there already is renewed, unless somebody edited a file of it. Needs the "
        "notebooks extra.",
    )
    given.add_argument("name", nargs="?", metavar="NAME", help="exercise (default: the only one)")
    given.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for the hand-out, or an archive such as week3.zip",
    )
    given.add_argument(
        "--wheel",
        type=Path,
        metavar="FILE",
        help="hand out this wheel of the grader too, as made by scripts/release.sh",
    )
    _root(given)
    _quiet(given, "warnings and faults only")

    shape = _command(
        added,
        "schema",
        _lazily("authoring", "schema"),
        "Print the JSON Schema of an exercise's YAML files, for editors.",
    )
    shape.add_argument("what", metavar="exercise|cases|policy", help="which file the schema is of")
    return parser
