"""Files as they were handed over: those of a folder or of an archive, without regard to whose they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
        entries: Its files in the order of their paths; litter, links and other odd things are not among them.
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
