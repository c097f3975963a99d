"""Blackboard: one flat folder in which every file carries its student's login and the attempt's time.

Facts, from downloads as tools of others read them (there is no public source):

- A file is called ``ASSIGNMENT_USER_attempt_YYYY-MM-DD-HH-MM-SS_FILE``. Assignment, login and file may hold
  blanks, dots and underscores.
- Every attempt has a text ``ASSIGNMENT_USER_attempt_YYYY-MM-DD-HH-MM-SS.txt``. It begins with
  ``Name: First Last (USER)``, then come ``Assignment:``, ``Date Submitted:``, the text that was typed under
  ``Submission Field:``, the student's ``Comments:``, and under ``Files:`` pairs of ``Original filename:`` and
  ``Filename:``. The labels are in the site's language, the order is the same.
- All attempts that the teacher asks for are in the download, each with its own time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import common_start, composed, handed, identity, is_work, left, top
from grader.intake.layouts.online import code_of, with_code
from grader.intake.layouts.times import dashed
from grader.intake.tree import Entry, LeftOut, Tree, UnreadableError
from grader.people import Person

name = "blackboard"
title = "Blackboard"
expected = "files called ASSIGNMENT_USER_attempt_YYYY-MM-DD-HH-MM-SS_FILE"

MAX_BYTES = 1 << 20
_UNKNOWN = "its name is none that Blackboard gives, so that nobody knows whose it is"
_NAME = re.compile(
    r"(?P<start>.+?)_attempt_(?P<time>[0-9]{4}(?:-[0-9]{2}){5})(?:\.txt|_(?P<file>.+))", re.DOTALL
)
_WHO = re.compile(r"[^:\n]{1,60}:[ \t]*(?P<name>.*?)[ \t]*\((?P<user>[^()\n]+)\)[ \t]*")
# One blank is Blackboard's; further ones are the file's own.
_PAIR = re.compile(r"[ \t]+[^:\n]{1,60}:[ \t]?(?P<value>[^\n]*)")
_TYPED = re.compile(
    r"^Submission Field:[ \t]*\n(?P<text>.*?)(?=^(?:Comments|Files):[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class _Text:
    """What the text that comes with an attempt tells."""

    student: str
    user: str
    originals: dict[str, str]
    typed: str


@dataclass
class _Upload:
    """The files of one attempt."""

    start: str
    time: str
    files: list[tuple[str, Entry]]
    page: Entry | None = None
    text: _Text | None = None


def recognizes(tree: Tree) -> float:
    """The share of the names at the top that are Blackboard's."""
    seen = top(tree)
    fits = sum(_parse(entry) is not None for entry in seen.files)
    return fits / (len(seen.files) + len(seen.filled)) if fits else 0.0


def read(tree: Tree) -> Reading:
    """All attempts of all students."""
    seen = top(tree)
    uploads: dict[tuple[str, str], _Upload] = {}
    others: list[LeftOut] = []
    for entry in seen.files:
        found = _parse(entry)
        if not found:
            others += left(
                [entry], "its name is none that Blackboard gives, so that nobody knows whose it is"
            )
            continue
        start, time = composed(found["start"]), found["time"]
        upload = uploads.setdefault((start, time), _Upload(start, time, []))
        if found["file"] is None:
            upload.page = entry
            upload.text = _text(entry)
        else:
            upload.files.append((found["file"], entry))
    for entries in seen.folders.values():
        others += left(entries, "Blackboard's downloads hold no folders, so that nobody knows whose it is")
    assignment, certain = _assignment(uploads.values())
    attempts = [_attempt(uploads[key], assignment) for key in sorted(uploads)]
    problems = _several(uploads.values()) if certain else _problems(uploads.values(), assignment)
    return Reading(tuple(attempts), tuple(others), tuple(problems))


def _parse(entry: Entry) -> re.Match[str] | None:
    found = _NAME.fullmatch(entry.path)
    return found if found and "_" in found["start"] and dashed(found["time"]) else None


def _text(entry: Entry) -> _Text | None:
    """What the text of an attempt tells; None when it is no such text."""
    try:
        text = entry.read(MAX_BYTES).decode("utf-8-sig", "replace")
    except UnreadableError:
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    who = _WHO.fullmatch(next((line for line in lines if line.strip()), ""))
    if not who:
        return None
    originals = {}
    for first, second in pairwise(lines):
        one, other = _PAIR.fullmatch(first), _PAIR.fullmatch(second)
        if one and other and _NAME.fullmatch(other["value"]):
            originals[composed(other["value"])] = one["value"]
    typed = _TYPED.search(text)
    return _Text(composed(who["name"]), composed(who["user"]), originals, typed["text"] if typed else "")


def _assignment(uploads: Iterable[_Upload]) -> tuple[str, bool]:
    """What precedes the login in all names, and whether that is certain.

    It is as most texts tell it, else what all names share. Of one name alone nothing is known; then the login
    is taken to be what follows the last underscore.
    """
    told = Counter(
        upload.start[: -len(upload.text.user) - 1]
        for upload in uploads
        if upload.text and upload.start.endswith(f"_{upload.text.user}")
    )
    if told:
        return told.most_common(1)[0][0], True
    starts = {upload.start for upload in uploads}
    return (common_start(starts).rpartition("_")[0] if len(starts) > 1 else ""), False


def _user(upload: _Upload, assignment: str) -> str:
    if upload.text and upload.start.endswith(f"_{upload.text.user}"):
        return upload.text.user
    if assignment and upload.start.startswith(f"{assignment}_"):
        return upload.start[len(assignment) + 1 :]
    return upload.start.rpartition("_")[2]


def _attempt(upload: _Upload, assignment: str) -> Attempt:
    user = _user(upload, assignment)
    student = (upload.text.student if upload.text else "") or user
    originals = upload.text.originals if upload.text else {}
    work = handed((originals.get(composed(entry.path), name), entry) for name, entry in upload.files)
    note = ""
    if upload.page and upload.text and not any(is_work(file.name) for file in work):
        code = code_of(upload.text.typed)
        if code:
            work, note = with_code(work, upload.page, code)
    time = dashed(upload.time)
    return Attempt(
        key=user,
        name=student,
        identity=identity("" if student == user else student, user),
        people=(Person(student, id=user),),
        files=work,
        order=(time,),
        label=f"{time[:10]} {time[11:]}",
        submitted_at=time,
        notes=(note,) if note else (),
    )


def _several(uploads: Iterable[_Upload]) -> list[str]:
    """A word on files of several assignments: the newest attempt may be one at another."""
    told = {
        upload.start[: -len(upload.text.user) - 1]
        for upload in uploads
        if upload.text and upload.start.endswith(f"_{upload.text.user}")
    }
    if len(told) < 2:
        return []
    names = " and ".join(map(repr, sorted(told)[:3]))
    problem = (
        f"there are files of {len(told):,} assignments, such as {names}; of each student the newest attempt "
        "counts, whichever it is at: name the download of one of them"
    )
    return [problem]


def _problems(uploads: Iterable[_Upload], assignment: str) -> list[str]:
    starts = {upload.start for upload in uploads if "_" in upload.start.removeprefix(f"{assignment}_")}
    unsure = sorted(starts if assignment else {start for start in starts if start.count("_") > 1})
    if not unsure:
        return []
    problem = (
        f"of {len(unsure):,} students the login is not certain, as the texts that come with the attempts are "
        f"missing; the first is {unsure[0]!r}; download all files again"
    )
    return [problem]
