"""Submissions from the paths that a user names: files and folders."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.intake.submission import Submission
from grader.intake.text import MAX_BYTES, decode

SKIPPED_FOLDERS = frozenset(
    {
        "__pycache__",
        "__MACOSX",
        ".git",
        ".ipynb_checkpoints",
        "venv",
        ".venv",
        "env",
        "site-packages",
        "node_modules",
    }
)
MAX_FOLDER_DEPTH = 8
# Not every platform has each of these; without O_BINARY Windows would change the ends of lines.
READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
LINK = "This is a link to another place, not a file; hand in the file itself."


@dataclass(frozen=True)
class Intake:
    """What was found.

    Attributes:
        submissions: In the order of their ids.
        problems: Paths that could not be used, each with the reason; the rest goes on.
        left_out: Files that are no submissions, with the reason.
    """

    submissions: tuple[Submission, ...]
    problems: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def collect(paths: Sequence[Path], entry: str) -> Intake:
    """All submissions below the given paths.

    A file is one submission. A folder that holds ``solution.py`` or a file named after the entry point, and
    no folders with ``.py`` files, is one too. In any other folder every loose ``.py`` file is a submission,
    and so is every folder in it that holds ``.py`` files: of several the one called ``solution.py`` or after
    the entry point, else the first one that defines the entry point. Links inside a folder are refused.

    Args:
        paths: Files and folders.
        entry: The name of the function that is asked for.
    """
    search = _Search(entry)
    for path in paths:
        search.add(path, several=len(paths) > 1)
    submissions = [_read(i, f, linked=f.path.is_symlink() and f.path not in paths) for i, f in search.named()]
    return Intake(
        tuple(sorted(submissions, key=lambda s: s.id)), tuple(search.problems), tuple(search.left_out)
    )


def require_some(intake: Intake) -> None:
    """Raises GraderError when there is nothing to grade."""
    if not intake.submissions:
        raise GraderError("\n".join(intake.problems) or "no submissions were named")


@dataclass(frozen=True)
class _Found:
    """A file and the text that its id is made from."""

    text: str
    path: Path
    notes: tuple[str, ...] = ()


class _Search:
    def __init__(self, entry: str) -> None:
        self.entry = entry
        self.found: list[_Found] = []
        self.problems: list[str] = []
        self.left_out: list[str] = []

    def add(self, path: Path, *, several: bool) -> None:
        try:
            if path.is_dir():
                self._named_folder(path)
            elif path.exists() or path.is_symlink():
                # Several files called solution.py are told apart by their folders.
                generic = path.stem.lower() in ("solution", self.entry.lower())
                parent = _name(path.parent) if several and generic else ""
                self.found.append(_Found(parent or path.stem, path))
            else:
                self.problems.append(f"{path} does not exist; expected a file or a folder of submissions")
        except OSError as error:
            self.problems.append(f"{path} can't be looked at: {error.strerror}")

    def named(self) -> list[tuple[str, _Found]]:
        """Every file once, with an id that no other has, whatever the file system's case rules."""
        taken: set[str] = set()
        places: set[str] = set()
        named = []
        for one in self.found:
            # A link in a folder is refused by itself and takes nothing from the file that it leads to.
            place = str(one.path.absolute() if one.path.is_symlink() else one.path.resolve())
            if place in places:
                self.left_out.append(f"{one.path}: named twice")
                continue
            places.add(place)
            new = submission_id(one.text)
            while new.lower() in taken:
                new = with_suffix(new, place)
            taken.add(new.lower())
            named.append((new, one))
        return named

    def _named_folder(self, folder: Path) -> None:
        before = len(self.found)
        files, folders = self._look(folder)
        names = {p.name.lower() for p in files}
        below = [f for f in folders if any(_is_python(p) for p in _children(f))]
        if names & {"solution.py", f"{self.entry}.py".lower()} and not below:
            self._one(_name(folder), files)
        else:
            self.found += [_Found(p.stem, p) for p in files]
            for child in folders:
                self._folder(folder, child)
        if len(self.found) == before:
            self.problems.append(
                f"{folder} holds no submission; expected .py files, or folders with a .py file"
            )

    def _folder(self, top: Path, folder: Path) -> None:
        """A folder below the class's: one submission, or a folder of such folders."""
        before = len(self.found)
        files, folders = self._look(folder)
        if files:
            self._one(folder.relative_to(top).as_posix(), files)
        elif len(folder.relative_to(top).parts) < MAX_FOLDER_DEPTH:
            for child in folders:
                self._folder(top, child)
        if len(self.found) == before:
            self.left_out.append(f"{folder}: holds no .py file")

    def _one(self, text: str, files: Sequence[Path]) -> None:
        chosen = _choose(files, self.entry)
        others = [p for p in files if p != chosen]
        notes = tuple(f"The folder also holds {p.name}, which was not read." for p in others[:5])
        self.found.append(_Found(text, chosen, notes))
        self.left_out += [f"{p}: {chosen.name} is taken for {text}" for p in others]

    def _look(self, folder: Path) -> tuple[list[Path], list[Path]]:
        """The .py files and the folders in a folder; what else could be meant as a submission is noted."""
        try:
            children = sorted(folder.iterdir())
        except OSError as error:
            self.left_out.append(f"{folder}: can't be read: {error.strerror}")
            return [], []
        files, folders = [], []
        for child in children:
            if _is_python(child):
                files.append(child)
            elif child.is_dir():
                if child.is_symlink():
                    self.left_out.append(f"{child}: a link to a folder")
                elif child.name not in SKIPPED_FOLDERS:
                    folders.append(child)
            elif child.suffix.lower() in (".ipynb", ".zip", ".gz", ".tar"):
                self.left_out.append(f"{child}: only .py files are read")
        return files, folders


