"""The small exercise's pack, built once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.known import write_stepped
from support.small import build, freeze_exercise, small_pack

from grader.exercise.pack import Pack


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The small exercise's pack."""
    return small_pack(tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="session")
def student_pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The same without the hidden cases."""
    return small_pack(tmp_path_factory.mktemp("student"), student=True)


@pytest.fixture(scope="session")
def stepped_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small exercise built from steps, with known mistakes, an influence map and examples; frozen."""
    root = tmp_path_factory.mktemp("stepped")
    write_stepped(root)
    freeze_exercise(root)
    return root


@pytest.fixture(scope="session")
def stepped(stepped_root: Path) -> Pack:
    """Its pack."""
    return build(stepped_root)
