"""The small exercise built once for all tests of this folder."""

from __future__ import annotations

import pytest
from support.small import build, write_exercise

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
