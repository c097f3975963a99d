"""The attempts in the paths that a user names: files, folders, archives, downloads of learning platforms."""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from grader.intake.archives import (
    HEAD,
    OTHER_FORMATS,
    archive_kind,
    has_archive_ending,
    open_tree,
    tree_within,
)
from grader.intake.asked import Asked
from grader.intake.beside import files_beside
from grader.intake.choose import Beside, choose
from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import each_below, is_work, left, stem, top
from grader.intake.modules import is_test
from grader.intake.samples import Counts, is_samples, opener, read_samples
from grader.intake.tree import (
    NO_LINK,
    READING,
    Entry,
    HandedIn,
    LeftOut,
    Tree,
    UnreadableError,
    read_file,
)
from grader.people import Person

PLAIN = "plain"
SAMPLES = "samples"
# What a spreadsheet writes; only what is named by itself is told by it.
TABLES = frozenset({".csv", ".tsv", ".xlsx", ".xls", ".ods"})
# A file of samples within an archive has to be in memory as a whole.
MAX_SAMPLES_FILE = 1 << 30
MAX_NOTES = 5
# After so many archives or folders beside each other that are no downloads, the others are what students
# handed in, too.
MOST_LOOKED_AT = 20
# The key of an attempt that is all that a folder or an archive holds.
WHOLE = "."


@dataclass(frozen=True)
class Found:
    """An attempt, its layout, the path in which it was found, and what gives the files that lie beside."""

    attempt: Attempt
    layout: str
    shown: str
    beside: Beside | None = None

    @property
    def key(self) -> str:
        """Who it is in every run; empty where only its place tells."""
        return "" if self.attempt.located else f"{self.layout}:{self.attempt.key}"


# A file that is named by itself needs neither the platforms' layouts nor rosters: `grader check` is to begin
# at once.


def _recognize(tree: Tree) -> str:
    """As `grader.intake.layouts.recognition.recognize`."""
    from grader.intake.layouts import recognition

    return recognition.recognize(tree)


def _read(tree: Tree, layout: str, entry: str) -> Reading:
    """As `grader.intake.layouts.recognition.read`."""
    from grader.intake.layouts import recognition

    return recognition.read(tree, layout, entry)


