"""The sample report and the README's example are what the grader prints today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample", ROOT / "scripts" / "sample.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_sample_is_what_its_command_makes(sample: ModuleType) -> None:
    text, page = sample.make_sample()
    assert (ROOT / "reports" / "sample" / "check.txt").read_text("utf-8") == text
    assert (ROOT / "reports" / "sample" / "student.html").read_text("utf-8") == page


def test_the_readme_shows_the_sample(sample: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    text = (ROOT / "reports" / "sample" / "check.txt").read_text("utf-8")
    assert sample.with_sample(readme, text) == readme
    assert text in readme
