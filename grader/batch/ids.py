"""The ids of a class's submissions from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.gradebook.journal import Known, place_of
from grader.intake.ids import with_suffix
from grader.intake.submission import Submission


def keep_ids(
    submissions: Sequence[Submission], known: Mapping[str, Known]
) -> tuple[list[Submission], list[str]]:
    """The submissions under the ids that they had before, and what a teacher should know.

    Who was graded before keeps the id, whichever other paths are named this time: a student or group by the
    platform's own id, anything else by where it lies. The id of a file that is not among the submissions any
    more goes to the file that now has its name: a folder was moved, or downloaded anew. Of two whom the
    platform tells apart none gets the other's.
    """
    before = {one.place: name for name, one in known.items()}
    ids = list(_known_ids(submissions, before))
    taken = {name.lower() for name in ids if name is not None}
    lower = {name.lower() for name in known}

    def free(new: str, keyed: bool) -> bool:
        # Pages of two ids that differ in case only are one file on some file systems.
        if new.lower() in taken:
            return False
        return new.lower() not in lower or (new in known and not (keyed and is_key(known[new].place)))

    kept: list[Submission] = []
    warnings: list[str] = []
    for submission, given in zip(submissions, ids, strict=True):
        new = given
        if new is None:
            new, keyed = submission.id, bool(submission.key)
            if not free(new, keyed):
                while not free(new, keyed):
                    new = with_suffix(new, submission.place)
                warnings.append(f"{submission.path} is called {new}, as {submission.id} is another file's")
            elif new in known:
                warnings.append(f"{new} is now {submission.path}; before it was {known[new].place}")
            taken.add(new.lower())
        kept.append(replace(submission, id=new))
    gone = sorted({name for name, one in known.items() if not one.withdrawn} - {s.id for s in kept})
    if gone:
        shown = ", ".join(gone[:5]) + (" …" if len(gone) > 5 else "")
        warnings.append(f"kept from earlier runs though not among the submissions now: {shown}")
    return kept, warnings


def _known_ids(submissions: Sequence[Submission], before: Mapping[str, str]) -> Iterator[str | None]:
    """Of each submission the id that it had; None for a new one."""
    named = {submission.place for submission in submissions}
    for submission in submissions:
        place = place_of(submission.path)
        # A gradebook of before there were keys knows it by where it lies.
        if submission.place not in before and place not in named:
            yield before.get(place)
        else:
            yield before.get(submission.place)


def is_key(place: str) -> bool:
    """Whether a submission is known by what a platform calls it, and not by where it lies."""
    return not Path(place).is_absolute()
