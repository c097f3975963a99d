"""The hand-out: the files that a student gets, and how they are written."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from grader.errors import ExerciseError, GraderError
from grader.exercise import pack as packs
from grader.exercise.cache import write_atomically
from grader.exercise.cached import cached_pack
from grader.exercise.source import ExerciseSource
from grader.handout.kept_back import told_of_hidden
from grader.handout.notebook import notebook_text
from grader.handout.page import Requirement, page_of
from grader.handout.starter import starter_code, starter_text
from grader.handout.statement import load_statement, pieces
from grader.report import zips

PAGE, README, SUMS = "statement.html", "README.txt", "SHA256SUMS"
_WHEEL = re.compile(r"mlm_grader-[A-Za-z0-9_.+!]+(-[A-Za-z0-9_.]+)+\.whl")
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Handout:
    """What a student gets.

    Attributes:
        name: The exercise.
        files: The content of each file by its name; the last one lists the digests of the others.
        cases: How many cases it has.
        hidden: How many are kept back.
    """

    name: str
    files: Mapping[str, bytes]
    cases: int
    hidden: int


def make(source: ExerciseSource, wheel: Path | None = None) -> Handout:
    """The hand-out of an exercise.

    Args:
        source: The exercise.
        wheel: A wheel of the grader, to be handed out too.

    Raises:
        GraderError: Something of the exercise is missing or at fault, or ``wheel`` is no wheel of the grader.
        ExerciseError: The statement holds what would not work, or tells of hidden cases.
    """
    exercise = source.exercise
    name = source.name
    statement = load_statement(source)
    placed = source.cases(source.require_fresh_frozen().batches)
    hidden = [one for one in placed if one.case.visibility == "hidden"]
    starter, code = starter_text(source), starter_code(source)
    requirements = [Requirement(n, clause.title, clause.text) for n, clause in exercise.clauses.items()]
    facts: dict[str, Any] = {
        "files": [f"{name}.py", f"{name}.ipynb"],
        "commands": [f"grader check {name}.py"],
        "readme": README,
        "hidden": bool(hidden),
    }
    if told := told_of_hidden(statement, starter, hidden):
        raise ExerciseError(told)
    carried = {wheel.name: _wheel(wheel)} if wheel is not None else {}
    notebook = notebook_text(name, exercise.entries[0], pieces(statement), code)
    # Last, as it may take half a minute to make.
    pack = cached_pack(source.root, name, student=True)
    files = {
        README: _readme(source, wheel, bool(hidden)).encode(),
        PAGE: page_of(statement, requirements, facts).encode(),
        f"{name}.py": starter.encode(),
        f"{name}.ipynb": notebook.encode(),
        f"{name}.pack": pack.data,
        **carried,
    }
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {file}\n" for file, data in files.items())
    return Handout(name, {**files, SUMS: sums.encode()}, len(pack.cases), len(hidden))


# --- Writing --------------------------------------------------------------------------------------


def write(handout: Handout, out: Path) -> None:
    """Write the hand-out as a folder, or as an archive where ``out`` ends in ``.zip``.

    A hand-out that is there already is renewed, unless somebody has worked in it.

    Raises:
        GraderError: It can't be written, there is something else, or a file there was edited.
    """
    try:
        if out.suffix.lower() == ".zip":
            if out.is_dir():
                raise GraderError(f"{out} is a folder; name another file for --out")
            write_atomically(out, archive(handout))
            return
        _clear(handout, out)
        for file, data in handout.files.items():
            write_atomically(out / file, data)
    except OSError as error:
        raise GraderError(f"{out} can't be written: {error.strerror}; name another place for --out") from None


def archive(handout: Handout) -> bytes:
    """The hand-out as a zip with one folder in it; the same bytes whenever it is made."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file, content in handout.files.items():
            zips.add(zipped, f"{handout.name}/{file}", content)
    return data.getvalue()


