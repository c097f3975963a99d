"""A submission as it was handed in."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any

from grader.people import Person
from grader.positions import Part


def module_name(filename: str) -> str:
    """A file's stem made an identifier; both Unicode forms of a name give the same, as in an import."""
    stem = unicodedata.normalize("NFKC", PurePath(filename).stem)
    stem = "".join(c if f"_{c}".isidentifier() else "_" for c in stem)
    return stem if stem.isidentifier() else f"_{stem}"


@dataclass(frozen=True)
class Submission:
    """What one student, or one group, handed in, and the text that is run.

    Attributes:
        id: Unique in a run; letters, digits, ``.``, ``_`` and ``-``.
        name: For people.
        path: Where the file with the entry point was found, as shown; ``class.zip/ann/solution.py`` within
            an archive.
        digest: ``sha256:`` and the digest of the bytes of all files that are run; empty when they can't be
            read.
        source: The text; None when ``problem`` or ``fault`` says why there is none. Of a notebook its cells
            joined, of a file with helper modules the file first and then the modules; see ``parts``.
        problem: Why it can't be graded, through the student's doing, or empty.
        members: The names of everyone who gets a row for it.
        notes: What the student should know about how the files were read.
        people: The same as ``members`` with all that is known of each; may be empty.
        file: The file's name as the student called it; empty when it is that of ``path``.
        parts: The parts of the text; none when it is one file.
        key: Who it is in every run: the layout and the platform's id of the student or the group. Empty when
            that is not known; then it is known by where it lies.
        layout: By which layout it was found: ``plain``, ``canvas``, ``moodle``, ``gradescope``,
            ``blackboard``, ``brightspace``, ``classroom`` or ``samples``.
        rule: By which rule this file was chosen, in words.
        submitted_at: When it was handed in, ISO 8601; with an offset from UTC where the platform tells one.
            Empty when it is not told.
        late: What the platform says; None when it says nothing.
        attempts: How often this student handed in; this is the newest.
        feedback: The name of the folder in which the platform takes feedback back; empty for most.
        task: Of a language model's sample the task that it is for.
        fault: Why it can't be graded though the student is not to blame: a package is missing here.
    """

    id: str
    name: str
    path: str
    digest: str
    source: str | None
    problem: str = ""
    members: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    file: str = ""
    parts: tuple[Part, ...] = ()
    key: str = ""
    layout: str = "plain"
    rule: str = ""
    submitted_at: str = ""
    late: bool | None = None
    attempts: int = 1
    feedback: str = ""
    task: str = ""
    fault: str = ""

    @property
    def filename(self) -> str:
        """The file's own name."""
        return self.file or PurePath(self.path).name

    @property
    def module(self) -> str:
        """The name under which the file runs: its stem, made an identifier."""
        return module_name(self.filename)

    @property
    def place(self) -> str:
        """By what it is known from run to run, whatever folder the command was run in; fit for UTF-8."""
        # A link is a place of its own, so it is not resolved.
        text = self.key or os.path.abspath(self.path)  # noqa: PTH100
        return text.encode("utf-8", "backslashreplace").decode()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Submission:
        """A submission from plain data; unknown keys are left out. Raises KeyError or TypeError."""
        known = {f.name for f in fields(Submission)}
        kept = {key: value for key, value in data.items() if key in known}
        return Submission(
            **kept
            | {
                "members": tuple(kept.get("members", ())),
                "notes": tuple(kept.get("notes", ())),
                "people": tuple([Person.from_dict(p) for p in kept.get("people", ())]),
                "parts": tuple([Part.from_dict(p) for p in kept.get("parts", ())]),
            }
        )
