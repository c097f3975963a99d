"""Gradescope: one folder for each submission, and a file that tells whose they are.

Facts, from exports as tools of others read them (there is no public source):

- ``assignment_ID_export/submission_ID/FILES``; a group's work is there once.
- ``submission_metadata.yml`` beside the folders is written by Ruby: its keys are the folders' names, those
  below are symbols (``:submitters:``, ``:created_at:``, ``:status:``, ``:history:``), in some exports plain
  words. Submitters have ``:name:``, ``:sid:`` (text in quotes, or a number, or nothing) and ``:email:``.
- Who is in a group and hands in again, alone or with others, is told of in both submissions.
- ``:created_at:`` has an offset from UTC, mostly ``Z``.
- ``:results:`` holds the whole output of the autograder and may be much longer than all the rest.
- Ruby writes quoted text whose closing quote stands at the start of a line, and a large export may consist of
  several documents with ``...`` between them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import Top, composed, handed, identity, left, shown, top, within
from grader.intake.layouts.times import seconds, zoned
from grader.intake.tree import Entry, LeftOut, Tree, UnreadableError
from grader.people import Person

name = "gradescope"
title = "Gradescope"
expected = "folders called submission_ID beside submission_metadata.yml"

METADATA = "submission_metadata.yml"
MAX_BYTES = 256 << 20
_FOLDER = re.compile(r"submission_([0-9]+)")
_YES = frozenset({"true", "yes", "late", "1"})
_NO = frozenset({"false", "no", "0", "00:00:00", "on time"})


@dataclass(frozen=True)
class _Told:
    """What the metadata tells of one submission."""

    people: tuple[Person, ...]
    time: str
    late: bool | None


def recognizes(tree: Tree) -> float:
    """1 with the metadata beside folders that are called as Gradescope calls them, else 0."""
    seen = top(tree)
    if any(entry.path == METADATA for entry in seen.files):
        return 1.0
    # Without it, as when the teacher has cut the download, the outer folder's name has to be right as well.
    outer = re.fullmatch(r"assignment_[0-9]+_export", tree.name)
    return float(bool(outer) and any(_FOLDER.fullmatch(folder) for folder in seen.folders))


def read(tree: Tree) -> Reading:
    """All submissions, of those without an entry in the metadata too."""
    seen = top(tree)
    known, problems = _metadata(tree, seen)
    attempts: list[Attempt] = []
    others: list[LeftOut] = []
    people = {person for one in known.values() for person in one.people}
    # Two accounts that are told apart by nothing but their names are not one student.
    accounts = Counter(_account(person) for person in people)
    shared = {account for account, count in accounts.items() if count > 1 or not account}
    sids = Counter(person.id for person in people if person.id)
    nameless = []
    for key, entries in _places(seen).items():
        one = known.get(key)
        if one is None and not _FOLDER.fullmatch(key):
            reason = f"it has no entry in {METADATA}, so that nobody knows whose it is"
            others += left((entry for _, entry in entries), reason)
            continue
        if one is None or not one.people:
            nameless.append(key)
        attempts.append(_attempt(key, one, entries, sids, shared))
    if nameless and known:
        problems.append(
            f"{METADATA} doesn't tell who handed in {_some(nameless)}; the folder's name stands for a name"
        )
    missing = sorted(known.keys() - _places(seen).keys())
    for key in missing:
        who = ", ".join(p.name or p.id or p.email for p in known[key].people) or "somebody"
        problems.append(
            f"{METADATA} tells of {key} by {who}, but there is no such folder; download the export again"
        )
    return Reading(tuple(attempts), tuple(others), tuple(problems))


def _places(seen: Top) -> dict[str, list[tuple[str, Entry]]]:
    """The files of each folder, and each loose file, by the key that the metadata has for it."""
    places = {folder: within(folder, entries) for folder, entries in seen.folders.items()}
    for entry in seen.files:
        if entry.path != METADATA:
            places[entry.path] = [(entry.path, entry)]
    return places


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5:,} others" if len(names) > 5 else shown


def _account(person: Person) -> str:
    """What Gradescope knows a student by: the address, in old exports the number only."""
    return person.email.lower() or person.id


def _attempt(
    key: str, one: _Told | None, files: list[tuple[str, Entry]], sids: Counter[str], shared: Set[str]
) -> Attempt:
    found = _FOLDER.fullmatch(key)
    number = found[1] if found else key
    told = one or _Told((), "", None)
    accounts = {_account(person) for person in told.people}
    people = [Person(p.name or p.id or p.email, p.id, p.email, number) for p in told.people]
    first = people[0] if people else Person(key)
    return Attempt(
        key="+".join(sorted(accounts)) if accounts and not accounts & shared else key,
        name=", ".join(person.name for person in people) or key,
        identity=identity(first.name, first.id if sids[first.id] == 1 else number) if people else key,
        people=tuple(people) or (Person(key, platform_id=number),),
        files=handed(files),
        order=(seconds(told.time), number.zfill(20)),
        label=key,
        submitted_at=told.time,
        late=told.late,
        accounts=tuple("" if _account(p) in shared else _account(p) for p in told.people),
    )


def _metadata(tree: Tree, seen: Top) -> tuple[dict[str, _Told], list[str]]:
    """What the metadata tells of each folder, and what is wrong with it."""
    entry = next((entry for entry in seen.files if entry.path == METADATA), None)
    if entry is None:
        missing = f"{tree.shown} holds no {METADATA}, so that names are not known; download the export again"
        return {}, [missing]
    # Most of what is taken in needs no YAML.
    from grader.intake.layouts import ruby_yaml

    try:
        text = entry.read(MAX_BYTES).decode("utf-8-sig", "replace")
        known = dict(_entries(ruby_yaml.documents(text)))
    except UnreadableError as error:
        return {}, [f"{shown(entry)}, which tells who handed in what: {error}"]
    except ruby_yaml.DamagedError as error:
        line = f", line {error.line}" if error.line else ""
        return {}, [f"{shown(entry)}{line}, which tells who handed in what, is damaged: {error}"]
    if not known:
        return {}, [
            f"{shown(entry)} tells of no submission; expected one entry for each folder submission_ID"
        ]
    return known, []


def _entries(documents: Iterable[Any]) -> Iterator[tuple[str, _Told]]:
    """Each submission's key and what is told of it."""
    for document in documents:
        if not isinstance(document, dict):
            continue
        for key, value in document.items():
            if isinstance(value, dict) and "submitters" in value:
                yield composed(key), _one(value)


def _one(value: dict[str, Any]) -> _Told:
    submitters = value["submitters"]
    people = []
    for submitter in submitters if isinstance(submitters, list) else []:
        if isinstance(submitter, dict):
            person = Person(*(_text(submitter.get(field)) for field in ("name", "sid", "email")))
            if person != Person(""):
                people.append(person)
    late = next((_text(value[field]).lower() for field in ("late", "lateness") if field in value), "")
    if not late and _text(value.get("status")).lower() == "late":
        late = "late"
    # Lateness may be a span of time, as in the export of grades.
    said = True if late in _YES or re.search(r"[1-9]", late) else False if late in _NO else None
    return _Told(tuple(people), zoned(_text(value.get("created_at"))), said)


def _text(value: Any) -> str:
    return composed(value.strip()) if isinstance(value, str) else ""
