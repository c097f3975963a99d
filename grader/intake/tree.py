"""Files as they were handed over: those of a folder or of an archive, without regard to whose they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

# What tools leave behind. Never a submission, and never told of: there may be thousands.
LITTER_FOLDERS = frozenset(
    {
        "__pycache__",
        "__macosx",
        ".git",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".idea",
        ".vscode",
        "site-packages",
        "node_modules",
    }
)
LITTER_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini", ".git"})
# A folder that holds one of these is a virtual environment, whatever it is called. Students make theirs where
# their work lies, or put their work into it; so only what tools put there is litter.
ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})
ENVIRONMENT_NAMES = frozenset({"venv", ".venv", "env"})
_ENVIRONMENT_FOLDERS = frozenset(
    {"bin", "lib", "lib64", "include", "share", "scripts", "etc", "man", "var", "sbin", "libexec", "local"}
    | {"ssl", "fonts", "library", "libs", "dlls", "tcl", "doc", "compiler_compat", "conda-meta"}
)
_ENVIRONMENT_WORK = (".py", ".ipynb", ".py.txt", ".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz")
MAX_FOLDER_DEPTH = 16
MAX_FILES = 500_000
# Not every platform has each of these; without O_BINARY Windows would change the ends of lines.
READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
LINK = "This is a link to another place, not a file; hand in the file itself."
NO_FILE = "This is no regular file."
TOO_DEEP = f"it lies more than {MAX_FOLDER_DEPTH} folders deep, where nothing is looked for"


class UnreadableError(Exception):
    """A file can't be read; the message is a sentence that says why, for people."""


@dataclass(frozen=True)
class Entry:
    """A file of a tree.

    Attributes:
        path: Its path below the tree's root, with ``/`` between the names; no name is empty, ``.`` or ``..``.
        size: Bytes, as the folder or the archive says; not to be believed of an archive.
        modified: When it was changed last, in seconds since 1970; None when that is not told.
        reader: Gives its bytes, at most as many as asked for and one more; raises UnreadableError.
        shown: Its path for people: ``class.zip/ann/solution.py``.
    """

    path: str
    size: int
    modified: float | None
    reader: Callable[[int], bytes]
    shown: str = ""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    def read(self, limit: int) -> bytes:
        """Its bytes.

        Args:
            limit: How many bytes are accepted.

        Raises:
            UnreadableError: It can't be read, or is longer.
        """
        data = self.reader(limit)
        if len(data) > limit:
            raise UnreadableError(f"The file has more than {limit:,} bytes, which is the most that is read.")
        return data


@dataclass(frozen=True)
class LeftOut:
    """A path that is no submission, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class Tree:
    """The files of a folder or an archive.

    Attributes:
        name: Its own name, without an archive's ending.
        shown: The path by which it was named.
        entries: Its files in the order of their paths. Litter is not among them. What stands where a file
            is expected and can't be read (a link, a FIFO, an encrypted member) is: somebody handed it in,
            and its reader says what is wrong with it.
        folders: The paths of all its folders, also of empty ones.
        left_out: What is not among the entries, with the reason; litter is not told of.
        problems: What could not be looked at.
    """

    name: str
    shown: str
    entries: tuple[Entry, ...]
    folders: frozenset[str] = frozenset()
    left_out: tuple[LeftOut, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class HandedIn:
    """A file of one attempt.

    Attributes:
        name: Its path within what the student handed in, as the student called it; ``solution.py`` or
            ``code/solution.py``.
        entry: The file.
    """

    name: str
    entry: Entry


def folder_tree(folder: Path) -> Tree:
    """All files below a folder. No link in it is followed.

    Raises:
        UnreadableError: The folder itself can't be read.
    """
    top = str(folder)
    shown = "" if top == "." else top if top.endswith("/") else f"{top}/"
    found = _Walk(top, shown)
    waiting = [("", 0)]
    while waiting and not found.full:
        waiting += found.look(*waiting.pop())
    if found.full:
        found.problems.append(f"{folder} holds more than {MAX_FILES:,} files; the others were not looked at")
    for path in [*found.folders, *(entry.path for entry in found.entries)]:
        found.folders.update(parents(path))
    # A link to a folder keeps its own name, and ``.`` has one.
    name = Path(os.path.abspath(folder)).name  # noqa: PTH100
    return Tree(
        name,
        str(folder),
        tuple(sorted(found.entries, key=lambda entry: entry.path)),
        frozenset(found.folders),
        tuple(sorted(found.left_out, key=str)),
        tuple(sorted(found.problems)),
    )


def is_litter(path: str, *, folder: bool = False) -> bool:
    """Whether a path with ``/`` between its names is a tool's, or lies within a folder that is."""
    *above, name = path.lower().split("/")
    if any(part in LITTER_FOLDERS for part in above):
        return True
    if any(part in ENVIRONMENT_NAMES for part in above):
        names = [*above, name]
        for at, part in enumerate(above):
            last = at + 2 == len(names)
            if part in ENVIRONMENT_NAMES and is_environments(names[at + 1], folder=folder or not last):
                return True
    if folder:
        return name in LITTER_FOLDERS or name in ENVIRONMENT_NAMES
    return name in LITTER_FILES or name.startswith("._")


