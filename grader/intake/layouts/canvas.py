"""Canvas: one flat folder in which every file carries its student's name and number.

Facts, from Canvas' own source (``lib/content_zipper.rb``, the method ``add_submission`` and those below it):

- A file is called ``NAME_USERID_ATTACHMENTID_UPLOADED``, with ``_LATE`` after NAME when it came late. NAME is
  the sortable name ("Last, First") in lower case without anything but letters, digits and ``_``; it never
  holds ``_digits_``, so that the first two numbers between underscores are the ids. But it may end in
  ``_digits``, and a student's file may be called ``2026_x.py``; then only the other files can tell.
- An anonymous assignment gives ``[LATE_]anon_CODE_ATTACHMENTID_UPLOADED``.
- A typed text is ``NAME[_LATE]_USERID_text.html``, a link ``..._link.html``.
- Group work carries the group's name and the id of the member who handed in; members are not told.
- UPLOADED is the file's name as Canvas displays it: of a file that was handed in again under the same name
  it ends in ``-1``, ``-2`` … before the ending.
- Only the files of the newest attempt are in the download, and nothing tells when they came.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import composed, handed, identity, left, top
from grader.intake.layouts.online import with_typed_code
from grader.intake.tree import Entry, LeftOut, Tree
from grader.people import Person

name = "canvas"
title = "Canvas"
expected = "files called NAME_USERID_ATTACHMENTID_FILE, as in submissions.zip"

_REST = r"(?:(?P<attachment>[0-9]+)_(?P<file>.+)|(?P<page>text\.html|link\.html))"
_NAMED = re.compile(rf"(?P<name>[^\n]*?)(?P<late>_LATE)?_(?P<user>[0-9]+)_{_REST}", re.DOTALL)
_ANONYMOUS = re.compile(rf"(?P<late>LATE_)?(?P<name>anon)_(?P<user>[0-9A-Za-z]+)_{_REST}", re.DOTALL)
_AGAIN = re.compile(r"(?P<stem>.+)-[0-9]{1,3}(?P<ending>\.[^.]*|)", re.DOTALL)
_DATE = re.compile(r"20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])")
# A name that ends in a number, as "Doe_2", and is followed by the ids like any other.
_SECOND = re.compile(rf"(?P<name>[^\n]*?_[0-9]+)(?P<late>_LATE)?_(?P<user>[0-9]+)_{_REST}", re.DOTALL)
# Files of a course that are numbered by its teacher, as lab_3_1_ann.py, have small numbers.
SMALLEST_ID = 100
_SHORTEST = 3


@dataclass(frozen=True)
class _File:
    entry: Entry
    user: str
    student: str
    late: bool
    attachment: int
    uploaded: str
    page: bool


def recognizes(tree: Tree) -> float:
    """The share of the names at the top that are Canvas'; 0 when they may as well be a teacher's own."""
    seen = top(tree)
    files = [file for file in _parsed(seen.files) if file]
    if not files or not _certain(files):
        return 0.0
    return len(files) / (len(seen.files) + len(seen.filled))


def read(tree: Tree) -> Reading:
    """All students' files."""
    seen = top(tree)
    groups: defaultdict[tuple[str, str], list[_File]] = defaultdict(list)
    others: list[LeftOut] = []
    for entry, file in zip(seen.files, _parsed(seen.files), strict=True):
        if file:
            groups[file.user, file.student].append(file)
        else:
            others += left([entry], "its name is none that Canvas gives, so that nobody knows whose it is")
    for folder in seen.folders.values():
        others += left(folder, "Canvas' downloads hold no folders, so that nobody knows whose it is")
    names: defaultdict[str, list[str]] = defaultdict(list)
    for user, student in sorted(groups):
        names[user].append(student)
    attempts = [
        attempt
        for user, student in sorted(groups)
        for attempt in _attempts(user, groups[user, student], shared=len(names[user]) > 1)
    ]
    problems = [
        f"the number {user} comes with the names {' and '.join(map(repr, some))}, so that they are taken for "
        "different students; expected one name for each number"
        for user, some in names.items()
        if len(some) > 1
    ]
    return Reading(tuple(attempts), tuple(others), tuple(problems))


def _parsed(entries: Sequence[Entry]) -> list[_File | None]:
    """What each name tells, as it fits those of the others."""
    anonymous = [_ANONYMOUS.fullmatch(entry.path) for entry in entries]
    named = [_NAMED.fullmatch(entry.path) for entry in entries]
    # Whole assignments are anonymous; among others "anon" is a name.
    some_named = any(found and not other for found, other in zip(named, anonymous, strict=True))
    found = [(b or a) if some_named else (a or b) for a, b in zip(anonymous, named, strict=True)]
    # A number that is much too small for an id, in a class of larger ones, may belong to the name.
    small = [n for n, one in enumerate(found) if one is named[n] and one and len(one["user"]) < _SHORTEST]
    if 2 * len(small) < sum(one is not None for one in found):
        unsure = set(small)
        ids = _Ids([one for n, one in enumerate(found) if one and n not in unsure])
        for n in small:
            second = _SECOND.fullmatch(entries[n].path)
            if second and len(second["user"]) >= _SHORTEST and ids.tell(second):
                found[n] = second
    return [_file(entry, one) if one else None for entry, one in zip(entries, found, strict=True)]


