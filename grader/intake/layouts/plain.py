"""Files and folders that somebody has sorted by hand; it is known by where it lies.

A root that holds ``solution`` or a file called after the entry point, and no folders of other students, is
one student's; so is one whose folders are called as the parts of a project are, such as ``src`` and
``tests``. In any other root every loose file (Python, a notebook, an archive) is a submission, a notebook and
the file of the same name that was exported from it together one; so is every folder below it that holds such
files, with all that lies below that. A folder without is one too when all folders in it that hold such files
are called as such parts are; else it is looked into.
"""

from __future__ import annotations

from collections import defaultdict

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import PYTHON, handed, is_work, left, stem, top, within
from grader.intake.tree import Entry, LeftOut, Tree
from grader.people import Person

name = "plain"
title = "plain files and folders"
expected = ".py or .ipynb files, archives, or folders with them"

SOLUTION = "solution"
# How people call the parts of one project, and hardly a student.
_PARTS = frozenset(
    (
        *(
            "src",
            "source",
            "sources",
            "lib",
            "libs",
            "code",
            "package",
            "app",
            "main",
            "core",
            "model",
            "models",
        ),
        *(
            "module",
            "modules",
            "util",
            "utils",
            "helper",
            "helpers",
            "tool",
            "tools",
            "common",
            "test",
            "tests",
        ),
        *("testing", "unittests", "notebook", "notebooks", "data", "doc", "docs", "script", "scripts", "bin"),
        *("example", "examples", "solution", "solutions", "submission", "config", "configs", "benchmarks"),
    )
)
# Beside a solution these may be those of others.
_NO_STUDENTS = _PARTS - {"solution", "solutions", "submission", "example", "examples"}
_NO_WORK = "is no .py or .ipynb file and no archive"
_PACKAGE = "__init__.py"


def recognizes(tree: Tree) -> float:
    """0: this is what is left when no platform's layout fits."""
    return 0.0


def read(tree: Tree, entry: str = "") -> Reading:
    """All submissions.

    Args:
        tree: The files.
        entry: The name of the function that is asked for.
    """
    seen = top(tree)
    loose = [file for file in seen.files if is_work(file.name)]
    if (_has_solution(loose, entry) and not _students(tree)) or (
        not loose and _is_project_alone(tree, entry)
    ):
        whole = [(file.path, file) for file in tree.entries]
        return Reading((_attempt(".", tree.name, whole),))
    others = left((file for file in seen.files if not is_work(file.name)), _NO_WORK)
    attempts = _loose(loose)
    for folder in seen.folders:
        _folder(folder, list(seen.folders[folder]), tree, entry, attempts, others)
    return Reading(tuple(sorted(attempts, key=lambda attempt: attempt.key)), tuple(others))


def _has_solution(files: list[Entry], entry: str) -> bool:
    wanted = {SOLUTION, entry.lower()} - {""}
    return any(stem(file.name).lower() in wanted and file.name.lower().endswith(PYTHON) for file in files)


def _students(tree: Tree) -> bool:
    """Whether a folder at the top holds work of its own: is no package, no tests and no data."""
    work: defaultdict[str, set[str]] = defaultdict(set)
    for entry in tree.entries:
        folder, slash, rest = entry.path.partition("/")
        if slash and "/" not in rest and is_work(rest):
            work[folder].add(rest)
    return any(
        _PACKAGE not in names and folder.lower() not in _NO_STUDENTS and any(map(_is_python, names))
        for folder, names in work.items()
    )


def _is_python(name: str) -> bool:
    return name.lower().endswith(PYTHON)


def _loose(files: list[Entry]) -> list[Attempt]:
    """Each loose file; a notebook comes with the file that was exported from it."""
    scripts = {file.path[: -len(".py")]: file for file in files if file.path.endswith(".py")}
    notebooks = {file.path[: -len(".ipynb")] for file in files if file.path.endswith(".ipynb")}
    exported = notebooks & scripts.keys()
    attempts = []
    for file in files:
        if file.path.endswith(".py") and file.path[: -len(".py")] in exported:
            continue
        together = [(file.path, file)]
        if file.path.endswith(".ipynb") and (other := scripts.get(file.path[: -len(".ipynb")])):
            together.append((other.path, other))
        attempts.append(_attempt(file.path, stem(file.path), together))
    return attempts


def _folder(
    folder: str,
    entries: list[Entry],
    tree: Tree,
    entry_point: str,
    attempts: list[Attempt],
    others: list[LeftOut],
) -> None:
    """A folder below the root: one submission, or a folder of such folders."""
    waiting = [(folder, entries)]
    while waiting:
        path, below = waiting.pop()
        files = [entry for entry in below if "/" not in entry.path[len(path) + 1 :]]
        if any(is_work(file.name) for file in files) or _is_project(path, below, entry_point):
            attempts.append(_attempt(path, path, within(path, below)))
            continue
        deeper: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in below:
            inner, slash, _ = entry.path[len(path) + 1 :].partition("/")
            if slash:
                deeper[f"{path}/{inner}"].append(entry)
        if any(is_work(entry.name) for entry in below):
            others += left(files, _NO_WORK)
            waiting += deeper.items()
        else:
            shown = f"{tree.shown.rstrip('/')}/{path}" if tree.shown else path
            others.append(LeftOut(shown, "holds no .py or .ipynb file and no archive"))


def _is_project(path: str, below: list[Entry], entry_point: str) -> bool:
    """Whether all folders that lie in a folder and hold work are parts of one project.

    Such names alone must lead to the first folder that holds work itself: of ``code/ann`` and ``code/bob``
    the last are none.
    """
    parts = _PARTS | {entry_point.lower(), path.rpartition("/")[2].lower()}
    start = len(path) + 1 if path else 0
    work = [entry.path[start:].split("/")[:-1] for entry in below if is_work(entry.name)]
    holding = {tuple(folders) for folders in work}

    def conventional(folders: list[str]) -> bool:
        for depth, folder in enumerate(folders, 1):
            if folder.lower() not in parts:
                return False
            if tuple(folders[:depth]) in holding:
                return True
        return False

    # A package named like its project is one beside other parts.
    return any(folders[0].lower() in _PARTS for folders in work) and all(map(conventional, work))


def _is_project_alone(tree: Tree, entry_point: str) -> bool:
    """Whether the folders at the root are parts of one project; of a single one nobody can tell."""
    folders = {entry.path.partition("/")[0] for entry in tree.entries if is_work(entry.name)}
    return len(folders) > 1 and _is_project("", list(tree.entries), entry_point)


def _attempt(key: str, name: str, files: list[tuple[str, Entry]]) -> Attempt:
    return Attempt(
        key=key, name=name, identity=name, people=(Person(name),), files=handed(files), located=True
    )
