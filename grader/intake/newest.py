"""Of several attempts the one that counts: the newest of each student, and of each member of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from grader.intake.archives import MAX_ARCHIVE
from grader.intake.layouts.levels import identity
from grader.intake.search import MAX_NOTES, Found, Search
from grader.intake.tree import Entry, LeftOut, UnreadableError


def newest_of(search: Search) -> list[tuple[Found, int]]:
    """The newest attempt of everyone and how many there are; the others are told of as left out."""
    groups: defaultdict[str, list[Found]] = defaultdict(list)
    for found in search.found:
        if found.key:
            groups[found.key].append(found)
    newest: list[tuple[Found, int]] = []
    ranked = _Ranked(search)
    for found in search.found:
        if not found.key:
            newest.append((found, 1))
        elif group := groups.pop(found.key, []):
            newest.append(ranked.best(group))
    ranked.tell()
    return _of_members(newest, search)


class _Ranked:
    """The attempts of each student by age, and what is to be said where nothing tells it."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._by_date: list[str] = []
        self._by_place: list[str] = []

    def best(self, group: Sequence[Found]) -> tuple[Found, int]:
        """The newest of one student's attempts, and how many different ones there are."""
        told = [one for one in group if one.attempt.order]
        untold = [one for one in group if not one.attempt.order]
        best = max(enumerate(told), key=_age)[1] if told else untold[-1]
        different = len({one.attempt.order for one in told})
        counts = ""
        if untold:
            kinds = [[best]] if told else []
            for one in untold:
                same = next((kind for kind in kinds if _same_files(kind[0], one)), None)
                if same is None:
                    kinds.append([one])
                else:
                    same.append(one)
            if len(kinds) > 1:
                counts, best = self._guess([kind[-1] for kind in kinds])
            elif not told:
                best = kinds[0][-1]
            different += len(kinds) - bool(told)
        for one in group:
            if one is not best:
                self._leave_out(one, best, counts)
        return best, different

    def _guess(self, rivals: Sequence[Found]) -> tuple[str, Found]:
        """The newest of attempts that differ and of which nothing tells the age, and what decided."""
        dates = [max((f.entry.modified or 0.0 for f in one.attempt.files), default=0.0) for one in rivals]
        at = max(range(len(rivals)), key=lambda n: (dates[n], n))
        certain = dates.count(dates[at]) == 1 and min(dates) > 0
        (self._by_date if certain else self._by_place).append(rivals[at].attempt.name)
        return ("its files were changed last" if certain else "it was named last"), rivals[at]

    def _leave_out(self, one: Found, best: Found, counts: str) -> None:
        who = one.attempt.name + _label(one)
        if one.attempt.order == best.attempt.order and (one.attempt.order or _same_files(one, best)):
            reason = "named twice"
        elif counts:
            reason = f"another attempt of {who}; that of {best.shown}{_label(best)} counts, as {counts}"
        else:
            reason = f"an earlier attempt of {who}; the newest{_label(best)} counts"
        self._search.left_out += _all_files(one, reason)

    def tell(self) -> None:
        """Says of whom it was not told which attempt is the newest."""
        for names, how in (
            (self._by_date, "; the one whose files were changed last counts"),
            (self._by_place, ", nor do the files' dates tell it; the one that was named last counts"),
        ):
            if names:
                self._search.problems.append(
                    f"which of several attempts of {_some(names)} is the newest is not told{how}: name one "
                    "download only to be certain"
                )


def _age(pair: tuple[int, Found]) -> tuple[_Order, int]:
    return _Order(pair[1].attempt.order), pair[0]


def _same_files(one: Found, other: Found) -> bool:
    """Whether two attempts are of the same files."""
    mine, others = one.attempt.files, other.attempt.files
    if [(f.name, f.entry.size) for f in mine] != [(f.name, f.entry.size) for f in others]:
        return False
    return all(_content(a.entry) == _content(b.entry) for a, b in zip(mine, others, strict=True))


def _content(entry: Entry) -> bytes | str:
    try:
        return entry.read(MAX_ARCHIVE)
    except UnreadableError as error:
        return str(error)


def _all_files(found: Found, reason: str) -> list[LeftOut]:
    paths = [file.entry.shown for file in found.attempt.files]
    return [LeftOut(path, reason) for path in paths or [found.shown]]


def _of_members(newest: Sequence[tuple[Found, int]], search: Search) -> list[tuple[Found, int]]:
    """The same, where everyone who handed in with different others keeps only the newest that they are in."""
    # By layout and account: the newest attempt, and how many there are.
    last: dict[tuple[str, str], Found] = {}
    orders: defaultdict[tuple[str, str], set[tuple[float | int | str, ...]]] = defaultdict(set)
    for found in search.found:
        for account in filter(None, found.attempt.accounts):
            orders[found.layout, account].add(found.attempt.order)
    for found, _ in newest:
        for account in filter(None, found.attempt.accounts):
            key = (found.layout, account)
            if key not in last or _Order(last[key].attempt.order) < _Order(found.attempt.order):
                last[key] = found
    result = []
    for found, count in newest:
        attempt = found.attempt
        keys = [(found.layout, account) for account in attempt.accounts]
        stay = [at for at, key in enumerate(keys) if not key[1] or last[key] is found]
        if len(stay) == len(keys):
            result.append((found, max([count, *(len(orders[key]) for key in keys)])))
            continue
        gone = [attempt.people[at].name for at in range(len(keys)) if at not in stay]
        if not stay:
            reason = f"an earlier attempt of {attempt.name}{_label(found)}; all of them handed in again"
            search.left_out += _all_files(found, reason)
            search.replaced.append(found.key)
            continue
        search.notes.append(
            f"{', '.join(gone)} handed in again without the others of {attempt.label or found.shown}; for "
            f"{'each' if len(gone) > 1 else 'this one'} the newest counts, and points by hand stay with the "
            "others"
        )
        people = tuple(attempt.people[at] for at in stay)
        changed = replace(
            attempt,
            name=", ".join(person.name for person in people),
            identity=identity(people[0].name, people[0].id or people[0].platform_id),
            people=people,
            accounts=tuple(attempt.accounts[at] for at in stay),
        )
        most = max([count, *(len(orders[keys[at]]) for at in stay)])
        result.append((replace(found, attempt=changed), most))
    return result


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NOTES])
    return f"{shown} and {len(names) - MAX_NOTES:,} others" if len(names) > MAX_NOTES else shown


class _Order:
    """What sorts attempts, also where a layout gives numbers to one and texts to another."""

    def __init__(self, order: tuple[float | int | str, ...]) -> None:
        self._key = [(isinstance(part, str), part) for part in order]

    def __lt__(self, other: _Order) -> bool:
        return self._key < other._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Order) and self._key == other._key

    __hash__ = None  # type: ignore[assignment]


def _label(found: Found) -> str:
    return f" ({found.attempt.label})" if found.attempt.label else ""
