"""What lies beside a file that is named by itself: the Python files that it may import from its folder."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from grader.intake.modules import MAX_MODULES
from grader.intake.text import MAX_BYTES, decode
from grader.intake.tree import Entry, HandedIn, UnreadableError, read_file

# Names of modules under which files are looked for.
Tops = Collection[str]
_STATEMENT = re.compile(
    r"(?:^|[;:])[ \t]*"
    r"(?:from[ \t]+(?P<whole>[^\W\d]\w*)[\w. \t]*[ \t]import\b|import[ \t]+(?P<several>[^;#\n]+))",
    re.MULTILINE,
)
_FIRST = re.compile(r"[^\W\d]\w*")


def files_beside(path: Path) -> Callable[[str, Tops], tuple[HandedIn, ...]]:
    """Gives the files beside a file that a text may import, and those that they may import.

    Nothing else of the folder is looked at: it may be someone's whole home. So only statements count; a word
    in a string may by chance be the name of a folder. Of a package all files come.
    """
    return partial(_found, path)


def _found(path: Path, text: str, never: Tops) -> tuple[HandedIn, ...]:
    found: dict[str, HandedIn] = {}
    waiting, told = [text], {path.stem}
    while waiting and len(found) <= MAX_MODULES:
        for top in sorted(_imported(waiting.pop()) - told - set(never)):
            told.add(top)
            for file in _named(path.parent, top):
                if file.name not in found:
                    found[file.name] = file
                    waiting.append(_text(file))
    return tuple(found.values())


def _imported(text: str) -> set[str]:
    """The first parts of the names in a text's import statements."""
    joined = unicodedata.normalize("NFKC", text.replace("\\\n", " "))
    tops: set[str] = set()
    for found in _STATEMENT.finditer(joined):
        names = [found["whole"]] if found["whole"] else found["several"].split(",")
        tops |= {first[0] for name in names if (first := _FIRST.match(name.strip()))}
    return tops


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
            if name.endswith(".py"):
                if seen > MAX_MODULES:
                    return
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