class _Ids:
    """The ids in names that can be read in one way only."""

    def __init__(self, certain: Sequence[re.Match[str]]) -> None:
        self._names = {one["user"]: one["name"] for one in certain}
        self._users = sorted(int(user) for user in self._names if user.isdigit())
        self._attachments = sorted(int(one["attachment"]) for one in certain if one["attachment"])

    def tell(self, second: re.Match[str]) -> bool:
        """Whether the number that is a user's or an attachment's id is a user's, and of nobody else.

        It is one where it lies nearer to those of the others than to their attachments, and the number after
        it lies nearer to these. In doubt it is none: work never goes to somebody else.
        """
        user, name = second["user"], second["name"]
        as_attachment = _distance(int(user), self._attachments)
        if self._names.get(user, name) != name or _distance(int(user), self._users) >= as_attachment:
            return False
        return not second["attachment"] or (
            _distance(int(second["attachment"]), self._attachments) <= as_attachment
        )


def _distance(number: int, others: Sequence[int]) -> float:
    """From a number to the nearest of others in their order; infinite where there are none."""
    at = bisect(others, number)
    return min((abs(number - other) for other in others[max(at - 1, 0) : at + 1]), default=math.inf)


def _file(entry: Entry, found: re.Match[str]) -> _File:
    anonymous = found.re is _ANONYMOUS
    return _File(
        entry,
        f"anon_{found['user']}" if anonymous else found["user"],
        f"anon {found['user']}" if anonymous else composed(found["name"]),
        found["late"] is not None,
        int(found["attachment"] or 0),
        found["file"] or found["page"],
        found["page"] is not None,
    )


def _certain(files: list[_File]) -> bool:
    """Whether numbers and names are such as only Canvas gives them."""
    attachments = [file.attachment for file in files if not file.page]
    if len(set(attachments)) < len(attachments) or min(attachments, default=SMALLEST_ID) < SMALLEST_ID:
        return False
    names: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        names[file.user].add(file.student)
    if any(len(some) > 1 for some in names.values()) or all(_DATE.fullmatch(user) for user in names):
        return False
    return all(_plain(file.student) for file in files if not file.user.startswith("anon_"))


def _plain(student: str) -> bool:
    # Some scripts have letters that are written with marks, which are no letters themselves.
    return student == student.lower() and all(
        c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M" for c in student
    )


def _attempts(user: str, files: list[_File], *, shared: bool) -> list[Attempt]:
    """The newest attempt of a student, and for each older upload of one of its files an earlier one."""
    newest: dict[str, _File] = {}
    older: list[tuple[str, _File]] = []
    for name, file in sorted(_originals(files), key=lambda named: _age(named[1])):
        if name in newest:
            older.append((name, newest[name]))
        newest[name] = file
    every = [*([named] for named in older), list(newest.items())]
    return [_attempt(user, named, shared=shared) for named in every]


def _attempt(user: str, named: Sequence[tuple[str, _File]], *, shared: bool) -> Attempt:
    last = max((file for _, file in named), key=_age)
    pages = [file.entry for _, file in named if file.page and file.uploaded == "text.html"]
    work, note = with_typed_code(handed((name, file.entry) for name, file in named), pages)
    anonymous = user.startswith("anon_")
    return Attempt(
        key=f"{user} {last.student}" if shared else user,
        name=last.student or user,
        identity=user if anonymous else identity(last.student, user),
        people=(Person(last.student or user, platform_id=user.removeprefix("anon_")),),
        files=work,
        # Nothing tells when a text was typed.
        order=(last.attachment,) if last.attachment else (),
        label=f"upload {last.attachment}" if last.attachment else "typed text",
        late=last.late,
        notes=(note,) if note else (),
    )


def _age(file: _File) -> tuple[int, str]:
    return file.attachment, file.entry.path


def _originals(files: list[_File]) -> list[tuple[str, _File]]:
    """Each file with the name under which the student uploaded it: without the number of a resubmission.

    Of ``part-1.py`` and ``part-2.py`` without a ``part.py`` the numbers are the student's own.
    """
    bare = {file.entry.path: _bare(file.uploaded) for file in files}
    uses = Counter(bare.values())
    uploaded = {file.uploaded for file in files}
    named = []
    for file in files:
        name = bare[file.entry.path]
        named.append((name if uses[name] == 1 or name in uploaded else file.uploaded, file))
    return named


def _bare(uploaded: str) -> str:
    found = _AGAIN.fullmatch(uploaded)
    return found["stem"] + found["ending"] if found else uploaded
