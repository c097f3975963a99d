"""The demonstration of an exercise: its author's, or one that is made from its cases."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from grader.authoring.demo_cases import from_cases
from grader.demonstration import Demonstration
from grader.errors import ExerciseError, GraderError, Problem, ToolMissingError
from grader.exercise.reference import load_entry, place_of
from grader.exercise.roots import DEMO
from grader.exercise.source import ExerciseSource, shown

ENTRY = "demonstrate"


def demonstration_of(source: ExerciseSource) -> Demonstration:
    """What ``reference/NAME/demo.py`` shows; without that file what the reference does with public cases.

    What the author's code prints goes to standard error.

    Raises:
        ExerciseError: The author's code fails, with file and line, or shows what can't be shown.
        ToolMissingError: It needs a package that is not installed.
    """
    path = source.reference_folder / DEMO
    with contextlib.redirect_stdout(sys.stderr):
        if not path.is_file():
            return from_cases(source)
        return _demonstrate(source.reference_folder, path)


def _demonstrate(folder: Path, path: Path) -> Demonstration:
    try:
        demonstrate = load_entry(folder, path.stem, ENTRY)
    except ExerciseError as error:
        raise ExerciseError(error.problems, "\n".join([_said(p, path) for p in error.problems])) from None
    try:
        found: Any = demonstrate()
    except ExerciseError:
        raise
    except GraderError as error:
        raise _fault(*place_of(error, folder, path), str(error)) from None
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("grader_reference_"):
            raise _fault(*place_of(error, folder, path), f"{ENTRY}() fails: {error}") from None
        extra = "; install mlm-grader[author]" if error.name in ("torch", "hypothesis") else ""
        file, line = place_of(error, folder, path)
        raise ToolMissingError(f"{shown(Path(file))}:{line}: {ENTRY}() needs {error.name}{extra}") from None
    except (Exception, SystemExit) as error:
        message = f"{ENTRY}() fails: {type(error).__name__}: {error}"
        raise _fault(*place_of(error, folder, path), message) from error
    if not isinstance(found, Demonstration):
        line = getattr(getattr(demonstrate, "__code__", None), "co_firstlineno", 0)
        message = (
            f"{ENTRY}() returns a value of type {type(found).__name__}; "
            f"expected a Demonstration of {Demonstration.__module__}"
        )
        raise _fault(str(path), line, message)
    return found


def _said(problem: Problem, path: Path) -> str:
    """A fault of loading with its place in front, unless it names the file as a whole."""
    if not problem.line:
        return problem.message.replace(str(path), shown(path))
    file = shown(Path(problem.file))
    # In another file it is said which one can't be imported for it.
    message = problem.message.removeprefix(f"{path} ") if problem.file == str(path) else problem.message
    return f"{file}:{problem.line}: {message.replace(str(path), shown(path))}"


def _fault(file: str, line: int, message: str) -> ExerciseError:
    return ExerciseError([Problem(shown(Path(file)), line, "", message)])
