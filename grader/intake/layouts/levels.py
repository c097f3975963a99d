"""A tree looked at from its top: the names that lie there, and what lies below each."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from grader.intake.ids import ascii_letters
from grader.intake.tree import Entry, HandedIn, LeftOut, Tree

MAX_WRAPPING = 4
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".gz", ".bz2", ".xz")
# Windows hides the ending that it knows, so that a file saved in its editor is easily called so.
PYTHON = (".py", ".ipynb", ".py.txt")


@dataclass(frozen=True)
class Top:
    """What lies directly below a tree's root.

    Attributes:
        files: The files that lie in no folder.
        folders: The folders, also empty ones, each with all files below it.
    """

    files: tuple[Entry, ...]
    folders: Mapping[str, tuple[Entry, ...]]

    @property
    def filled(self) -> list[str]:
        """The names of the folders that hold a file."""
        return [name for name, entries in self.folders.items() if entries]


def top(tree: Tree) -> Top:
    """The files and folders at the top of a tree, in the order of their names."""
    files: list[Entry] = []
    folders: dict[str, list[Entry]] = {folder: [] for folder in tree.folders if "/" not in folder}
    for entry in tree.entries:
        folder, slash, _ = entry.path.partition("/")
        if slash:
            folders.setdefault(folder, []).append(entry)
        else:
            files.append(entry)
    ordered = {folder: tuple(folders[folder]) for folder in sorted(folders)}
    return Top(tuple(sorted(files, key=lambda entry: entry.path)), ordered)


def below(tree: Tree, folder: str) -> Tree:
    """A folder at the top of a tree, as a tree of its own."""
    start = f"{folder}/"
    cut = len(start)
    inside = (entry for entry in tree.entries if entry.path.startswith(start))
    return Tree(
        folder,
        f"{tree.shown.rstrip('/')}/{folder}",
        tuple(replace(entry, path=entry.path[cut:], shown=shown(entry)) for entry in inside),
        frozenset(path[cut:] for path in tree.folders if path.startswith(start)),
    )


def each_below(tree: Tree) -> Iterator[Tree]:
    """Each folder at the top of a tree that holds a file, as `below` gives it, in time linear in the tree."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for path in tree.folders:
        folder, slash, rest = path.partition("/")
        if slash:
            folders[folder].append(rest)
    seen = top(tree)
    for folder in seen.filled:
        inside = seen.folders[folder]
        yield Tree(
            folder,
            f"{tree.shown.rstrip('/')}/{folder}",
            tuple(replace(entry, path=path, shown=shown(entry)) for path, entry in within(folder, inside)),
            frozenset(folders[folder]),
        )


def levels(tree: Tree) -> Iterator[tuple[Tree, tuple[Entry, ...]]]:
    """The tree, and the folders that only wrap it, from the outside to the inside.

    A folder wraps when it is the only one that holds files. With each come the files that lie outside of it.
    """
    outside: tuple[Entry, ...] = ()
    yield tree, outside
    for _ in range(MAX_WRAPPING):
        seen = top(tree)
        if len(seen.filled) != 1:
            return
        tree = below(tree, seen.filled[0])
        outside += seen.files
        yield tree, outside


def stem(file: str) -> str:
    """A file's name without the ending by which it is work: ``ann`` of ``ann.py`` and ``ann.tar.gz``."""
    for ending in sorted(PYTHON + ARCHIVES, key=len, reverse=True):
        if file.lower().endswith(ending):
            return file[: -len(ending)] or file
    return file


def is_work(name: str) -> bool:
    """Whether a file could be what a student hands in: Python, a notebook or an archive."""
    return name.lower().endswith(PYTHON + ARCHIVES)


def shown(entry: Entry) -> str:
    """An entry's path for people."""
    return entry.shown or entry.path


def common_start(names: Collection[str]) -> str:
    """What all names begin with; of one name all of it."""
    first, last = min(names, default=""), max(names, default="")
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[:same] if same is not None else first


def left(entries: Iterable[Entry], reason: str) -> list[LeftOut]:
    """The same reason for several files."""
    return [LeftOut(shown(entry), reason) for entry in entries]


def handed(files: Iterable[tuple[str, Entry]]) -> tuple[HandedIn, ...]:
    """Files under the names that the student gave them, in the order of the names.

    A name that comes twice gets a number, so that no file is lost.
    """
    taken: set[str] = set()
    result = []
    for name, entry in sorted(files, key=lambda file: (file[0], file[1].path)):
        stem, dot, ending = name.rpartition(".")
        new, number = name, 2
        while new in taken:
            new = f"{stem} ({number}){dot}{ending}" if stem else f"{name} ({number})"
            number += 1
        taken.add(new)
        result.append(HandedIn(new, entry))
    return tuple(sorted(result, key=lambda file: file.name))


def within(folder: str, entries: Iterable[Entry]) -> list[tuple[str, Entry]]:
    """The files of a folder, each with its path below it."""
    return [(entry.path[len(folder) + 1 :], entry) for entry in entries]


def composed(text: str) -> str:
    """Text in the one of its two Unicode forms in which letters carry their accents."""
    return unicodedata.normalize("NFC", text)


def identity(name: str, number: str) -> str:
    """The text that an id is made from: a name for people to recognize, and a number that is unique.

    What an id can't hold is left out of the name, not of the number: ``Jane-Doe_00123``.
    """
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", ascii_letters(name)).strip("-.")[:60]
    return f"{plain}_{number}" if plain else number
