"""What lies beside a file that is named by itself: the Python files that it may import from its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from grader.intake.modules import MAX_MODULES, mentions
from grader.intake.text import MAX_BYTES, decode
from grader.intake.tree import Entry, HandedIn, UnreadableError, read_file

# Names of modules under which files are looked for.
Tops = Collection[str]


def files_beside(path: Path) -> Callable[[str, Tops], tuple[HandedIn, ...]]:
    """Gives the files beside a file that a text may import, and those that they may import.

    Nothing else of the folder is looked at: it may be someone's whole home. Of a package all files come.
    """
    return partial(_found, path)


def _found(path: Path, text: str, never: Tops) -> tuple[HandedIn, ...]:
    found: dict[str, HandedIn] = {}
    waiting, told = [text], {path.stem}
    while waiting and len(found) <= MAX_MODULES:
        tops, _words = mentions(waiting.pop())
        for top in sorted(tops - told - set(never)):
            told.add(top)
            for file in _named(path.parent, top):
                if file.name not in found:
                    found[file.name] = file
                    waiting.append(_text(file))
    return tuple(found.values())


def _named(folder: Path, top: str) -> Iterator[HandedIn]:
    """The module of a name, and the files of the package of that name."""
    if not top.isidentifier():
        return
    module = folder / f"{top}.py"
    if module.is_file():
        yield _handed_in(module, module.name)
    seen = 0
    for place, folders, names in os.walk(folder / top):
        folders[:] = sorted(name for name in folders if name.isidentifier())
        for name in sorted(names):
            if name.endswith(".py") and seen <= MAX_MODULES:
                seen += 1
                file = Path(place) / name
                yield _handed_in(file, file.relative_to(folder).as_posix())


def _handed_in(path: Path, name: str) -> HandedIn:
    return HandedIn(name, Entry(name, 0, None, partial(read_file, str(path), follow=True), str(path)))


def _text(file: HandedIn) -> str:
    try:
        return decode(file.entry.read(MAX_BYTES)).source or ""
    except UnreadableError:
        return ""
