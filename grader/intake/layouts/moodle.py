"""Moodle: one folder for each student and kind of submission.

Facts, from Moodle's own source (``mod/assign/classes/downloader.php`` for what is downloaded,
``mod/assign/feedback/file/importziplib.php`` for what is taken back):

- A folder is called ``Full Name_ID_assignsubmission_file``; releases before 4.1 end it with ``_``. Below it
  lie the student's files with their own folders. ID is the participant's number in this assignment.
- A typed text is ``Full Name_ID_assignsubmission_onlinetext/onlinetext.html``.
- Underscores in names have become blanks before, so that an underscore in what precedes the ID can only
  come from a site that puts ``username_`` first.
- Blind marking gives every student the name "Participant", in the site's language.
- Teams: ``Group name_GROUPID_...``; who is in no group shares ``Default group_...``, which has no number.
- Without folders (a user's preference; always before 3.1): ``Full Name_ID_assignsubmission_file_FILE``.
- Only the newest attempt is in the download, and nothing tells when it came.
- Feedback files are taken back from folders of the same names: a path's first part is split at its
  underscores, of which the second must be the participant's number and the next two the plugin's name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import composed, handed, identity, left, top, within
from grader.intake.layouts.online import with_typed_code
from grader.intake.tree import Entry, LeftOut, Tree
from grader.people import Person

name = "moodle"
title = "Moodle"
expected = "folders called NAME_ID_assignsubmission_file"

_START = r"(?P<who>.+?)(?:_(?P<number>[0-9]+))?_assignsubmission_(?P<plugin>[a-z0-9]+)"
_FOLDER = re.compile(rf"{_START}_?", re.DOTALL)
_FILE = re.compile(rf"{_START}_(?P<file>.+)", re.DOTALL)
_BLIND = "participant"


@dataclass
class _Student:
    """What lies in the folders of one student or team, and how these begin."""

    login: str
    who: str
    number: str
    files: list[tuple[str, Entry]] = field(default_factory=list)
    pages: list[Entry] = field(default_factory=list)
    ending: str = ""
    shared: bool = False


def recognizes(tree: Tree) -> float:
    """The share of the names at the top that are Moodle's."""
    seen = top(tree)
    fits = sum(_FILE.fullmatch(entry.path) is not None for entry in seen.files)
    fits += sum((_FOLDER.fullmatch(name) or _FILE.fullmatch(name)) is not None for name in seen.filled)
    return fits / (len(seen.files) + len(seen.filled)) if fits else 0.0


def read(tree: Tree) -> Reading:
    """All students' files."""
    seen = top(tree)
    students: dict[tuple[str, str], _Student] = {}
    others: list[LeftOut] = []
    for folder, entries in seen.folders.items():
        found = _FOLDER.fullmatch(folder)
        if found:
            student = _student(students, found)
            student.ending = student.ending or ("_" if folder.endswith("_") else "")
            _add(student, found["plugin"], within(folder, entries))
        elif found := _FILE.fullmatch(folder):
            deeper = [(f"{found['file']}/{path}", entry) for path, entry in within(folder, entries)]
            _add(_student(students, found), found["plugin"], deeper)
        else:
            others += left(
                entries, "its folder's name is none that Moodle gives, so that nobody knows whose it is"
            )
    for entry in seen.files:
        found = _FILE.fullmatch(entry.path)
        if found:
            _add(_student(students, found), found["plugin"], [(found["file"], entry)])
        else:
            others += left([entry], "its name is none that Moodle gives, so that nobody knows whose it is")
    names = {student.who for student in students.values()}
    blind = len(students) > 1 and len(names) == 1
    ordered = sorted(students.values(), key=lambda student: (student.number or student.who, student.who))
    problems = _problems(ordered)
    attempts = [_attempt(student, blind=blind) for student in ordered]
    return Reading(tuple(attempts), tuple(others), tuple(problems))


def _student(students: dict[tuple[str, str], _Student], found: re.Match[str]) -> _Student:
    whole = composed(found["who"])
    # Without a number there may be the place of one.
    whole = whole.rstrip("_") or whole
    login, _, who = whole.rpartition("_")
    number = found["number"] or ""
    # A team's number may be a participant's too.
    key = (number, who if number else whole)
    return students.setdefault(key, _Student(login, who, number))


def _problems(students: Iterable[_Student]) -> list[str]:
    """A word on each number that comes with several names; these are kept apart."""
    names: defaultdict[str, list[_Student]] = defaultdict(list)
    for student in students:
        if student.number:
            names[student.number].append(student)
    problems = []
    for number, several in names.items():
        if len(several) > 1:
            shown = " and ".join(repr(student.who) for student in several)
            problems.append(
                f"the number {number} comes with the names {shown}, so that they are taken for different "
                "students or teams; expected one name for each number: are these two downloads in one folder?"
            )
            for student in several:
                student.shared = True
    return problems


def _add(student: _Student, plugin: str, files: list[tuple[str, Entry]]) -> None:
    if plugin == "onlinetext":
        # Pictures in a text come along; the text alone can be code.
        student.pages += [entry for name, entry in files if name.lower().endswith((".html", ".htm"))]
    student.files += files


def _attempt(student: _Student, *, blind: bool) -> Attempt:
    work, note = with_typed_code(handed(student.files), student.pages)
    # Nobody can tell students apart who all have the same name; Moodle itself adds the number.
    nameless = student.number and (blind or student.who.lower() == _BLIND)
    shown = f"{student.who} {student.number}" if nameless else student.who
    folder = f"{student.who}_{student.number}_assignsubmission_file{student.ending}"
    return Attempt(
        key=f"{student.number} {student.who}" if student.shared else student.number or student.who,
        name=shown,
        identity=identity(student.who, student.number or "team"),
        people=(Person(shown, id=student.login, platform_id=student.number),),
        files=work,
        feedback=folder if student.number else "",
        notes=(note,) if note else (),
    )
