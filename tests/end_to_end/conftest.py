from __future__ import annotations

from pathlib import Path

import pytest
from handed_in import HIDDEN_HINT, HIDDEN_ID, HIDDEN_TITLE, HIDDEN_VALUE, LIMITS, SUBMISSIONS
from support.commands import Done, grader
from support.packs import new_cache
from support.small import build, freeze_exercise, write_exercise


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_cache(tmp_path_factory)


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch, _no_cache_of_the_user: None) -> None:
    """One cache for all commands, as a user has it."""
    monkeypatch.setenv("GRADER_CACHE", str(cache))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder with one exercise, its packs, and submissions of every kind."""
    root = tmp_path_factory.mktemp("home")
    hidden = {
        "id": HIDDEN_ID,
        "title": HIDDEN_TITLE,
        "hint": HIDDEN_HINT,
        "clause": "scale",
        "points": 1.5,
        "visibility": "hidden",
        "dims": {"N": 2, "D": 2, "K": 2, "factor": 1},
        "arrays": {"x": {"values": {"constant": HIDDEN_VALUE}}},
    }
    write_exercise(root, exercise={"limits": LIMITS}, more=[hidden])
    freeze_exercise(root)
    (root / "row_scale.pack").write_bytes(build(root).data)
    (root / "student.pack").write_bytes(build(root, student=True).data)
    folder = root / "class"
    folder.mkdir()
    for name, source in SUBMISSIONS.items():
        (folder / f"{name}.py").write_text(source, "utf-8")
    return root


@pytest.fixture(scope="session")
def graded(home: Path, cache: Path) -> tuple[Done, Path]:
    """The whole class graded once, in a folder beside it."""
    command = ["grade", "class", "--out", "reports", "--json", "--workers", "1"]
    return grader(*command, cwd=home, GRADER_CACHE=str(cache)), home / "reports"
