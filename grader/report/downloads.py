"""What of a graded folder can be taken elsewhere: its plain files, and the exports that lie in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from grader.report.exports import EXPORTS
from grader.report.texts import one_line

EXPORTS_FOLDER = "exports"
MAX_FILES = 4
# Feedback for a large course has a file a student; nobody has to wait until more are counted.
MAX_COUNTED = 20_000

_UNITS = ("B", "KB", "MB", "GB")


@dataclass(frozen=True)
class Download:
    """A file that the page links to.

    Attributes:
        href: Relative to the page, quoted.
        name: For people.
        size: In words.
    """

    href: str
    name: str
    size: str


@dataclass
class Format:
    """A format of `grader export`, or whatever else lies beside the formats.

    Attributes:
        command: What writes it, run in the graded folder; empty for what is no format.
        files: The first files of it.
        more: How many there are besides.
        needs: What else has to be said of it; mostly empty.
    """

    title: str
    command: str
    needs: str
    files: list[Download] = field(default_factory=list)
    more: int = 0


def downloads(folder: Path) -> list[Format]:
    """Every format, each with the files that lie in the folder, those that were written before first.

    What can't be read is passed over: the page is made all the same.
    """
    formats = {}
    for one in EXPORTS.values():
        command = f"grader export . --format {one.name}" + (" --template FILE" if one.template else "")
        # Pages of hundreds of students are for the learning platform; the table is for people.
        needs = [f"FILE is the platform’s own {one.template}" if one.template else ""]
        needs += [f'pip install "mlm-grader[{one.extra}]" first' if one.extra else ""]
        formats[one.name] = Format(one.title, command, "; ".join(filter(None, needs)))
    other = Format("Other files", "", "")
    for path, size in _files(folder / EXPORTS_FOLDER):
        of = formats.get(path.parts[0], other) if len(path.parts) > 1 else other
        if len(of.files) < MAX_FILES:
            of.files.append(_download(path, size))
        else:
            of.more += 1
    return sorted([*formats.values(), *([other] if other.files else [])], key=lambda one: not one.files)


def _download(path: PurePosixPath, size: int) -> Download:
    name = one_line("/".join(path.parts[1:]) or path.name, 80)
    parts = [quote(os.fsencode(part), safe="") for part in (EXPORTS_FOLDER, *path.parts)]
    return Download("/".join(parts), name, byte_words(size))


def _files(top: Path) -> Iterator[tuple[PurePosixPath, int]]:
    """Files below a folder, relative to it, in order; without hidden ones, and without following links."""
    count = 0
    for where, folders, names in os.walk(top):
        folders[:] = sorted([name for name in folders if not name.startswith(".")])
        for name in sorted(names):
            path = Path(where, name)
            if name.startswith(".") or path.is_symlink():
                continue
            try:
                size = path.stat().st_size
            except OSError:
                continue
            count += 1
            if count > MAX_COUNTED:
                return
            yield PurePosixPath(path.relative_to(top).as_posix()), size


def byte_words(size: float) -> str:
    """A size for people.

    Example:
        >>> byte_words(17), byte_words(2_400), byte_words(5_250_000)
        ('17 B', '2.4 KB', '5.2 MB')
    """
    unit = 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size /= 1000
        unit += 1
    return f"{size:.1f} {_UNITS[unit]}" if unit and size < 99.95 else f"{size:.0f} {_UNITS[unit]}"
