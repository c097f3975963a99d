"""The author's code beside an exercise: model, cross-check and honest runs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.errors import ExerciseError, GraderError
from grader.exercise.models import Exercise
from grader.exercise.near import did_you_mean

Entry = Callable[..., Any]


def load_module(folder: Path, module: str) -> ModuleType:
    """Import ``reference/NAME/MODULE.py``, or a folder of that name; they may import each other relatively.

    Raises:
        GraderError: The module is missing or can't be imported.
    """
    path = folder / f"{module}.py"
    if not path.is_file() and not (folder / module / "__init__.py").is_file():
        raise ExerciseError.at(str(path), 0, f"{path} is missing; expected the exercise's {module} there")
    package = f"grader_reference_{folder.name}"
    loaded = sys.modules.get(package)
    if loaded is None or list(loaded.__path__) != [str(folder)]:
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            del sys.modules[name]
        spec = importlib.util.spec_from_loader(package, loader=None, is_package=True)
        assert spec is not None
        parent = importlib.util.module_from_spec(spec)
        parent.__path__ = [str(folder)]
        sys.modules[package] = parent
    try:
        return importlib.import_module(f"{package}.{module}")
    except ExerciseError:
        raise
    except GraderError as error:
        raise ExerciseError.at(*place_of(error, folder, path), str(error)) from None
    except ModuleNotFoundError as error:
        extra = "; install mlm-grader[author]" if error.name in ("torch", "hypothesis") else ""
        message = f"{path} can't be imported: {error}{extra}"
        raise ExerciseError.at(*place_of(error, folder, path), message) from None
    except (Exception, SystemExit) as error:
        message = f"{path} can't be imported: {type(error).__name__}: {error}"
        raise ExerciseError.at(*place_of(error, folder, path), message) from error


def place_of(error: BaseException, folder: Path, path: Path) -> tuple[str, int]:
    """The author's line at which an import went wrong; ``path`` as a whole where there is none."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        return error.filename, error.lineno or 0
    lines = [
        (frame.filename, frame.lineno or 0)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(folder)
    ]
    return lines[-1] if lines else (str(path), 0)


def load_entry(folder: Path, module: str, entry: str) -> Entry:
    """The callable named ``entry`` in one of the exercise's modules.

    Raises:
        GraderError: The module or the callable is missing.
    """
    found = getattr(load_module(folder, module), entry, None)
    if not callable(found):
        names = [n for n in vars(load_module(folder, module)) if not n.startswith("_")]
        path = f"{folder / module}.py"
        message = f"{path} defines no function {entry!r}{did_you_mean(entry, names)}"
        raise ExerciseError.at(path, 0, message)
    return found  # type: ignore[no-any-return]


def load_entries(folder: Path, module: str, exercise: Exercise) -> dict[str, Entry]:
    """The function for each of an exercise's calls, by the call's name; as `load_entry`."""
    return {call: load_entry(folder, module, call or exercise.entries[0]) for call in exercise.call_names}
