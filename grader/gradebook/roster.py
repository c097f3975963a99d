"""Who of a class has handed in nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from grader.people import Person
from grader.result import SubmissionInfo


def not_submitted(roster: Sequence[Person], submissions: Iterable[SubmissionInfo]) -> list[Person]:
    """Those of a roster for whom there is no submission, in the roster's order.

    A student is known by the number, the address or the platform's own id; by the name alone only where the
    submission tells no more, and nobody else on the roster has that name.
    """
    numbers: set[str] = set()
    addresses: set[str] = set()
    platform: set[str] = set()
    names: set[str] = set()
    for submission in submissions:
        told = {p.name for p in submission.people}
        for person in submission.people:
            numbers.add(person.id)
            addresses.add(person.email.casefold())
            platform.add(person.platform_id)
            if not (person.id or person.email):
                names.add(_plain(person.name))
        names |= {_plain(name) for name in submission.members if name not in told}
    shared = Counter([_plain(person.name) for person in roster])

    def handed_in(person: Person) -> bool:
        return bool(
            (person.id and person.id in numbers)
            or (person.email and person.email.casefold() in addresses)
            or (person.platform_id and person.platform_id in platform)
            or (shared[_plain(person.name)] == 1 and _plain(person.name) in names)
        )

    return [person for person in roster if not handed_in(person)]


def settled(
    roster: Sequence[Person], missing: Iterable[Person], submissions: Iterable[SubmissionInfo]
) -> list[Person]:
    """A roster without those of whom it is in doubt whether they handed in anything.

    Args:
        roster: Everyone in the class.
        missing: Who handed in nothing for certain.
        submissions: All submissions.
    """
    doubtful = set(not_submitted(roster, submissions)) - set(missing)
    return [person for person in roster if person not in doubtful]


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
