"""The small exercise's pack, built once for all tests of this folder."""

from __future__ import annotations

import pytest
from support.small import small_pack

from grader.exercise.pack import Pack


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The small exercise's pack."""
    return small_pack(tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="session")
def student_pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The same without the hidden cases."""
    return small_pack(tmp_path_factory.mktemp("student"), student=True)
