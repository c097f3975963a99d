"""Built packs, kept until a file that they are made from changes."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from grader.errors import GraderError
from grader.exercise import pack as packs
from grader.exercise.cache import cache_folder, code_digest, digest_of, write_atomically
from grader.exercise.roots import source_files


def cached_pack(root: Path, name: str, *, student: bool = False) -> packs.Pack:
    """The pack of an exercise, built anew only when one of its files has changed.

    Raises:
        GraderError: The exercise is at fault, or ``frozen.json`` is missing or stale.
    """
    key = digest_of(source_files(root, name), root) + code_digest()
    key = hashlib.sha256(key.encode()).hexdigest()[:32]
    path = cache_folder() / f"{name}-{key}{'-student' if student else ''}.pack"
    with contextlib.suppress(OSError, GraderError):
        if path.is_file():
            return packs.load(path)
    # Reading YAML takes several times as long as loading a built pack: imported only when it is needed.
    from grader.exercise.build import build_pack
    from grader.exercise.source import load

    source = load(root / "cases" / name)
    data = build_pack(source, source.require_fresh_frozen(), student=student)
    # A cache that can't be written costs time, not results.
    with contextlib.suppress(OSError):
        write_atomically(path, data)
    return packs.loads(data)
