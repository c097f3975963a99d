"""Which layout a tree is of, and its attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from grader.intake.layouts import (
    blackboard,
    brightspace,
    canvas,
    classroom,
    gradescope,
    moodle,
    plain,
)
from grader.intake.layouts.attempts import Reading
from grader.intake.layouts.levels import ARCHIVES, below, each_below, is_work, left, levels, top
from grader.intake.tree import Entry, Tree

# Names that a folder around a class has and no student.
_WRAPPERS = frozenset({"submission", "submissions"})


class Layout(Protocol):
    """One platform's way to name files.

    Attributes:
        name: As in ``--layout`` and in records.
        title: For people.
        expected: What it looks like, in words.
    """

    name: str
    title: str
    expected: str

    def recognizes(self, tree: Tree) -> float:
        """From 0, for not at all, to 1, when all names at the tree's top are of this layout."""
        ...

    def read(self, tree: Tree) -> Reading:
        """All attempts in a tree whose top is the layout's top."""
        ...


# The more certain come first: they win where two fit equally well.
LAYOUTS: Mapping[str, Layout] = {
    "gradescope": gradescope,
    "moodle": moodle,
    "brightspace": brightspace,
    "blackboard": blackboard,
    "canvas": canvas,
    "classroom": classroom,
    "plain": plain,
}
# A few files that a teacher has put beside a download don't hide what it is.
MOST = 0.5
# After so many folders beside each other that are no downloads, the others are students', too.
MOST_LOOKED_AT = 20


def recognize(tree: Tree) -> str:
    """The name of the layout that most names at the tree's top are of; ``plain`` when none is certain.

    Folders that only wrap it are looked through.
    """
    return _recognized(tree)[0]


def read(tree: Tree, layout: str, entry: str = "") -> Reading:
    """All attempts in a tree.

    Args:
        tree: The files; the layout's top may be wrapped in folders.
        layout: A name of `LAYOUTS`. Raises KeyError for others.
        entry: The name of the function that is asked for; only ``plain`` wants to know.
    """
    chosen = LAYOUTS[layout]
    if chosen is plain:
        inner, outside = _unwrapped(tree)
        reading = plain.read(inner, entry)
        reading = replace(reading, problems=(*reading.problems, *_downloads(inner)))
    else:
        name, inner, outside = _recognized(tree)
        if name != layout:
            # It is forced. Where most attempts are found is its top.
            inner, outside = max(levels(tree), key=lambda level: len(chosen.read(level[0]).attempts))
        reading = chosen.read(inner)
    others = left(outside, f"it lies outside of {inner.name}, which holds what was handed in")
    problems = reading.problems
    if not reading.attempts:
        problems = (*problems, f"{tree.shown} holds no submission; expected {chosen.expected}")
    return replace(reading, left_out=(*reading.left_out, *others), problems=problems)


def _recognized(tree: Tree) -> tuple[str, Tree, tuple[Entry, ...]]:
    for inner, outside in levels(tree):
        share, name = max(
            ((layout.recognizes(inner), name) for name, layout in LAYOUTS.items()), key=lambda pair: pair[0]
        )
        if share > MOST and _outweighs(inner, outside):
            return name, inner, outside
    return "plain", tree, ()


def _outweighs(inner: Tree, outside: tuple[Entry, ...]) -> bool:
    """Whether a folder has more names in it than work lies outside of it, which would be left out."""
    seen = top(inner)
    return sum(is_work(entry.name) for entry in outside) < len(seen.files) + len(seen.filled)


def _downloads(tree: Tree) -> Iterator[str]:
    """A word on each folder of a plain tree that is a platform's download: it is no one student's work."""
    others = 0
    for inner in each_below(tree):
        layout, innermost, _ = _recognized(inner)
        others += layout == "plain"
        if others > MOST_LOOKED_AT:
            return
        if layout != "plain" and len({a.key for a in LAYOUTS[layout].read(innermost).attempts}) > 1:
            yield (
                f"{inner.shown} looks like a download of {LAYOUTS[layout].title}, but is taken for one "
                "student's folder because of what lies beside it; name it by itself"
            )


def _unwrapped(tree: Tree) -> tuple[Tree, tuple[Entry, ...]]:
    """A plain tree without the folder that packing it in an archive, or a download, has put around it."""
    seen = top(tree)
    if len(seen.filled) == 1 and not seen.files:
        (folder,) = seen.filled
        packed = tree.shown.lower().endswith(ARCHIVES) and folder.lower() == tree.name.lower()
        if packed or folder.lower() in _WRAPPERS:
            return below(tree, folder), ()
    return tree, ()
