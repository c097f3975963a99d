"""Brightspace (D2L): one folder for each attempt.

Facts, from downloads as tools of others read them (there is no public source):

- A folder is called ``USERID-ASSIGNMENTID - Name - Oct 5, 2026 1159 PM``: the time is the site's, without
  the colon that file systems refuse, in the language and order of the site. A name may hold `` - `` itself.
- Older releases, and downloads of single files, have no folders: ``... - Oct 5, 2026 1159 PM - FILE``.
- All attempts of a student are in the download, each with its own time.
- Group work carries the group's name and number; members are not told.
- ``index.html`` at the top lists everything.
- Feedback is taken back in folders of the same names.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import composed, handed, identity, left, top, within
from grader.intake.layouts.times import seconds, spelled
from grader.intake.tree import Entry, LeftOut, Tree
from grader.people import Person

name = "brightspace"
title = "Brightspace"
expected = "folders called USERID-ASSIGNMENTID - NAME - DATE"

_START = re.compile(r"(?P<user>[0-9]+)(?:-[0-9]+)? - ", re.DOTALL)
# What can hardly be anything but a time, though not which: a year, and more numbers.
_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_NUMBERED = re.compile(r"[0-9]+-[0-9]+ - ")
_BETWEEN = " - "
_LIST = "index.html"


@dataclass(frozen=True)
class _Place:
    """What the name of a folder, or of a file without one, tells."""

    user: str
    student: str
    time: str
    written: str
    folder: str
    file: str = ""


def recognizes(tree: Tree) -> float:
    """The share of the names at the top that are Brightspace's, with what looks like a time."""
    seen = top(tree)
    names = [entry.path for entry in seen.files if entry.path != _LIST]
    fits = sum((place := _flat(text)) is not None and place.time != "" for text in names)
    fits += sum((place := _place(text)) is not None and _is_dated(place) for text in seen.filled)
    return fits / (len(names) + len(seen.filled)) if fits else 0.0


def read(tree: Tree) -> Reading:
    """All attempts of all students."""
    seen = top(tree)
    places: dict[str, _Place] = {}
    files: defaultdict[str, list[tuple[str, Entry]]] = defaultdict(list)
    others: list[LeftOut] = []
    for folder, entries in seen.folders.items():
        place = _place(folder)
        if place:
            places[folder] = place
            files[folder] += within(folder, entries)
        else:
            others += left(
                entries, "its folder's name is none that Brightspace gives, so that nobody knows whose it is"
            )
    for entry in seen.files:
        place = _flat(entry.path)
        if place:
            places.setdefault(place.folder, place)
            files[place.folder].append((place.file, entry))
        elif entry.path == _LIST:
            others += left([entry], "Brightspace's list of what was handed in")
        else:
            others += left(
                [entry], "its name is none that Brightspace gives, so that nobody knows whose it is"
            )
    shared = _shared(places.values())
    attempts = [
        _attempt(place, files[folder], shared=place.user in shared)
        for folder, place in sorted(places.items())
    ]
    problems = [
        f"the number {user} comes with the names {' and '.join(map(repr, names))}, so that they are taken "
        "for different students or groups; expected one name for each number"
        for user, names in shared.items()
    ]
    return Reading(tuple(attempts), tuple(others), (*problems, *_problems(places.values())))


def _shared(places: Iterable[_Place]) -> dict[str, list[str]]:
    """The numbers that come with several names, as a group's may be a student's too."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for place in places:
        names[place.user].add(place.student)
    return {user: sorted(some) for user, some in sorted(names.items()) if len(some) > 1}


def _place(folder: str) -> _Place | None:
    found = _START.match(folder)
    parts = folder[found.end() :].split(_BETWEEN) if found else []
    if not found or len(parts) < 2:
        return None
    # The time is last, whatever its language; a name may have several parts.
    *names, written = parts
    return _Place(found["user"], composed(_BETWEEN.join(names)), spelled(written), written, folder)


def _is_dated(place: _Place) -> bool:
    numbers = re.findall("[0-9]+", place.written)
    like = len(numbers) > 2 and _YEAR.search(place.written) and _NUMBERED.match(place.folder)
    return place.time != "" or bool(like)


def _flat(text: str) -> _Place | None:
    """A file without a folder: the first part that is a time ends what the folder would be called."""
    found = _START.match(text)
    parts = text[found.end() :].split(_BETWEEN) if found else []
    for i in range(1, len(parts) - 1):
        if found and (time := spelled(parts[i])):
            file = _BETWEEN.join(parts[i + 1 :])
            student = composed(_BETWEEN.join(parts[:i]))
            return _Place(found["user"], student, time, parts[i], text[: -len(file) - len(_BETWEEN)], file)
    return None


def _attempt(place: _Place, files: list[tuple[str, Entry]], *, shared: bool) -> Attempt:
    changed = max((entry.modified or 0.0 for _, entry in files), default=0.0)
    return Attempt(
        key=f"{place.user} {place.student}" if shared else place.user,
        name=place.student,
        identity=identity(place.student, place.user),
        people=(Person(place.student, platform_id=place.user),),
        files=handed(files),
        order=(seconds(place.time), changed, place.folder),
        label=place.written,
        submitted_at=place.time,
        feedback=place.folder,
    )


def _problems(places: Collection[_Place]) -> list[str]:
    unknown = [place for place in places if not place.time]
    if not unknown:
        return []
    counts = Counter((place.user, place.student) for place in places)
    several = sorted({place.student for place in unknown if counts[place.user, place.student] > 1})
    problem = (
        f"the time of submission of {len(unknown):,} of {len(places):,} attempts is not understood, the "
        f"first is {unknown[0].written!r}; expected a time like 'Oct 5, 2026 1159 PM'"
    )
    if several:
        problem += f"; which attempt is the newest goes by the files' own dates for {', '.join(several)}"
    return [problem]
