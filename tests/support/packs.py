"""mlm_forward's packs, which take long to make: made once for all tests and processes of a run."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from grader.exercise.cached import cached_pack
from grader.exercise.pack import Pack

ROOT = Path(__file__).resolve().parents[2]


def shared_cache(factory: pytest.TempPathFactory) -> Path:
    """The cache folder of all tests that ask for `mlm_forward`, in whichever process they run."""
    return factory.getbasetemp().parent


def new_cache(factory: pytest.TempPathFactory) -> Path:
    """An empty cache folder, but for the fingerprints of known mistakes.

    They take half a minute to make and are kept by the digest of all that they are made from.
    """
    folder = factory.mktemp("cache")
    known = shared_cache(factory) / "known"
    known.mkdir(exist_ok=True)
    (folder / "known").symlink_to(known, target_is_directory=True)
    return folder


def mlm_forward(factory: pytest.TempPathFactory, *, student: bool = False) -> Pack:
    """The pack, or the student's, built by the first who asks; the others wait for it."""
    shared = shared_cache(factory)
    with (shared / "mlm_forward.lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setenv("GRADER_CACHE", os.fspath(shared))
        return cached_pack(ROOT, "mlm_forward", student=student)
