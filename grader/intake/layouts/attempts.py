"""What a layout tells of a tree: attempts, each by one student or one group."""

from __future__ import annotations

from dataclasses import dataclass

from grader.intake.tree import HandedIn, LeftOut
from grader.people import Person


@dataclass(frozen=True)
class Attempt:
    """What one student, or one group, handed in at one time.

    Attributes:
        key: The student's or the group's key within the layout: the same for all attempts of one, in every
            download, and different for any two.
        name: For people.
        identity: What the submission's id is made from, such as ``doejane_12345``: unique like the key.
        people: Its members; one for a student alone, the group itself where its members are not told.
        files: Its files, in the order of their names.
        order: What sorts the attempts of one student: the newest is the largest. Empty where nothing tells.
        label: What tells this attempt from others of the same student, in words.
        submitted_at: ISO 8601, or empty; see `grader.intake.submission.Submission`.
        late: What the platform says; None when it says nothing.
        feedback: The name of the folder in which the platform takes feedback back, or empty.
        notes: What the student should know.
        task: Of a language model's sample the task that it is for.
        located: It is known by where it lies, as no platform tells who it is.
        accounts: What the layout knows each of its people by, in their order, where one may hand in with
            different others; empty for who can't be told apart, and altogether where that can't be.
    """

    key: str
    name: str
    identity: str
    people: tuple[Person, ...]
    files: tuple[HandedIn, ...]
    order: tuple[float | int | str, ...] = ()
    label: str = ""
    submitted_at: str = ""
    late: bool | None = None
    feedback: str = ""
    notes: tuple[str, ...] = ()
    task: str = ""
    located: bool = False
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What a layout finds in a tree.

    Attributes:
        attempts: All attempts, the older ones too.
        left_out: Files that belong to no attempt, with the reason.
        problems: What is wrong with the download, in words.
    """

    attempts: tuple[Attempt, ...]
    left_out: tuple[LeftOut, ...] = ()
    problems: tuple[str, ...] = ()
