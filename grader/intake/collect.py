"""Submissions from the paths that a user names: files, folders, archives, downloads of learning platforms."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.intake.archives import (
    expand,
    is_archive,
)
from grader.intake.asked import Asked
from grader.intake.choose import Chosen, choose
from grader.intake.ids import submission_id, with_suffix
from grader.intake.layouts.attempts import Attempt
from grader.intake.layouts.levels import is_work
from grader.intake.newest import newest_of
from grader.intake.search import MAX_NOTES, SAMPLES, WHOLE, Found, Search
from grader.intake.submission import Submission
from grader.intake.tree import (
    HandedIn,
    LeftOut,
)
from grader.people import ListFile, Person

if TYPE_CHECKING:
    from grader.intake.roster import Roster

__all__ = ["Asked", "Intake", "collect", "require_some"]


@dataclass(frozen=True)
class Intake:
    """What was found.

    Attributes:
        submissions: In the order of their ids.
        problems: Paths that could not be used and persons who can't be told apart, each with the reason; the
            rest goes on.
        left_out: Files that are not used, with the reason.
        layouts: The layouts that were found, by their names.
        missing: Who of the roster handed in nothing.
        roster: Everyone on the roster; nobody when there is none.
        list_file: The roster's file; None when there is none.
        notes: What the teacher should know and is no fault.
        replaced: By what attempts are known that count no more, as all their authors have newer work with
            others.
        reasons: Why each file of ``left_out`` is, without the file.
    """

    submissions: tuple[Submission, ...]
    problems: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    missing: tuple[Person, ...] = ()
    roster: tuple[Person, ...] = ()
    notes: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    list_file: ListFile | None = None


def collect(
    paths: Sequence[Path],
    asked: Asked,
    *,
    layout: str | None = None,
    roster: Path | ListFile | None = None,
    single: bool = False,
) -> Intake:
    """All submissions in the given paths.

    A file is one submission. A folder or an archive is a download of a learning platform where it looks like
    one, else it is read as `grader.intake.layouts.plain` says; a file of JSON Lines holds a language model's
    samples. Of several attempts of one student the newest counts. Links in a folder are refused.

    Args:
        paths: Files, folders and archives.
        asked: What is asked for.
        layout: The layout of all of them; None to recognize it.
        roster: A CSV file that names everyone in the class, or what it held when it was read.
        single: A path alone is one student's own work: a file with what it imports from its folder, or a
            folder or an archive of which one file defines what is asked for and imports the others.

    Raises:
        GraderError: There is no such layout, or the roster can't be read.
    """
    if layout is not None:
        _require_layout(layout)
    # The roster first: when it can't be read, nothing else is worth the wait.
    list_file = _list_file(roster) if isinstance(roster, Path) else roster
    listed = _listed(list_file) if list_file is not None else None
    search = Search(asked, layout, single=single and len(paths) == 1)
    search.add(paths)
    submissions = _submissions(search, asked)
    missing: tuple[Person, ...] = ()
    if listed is not None:
        submissions, missing = _matched(listed, submissions, search)
    return Intake(
        tuple(sorted(submissions, key=lambda s: s.id)),
        tuple(search.problems),
        tuple(str(left) for left in search.left_out),
        tuple(dict.fromkeys(found.layout for found in search.found)),
        missing,
        listed.people if listed is not None else (),
        tuple(search.notes),
        tuple(search.replaced),
        tuple(left.reason for left in search.left_out),
        list_file,
    )


def _list_file(path: Path) -> ListFile:
    from grader.intake.tables import read_list

    return read_list(path)


def _listed(file: ListFile) -> Roster:
    from grader.intake.roster import read_roster

    return read_roster(file)


def _matched(
    roster: Roster, submissions: list[Submission], search: Search
) -> tuple[list[Submission], tuple[Person, ...]]:
    from grader.intake.roster import match

    matched = match(roster, submissions)
    search.problems += matched.problems
    search.notes += matched.notes
    return list(matched.submissions), matched.missing


def _require_layout(name: str) -> None:
    from grader.intake.layouts.recognition import LAYOUTS

    names = (*LAYOUTS, SAMPLES)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise GraderError(f"there is no layout {name!r}; {hint}known layouts: {', '.join(names)}")


def require_some(intake: Intake) -> None:
    """Raises GraderError when there is nothing to grade."""
    if not intake.submissions:
        raise GraderError("\n".join(intake.problems) or "no submissions were named")


def _submissions(search: Search, asked: Asked) -> list[Submission]:
    """A submission for each student's newest attempt, each with an id that no other has."""
    counts = newest_of(search)
    taken: set[str] = set()
    places: set[str] = set()
    submissions = []
    for found, attempts in counts:
        one, left_out, note = _submission(found, attempts, asked)
        origin = one.key or _place(one.path)
        # A link in a folder is refused by itself and takes nothing from the file that it leads to.
        if not one.key and origin in places:
            search.left_out.append(LeftOut(one.path, "named twice"))
            continue
        places.add(origin)
        search.left_out += left_out
        search.notes += [note] if note else []
        # Whatever the file system's case rules, two ids are two files.
        new = submission_id(found.attempt.identity)
        while new.lower() in taken:
            new = with_suffix(new, origin)
        taken.add(new.lower())
        submissions.append(replace(one, id=new))
    return submissions