def _clear(handout: Handout, out: Path) -> None:
    """Take away what an earlier hand-out had and this one has not.

    Raises:
        GraderError: Writing into the folder would destroy something or mix with something else.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise GraderError(f"{out} is a file; name a folder, or a file that ends in .zip, for --out")
    there = sorted(path.name for path in out.iterdir())
    written = _sums(out / SUMS)
    if foreign := [name for name in there if name not in handout.files and name not in written]:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise GraderError(
            f"{out} holds {foreign[0]}{more}, which is no part of a hand-out; name a new folder for --out"
        )
    for name in there:
        path = out / name
        if name == SUMS:
            continue
        if not path.is_file() or path.is_symlink():
            raise GraderError(f"{path} is no plain file; name a new folder for --out")
        data = path.read_bytes()
        if data != handout.files.get(name) and hashlib.sha256(data).hexdigest() != written.get(name):
            raise GraderError(
                f"{path} was edited since it was handed out, and is kept; move it elsewhere, or name a new "
                "folder for --out"
            )
    for name in there:
        if name not in handout.files:
            (out / name).unlink()


def _sums(path: Path) -> dict[str, str]:
    """Digests by name, of a hand-out written earlier; empty where there is none."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return {match[2]: match[1] for line in text.splitlines() if (match := _SUM.fullmatch(line))}


# --- The parts ------------------------------------------------------------------------------------


def _wheel(path: Path) -> bytes:
    """The bytes of a wheel of the grader in which nothing is hidden from students."""
    if not _WHEEL.fullmatch(path.name):
        raise GraderError(
            f"{path} is no wheel of the grader; expected a name such as mlm_grader-1.0-py3-none-any.whl"
        )
    try:
        data = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            names = zipped.namelist()
            carried = {n: zipped.read(n) for n in names if n.endswith(".pack")}
    except OSError as error:
        raise GraderError(f"{path} can't be read: {error.strerror}") from None
    except zipfile.BadZipFile:
        raise GraderError(f"{path} is damaged: it is no zip file") from None
    if "grader/cli.py" not in names:
        raise GraderError(f"{path} is no wheel of the grader: it holds no grader/cli.py")
    try:
        whole = [name for name, raw in carried.items() if not packs.loads(raw).student]
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError):
        raise GraderError(f"{path} is damaged: it carries a file that is no pack") from None
    if whole:
        raise GraderError(
            f"{path} holds {whole[0]}, a pack with hidden cases; make the wheel with scripts/release.sh"
        )
    return data


def _readme(source: ExerciseSource, wheel: Path | None, hidden: bool) -> str:
    return "\n".join(_readme_lines(source, wheel, hidden)) + "\n"


def _readme_lines(source: ExerciseSource, wheel: Path | None, hidden: bool) -> Iterator[str]:
    name, exercise = source.name, source.exercise
    what = f"./{wheel.name}" if wheel is not None else "mlm-grader"
    yield exercise.title
    yield "=" * len(exercise.title)
    yield ""
    told = {
        PAGE: "the statement: open it in a browser",
        f"{name}.py": "the starter: write your code in it",
        f"{name}.ipynb": "the same as a notebook; use one or the other",
        f"{name}.pack": "the checks; the grader reads them",
        **({wheel.name: "the grader, to be installed"} if wheel is not None else {}),
        SUMS: "digests of these files: sha256sum -c SHA256SUMS",
    }
    width = max(map(len, told))
    for file, words in told.items():
        yield f"{file.ljust(width)}  {words}"
    yield ""
    yield "Install the grader once (Python 3.11 or newer), in this folder:"
    yield ""
    yield "    python3 -m venv .venv"
    yield "    . .venv/bin/activate"
    yield f'    pip install "{what}"'
    yield ""
    yield "On Windows the first two are: py -m venv .venv, and .venv\\Scripts\\activate"
    yield ""
    others = [package for package in exercise.packages if package != "numpy"]
    if others:
        yield f"If your code uses {' or '.join(others)}, install that too. For the notebook:"
    else:
        yield "For the notebook:"
    yield ""
    yield f'    pip install "{what}[notebooks]" jupyterlab'
    yield ""
    yield "Check your work:"
    yield ""
    yield f"    grader check {name}.py"
    yield f"    grader check {name}.ipynb"
    yield ""
    yield "Again on every save, with what changed, until Ctrl-C:"
    yield ""
    yield f'    pip install "{what}[watch]"'
    yield f"    grader check {name}.py --watch"
    yield ""
    yield f"The checks are taken from {name}.pack beside the file. To name them yourself:"
    yield ""
    yield f"    grader check {name}.py --exercise {name}.pack"
    yield ""
    yield "What a name in the report stands for, a check, a requirement or a mistake:"
    yield ""
    yield f"    grader explain {next(iter(exercise.clauses))}"
    yield ""
    if hidden:
        yield "More checks are run on what you hand in; these stay hidden."
    yield "On Linux your code can't touch your files while it is checked; on macOS and Windows it can."
    yield f"Hand in {name}.py or {name}.ipynb."
