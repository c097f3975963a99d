"""Who of a class is which row of a platform's table."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grader.people import Person, alike, words_of
from grader.report.exports.base import Member
from grader.report.texts import one_line
from grader.result import Result

MAX_NAMED = 20


@dataclass(frozen=True)
class Row:
    """A student as the table tells of one.

    Attributes:
        at: The row's number in the table.
        platform: The platform's own id, or empty.
        ids: Student numbers and logins.
        emails: Addresses.
        name: As written; ``Last, First`` too.
    """

    at: int
    platform: str = ""
    ids: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()
    name: str = ""


@dataclass
class Matched:
    """Which record belongs to which row.

    Attributes:
        results: By the row's number.
        missing: Numbers of rows whose student handed in nothing, where the roster says so.
        warnings: Who has no row, or no certain one.
        lost: How many have none.
    """

    results: dict[int, Result] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    lost: int = 0


class Matcher:
    """Finds rows: by the platform's own id first, then number or login, then address, then a unique name.

    A name counts only where one row has it; what fits several rows fits none. Spreadsheets lose the zeros
    that numbers begin with, so numbers that differ in these alone are the same, unless two students of the
    table or of the class have them, or the names have no word in common.

    Args:
        rows: The table's students.
        platform: The layout whose ids the table has, such as ``canvas``.
    """

    def __init__(self, rows: Sequence[Row], platform: str) -> None:
        self._platform = platform
        self._by: dict[str, dict[str, list[int]]] = {
            key: defaultdict(list) for key in ("platform", "id", "email", "name")
        }
        self._numbered = {row.at for row in rows if any(value.strip() for value in row.ids)}
        self._names = {row.at: row.name for row in rows}
        self._zeroless: dict[str, set[int]] = defaultdict(set)
        # What `match` finds out of the class: whether it is known by the same numbers or logins as the table,
        # and which numbers are several students' without their zeros.
        self._same_numbers = False
        self._doubtful: set[str] = set()
        for row in rows:
            self._note("platform", [row.platform], row.at)
            self._note("id", row.ids, row.at)
            # A login is often the address.
            self._note("email", {*row.emails, *(i for i in row.ids if "@" in i)}, row.at)
            self._note("name", _names(row.name), row.at)
            for number in {_without_zeros(value) for value in row.ids} - {""}:
                self._zeroless[number].add(row.at)

    def _note(self, key: str, values: Iterable[str], at: int) -> None:
        for value in {_plain(v) for v in values if v.strip()}:
            self._by[key][value].append(at)

    def find(self, person: Person, layout: str) -> list[int]:
        """Numbers of the rows that fit best; one when it is certain.

        Args:
            person: Who is looked for.
            layout: By which the submission was found: another platform's ids mean somebody else here.
        """
        anonymous = is_anonymous(person, layout)
        own = layout in (self._platform, "plain", "") and not anonymous
        asked = [
            ("platform", [person.platform_id] if own else []),
            ("id", [person.id]),
            ("email", [person.email]),
            ("name", [] if anonymous else _names(person.name)),
        ]
        for key, values in asked:
            found = {at for v in values if v.strip() for at in self._by[key].get(_plain(v), ())}
            if key == "id":
                found = found | self._rivals(person, found) if found else self._by_number(person)
            if key == "name" and person.id.strip() and self._same_numbers:
                # A number that the table has nowhere is no other number's of the same name.
                found -= self._numbered
            if found:
                return sorted(found)
        return []

    def _by_number(self, person: Person) -> set[int]:
        """The row with the person's number but for zeros before it; none where it may be somebody else's."""
        number = _without_zeros(person.id)
        found = self._zeroless.get(number, set())
        if len(found) != 1 or number in self._doubtful:
            return set()
        return {at for at in found if _agree(person, self._names[at])}

    def _rivals(self, person: Person, found: set[int]) -> set[int]:
        """Rows with the name and the number but for zeros, where the row with the number has another name."""
        rows = self._zeroless.get(_without_zeros(person.id), set()) - found
        if not rows or any(_agree(person, self._names[at]) for at in found):
            return set()
        return {at for at in rows if _agree(person, self._names[at])}

    def match(self, members: Iterable[Member], missing: Iterable[Person]) -> Matched:
        """The rows of everyone."""
        matched = Matched()
        members, missing = list(members), list(missing)
        people = [*(member.person for member in members), *missing]
        spelled: dict[str, set[str]] = defaultdict(set)
        for person in people:
            spelled[_without_zeros(person.id)].add(_plain(person.id))
        self._doubtful = {number for number, ids in spelled.items() if len(ids) > 1}
        self._same_numbers = any(
            _plain(p.id) in self._by["id"] or self._by_number(p) for p in people if p.id.strip()
        )
        claims: dict[int, list[Member]] = defaultdict(list)
        nowhere: list[str] = []
        for member in members:
            found = self.find(member.person, member.result.submission.layout)
            if len(found) == 1:
                claims[found[0]].append(member)
                continue
            matched.lost += 1
            if found:
                rows = ", ".join(str(at + 1) for at in found)
                matched.warnings.append(
                    f"{_said(member)} fits several rows ({rows}): fill in the mark by hand"
                )
            else:
                nowhere.append(_said(member))
        for at, claimed in sorted(claims.items()):
            of = {member.result.submission.id for member in claimed}
            if len(of) > 1:
                matched.lost += len(claimed)
                listed = ", ".join(map(_said, claimed))
                matched.warnings.append(
                    f"row {at + 1} fits several submissions ({listed}): fill it in by hand"
                )
                continue
            matched.results[at] = claimed[0].result
            if others := len({member.person for member in claimed}) - 1:
                matched.lost += others
                listed = ", ".join(map(_said, claimed))
                matched.warnings.append(
                    f"row {at + 1} fits several members of a group ({listed}): it gets the mark, and the row "
                    "of the others is to be filled in by hand"
                )
        if nowhere:
            shown = ", ".join(nowhere[:MAX_NAMED])
            more = f" and {len(nowhere) - MAX_NAMED} more" if len(nowhere) > MAX_NAMED else ""
            matched.warnings.append(f"no row was found for {shown}{more}")
        for person in missing:
            found = self.find(person, "plain")
            if len(found) == 1 and found[0] not in claims:
                matched.missing.add(found[0])
        return matched


def is_anonymous(person: Person, layout: str) -> bool:
    """Whether it is a code in place of a student, which says nothing of whose work it is."""
    return person.name.startswith("anon_") or (layout == "canvas" and person.name.startswith("anon "))


def _said(member: Member) -> str:
    return f"{one_line(member.person.name, 80)} ({one_line(member.result.submission.id, 80)})"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def _without_zeros(number: str) -> str:
    """A number without the zeros that it begins with; nothing of what is no number."""
    number = _plain(number)
    return number.lstrip("0") if number.isascii() and number.isdigit() else ""


def _agree(person: Person, name: str) -> bool:
    """Whether a name could be that of a person; it could where one of them tells none."""
    nameless = _plain(person.name) in {_plain(text) for text in (person.id, person.email, person.platform_id)}
    return nameless or not words_of(person.name) or not words_of(name) or alike(person.name, name)


def _names(name: str) -> set[str]:
    """The forms in which a name may be written: both orders, without signs, since platforms drop them."""
    last, comma, first = name.partition(",")
    parts = [first, last] if comma else [name]
    forms = {_letters(" ".join(parts)), _letters(" ".join(reversed(parts)))}
    return {form for form in forms if form}


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", _plain(name))