def _place(path: str) -> str:
    """A file's own place, by whatever way it was named."""
    return os.path.abspath(path) if os.path.islink(path) else os.path.realpath(path)  # noqa: PTH100, PTH114


def _submission(found: Found, attempts: int, asked: Asked) -> tuple[Submission, list[LeftOut], str]:
    """A submission, what is left out of it, and what the teacher should know of it."""
    attempt = found.attempt
    files, opened = _unpacked(attempt)
    chosen = choose(files, asked.names, asked.packages, found.beside)
    path, file = _shown(found, chosen)
    problem, notes = _told(chosen, opened, files)
    one = Submission(
        id="",
        name=attempt.name,
        path=path,
        digest=chosen.digest,
        source=chosen.source,
        problem=problem,
        members=tuple(person.name for person in attempt.people) or (attempt.name,),
        notes=(*notes, *attempt.notes),
        people=attempt.people,
        file=file,
        parts=chosen.parts,
        key=found.key,
        layout=found.layout,
        rule=chosen.rule,
        submitted_at=attempt.submitted_at,
        late=attempt.late,
        attempts=attempts,
        feedback=attempt.feedback,
        task=attempt.task,
        fault=chosen.fault,
    )
    note = ""
    if attempt.key == WHOLE and attempt.located and chosen.defining > 1:
        note = (
            f"{found.shown} is taken for what one student handed in, though {chosen.defining} of its files "
            f"define {asked.entry}; if it is a class, put each file into a folder of its own"
        )
    return one, [*opened.left_out, *chosen.left_out], note


def _shown(found: Found, chosen: Chosen) -> tuple[str, str]:
    """The path of the chosen file, and its name as the student called it where that is another."""
    files = found.attempt.files
    handed_in = chosen.file or (files[0] if files else None)
    if handed_in is None:
        return found.shown, ""
    path = handed_in.entry.shown
    name = PurePosixPath(handed_in.name).name
    return path, "" if name == PurePosixPath(path).name else name


@dataclass
class _Opened:
    """What was told while a student's archives were opened."""

    problems: list[str]
    left_out: list[LeftOut]
    notes: list[str]


def _unpacked(attempt: Attempt) -> tuple[list[HandedIn], _Opened]:
    """The files of an attempt, those of its archives in their place."""
    opened = _Opened([], [], [])
    handed = [
        replace(file, entry=replace(file.entry, reader=_Once(file.entry.reader))) for file in attempt.files
    ]
    # A file whose name tells nothing is looked into only where there is no other to grade.
    look = not any(is_work(file.name) for file in handed)
    files: list[HandedIn] = []
    for file in handed:
        if not is_archive(file, look=look):
            files.append(file)
            continue
        found = expand(file, "" if len(handed) == 1 else f"{file.name}/")
        files += [
            replace(one, entry=replace(one.entry, reader=_Once(one.entry.reader))) for one in found.files
        ]
        opened.left_out += found.left_out
        opened.notes += [
            f"{left.path.removeprefix(f'{file.entry.shown}/')} in {file.name} was not read: {left.reason}."
            for left in found.left_out
        ]
        problem = found.problem or ("" if found.files else f"{file.name} holds no files.")
        if problem:
            opened.problems.append(problem)
        if problem and not found.files and len(handed) > 1:
            opened.left_out.append(LeftOut(file.entry.shown, problem))
    return files, opened


def _told(chosen: Chosen, opened: _Opened, files: Iterable[HandedIn]) -> tuple[str, tuple[str, ...]]:
    """The problem and the notes of a submission."""
    notes = [*chosen.notes]
    problem = chosen.problem
    if chosen.source is None and not chosen.fault and opened.problems:
        # Why there is nothing to choose from.
        problem = " ".join(opened.problems) if not list(files) else " ".join([*opened.problems, problem])
    else:
        notes += opened.problems
    more = len(opened.notes) - MAX_NOTES
    notes += opened.notes[:MAX_NOTES] + ([f"So were {more} more files."] if more > 0 else [])
    return problem, tuple(notes)


class _Once:
    """A reader that reads once; the files of an archive are long ones to come by."""

    def __init__(self, reader: Callable[[int], bytes]) -> None:
        self._reader = reader
        self._data = b""
        self._limit = -1

    def __call__(self, limit: int) -> bytes:
        complete = 0 <= len(self._data) <= self._limit
        if self._limit < 0 or (limit > self._limit and not complete):
            self._data = self._reader(limit)
            self._limit = limit
        return self._data[: limit + 1]
