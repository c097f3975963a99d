"""A new exercise: a small one that is complete, under the author's name, to be changed into another.

The files are made in a folder beside their places and moved there when all of them are whole, so that nothing
is left behind by whatever goes wrong.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib.util
import json
import keyword
import re
import secrets
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.errors import GraderError
from grader.exercise import source as sources

TEMPLATES = Path(__file__).parent / "templates"
FOLDERS = ("cases", "reference", "submissions")
FILES = {
    "cases": ("exercise.yaml", "basics.yaml", "drawn.yaml", "policy.yaml", "statement.md"),
    "reference": ("model.py", "misconceptions.py", "crosscheck.py", "rounding.py", "demo.py"),
    "submissions": tuple(
        f"{name}{ending}"
        for name in ("right_rows", "right_loops", "wrong_columns", "wrong_in_place", "banned_norm")
        for ending in (".py", ".expected.yaml")
    ),
}
LONGEST = 64
# What a student's file NAME.py would hide from everything that runs beside it.
LIBRARIES = ("numpy", "scipy", "torch", "grader", "pytest")


@dataclass(frozen=True)
class Made:
    """A new exercise.

    Attributes:
        root: The folder that holds its three folders.
        folders: These, below the root.
        frozen: Whether ``frozen.json`` was made too.
    """

    root: Path
    folders: tuple[Path, ...]
    frozen: bool


# --- Names ----------------------------------------------------------------------------------------


def require_name(name: str) -> None:
    """Raise GraderError where no exercise and no function of a student's can have this name."""
    fault = _name_fault(name)
    if fault:
        near = suggested(name)
        hint = f"; try {near}" if near and near != name else ""
        raise GraderError(f"an exercise can't be named {name!r}: {fault}{hint}")


def _name_fault(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        return "expected a small letter, then small letters, digits and underscores"
    if len(name) > LONGEST:
        return f"it has {len(name)} letters; at most {LONGEST} are read"
    if keyword.iskeyword(name):
        return "it is a keyword of Python, and students write a function of this name"
    if name in vars(builtins):
        return f"it is a function of Python's own, which a student's {name} would hide in the student's file"
    if name in sys.stdlib_module_names or name in LIBRARIES:
        return f"a student's file {name}.py would hide the module {name} from Python"
    if name in _used_in_templates():
        return "the files of a new exercise use this name for something else"
    return ""


def suggested(name: str) -> str:
    """The name that is likely meant, such as ``my_exercise`` for ``My-Exercise``; empty without one."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    plain = unicodedata.normalize("NFKD", split.casefold()).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    near = re.sub(r"^[0-9_]+", "", words)[:LONGEST].rstrip("_")
    if near and _name_fault(near):
        near = f"{near[: LONGEST - 5]}_rows"
    return "" if not near or _name_fault(near) else near


def _used_in_templates() -> set[str]:
    """Every name in the Python files of a new exercise but its own."""
    used: set[str] = set()
    own = "the_exercise"
    for file in (f for files in FILES.values() for f in files if f.endswith(".py")):
        for node in ast.walk(ast.parse(_rendered(file, own, own))):
            match node:
                case ast.Name(id=found) | ast.arg(arg=found) | ast.FunctionDef(name=found):
                    used.add(found)
                case ast.ClassDef(name=found) | ast.alias(name=found):
                    used.add(found)
    return used - {own}


# --- Writing --------------------------------------------------------------------------------------


def make(root: Path, name: str, title: str = "", progress: Callable[[str], None] = lambda what: None) -> Made:
    """Write a new exercise below a root folder, which is made where there is none.

    Args:
        root: The root folder.
        name: The exercise's name.
        title: One line for people; made from the name when empty.
        progress: Told what is being measured.

    Raises:
        GraderError: The name can't be one or is taken, or the files can't be written. Nothing is left then.
    """
    require_name(name)
    title = " ".join(title.split()) or name.replace("_", " ").capitalize()
    if not title.isprintable():
        raise GraderError(f"the title {title!r} holds what can't be shown; expected one line of text")
    if root.exists() and not root.is_dir():
        raise GraderError(f"{sources.shown(root)} is a file; name a folder for --root")
    if taken := [f"{folder}/{name}" for folder in FOLDERS if _is_there(root / folder / name)]:
        raise GraderError(
            f"there is {' and '.join(taken)} in {root} already, and nothing is written over; "
            "choose another name"
        )
    # What takes a step back is noted before the step: an interruption may come right after it.
    with contextlib.ExitStack() as undo:
        try:
            _make_folder(root, undo)
            draft = root / f".new-{name}-{secrets.token_hex(4)}"
            undo.callback(shutil.rmtree, draft, ignore_errors=True)
            for folder, files in FILES.items():
                (draft / folder / name).mkdir(parents=True)
                for file in files:
                    (draft / folder / name / file).write_text(_rendered(file, name, title), "utf-8")
            frozen = _freeze(draft / "cases" / name, progress)
            for folder in FOLDERS:
                _make_folder(root / folder, undo)
                _move(draft / folder / name, root / folder / name, undo)
            shutil.rmtree(draft)
        except OSError as error:
            place = error.filename2 or error.filename or root
            raise GraderError(f"{place} can't be written: {error.strerror}; nothing was made") from None
        undo.pop_all()
    return Made(root, tuple(root / folder / name for folder in FOLDERS), frozen)


def _rendered(file: str, name: str, title: str) -> str:
    text = (TEMPLATES / f"{file}.template").read_text("utf-8")
    # JSON's quotation marks are YAML's too, and a plain name may mean something else to YAML: null, no.
    quoted = json.dumps(title, ensure_ascii=False)
    heading = re.sub(r"([\\`*_\[\]<>&#])", r"\\\1", title)
    return Template(text).substitute(
        name=name, yaml_name=json.dumps(name), yaml_title=quoted, heading=heading
    )


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _make_folder(folder: Path, undo: contextlib.ExitStack) -> None:
    """Make a folder with those around it; what was made is taken back with the stack."""
    for missing in reversed(list(_missing(folder))):
        undo.callback(_remove_empty, missing)
        missing.mkdir(exist_ok=True)


def _missing(folder: Path) -> Iterator[Path]:
    while not _is_there(folder):
        yield folder
        folder = folder.parent


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _move(made: Path, place: Path, undo: contextlib.ExitStack) -> None:
    undo.callback(_take_back, made, place)
    made.rename(place)


def _take_back(made: Path, place: Path) -> None:
    """Remove what was moved; while ``made`` is where it was, ``place`` is somebody else's."""
    if not made.exists():
        shutil.rmtree(place, ignore_errors=True)


def _freeze(folder: Path, progress: Callable[[str], None]) -> bool:
    """Make ``frozen.json``; not done where Hypothesis is missing."""
    if importlib.util.find_spec("hypothesis") is None:
        return False
    from grader.authoring.freeze import freeze

    source = sources.load(folder)
    source.frozen_path.write_text(freeze(source, progress).dumps(), "utf-8")
    shutil.rmtree(source.reference_folder / "__pycache__", ignore_errors=True)
    return True
