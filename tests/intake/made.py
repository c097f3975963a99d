"""Folders and archives for tests, made from a mapping of paths to bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader.intake.tree import Entry, HandedIn, UnreadableError

GOOD = b"def row_scale(x, w, factor):\n    return x\n"


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Files below a folder; a path that ends with ``/`` is an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    return folder


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return out.getvalue()


def tarred(files: Mapping[str, bytes], packed: str = "") -> bytes:
    """A tar archive, packed by ``gz``, ``bz2``, ``xz`` or not."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{packed}") as archive:
        for path, data in files.items():
            info = tarfile.TarInfo(path.rstrip("/"))
            if path.endswith("/"):
                info.type = tarfile.DIRTYPE
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def handed_in(name: str, data: bytes) -> HandedIn:
    """A file that a student handed in."""
    return HandedIn(name, Entry(name, len(data), None, lambda limit: data[: limit + 1], f"class/{name}"))


def contents(entries: object, limit: int = 1 << 21) -> dict[str, bytes | str]:
    """The bytes of all entries by their paths, or why they can't be read."""
    found: dict[str, bytes | str] = {}
    for entry in entries:  # type: ignore[attr-defined]
        try:
            found[entry.path] = entry.read(limit)
        except UnreadableError as error:
            found[entry.path] = str(error)
    return found
