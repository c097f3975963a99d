"""A submission as it was handed in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True)
class Submission:
    """One file of one student.

    Attributes:
        id: Unique in a run; letters, digits, ``.``, ``_`` and ``-``.
        name: For people.
        path: Where it was found, as shown.
        digest: ``sha256:`` and the digest of the file's bytes; empty when it can't be read.
        source: Its text; None when ``problem`` says why there is none.
        problem: Why the file can't be graded, or empty.
        members: Everyone who gets a row for it.
        notes: What the student should know about how the file was read.
    """

    id: str
    name: str
    path: str
    digest: str
    source: str | None
    problem: str = ""
    members: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """The file's own name."""
        return PurePath(self.path).name

    @property
    def module(self) -> str:
        """The name under which the file runs: its stem, made an identifier."""
        stem = "".join(c if f"_{c}".isidentifier() else "_" for c in PurePath(self.path).stem)
        return stem if stem.isidentifier() else f"_{stem}"