def _name(folder: Path) -> str:
    """A folder's own name, also of ``.`` and ``..``; a link keeps its name."""
    return Path(os.path.abspath(folder)).name  # noqa: PTH100


def _is_python(path: Path) -> bool:
    return path.suffix.lower() == ".py" and not path.name.startswith("._") and not path.is_dir()


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _choose(files: Sequence[Path], entry: str) -> Path:
    for name in ("solution.py", f"{entry}.py".lower()):
        for path in files:
            if path.name.lower() == name:
                return path
    word = re.escape(entry).encode()
    pattern = re.compile(rb"^[ \t]*(?:def|class)[ \t]+%b\b|^%b[ \t]*=" % (word, word), re.MULTILINE)
    candidates = [p for p in files if not p.name.startswith("test_")] or list(files)
    for path in candidates:
        raw = _bytes(path)
        if isinstance(raw, bytes) and pattern.search(raw):
            return path
    return candidates[0]


def submission_id(text: str) -> str:
    """Text made an id of letters, digits, ``.``, ``_`` and ``-``.

    Where that loses something (accents, blanks, other scripts), a few digits made from the text are added, so
    that two names never become one.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")[:100]
    if plain == text.replace("/", "-") or plain == text.replace("/", "-").strip("-."):
        return plain or with_suffix("submission", text)
    # Both Unicode forms of a name are the same name.
    return with_suffix(plain or "submission", unicodedata.normalize("NFC", text))


def with_suffix(base: str, origin: str) -> str:
    """An id told from others of the same base by six digits made from its origin."""
    return f"{base}-{hashlib.sha256(origin.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def _bytes(path: Path) -> bytes | str:
    """The file's bytes, or why it can't be read; never waits on a FIFO and never reads a device."""
    try:
        handle = os.open(path, READING)
    except OSError as error:
        return f"The file can't be read: {error.strerror}."
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "This is no regular file."
        size = os.fstat(handle).st_size
        if size > MAX_BYTES:
            return f"The file has {size:,} bytes; at most {MAX_BYTES:,} are read."
        try:
            return file.read(MAX_BYTES + 1)
        except OSError as error:
            return f"The file can't be read: {error.strerror}."


def _read(identifier: str, found: _Found, *, linked: bool) -> Submission:
    path, name = found.path, found.text
    # Inside a class folder a link could pass off any file of the teacher's machine as a student's work.
    raw = LINK if linked else _bytes(path)
    if isinstance(raw, str):
        return Submission(identifier, name, str(path), "", None, raw, (name,), found.notes)
    digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    text = decode(raw)
    notes = ((text.note,) if text.note else ()) + found.notes
    return Submission(identifier, name, str(path), digest, text.source, text.problem, (name,), notes)
