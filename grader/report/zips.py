"""Members of zip archives that are the same bytes whenever they are written."""

from __future__ import annotations

import zipfile

# The earliest that the format knows.
TIME = (1980, 1, 1, 0, 0, 0)


def add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Add a regular file, compressed, with these rights and without a time of its own."""
    info = zipfile.ZipInfo(name, TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    archive.writestr(info, data)
