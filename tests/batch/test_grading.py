"""A run that is repeated, changed, interrupted or killed ends in the same gradebook."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from classes import by_id, submissions_in, write_class
from hypothesis import given
from hypothesis import strategies as st
from support.small import RIGHT, WRONG, small_pack

from grader.batch import grading
from grader.batch.adjusting import adjust
from grader.batch.grading import Run, grade_class
from grader.batch.ids import keep_ids
from grader.batch.runner import Runner
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.journal import Gradebook, Known
from grader.intake.collect import Asked, collect
from grader.intake.ids import with_suffix
from grader.intake.submission import Submission
from grader.people import Person

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
        ".gradebook.lock",
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
    assert second.graded == 0 and second.summaries == first.summaries and second.results == first.results
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


@pytest.mark.parametrize("who", ["students", "teacher"])
def test_a_missing_or_an_empty_page_is_made_from_the_record(
    pack: Pack, folder: Path, tmp_path: Path, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(pack, folder, tmp_path / "out")
    pages = [tmp_path / "out" / who / f"{name}.html" for name in ("ann", "bob")]
    before = [page.read_bytes() for page in pages]
    pages[0].unlink()
    pages[1].write_bytes(b"")
    monkeypatch.setattr(grading, "grade_all", None)
    again = run(pack, folder, tmp_path / "out")
    assert (again.ran, again.rejudged, again.kept) == (0, 0, 3)
    assert [page.read_bytes() for page in pages] == before


def test_a_fault_of_the_grader_is_graded_again(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            Runner,
            "grade_job",
            lambda self, job: ([self.fault(s, "no power") for s in job.submissions], None),
        )
        first = run(pack, folder, tmp_path / "out")
    assert {r.status for r in first.results} == {"grader_fault"}
    assert {r.score for r in first.results} == {None}
    second = run(pack, folder, tmp_path / "out")
    assert second.ran == 3 and "grader_fault" not in {r.status for r in second.results}


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


def grade_paths(pack: Pack, out: Path, *paths: Path) -> Run:
    return grade_class(pack, collect(paths, Asked("row_scale")).submissions, out, workers=1)


def rows(run: Run) -> dict[str, tuple[str, str]]:
    """Of every row the file's folder and its status."""
    return {r.submission.id: (Path(r.submission.path).parts[-3], r.status) for r in run.results}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two groups that both hold an alice: right in a, wrong in b."""
    for top, source in (("a", RIGHT), ("b", WRONG)):
        (tmp_path / top / "alice").mkdir(parents=True)
        (tmp_path / top / "alice" / "solution.py").write_text(source)
    return tmp_path / "a", tmp_path / "b"


def test_two_students_of_one_name_both_get_rows(pack: Pack, two: tuple[Path, Path], tmp_path: Path) -> None:
    both = grade_paths(pack, tmp_path / "out", *two)
    (other,) = set(rows(both)) - {"alice"}
    assert rows(both) == {"alice": ("a", "passed"), other: ("b", "failed")}
    assert re.fullmatch("alice-[0-9a-f]{6}", other) and both.warnings == ()
    assert {p.stem for p in (tmp_path / "out" / "students").iterdir()} == {"alice", other}


@pytest.mark.parametrize("named", [0, 1])
def test_a_run_that_names_one_of_two_takes_no_row_from_the_other(
    pack: Pack, two: tuple[Path, Path], tmp_path: Path, named: int
) -> None:
    both = rows(grade_paths(pack, tmp_path / "out", *two))
    (other,) = set(both) - {"alice"}
    again = grade_paths(pack, tmp_path / "out", two[named])
    assert again.graded == 0 and rows(again) == both
    kept = ("alice", other)[1 - named]
    assert again.warnings == (f"kept from earlier runs though not among the submissions now: {kept}",)
    # What has changed is graded in its own row.
    (two[named] / "alice" / "solution.py").write_text("def row_scale(x, w, factor): return None\n")
    changed = grade_paths(pack, tmp_path / "out", two[named])
    assert changed.graded == 1 and rows(changed)[kept] == both[kept]
    assert rows(changed)[("alice", other)[named]] == ("ab"[named], "failed")


@pytest.mark.parametrize("first", [0, 1])
def test_the_order_in_which_groups_are_named_moves_no_row(
    pack: Pack, two: tuple[Path, Path], tmp_path: Path, first: int
) -> None:
    grade_paths(pack, tmp_path / "out", two[first])
    both = grade_paths(pack, tmp_path / "out", *two)
    assert both.graded == 1 and rows(both)["alice"][0] == "ab"[first]
    (other,) = set(rows(both)) - {"alice"}
    if first == 1:
        path = two[0] / "alice" / "solution.py"
        assert both.warnings == (f"{path} is called {other}, as alice is another file's",)
    again = grade_paths(pack, tmp_path / "out", *reversed(two))
    assert again.graded == 0 and rows(again) == rows(both) and again.warnings == ()


def test_ids_are_kept_when_a_folder_has_moved(pack: Pack, folder: Path, tmp_path: Path) -> None:
    first = run(pack, folder, tmp_path / "out")
    moved = folder.rename(tmp_path / "moved")
    again = run(pack, moved, tmp_path / "out")
    names = sorted(SOURCES)
    assert [r.submission.id for r in again.results] == [r.submission.id for r in first.results] == names
    assert again.warnings == tuple(f"{n} is now {moved / n}.py; before it was {folder / n}.py" for n in names)
    assert {r.submission.path for r in again.results} == {str(moved / f"{n}.py") for n in names}
    third = run(pack, moved, tmp_path / "out")
    assert third.graded == 0 and third.warnings == ()


def test_ids_are_kept_whatever_folder_the_command_is_run_in(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert grade_paths(pack, tmp_path / "out", Path("class")).graded == 3
    monkeypatch.chdir(folder)
    for path in (Path(), Path("../class"), folder):
        again = grade_paths(pack, tmp_path / "out", path)
        assert again.graded == 0 and again.warnings == () and len(again.results) == 3


def test_rows_that_are_no_longer_among_the_submissions_are_kept_and_named(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    first = run(pack, folder, tmp_path / "out")
    (folder / "bob.py").unlink()
    again = run(pack, folder, tmp_path / "out")
    assert again.graded == 0 and again.results == first.results
    assert again.warnings == ("kept from earlier runs though not among the submissions now: bob",)
    assert (tmp_path / "out" / "students" / "bob.html").is_file()


def test_a_student_with_a_file_like_another_ones_gets_a_row(pack: Pack, folder: Path, tmp_path: Path) -> None:
    run(pack, folder, tmp_path / "out")
    (folder / "aaa.py").write_bytes((folder / "ann.py").read_bytes())
    (folder / "zoe.py").write_bytes((folder / "ann.py").read_bytes())
    again = run(pack, folder, tmp_path / "out")
    assert again.graded == 2 and again.warnings == ()
    assert {r.submission.id: r.status for r in again.results} == {
        "aaa": "passed",
        "ann": "passed",
        "bob": "failed",
        "cem": "failed",
        "zoe": "passed",
    }


KNOWN_NAMES = st.dictionaries(
    st.sampled_from(["ann", "ann-0a1b2c", "bob", "Bob-1"]), st.sampled_from("abc"), max_size=4
)
FOUND = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["ann", "ANN", "bob"])), unique=True)


@given(FOUND, KNOWN_NAMES)
def test_no_two_submissions_share_an_id_and_what_is_known_keeps_its_own(
    found: list[tuple[str, str]], before: dict[str, str]
) -> None:
    places = {f"/{top}/{name[:3].lower()}.py": name for name, top in before.items()}
    known = {name: Known("sha256:1", "sha256:p", "passed", place) for place, name in places.items()}
    submissions, taken = [], set()
    for top, name in found:
        path = f"/{top}/{name}.py"
        new = name if name.lower() not in taken else with_suffix(name, path)
        taken.add(new.lower())
        submissions.append(Submission(new, name, path, "sha256:1", RIGHT))
    kept, _ = keep_ids(submissions, known)
    assert [s.path for s in kept] == [s.path for s in submissions]
    assert len({s.id.lower() for s in kept}) == len(kept)
    for one in kept:
        assert one.id == places.get(one.path, one.id)
    # With what is kept from earlier runs neither, except where a file has taken over a row of its name.
    every = {s.id for s in kept} | set(known)
    assert len({name.lower() for name in every}) == len(every)
    assert keep_ids(submissions, known)[0] == kept
    moved = {s.id: Known("sha256:1", "sha256:p", "passed", s.path) for s in kept}
    assert keep_ids(submissions, known | moved)[0] == kept


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("who", ["students", "teacher"])
def test_pages_that_cannot_be_written_cost_no_marks(
    pack: Pack, folder: Path, tmp_path: Path, workers: int, who: str
) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    page = out / who / "bob.html"
    page.unlink()
    page.mkdir()
    (folder / "zoe.py").write_text(RIGHT)
    (folder / "ann.py").write_text(WRONG)
    (folder / "bob.py").write_text(RIGHT.replace("x @ w", "1.0 * (x @ w)"))
    for ran in (3, 0):
        again = grade_class(pack, submissions_in(folder), out, workers=workers)
        assert not again.interrupted and again.ran == ran
        statuses = {r.submission.id: r.status for r in again.results}
        assert statuses == {"ann": "failed", "bob": "passed", "cem": "failed", "zoe": "passed"}
        assert len(again.warnings) == 1
        assert again.warnings[0].startswith("the pages of bob can't be written")
    page.rmdir()
    mended = grade_class(pack, submissions_in(folder), out, workers=workers)
    assert mended.graded == 0 and mended.warnings == () and page.is_file()


# Leaves a mark wherever it is imported with the run's own environment: in the judge, never in a child.
MARKS = """\
import os
if "GRADER_TEST_MARK" in os.environ:
    with open(os.environ["GRADER_TEST_MARK"], "a") as file:
        file.write(__name__ + chr(10))
