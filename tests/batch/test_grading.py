"""A run that is repeated, changed, interrupted or killed ends in the same gradebook."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from classes import by_id, submissions_in, write_class
from support.small import RIGHT, WRONG, small_pack

from grader.batch.grading import Run, grade_class
from grader.errors import GraderError
from grader.exercise.pack import Pack

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"ann": RIGHT, "bob": WRONG, "cem": "def row_scale(x, w, factor): return None\n"}


def run(pack: Pack, folder: Path, out: Path, **options: Any) -> Run:
    return grade_class(pack, submissions_in(folder), out, workers=1, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_class(tmp_path / "class", SOURCES)
    return tmp_path / "class"


def test_a_run_writes_every_file(pack: Pack, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    first = run(pack, folder, out)
    assert first.graded == 3 and not first.interrupted
    names = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert {n for n in names if not n.startswith("gradebook.sqlite-")} == {
        "gradebook.csv",
        "gradebook.sqlite",
        "index.html",
        "results.jsonl",
        *(f"{who}/{name}.html" for who in ("students", "teacher") for name in SOURCES),
    }
    assert len((out / "results.jsonl").read_text("utf-8").splitlines()) == 3


def test_a_second_run_grades_nothing(pack: Pack, folder: Path, tmp_path: Path) -> None:
    first = run(pack, folder, tmp_path / "out")
    csv = (tmp_path / "out" / "gradebook.csv").read_bytes()
    second = run(pack, folder, tmp_path / "out")
    assert second.graded == 0 and second.results == first.results
    assert (tmp_path / "out" / "gradebook.csv").read_bytes() == csv


def test_only_what_changed_or_is_new_is_graded(pack: Pack, folder: Path, tmp_path: Path) -> None:
    run(pack, folder, tmp_path / "out")
    (folder / "bob.py").write_text(RIGHT)
    (folder / "dan.py").write_text(WRONG)
    (folder / "ann.py").touch()
    seen: list[tuple[int, int]] = []
    again = run(pack, folder, tmp_path / "out", progress=lambda done, total: seen.append((done, total)))
    assert again.graded == 2 and seen == [(2, 4), (3, 4), (4, 4)]
    assert {r.submission.id: r.status for r in again.results} == {
        "ann": "passed",
        "bob": "passed",
        "cem": "failed",
        "dan": "failed",
    }
    fresh = run(pack, folder, tmp_path / "other")
    assert by_id(again.results) == by_id(fresh.results)


def test_another_pack_grades_everything_again(pack: Pack, folder: Path, tmp_path: Path) -> None:
    run(pack, folder, tmp_path / "out")
    other = small_pack(tmp_path / "exercise", change={"ones_row": {"points": 3}})
    again = run(other, folder, tmp_path / "out")
    assert again.graded == 3 and {r.max_score for r in again.results} == {other.max_score}


def test_a_missing_page_is_made_again(pack: Pack, folder: Path, tmp_path: Path) -> None:
    run(pack, folder, tmp_path / "out")
    page = tmp_path / "out" / "students" / "bob.html"
    page.unlink()
    assert run(pack, folder, tmp_path / "out").graded == 1 and page.is_file()


def test_a_fault_of_the_grader_is_graded_again(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.batch.runner import Runner

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "grade", lambda self, submission: self.fault(submission, "no power"))
        first = run(pack, folder, tmp_path / "out")
    assert {r.status for r in first.results} == {"grader_fault"}
    assert {r.score for r in first.results} == {None}
    second = run(pack, folder, tmp_path / "out")
    assert second.graded == 3 and "grader_fault" not in {r.status for r in second.results}


def test_fresh_forgets_what_the_folder_holds(pack: Pack, folder: Path, tmp_path: Path) -> None:
    run(pack, folder, tmp_path / "out")
    (folder / "cem.py").unlink()
    again = run(pack, folder, tmp_path / "out", fresh=True)
    assert again.graded == 2 and [r.submission.id for r in again.results] == ["ann", "bob"]
    assert not (tmp_path / "out" / "students" / "cem.html").exists()


def test_an_interrupt_keeps_what_was_graded(pack: Pack, folder: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    first = run(pack, folder, tmp_path / "out", progress=stop)
    assert first.interrupted and first.graded == 2 and len(first.results) == 2
    assert (tmp_path / "out" / "index.html").is_file()
    second = run(pack, folder, tmp_path / "out")
    assert second.graded == 1 and not second.interrupted and len(second.results) == 3


def test_a_gradebook_of_another_exercise_is_refused(pack: Pack, folder: Path, tmp_path: Path) -> None:
    run(pack, folder, tmp_path / "out")
    other = small_pack(tmp_path / "exercise", "other_rows")
    with pytest.raises(GraderError, match="row_scale, not of other_rows"):
        run(other, folder, tmp_path / "out")


NAMES = [
    "'; DROP TABLE results; --",
    "$(id)",
    "a b\nc",
    "ä̈ö 日本",
    "=1+2",
    "<script>",
    "-rf",
    "con",
    "x" * 200,
]


def test_any_name_of_a_file_is_graded_and_written(pack: Pack, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(RIGHT)
    (folder / os.fsdecode(b"not-utf8-\xff.py")).write_text(RIGHT)
    found = run(pack, folder, tmp_path / "out")
    assert {r.status for r in found.results} == {"passed"} and len(found.results) == len(NAMES) + 1
    pages = sorted(p.stem for p in (tmp_path / "out" / "students").iterdir())
    assert pages == sorted(r.submission.id for r in found.results)
    assert run(pack, folder, tmp_path / "out").graded == 0


HOSTILE_TEXTS = {
    "frames": "def g(): 1 / 0\ng.__code__ = g.__code__.replace(co_name='a\\ud800')\ndef row_scale(*a): g()\n",
    "names": "globals()['row_scal\\ud800'] = 1\n",
    "output": "import sys\nsys.stdout.buffer.write(b'\\xed\\xa0\\x80\\xff\\x00')\n" + RIGHT,
    "message": "def row_scale(*a): raise ValueError('\\ud800 \\x00 \\x1b[2J')\n",
    "attribute": "import numpy as np\nvalue = getattr(np, 'a\\ud800', None)\n" + RIGHT,
    "text": "def row_scale(*a): return '\\udcff'\n",
    "type": "def row_scale(*a): return type('A\\u202e', (), {})()\n",
    "module": "import numpy as np\ndef row_scale(x, w, f):\n    class A: pass\n    A.__module__ = '\\ud800'\n"
    "    return A()\n",
}


def test_no_text_of_a_submission_stops_a_run(pack: Pack, tmp_path: Path) -> None:
    write_class(tmp_path / "class", HOSTILE_TEXTS)
    found = run(pack, tmp_path / "class", tmp_path / "out")
    assert len(found.results) == len(HOSTILE_TEXTS)
    assert "grader_fault" not in {r.status for r in found.results}


HELD_UP = SOURCES | {
    "mid": "def row_scale(x, w, factor):\n    while True: pass\n",
    "zoe": RIGHT,
}


@pytest.fixture(scope="module")
def undisturbed(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    """Records and gradebook of a run in one go."""
    top = tmp_path_factory.mktemp("undisturbed")
    write_class(top / "class", HELD_UP)
    records = by_id(run(pack, top / "class", top / "out").results)
    return records, (top / "out" / "gradebook.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_was_killed_goes_on_to_the_same_gradebook(
    pack: Pack, tmp_path: Path, undisturbed: tuple[dict[str, Any], bytes], workers: int
) -> None:
    folder, out = tmp_path / "class", tmp_path / "out"
    write_class(folder, HELD_UP)
    pack_path = tmp_path / "exercise.pack"
    pack_path.write_bytes(pack.data)
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--out", str(out)]
    command += ["--exercise", str(pack_path), "--workers", str(workers)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    killed = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        # The endless one holds the run up after those before it are done.
        while not (out / "teacher" / "ann.html").is_file() and killed.poll() is None:
            time.sleep(0.01)
    finally:
        killed.kill()
        killed.wait()
    resumed = grade_class(pack, submissions_in(folder), out, workers=workers)
    assert resumed.graded >= 1
    records = by_id(resumed.results)
    for name, record in records.items():
        path = record["submission"].pop("path")
        assert path == str(folder / f"{name}.py")
    expected = undisturbed[0]
    assert records == {
        name: record | {"submission": {k: v for k, v in record["submission"].items() if k != "path"}}
        for name, record in expected.items()
    }
    assert (out / "gradebook.csv").read_bytes() == undisturbed[1]


def test_a_run_that_was_killed_at_its_very_beginning_can_be_repeated(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for name in ("students", "teacher"):
        (out / name).mkdir(parents=True)
    assert run(pack, folder, out).graded == 3
