"""Who of a class has handed in nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from grader.people import LikeAny, Person, words_of
from grader.result import SubmissionInfo


def not_submitted(roster: Sequence[Person], submissions: Iterable[SubmissionInfo]) -> list[Person]:
    """Those of a roster for whom there is no submission, in the roster's order.

    A student is known by the number, the address or the platform's own id; by the name alone only where the
    submission tells no more, and nobody else on the roster has that name. Where somebody who handed in is
    nobody of the roster, all whose name has a word in common are in doubt, and not among them.
    """
    handed = list(submissions)
    numbers: set[str] = set()
    addresses: set[str] = set()
    platform: set[str] = set()
    names: set[str] = set()
    for submission in handed:
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

    doubtful = LikeAny(_strangers(roster, handed, shared))
    return [person for person in roster if not handed_in(person) and not doubtful(person.name)]


def _strangers(
    roster: Sequence[Person], submissions: Iterable[SubmissionInfo], shared: Mapping[str, int]
) -> set[str]:
    """The names of those who handed in and are known by nothing that the roster tells."""
    ids = {person.id for person in roster} - {""}
    addresses = {person.email.casefold() for person in roster} - {""}
    platform = {person.platform_id for person in roster} - {""}
    strangers = set()
    for submission in submissions:
        for person in submission.people or tuple(map(Person, submission.members)):
            known = person.id in ids or person.email.casefold() in addresses
            named = _plain(person.name) in shared and not (person.id or person.email)
            if not known and not named and person.platform_id not in platform:
                strangers.add(person.name)
    return strangers


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
    """A name in whatever order its words were written."""
    return " ".join(sorted(words_of(name))) or name.casefold()
