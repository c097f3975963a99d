"""The small exercise, frozen once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small import freeze_exercise, write_exercise

from grader.exercise.frozen import Frozen


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    """What freezing the small exercise finds."""
    root = tmp_path_factory.mktemp("frozen")
    write_exercise(root)
    return freeze_exercise(root)


@pytest.fixture
def root(tmp_path: Path, frozen: Frozen) -> Path:
    """A root of the test's own with the small exercise, frozen."""
    folder = write_exercise(tmp_path)
    (folder / "frozen.json").write_text(frozen.dumps(), "utf-8")
    return tmp_path
