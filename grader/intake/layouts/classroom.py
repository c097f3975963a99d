"""GitHub Classroom: one repository for each student or team.

Facts, from GitHub's documentation of ``gh classroom clone student-repos``: a repository is called
``ASSIGNMENT-LOGIN``, the folder around them ``ASSIGNMENT-submissions``; a team's is ``ASSIGNMENT-TEAM``. A
login has letters, digits and single ``-``, which is no sign of where it begins: where the outer folder
doesn't tell, ASSIGNMENT is what all names share up to a ``-``.

Nothing else tells a repository from any other folder once ``.git`` is gone, so that folders are taken for
GitHub's only when the outer folder is called so, or when most of them hold ``.github/`` or another of Git's
own files.
"""

from __future__ import annotations

import re

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import Top, common_start, handed, is_work, left, top, within
from grader.intake.tree import Entry, Tree
from grader.people import Person

name = "classroom"
title = "GitHub Classroom"
expected = "repositories called ASSIGNMENT-LOGIN in a folder ASSIGNMENT-submissions"

_LOGIN = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9])*")
_OUTER = re.compile(r"(?P<assignment>.+)-submissions")
_GIT = re.compile(r"(?:\.github/.*|\.gitignore|\.gitattributes|\.gitmodules|\.gitkeep)", re.DOTALL)


def recognizes(tree: Tree) -> float:
    """The share of the names at the top that begin with the assignment's."""
    seen = top(tree)
    start = _start(tree.name, seen)
    logins = [folder for folder in seen.filled if _login(folder, start)]
    if len(seen.filled) == 1 and not seen.files and _outer(seen.filled[0]):
        # The folder around the repositories, in an archive that may be called like it.
        return 0.0
    if not start or not logins or any(is_work(entry.name) for entry in seen.files):
        return 0.0
    marked = sum(any(_GIT.fullmatch(path) for path, _ in within(f, seen.folders[f])) for f in logins)
    if f"{_outer(tree.name)}-" != start and (2 * marked <= len(logins) or len(logins) < 2):
        return 0.0
    return len(logins) / (len(seen.files) + len(seen.filled))


def read(tree: Tree) -> Reading:
    """All repositories."""
    seen = top(tree)
    start = _start(tree.name, seen)
    attempts = []
    others = left(seen.files, "it lies in no student's repository")
    for folder, entries in seen.folders.items():
        login = _login(folder, start)
        if login:
            attempts.append(_attempt(folder, login, entries))
        else:
            others += left(entries, f"its folder's name is not {start}LOGIN, as repositories are called")
    return Reading(tuple(attempts), tuple(others))


def _outer(name: str) -> str:
    found = _OUTER.fullmatch(name)
    return found["assignment"] if found else ""


def _start(name: str, seen: Top) -> str:
    """What the repositories' names begin with, ``-`` included; empty when they share nothing."""
    outer = f"{_outer(name)}-"
    if outer != "-" and any(_login(folder, outer) for folder in seen.folders):
        return outer
    same = common_start(seen.filled)
    # No assignment's name is empty.
    return same[: same.rfind("-") + 1] if same.rfind("-") > 0 else ""


def _login(folder: str, start: str) -> str:
    login = folder[len(start) :] if start and folder.startswith(start) else ""
    return login if _LOGIN.fullmatch(login) else ""


def _attempt(folder: str, login: str, entries: tuple[Entry, ...]) -> Attempt:
    return Attempt(
        # GitHub takes capitals in logins for the same as small letters.
        key=login.lower(),
        name=login,
        identity=login,
        people=(Person(login, id=login),),
        files=handed(within(folder, entries)),
        label=folder,
    )
