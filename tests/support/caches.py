"""Caches of packs for tests: each its own, but what takes long to make is made once in a run."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from grader.exercise.cached import cached_pack
from grader.exercise.pack import Pack

ROOT = Path(__file__).parents[2]


def new_cache(factory: pytest.TempPathFactory) -> Path:
    """An empty cache, but for the fingerprints of known mistakes: those are kept by their content."""
    cache = factory.mktemp("cache")
    known = _of_all_workers(factory) / "known"
    known.mkdir(exist_ok=True)
    (cache / "known").symlink_to(known, target_is_directory=True)
    return cache


def real_pack(factory: pytest.TempPathFactory, *, student: bool = False) -> Pack:
    """The first exercise's pack, or the student's, built by the first test of any worker that asks."""
    shared = _of_all_workers(factory)
    with (shared / "mlm_forward.lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setenv("GRADER_CACHE", str(shared))
        return cached_pack(ROOT, "mlm_forward", student=student)


def _of_all_workers(factory: pytest.TempPathFactory) -> Path:
    return factory.getbasetemp().parent