class Search:
    def __init__(self, asked: Asked, layout: str | None, *, single: bool) -> None:
        self._asked = asked
        self._single = single
        self._layout = layout
        self._counts = Counts()
        self.found: list[Found] = []
        self.problems: list[str] = []
        self.left_out: list[LeftOut] = []
        self.notes: list[str] = []
        # The keys of attempts of which everyone handed in again with others.
        self.replaced: list[str] = []

    def add(self, paths: Sequence[Path]) -> None:
        kinds = [self._kind(path) for path in paths]
        archives = kinds.count("archive")
        loose: defaultdict[Path, list[Path]] = defaultdict(list)
        for path, kind in zip(paths, kinds, strict=True):
            if kind == "file":
                loose[path.parent].append(path)
        together = self._of_one_download(loose)
        # In one folder the files' own names tell them apart.
        folders = {os.path.abspath(path.parent) for path in paths}  # noqa: PTH100
        by_folder = len(folders) > 1 or not {*kinds} <= {"file", ""}
        samples: set[str] = set()
        for path, kind in zip(paths, kinds, strict=True):
            if kind in ("folder", "archive"):
                self._tree_at(path, students=kind == "archive" and archives > 1)
            elif kind == "samples":
                # Samples have no names of their own, so that only the file tells that it was read before.
                place = os.path.realpath(path)
                if place in samples:
                    self.left_out.append(LeftOut(str(path), "named twice"))
                else:
                    samples.add(place)
                    self._samples(str(path), opener(path))
            elif kind == "file" and path.parent in together:
                tree = together[path.parent]
                if tree is not None:
                    together[path.parent] = None
                    self._tree(tree, tree.shown)
            elif kind == "file":
                self._file(path, by_folder=by_folder)

    def _kind(self, path: Path) -> str:
        """``folder``, ``archive``, ``samples``, ``file``, or nothing for what is not there, which is told."""
        try:
            if path.is_dir():
                return "folder"
            if not path.exists() and not path.is_symlink():
                self.problems.append(f"{path} does not exist; expected a file or a folder of submissions")
                return ""
        except (OSError, ValueError) as error:
            self.problems.append(f"{path} can't be looked at: {getattr(error, 'strerror', None) or error}")
            return ""
        if path.suffix.lower() in TABLES and path.is_file():
            self.problems.append(f"{path} is a table and no submission; a class list is named with --roster")
            return ""
        if is_samples(path.name) or (self._layout == SAMPLES and not path.name.lower().endswith(".zip")):
            return "samples"
        return "archive" if _is_archive_file(path) else "file"

    def _of_one_download(self, loose: dict[Path, list[Path]]) -> dict[Path, Tree | None]:
        """Files of a platform's download that are named one by one, by their folders."""
        found: dict[Path, Tree | None] = {}
        for folder, paths in loose.items():
            tree = _loose_tree(folder, paths)
            forced = self._layout not in (None, PLAIN)
            if forced or (self._layout is None and len(paths) > 1 and _recognize(tree) != PLAIN):
                found[folder] = tree
        return found

    def _file(self, path: Path, *, by_folder: bool) -> None:
        entry = _named_entry(path)
        base = stem(path.name) if is_work(path.name) else path.stem
        generic = base.lower() in ("solution", self._asked.entry.lower())
        # Several files called solution.py are told apart by their folders.
        parent = Path(os.path.abspath(path.parent)).name if by_folder and generic else ""  # noqa: PTH100
        name = parent or base
        attempt = Attempt(str(path), name, name, (Person(name),), (HandedIn(path.name, entry),), located=True)
        beside = files_beside(path) if self._single else None
        self.found.append(Found(attempt, PLAIN, str(path), beside))

    def _samples(self, shown: str, open_file: Callable[[], BinaryIO]) -> None:
        self._take(read_samples(open_file, shown, self._asked, self._counts), SAMPLES, shown)

    def _take(self, reading: Reading, layout: str, shown: str) -> None:
        self.found += [Found(attempt, layout, shown) for attempt in reading.attempts]
        self.left_out += reading.left_out
        self.problems += reading.problems

    # --- folders and archives

    def _tree_at(self, path: Path, *, students: bool) -> None:
        """A folder or an archive; ``students``: it is one of several archives that were named."""
        try:
            tree = open_tree(path)
        except UnreadableError as error:
            self.problems.append(str(error))
            return
        self.left_out += tree.left_out
        self.problems += tree.problems
        self._tree(tree, str(path), students=students)

    def _tree(self, tree: Tree, shown: str, *, students: bool = False) -> None:
        layout = self._layout or _recognize(tree)
        if self._layout is None and layout == PLAIN and self._several_downloads(tree):
            return
        if layout == SAMPLES or (self._layout is None and layout == PLAIN and _only_samples(tree)):
            self._samples_in(tree)
            return
        reading = _read(tree, layout, self._asked.entry)
        if layout == PLAIN:
            inner = _inner_download(tree, reading) if self._layout is None else None
            if inner is not None:
                self.left_out += reading.left_out
                self._tree_at(inner, students=False)
                return
            files = tuple(HandedIn(entry.path, entry) for entry in tree.entries)
            if (students and _is_one_students(reading)) or (self._single and self._is_own_work(files)):
                whole = Attempt(WHOLE, tree.name, tree.name, (Person(tree.name),), files, located=True)
                reading = replace(reading, attempts=(whole,), left_out=())
        self._take(reading, layout, shown)

    def _is_own_work(self, files: Sequence[HandedIn]) -> bool:
        """Whether these are the files of one: one of them, not in a folder, uses all other Python files."""
        if len(files) < 2:
            return False
        chosen = choose(files, self._asked.names, self._asked.packages)
        if chosen.defining != 1 or chosen.file is None or "/" in chosen.file.name:
            return False
        used = {chosen.file.name, *(part.name for part in chosen.parts)}
        return all(file.name in used or is_test(file.name) for file in files if is_work(file.name))

    def _several_downloads(self, tree: Tree) -> bool:
        """Takes the downloads of platforms of which a folder or an archive consists, where it does."""
        seen = top(tree)
        archives = [entry for entry in seen.files if has_archive_ending(entry.name)]
        work = [entry for entry in seen.files if is_work(entry.name) and entry not in archives]
        downloads: list[tuple[Tree, str, Reading]] = []
        others = 0
        for one in chain(each_below(tree), map(_within, archives)):
            layout = PLAIN if one is None else _recognize(one)
            if one is not None and layout != PLAIN:
                downloads.append((one, layout, _read(one, layout, self._asked.entry)))
                continue
            others += 1
            if others > MOST_LOOKED_AT:
                break
        classes = [one.shown for one, _, reading in downloads if len({a.key for a in reading.attempts}) > 1]
        if others or work:
            packed = {entry.shown for entry in archives}
            self.problems += [
                f"{shown} looks like a platform's download, but is taken for what one student handed in "
                "because of what lies beside it; name it by itself"
                for shown in classes
                if shown in packed
            ]
        if others or work or not classes:
            return False
        rest = (entry for entry in seen.files if entry not in archives)
        self.left_out += left(rest, "is no platform's download, as what lies beside it is")
        for one, layout, reading in downloads:
            self.left_out += one.left_out
            self.problems += one.problems
            self._take(reading, layout, one.shown)
        return True

    def _samples_in(self, tree: Tree) -> None:
        files = [entry for entry in tree.entries if is_samples(entry.name)]
        for entry in files:
            self._samples(entry.shown, partial(_open_entry, entry))
        others = (entry for entry in tree.entries if not is_samples(entry.name))
        self.left_out += left(others, "is no file of samples (.jsonl)")
        if not files:
            self.problems.append(f"{tree.shown} holds no file of samples; expected a .jsonl file")