def is_environments(name: str, *, folder: bool) -> bool:
    """Whether what is called so directly within a virtual environment is its own and no work of a student."""
    name = name.lower()
    return name in _ENVIRONMENT_FOLDERS if folder else not name.endswith(_ENVIRONMENT_WORK)


def read_file(path: str, limit: int, *, follow: bool = False) -> bytes:
    """A file's bytes, at most ``limit`` and one more; never waits on a FIFO and never reads a device.

    Raises:
        UnreadableError: It is no regular file, can't be read, or says that it is longer.
    """
    try:
        handle = os.open(path, READING | (0 if follow else NO_LINK))
    except OSError as error:
        raise UnreadableError(f"The file can't be read: {error.strerror}.") from None
    except ValueError:
        raise UnreadableError("The file can't be read: no file has such a name.") from None
    with os.fdopen(handle, "rb") as file:
        told = os.fstat(handle)
        if not stat.S_ISREG(told.st_mode):
            raise UnreadableError(NO_FILE)
        if told.st_size > limit:
            raise UnreadableError(f"The file has {told.st_size:,} bytes; at most {limit:,} are read.")
        try:
            return file.read(limit + 1)
        except OSError as error:
            raise UnreadableError(f"The file can't be read: {error.strerror}.") from None


def refuse(reason: str, limit: int) -> NoReturn:
    """The reader of a file that is never read."""
    raise UnreadableError(reason)


class _Walk:
    def __init__(self, top: str, shown: str) -> None:
        self._top = top
        self._shown = shown
        self.entries: list[Entry] = []
        self.folders: set[str] = set()
        self.left_out: list[LeftOut] = []
        self.problems: list[str] = []

    @property
    def full(self) -> bool:
        return len(self.entries) > MAX_FILES

    def look(self, folder: str, depth: int) -> list[tuple[str, int]]:
        """Notes a folder's files and gives the folders in it."""
        try:
            with os.scandir(os.path.join(self._top, folder)) as children:  # noqa: PTH118
                found = list(children)
        except OSError as error:
            if not folder:
                raise UnreadableError(f"{self._top} can't be read: {error.strerror}") from None
            self.folders.add(folder)
            self.problems.append(f"{self._shown}{folder} can't be read: {error.strerror}")
            return []
        named = folder.rpartition("/")[2].lower() in ENVIRONMENT_NAMES
        if folder and not named:
            self.folders.add(folder)
        marked = folder and not ENVIRONMENT_MARKS.isdisjoint(child.name for child in found)
        below = []
        for child in found:
            path = f"{folder}/{child.name}" if folder else child.name
            is_folder = child.is_dir(follow_symlinks=False)
            if (named or marked) and is_environments(child.name, folder=is_folder):
                continue
            if is_folder:
                if child.name.lower() in LITTER_FOLDERS:
                    continue
                if depth < MAX_FOLDER_DEPTH:
                    below.append((path, depth + 1))
                else:
                    self._leave_out(path, TOO_DEEP)
            elif not is_litter(child.name):
                self._file(path, child)
        return below

    def _file(self, path: str, child: os.DirEntry[str]) -> None:
        shown = f"{self._shown}{path}"
        # In a class folder a link could pass off any file of the teacher's machine as a student's work.
        if child.is_symlink():
            if _leads_to_folder(child):
                self._leave_out(path, "a link to a folder")
            else:
                self.entries.append(Entry(path, 0, None, partial(refuse, LINK), shown))
        elif child.is_file(follow_symlinks=False):
            try:
                told = child.stat(follow_symlinks=False)
            except OSError as error:
                reason = f"The file can't be read: {error.strerror}."
                self.entries.append(Entry(path, 0, None, partial(refuse, reason), shown))
                return
            reader = partial(read_file, child.path)
            self.entries.append(Entry(path, told.st_size, told.st_mtime, reader, shown))
        else:
            self.entries.append(Entry(path, 0, None, partial(refuse, NO_FILE), shown))

    def _leave_out(self, path: str, reason: str) -> None:
        self.left_out.append(LeftOut(f"{self._shown}{path}", reason))


def _leads_to_folder(child: os.DirEntry[str]) -> bool:
    try:
        return child.is_dir()
    except OSError:
        return False


def parents(path: str) -> Iterable[str]:
    """The folders that a path lies in, the innermost first; not the root."""
    while path := path.rpartition("/")[0]:
        yield path
