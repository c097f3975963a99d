"""The small exercise built once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.known import write_stepped
from support.small import build, freeze_exercise, write_exercise

from grader.exercise.frozen import Frozen
from grader.exercise.pack import Pack


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory, frozen: Frozen) -> Pack:
    """The small exercise's pack."""
    root = tmp_path_factory.mktemp("pack")
    folder = write_exercise(root)
    (folder / "frozen.json").write_text(frozen.dumps(), "utf-8")
    return build(root)


@pytest.fixture(scope="session")
def student_pack(tmp_path_factory: pytest.TempPathFactory, frozen: Frozen) -> Pack:
    """The small exercise's pack for students."""
    root = tmp_path_factory.mktemp("student")
    folder = write_exercise(root)
    (folder / "frozen.json").write_text(frozen.dumps(), "utf-8")
    return build(root, student=True)


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