def _is_archive_file(path: Path) -> bool:
    if path.name.lower().endswith(OTHER_FORMATS):
        return False
    try:
        handle = os.open(path, READING)
        with os.fdopen(handle, "rb") as file:
            return archive_kind(file.read(HEAD) or b"") != ""
    except (OSError, UnreadableError):
        return False


def _named_entry(path: Path) -> Entry:
    try:
        told = path.stat()
        size, modified = told.st_size, told.st_mtime
    except OSError:
        size, modified = 0, None
    # A link that the user names is the user's own choice.
    return Entry(path.name, size, modified, partial(read_file, str(path), follow=True), str(path))


def _within(entry: Entry) -> Tree | None:
    try:
        return tree_within(entry)
    except UnreadableError:
        return None


def _loose_tree(folder: Path, paths: Sequence[Path]) -> Tree:
    entries = {path.name: _named_entry(path) for path in sorted(paths)}
    return Tree(Path(os.path.abspath(folder)).name, str(folder), tuple(entries.values()))  # noqa: PTH100


def _only_samples(tree: Tree) -> bool:
    names = [entry.name for entry in tree.entries]
    return any(map(is_samples, names)) and not any(is_work(n) and not is_samples(n) for n in names)


def _open_entry(entry: Entry) -> BinaryIO:
    """A file of a tree; one of a folder is streamed."""
    try:
        return os.fdopen(os.open(entry.shown, READING | NO_LINK), "rb")
    except OSError:
        return io.BytesIO(entry.read(MAX_SAMPLES_FILE))


def _inner_download(tree: Tree, reading: Reading) -> Path | None:
    """The platform's archive that is all a folder holds."""
    if len(reading.attempts) != 1 or len(reading.attempts[0].files) != 1:
        return None
    entry = reading.attempts[0].files[0].entry
    path = Path(entry.shown)
    if path.is_symlink() or not path.is_file() or not _is_archive_file(path):
        return None
    try:
        return path if _recognize(open_tree(path)) != PLAIN else None
    except UnreadableError:
        return None


def _is_one_students(reading: Reading) -> bool:
    """Whether an archive among several is what one student handed in, and no class of folders."""
    # A file that lies in no folder has its own path as key.
    loose = all(attempt.key in {file.entry.path for file in attempt.files} for attempt in reading.attempts)
    return len(reading.attempts) == 1 or loose