print("imported as", __name__)
"""
MODULES = (
    *("argparse", "ast", "base64", "ctypes", "dataclasses", "hashlib", "inspect", "json", "logging", "numpy"),
    *("pathlib", "pickle", "random", "rich", "selectors", "signal", "socket", "sqlite3", "string", "struct"),
    *("subprocess", "tempfile", "traceback", "typing", "yaml"),
)


@pytest.fixture
def shadowing(pack: Pack, tmp_path: Path) -> Path:
    """A class folder whose files are called like modules that the grader imports; the pack lies above it."""
    write_class(tmp_path / "class", dict.fromkeys(MODULES, MARKS + RIGHT))
    (tmp_path / "exercise.pack").write_bytes(pack.data)
    return tmp_path / "class"


def in_folder(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m grader`` with the class folder as the current one."""
    environment = os.environ | {"GRADER_TEST_MARK": str(folder.parent / "mark"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "grader", *arguments, "--exercise", "../exercise.pack", "--json"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_files_called_like_modules_are_graded_and_never_imported_by_the_grader(
    shadowing: Path, tmp_path: Path, workers: str
) -> None:
    done = in_folder(shadowing, "grade", ".", "--out", "../out", "--workers", workers)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert {r["submission"]["id"]: r["status"] for r in records} == dict.fromkeys(MODULES, "passed")
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()
    assert json.loads(done.stdout)["faults"] == []


@pytest.mark.parametrize("name", ["random", "json", "signal"])
def test_a_file_called_like_a_module_is_checked_and_never_imported_by_the_grader(
    shadowing: Path, tmp_path: Path, name: str
) -> None:
    done = in_folder(shadowing, "check", f"{name}.py")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["submission"]["id"], record["status"]) == (name, "passed")
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


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


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_folder_that_is_taken_away_in_the_middle_is_told_and_no_other_is_written(
    pack: Pack, tmp_path: Path, workers: int, how: str
) -> None:
    class_ = write_class(tmp_path / "class", {f"s{n:02}": f"{RIGHT}# {n}\n" for n in range(30)})
    out, moved = tmp_path / "out", tmp_path / "moved"

    def take_away(done: int, total: int) -> None:
        if done == 5:
            if how == "deleted":
                shutil.rmtree(out)
            else:
                out.rename(moved)
            if how == "replaced":
                grade_class(pack, class_[:2], out, workers=1)

    with pytest.raises(GraderError, match=r"gradebook\.sqlite was moved, deleted or replaced by another"):
        grade_class(pack, class_, out, workers=workers, progress=take_away)
    if how != "replaced":
        assert not out.exists()
    else:
        assert len((out / "results.jsonl").read_text("utf-8").splitlines()) == 2
        assert grade_class(pack, class_[:2], out, workers=1).kept == 2
    if how != "deleted":
        with Gradebook(moved, None, reading=True) as book:
            known = len(list(book.newest()))
        again = grade_class(pack, class_, moved, workers=1)
        assert 5 <= known < 30 and (again.ran, again.kept) == (30 - known, known)
        with closing(sqlite3.connect(moved / "gradebook.sqlite")) as db:
            assert db.execute("SELECT count(*), count(DISTINCT submission) FROM results").fetchone() == (
                30,
                30,
            )


def test_nobody_needs_to_listen(pack: Pack, folder: Path, tmp_path: Path) -> None:
    def gone(*given: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    run = grade_class(pack, submissions_in(folder), tmp_path / "out", workers=2, notify=gone, progress=gone)
    assert run.ran == len(SOURCES) and (tmp_path / "out" / "index.html").is_file()


# --- what the teacher should know -----------------------------------------------------------------


def test_where_nothing_tells_the_time_a_deadline_takes_nothing_and_that_is_said(tmp_path: Path) -> None:
    late = {"due": "2026-10-01T23:59Z", "cost": "10 %"}
    pack = small_pack(tmp_path / "root", exercise={"grading": {"late": late}})
    submissions = write_class(tmp_path / "class", SOURCES)
    told = grade_class(pack, submissions, tmp_path / "out", workers=1).warnings
    assert [w for w in told if w.startswith("3 of 3 submissions do not tell when they were handed in")]
    some = [replace(one, late=one.id == "ann") for one in submissions]
    told = grade_class(pack, some, tmp_path / "some", workers=1).warnings
    assert [w for w in told if w.startswith("1 submissions are late by what the platform says")]
    marked = small_pack(tmp_path / "marked", exercise={"grading": {"late": late | {"marked": 1}}})
    assert grade_class(marked, some, tmp_path / "marks", workers=1).warnings == ()
    timed = [replace(one, submitted_at="2026-10-01T12:00Z") for one in submissions]
    assert grade_class(pack, timed, tmp_path / "timed", workers=1).warnings == ()


def waiting(out: Path) -> set[str]:
    with Gradebook(out, None, reading=True) as gradebook:
        return gradebook.waiting()


def missing(out: Path) -> list[str]:
    with Gradebook(out, None, reading=True) as gradebook:
        return [p.name for p in gradebook.not_submitted(s.submission for s, _ in gradebook.summaries())]


def test_who_has_no_result_yet_waits_for_one_and_is_not_missing(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    roster = [Person(name) for name in ("ann", "bob", "cem", "zoe")]
    part = run(pack, folder, out, only=["ann"], roster=roster)
    assert waiting(out) == {"bob", "cem"} and [p.name for p in part.missing] == missing(out) == ["zoe"]
    assert "2 submissions wait for a result" in (out / "index.html").read_text("utf-8")
    # Nothing to do is no reason to think that all is done, and no more is a class of fewer.
    assert run(pack, folder, out, faults=True).graded == 0 and waiting(out) == {"bob", "cem"}
    fewer = write_class(tmp_path / "fewer", {"ann": RIGHT})
    assert grade_class(pack, fewer, out, workers=1, roster=roster).graded == 1
    assert waiting(out) == {"bob", "cem"} and missing(out) == ["zoe"]
    whole = run(pack, folder, out, reports=False)
    assert whole.graded == 3 and waiting(out) == set() and missing(out) == ["zoe"]
    assert "Not all are graded yet" not in (out / "index.html").read_text("utf-8")


def test_pages_of_what_a_run_left_open_are_made_anew(pack: Pack, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    page = out / "students" / "ann.html"
    before = page.read_bytes()
    page.write_bytes(b"of another pack")
    assert run(pack, folder, out).graded == 0 and page.read_bytes() == b"of another pack"
    with Gradebook(out, None) as gradebook:
        gradebook.begin([s.submission for s, _ in gradebook.summaries() if s.submission.id == "ann"])
    assert run(pack, folder, out, reports=False).graded == 0
    assert not page.exists() and waiting(out) == set()
    assert run(pack, folder, out).graded == 0 and page.read_bytes() == before


def test_a_result_of_those_who_handed_in_with_others_counts_no_more(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    submissions = [replace(one, key=f"g:{one.id}") for one in submissions_in(folder)]
    ann, *others = submissions
    grade_class(pack, submissions, out, workers=1)
    done = grade_class(pack, others, out, workers=1, replaced=["g:ann", "g:nobody"])
    assert [s.submission.id for s in done.summaries] == [one.id for one in others]
    assert any("counts no more" in w and "ann" in w for w in done.warnings)
    again = grade_class(pack, others, out, workers=1, replaced=["g:ann"])
    assert again.graded == 0 and again.warnings == ()
    # Nobody else gets the id, with what a teacher gave for it.
    other = replace(ann, key="g:other", path=str(folder / "other" / "ann.py"))
    new = grade_class(pack, [*others, other], out, workers=1)
    assert {s.submission.id for s in new.summaries} == {"bob", "cem", new.summaries[0].submission.id}
    assert new.summaries[0].submission.id.startswith("ann-")
    back = grade_class(pack, submissions, out, workers=1)
    assert "ann" in {s.submission.id for s in back.summaries}


def test_who_now_hands_in_with_others_has_one_row(pack: Pack, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ann, bob, cem = (
        replace(one, key=f"g:{one.id}", people=(Person(one.id, id=f"0{at}", email=f"{one.id}@x.example"),))
        for at, one in enumerate(submissions_in(folder))
    )
    grade_class(pack, [ann, bob, cem], out, workers=1)
    # Ann and Bob hand in together; the platform's download tells nothing of what they did alone.
    adjust(out, "ann", -1, "Copied")
    both = replace(bob, id="both", key="g:both", people=(*ann.people, *bob.people), members=("ann", "bob"))
    done = grade_class(pack, [both, cem], out, workers=1)
    assert [w for w in done.warnings if w.startswith("points by hand for ann do not count")]
    assert not (out / "students" / "ann.html").exists()
    assert {s.submission.id for s in done.summaries} == {"both", "cem"}
    # Cem joins: who left nothing behind that counts by itself is nowhere twice; Ann alone stays with Bob.
    three = replace(bob, id="three", key="g:three", people=cem.people, members=("cem",))
    done = grade_class(pack, [three], out, workers=1)
    assert {s.submission.id for s in done.summaries} == {"both", "three"}
