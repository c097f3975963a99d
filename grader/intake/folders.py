"""Submissions from the paths that a user names: files and folders."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Sequence
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

    A file is one submission. In a folder every loose ``.py`` file is one, and so is every folder in it that
    holds ``.py`` files: of several the one called ``solution.py`` or after the entry point, else the first
    one that defines the entry point. Links inside a folder are refused.

    Args:
        paths: Files and folders.
        entry: The name of the function that is asked for.
    """
    found: list[tuple[str, str, Path]] = []
    problems: list[str] = []
    left_out: list[str] = []
    for path in paths:
        if not path.exists() and not path.is_symlink():
            problems.append(f"{path} does not exist; expected a file or a folder of submissions")
        elif path.is_dir():
            before = len(found)
            _folder(path, path, entry, found, left_out)
            if len(found) == before:
                problems.append(f"{path} holds no submission; expected .py files, or folders with a .py file")
        else:
            # Several files called solution.py are told apart by their folders.
            alike = len(paths) > 1 and path.stem in ("solution", entry) and path.absolute().parent.name
            name = path.absolute().parent.name if alike else path.stem
            found.append((name, name, path))
    submissions = [_read(i, n, p, linked=p.is_symlink() and p not in paths) for i, n, p in _unique(found)]
    return Intake(tuple(sorted(submissions, key=lambda s: s.id)), tuple(problems), tuple(left_out))


def require_some(intake: Intake) -> None:
    """Raises GraderError when there is nothing to grade."""
    if not intake.submissions:
        raise GraderError("\n".join(intake.problems) or "no submissions were named")


def _folder(
    top: Path, folder: Path, entry: str, found: list[tuple[str, str, Path]], left_out: list[str]
) -> None:
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        left_out.append(f"{folder}: can't be read: {error.strerror}")
        return
    files = [p for p in children if p.suffix == ".py" and not p.is_dir() and not p.name.startswith("._")]
    if folder == top:
        found += [(p.stem, p.stem, p) for p in files]
    elif files:
        chosen = _choose(files, entry)
        name = folder.relative_to(top).as_posix()
        found.append((name, name, chosen))
        left_out += [f"{p}: {chosen.name} is taken for {name}" for p in files if p != chosen]
        return
    for child in children:
        deep = len(child.relative_to(top).parts) > MAX_FOLDER_DEPTH
        if child.is_dir() and not child.is_symlink() and child.name not in SKIPPED_FOLDERS and not deep:
            _folder(top, child, entry, found, left_out)


def _choose(files: Sequence[Path], entry: str) -> Path:
    for name in ("solution.py", f"{entry}.py"):
        for path in files:
            if path.name == name:
                return path
    pattern = re.compile(rb"^\s*(def|class)\s+%b\b|^%b\s*=" % (entry.encode(), entry.encode()), re.MULTILINE)
    candidates = [p for p in files if not p.name.startswith("test_")] or list(files)
    for path in candidates:
        raw = _bytes(path)
        if isinstance(raw, bytes) and pattern.search(raw):
            return path
    return candidates[0]


def submission_id(text: str) -> str:
    """Text made an id: accents dropped, everything but letters, digits, ``.``, ``_`` and ``-`` replaced."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")[:100] or "submission"


def _unique(found: Iterable[tuple[str, str, Path]]) -> list[tuple[str, str, Path]]:
    """Ids made unique, whatever the file system's case rules: ``ann``, ``Ann-2``."""
    taken: set[str] = set()
    unique = []
    for text, name, path in found:
        base = submission_id(text)
        new, number = base, 1
        while new.lower() in taken:
            number += 1
            new = f"{base}-{number}"
        taken.add(new.lower())
        unique.append((new, name, path))
    return unique


def _bytes(path: Path) -> bytes | str:
    """The file's bytes, or why it can't be read; never waits on a FIFO and never reads a device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return f"The file can't be read: {error.strerror}."
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "This is no regular file."
        try:
            return file.read(MAX_BYTES + 1)
        except OSError as error:
            return f"The file can't be read: {error.strerror}."


def _read(identifier: str, name: str, path: Path, *, linked: bool) -> Submission:
    # Inside a class folder a link could pass off any file of the teacher's machine as a student's work.
    raw = LINK if linked else _bytes(path)
    if isinstance(raw, str):
        return Submission(identifier, name, str(path), "", None, raw, (name,))
    digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    text = decode(raw)
    notes = (text.note,) if text.note else ()
    return Submission(identifier, name, str(path), digest, text.source, text.problem, (name,), notes)
