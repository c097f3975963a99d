"""A stored execution counts only where running would give the same."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from classes import write_class
from support.small import RIGHT

from grader.batch import grading, surroundings
from grader.batch.grading import grade_class
from grader.exercise.pack import Pack


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the place of the grader's own code."""
    folder = tmp_path / "code"
    for name in surroundings.CODE:
        path = folder / name if name.endswith(".py") else folder / name / "inner" / "one.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    monkeypatch.setattr(surroundings, "PACKAGE", folder)
    surroundings.code_digest.cache_clear()
    yield folder
    surroundings.code_digest.cache_clear()


def anew(level: str = "full", packages: tuple[str, ...] = ("numpy",)) -> str:
    surroundings.code_digest.cache_clear()
    return surroundings.surroundings(packages, level)


@pytest.mark.parametrize("name", surroundings.CODE)
def test_every_part_of_the_code_that_runs_submissions_counts(name: str, own_code: Path) -> None:
    before = anew()
    assert before == anew()
    path = own_code / name
    (path if path.is_file() else path / "inner" / "one.py").write_text("# changed\n")
    assert anew() != before


def test_other_code_does_not_count(own_code: Path) -> None:
    before = anew()
    (own_code / "judge").mkdir()
    whole = surroundings.whole_digest()
    (own_code / "judge" / "cases.py").write_text("# new\n")
    assert anew() == before
    # On another machine it does.
    assert surroundings.whole_digest() != whole


def test_what_is_installed_and_how_submissions_are_confined_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = anew()
    assert anew("partial") != before and anew(packages=("numpy", "scipy")) != before
    known = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0" if name == "numpy" else known(name))
    assert anew() != before


def test_a_package_that_is_not_installed_is_one_more_state() -> None:
    assert anew(packages=("no_such_package",)) == anew(packages=("no_such_package",))


def test_what_ran_unconfined_does_not_count_where_it_would_be_confined(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_ = write_class(tmp_path / "class", {"ann": RIGHT})
    with monkeypatch.context() as patch:
        patch.setattr(grading, "probe", lambda: ("none", ()))
        assert grade_class(pack, class_, tmp_path / "out", workers=1).ran == 1
        assert grade_class(pack, class_, tmp_path / "out", workers=1).kept == 1
    assert grade_class(pack, class_, tmp_path / "out", workers=1).ran == 1
