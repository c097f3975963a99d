"""Built packs are kept, found again without reading YAML, and never trusted when they are damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.known import write_stepped
from support.small import build, forget_reference, freeze_exercise, write_exercise

from grader.errors import GraderError
from grader.exercise import build as building
from grader.exercise.cache import cache_folder, remembered, write_atomically
from grader.exercise.cached import cached_pack

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("packs") / "deep" / "er"
    monkeypatch.setenv("GRADER_CACHE", str(folder))
    return folder


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tells of every pack that is built."""
    built: list[str] = []
    real = building.build_pack

    def spy(source, frozen, *, student=False):  # type: ignore[no-untyped-def]
        built.append(source.name)
        return real(source, frozen, student=student)

    monkeypatch.setattr(building, "build_pack", spy)
    return built


def test_a_pack_is_built_once(root: Path, cache: Path, builds: list[str]) -> None:
    first = cached_pack(root, "row_scale")
    assert first.data == build(root).data
    assert cached_pack(root, "row_scale").id == first.id
    assert builds == ["row_scale"]
    assert [p.name.split("-")[0] for p in cache.iterdir()] == ["row_scale"]


def test_a_second_run_imports_neither_yaml_nor_pydantic(root: Path, cache: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from grader.exercise.cached import cached_pack\n"
        "print(cached_pack(Path(sys.argv[1]), 'row_scale').id)\n"
        "print(sorted(n for n in ('pydantic', 'yaml', 'hypothesis') if n in sys.modules))\n"
    )
    environment = os.environ | {"GRADER_CACHE": str(cache), "PYTHONPATH": str(CHECKOUT)}
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, str(root)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        told.append(done.stdout.splitlines())
    assert told[0] == [told[1][0], "['pydantic', 'yaml']"]
    assert told[1][1] == "[]"


@pytest.mark.parametrize("file", ["cases/row_scale/checks.yaml", "cases/row_scale/policy.yaml"])
def test_a_changed_file_is_built_anew(root: Path, cache: Path, builds: list[str], file: str) -> None:
    before = cached_pack(root, "row_scale")
    path = root / file
    path.write_text(path.read_text().replace("title: ", "title: New "))
    after = cached_pack(root, "row_scale")
    assert len(builds) == 2
    assert after.id != before.id


def test_the_students_pack_is_kept_apart(root: Path, cache: Path) -> None:
    whole, student = cached_pack(root, "row_scale"), cached_pack(root, "row_scale", student=True)
    assert (whole.student, student.student) == (False, True)
    assert cached_pack(root, "row_scale").id == whole.id
    assert cached_pack(root, "row_scale", student=True).id == student.id


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_pack_in_the_cache_is_built_anew(
    root: Path, cache: Path, builds: list[str], damage: bytes
) -> None:
    first = cached_pack(root, "row_scale")
    (kept,) = cache.iterdir()
    kept.write_bytes(first.data[: len(first.data) // 2] if damage is None else damage)
    assert cached_pack(root, "row_scale").data == first.data
    assert kept.read_bytes() == first.data, "and mended"
    assert len(builds) == 2


def test_a_cache_that_can_not_be_written_costs_no_result(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("GRADER_CACHE", str(blocked))
    assert cached_pack(root, "row_scale").exercise.name == "row_scale"
    assert blocked.read_text().startswith("a file")


def test_a_stale_frozen_json_is_told_and_nothing_is_kept(root: Path, cache: Path) -> None:
    write_exercise(root, change={"ones_row": {"seed": 5}})
    with pytest.raises(GraderError, match="is older than the cases or the reference"):
        cached_pack(root, "row_scale")
    assert not cache.exists()


def test_the_cache_folder_is_the_users_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_CACHE", "/some/where")
    assert cache_folder() == Path("/some/where")
    monkeypatch.delenv("GRADER_CACHE")
    assert cache_folder().name == "mlm-grader"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a" / "b.pack"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"three")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["b.pack"], "no scraps are left"


# --- what takes long to make ------------------------------------------------------------------


def test_arrays_are_made_once_for_what_they_are_made_from(cache: Path) -> None:
    made: list[bytes] = []

    def make(key: bytes) -> dict[str, bytes]:
        def arrays() -> dict[str, np.ndarray]:
            made.append(key)
            return {"a.b": np.arange(5, dtype=np.uint8), "c": np.array([1.5])}

        return remembered(key, arrays)

    first = make(b"one")
    assert first == {"a.b": bytes(range(5)), "c": np.array([1.5]).tobytes()}
    assert make(b"one") == make(b"two") == first
    assert made == [b"one", b"two"]
    assert len(list((cache / "known").iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\xff" * 100])
def test_damaged_arrays_are_made_anew(cache: Path, damage: bytes) -> None:
    def make() -> dict[str, np.ndarray]:
        return {"a": np.arange(3.0)}

    right = remembered(b"k", make)
    (kept,) = (cache / "known").iterdir()
    kept.write_bytes(damage)
    assert remembered(b"k", make) == right
    assert kept.read_bytes() != damage, "and mended"


def test_arrays_that_can_not_be_kept_are_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("GRADER_CACHE", str(blocked))
    assert remembered(b"k", lambda: {"a": np.arange(3, dtype=np.uint8)}) == {"a": b"\0\1\2"}


def test_a_fault_in_making_keeps_nothing(cache: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        remembered(b"k", lambda: {"a": np.array(1 // 0)})
    assert not (cache / "known").exists()


def test_new_words_on_a_page_come_into_the_pack(tmp_path: Path, cache: Path) -> None:
    write_stepped(tmp_path)
    freeze_exercise(tmp_path)
    before = cached_pack(tmp_path, "row_scale").known.mistakes[0].page
    path = tmp_path / "reference" / "row_scale" / "misconceptions.py"
    path.write_text(path.read_text().replace("What it does:\n a\n", "What it does:\n new\n"))
    forget_reference(tmp_path)
    with pytest.raises(GraderError, match="is older than the cases or the reference"):
        cached_pack(tmp_path, "row_scale")
    freeze_exercise(tmp_path)
    after = cached_pack(tmp_path, "row_scale").known.mistakes[0].page
    assert (before.what, after.what) == ("a", "new")
