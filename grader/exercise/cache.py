"""What takes long to make, kept in the user's cache folder by a digest of what it is made from."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import deserialize as parse_tensors
from safetensors.numpy import save as save_tensors

import grader
from grader.exercise import pack as packs


def cache_folder() -> Path:
    """Where built packs are kept: GRADER_CACHE, else the user's cache folder."""
    chosen = os.environ.get("GRADER_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("mlm-grader", appauthor=False)


def digest_of(files: Iterable[Path], base: Path) -> str:
    """A digest of files, of their paths below ``base``, and of the versions that make arrays."""
    hasher = hashlib.sha256(f"{packs.SCHEMA} {grader.__version__} {np.__version__}".encode())
    for path in files:
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            hasher.update(f"\0{path.relative_to(base)}\0{len(data)}\0".encode() + data)
    return hasher.hexdigest()


def code_digest() -> str:
    """A digest of the code that makes arrays and packs: part of what all of them are made from."""
    package = Path(__file__).resolve().parent
    return digest_of(sorted(package.glob("*.py")), package)


def remembered(key: bytes, make: Callable[[], dict[str, NDArray[Any]]]) -> dict[str, bytes]:
    """Arrays that take long to make, by a digest of all that they are made from.

    Args:
        key: Everything that they depend on beside the code in this folder.
        make: Makes them.
    """
    digest = hashlib.sha256(code_digest().encode() + key).hexdigest()[:32]
    path = cache_folder() / "known" / digest
    with contextlib.suppress(OSError, SafetensorError):
        return {name: bytes(t["data"]) for name, t in _parse(path.read_bytes())}
    data = save_tensors({name: np.ascontiguousarray(a) for name, a in make().items()})
    with contextlib.suppress(OSError):
        write_atomically(path, data)
    return {name: bytes(t["data"]) for name, t in _parse(data)}


def _parse(data: bytes) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = parse_tensors(data)  # type: ignore[no-untyped-call]
    return found


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the whole of it or nothing. Raises OSError."""
    # Not needed where the pack is in the cache, and not quick to import.
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
