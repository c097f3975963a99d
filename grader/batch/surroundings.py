"""What running a submission hangs on beside its text and the pack: the grader's code, what is installed."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# The code by which a submission is checked and run. What the judge makes of it is not among it.
CODE = ("policy", "sandbox", "outcomes.py", "positions.py", "batch/runner.py", "batch/stored.py")


def surroundings(packages: Sequence[str], level: str) -> str:
    """The same where running a submission gives the same.

    Args:
        packages: What a submission may import beside the standard library.
        level: How well submissions are confined.
    """
    installed = [f"{name} {_version(name)}" for name in packages]
    told = [code_digest(), platform.python_version(), level, installed]
    return f"sha256:{hashlib.sha256(repr(told).encode()).hexdigest()}"


@functools.cache
def code_digest() -> str:
    """The digest of the grader's own code by which submissions are run."""
    return _digest_of(CODE)


def whole_digest() -> str:
    """The digest of all of the grader's own code, as it is now."""
    return _digest_of(("",))


def _digest_of(names: Sequence[str]) -> str:
    hasher = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            text = file.read_bytes()
            hasher.update(f"{file.relative_to(PACKAGE).as_posix()} {len(text)}\0".encode() + text)
    return hasher.hexdigest()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
