"""The author's code beside an exercise: model, cross-check and honest runs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.errors import GraderError
from grader.exercise.near import did_you_mean

Entry = Callable[..., Any]


def load_module(folder: Path, module: str) -> ModuleType:
    """Import ``reference/NAME/MODULE.py``, or a folder of that name; they may import each other relatively.

    Raises:
        GraderError: The module is missing or can't be imported.
    """
    path = folder / f"{module}.py"
    if not path.is_file() and not (folder / module / "__init__.py").is_file():
        raise GraderError(f"{path} is missing; expected the exercise's {module} there")
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
    except GraderError:
        raise
    except ModuleNotFoundError as error:
        extra = "; install mlm-grader[author]" if error.name in ("torch", "hypothesis") else ""
        raise GraderError(f"{path} can't be imported: {error}{extra}") from None
    except (Exception, SystemExit) as error:
        raise GraderError(f"{path} can't be imported: {type(error).__name__}: {error}") from error


def load_entry(folder: Path, module: str, entry: str) -> Entry:
    """The callable named ``entry`` in one of the exercise's modules.

    Raises:
        GraderError: The module or the callable is missing.
    """
    found = getattr(load_module(folder, module), entry, None)
    if not callable(found):
        names = [n for n in vars(load_module(folder, module)) if not n.startswith("_")]
        raise GraderError(f"{folder / module}.py defines no function {entry!r}{did_you_mean(entry, names)}")
    return found  # type: ignore[no-any-return]
