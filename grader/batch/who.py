"""Submissions by what people call their authors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from grader.errors import GraderError
from grader.exercise.near import did_you_mean
from grader.people import Person

MAX_LISTED = 20


class Author(Protocol):
    """What a submission tells of those who handed it in."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def people(self) -> tuple[Person, ...]: ...


_T = TypeVar("_T", bound=Author)


def find(who: str, submissions: Sequence[_T]) -> _T:
    """The submission of a student.

    Args:
        who: The submission's id; or its name, or the name, number, address or platform's id of one of its
            members, in capital letters or not.
        submissions: The class.

    Raises:
        GraderError: There is none, or there are several.
    """
    for one in submissions:
        if one.id == who:
            return one
    wanted = _plain(who)
    found = [one for one in submissions if wanted and wanted in map(_plain, _names(one))]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(f"{one.id} ({one.name})" for one in found[:MAX_LISTED])
        more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
        raise GraderError(
            f"{who!r} is not one submission but {len(found)}: {shown}{more}; name one by its id"
        )
    raise GraderError(f"no submission is of {who!r}{_hint(who, submissions)}")


def _hint(who: str, submissions: Sequence[Author]) -> str:
    known = sorted({name for one in submissions for name in (one.id, one.name, *one.members) if name})
    hint = did_you_mean(who, known)
    # Without a near one all are listed, which is no help in a large class.
    return hint if "did you mean" in hint or len(known) <= MAX_LISTED else "; grader intake PATH lists all"


def _names(one: Author) -> Iterable[str]:
    yield from (one.id, one.name, *one.members)
    for person in one.people:
        yield from (person.name, person.id, person.email, person.platform_id)


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
