"""A run that is killed at any moment goes on to the gradebook that it would have made undisturbed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from classes import submissions_in, write_class
from processes import all_end, below
from support import lms
from support.small import MUTATES, RIGHT, WRONG, small_pack

from grader.batch.asking import asked_of
from grader.batch.grading import grade_class
from grader.exercise.pack import Pack
from grader.exercise.resolve import resolve_pack
from grader.intake.collect import collect

# Its tests together take long.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20
# Of every signal, with one worker and with several.
FEW = 6
SIZE = 72
KINDS = (RIGHT, WRONG, MUTATES, "def row_scale(x: \n", "def row_scale(x, w, factor): return x.nothing\n")


def told(out: Path) -> dict[str, dict[str, Any]]:
    """The records of a run without what differs from run to run."""
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        # What is known of the layers hangs on whether anything was run before.
        del record["timing"], record["isolation"]["layers"]
    assert len({record["submission"]["id"] for record in records}) == len(records)
    return {record["submission"]["id"]: record for record in records}


def rows(out: Path) -> list[str]:
    """The submission of each result that is in the gradebook, from another process's view."""
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [row[0] for row in db.execute("SELECT submission FROM results")]


def pages(out: Path) -> int:
    return len(list((out / "teacher").glob("*.html")))


def begun_by(pid: int, out: Path) -> bool:
    """Whether a run is at work, and not just Python at its start."""
    try:
        return bool(json.loads((out / ".gradebook.lock").read_text())["process"] == pid)
    except (OSError, ValueError):
        return False


class _Disturbed:
    """The same command again and again, each time ended somewhere in the middle."""

    def __init__(self, command: list[str], out: Path, size: int, stride: int = 5) -> None:
        self.command = [*command, "--out", str(out)]
        self.out = out
        self.size = size
        self.stride = stride
        self.chance = random.Random(20)
        self.ends = 0

    def until(self, kills: int, number: signal.Signals, check: Any) -> None:
        """Start over in a new folder whenever a run has come to its end, until there were enough kills."""
        while self.ends < kills:
            shutil.rmtree(self.out, ignore_errors=True)
            while self._once(number if self.ends < kills else None):
                self.ends += 1
            check()

    def _once(self, number: signal.Signals | None) -> bool:
        """Whether the run was ended before it was done."""
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stderr is not None
        with process.stderr:
            if number is not None:
                # By what it has done, so that moments are spread over the work whatever the machine's speed,
                # and then a bit more; at times at the very beginning, where nothing is done yet.
                begun = pages(self.out)
                target = begun + self.chance.choice((0, 1, 2, self.stride, 2 * self.stride - 1))
                while process.poll() is None and not (
                    begun_by(process.pid, self.out) and pages(self.out) >= min(target, self.size)
                ):
                    time.sleep(0.002)
                time.sleep(self.chance.random() * 0.08)
            ended = number is not None and process.poll() is None
            if ended:
                assert number is not None
                children = below(process.pid)
                os.killpg(process.pid, number)
            said = process.stderr.read()
            status = process.wait()
        if ended:
            assert all_end(children)
        if number != signal.SIGKILL and status != 130:
            # It came when all was done, while Python itself was on its way out.
            assert ended or status == 0, said
            assert len(rows(self.out)) == self.size, (status, said)
            return False
        if status == 0:
            return False
        assert ended and status == (-signal.SIGKILL if number == signal.SIGKILL else 130), said
        if number != signal.SIGKILL and (self.out / "results.jsonl").exists():
            assert "Traceback" not in said
            assert told(self.out).keys() == set(rows(self.out)), "what was graded is told, not less"
        return True


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """A small exercise with a patient clock: a slow machine must change no verdict."""
    return small_pack(tmp_path_factory.mktemp("exercise"))


@pytest.fixture(scope="module")
def small_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "class"
    sources = {f"s{n:02d}": f"{KINDS[n % len(KINDS)]}# {n if n % 4 else 0}\n" for n in range(SIZE)}
    write_class(folder, sources)
    return folder


@pytest.fixture(scope="module")
def undisturbed(pack: Pack, small_class: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    grade_class(pack, submissions_in(small_class), out, workers=2)
    return out


def check_same(out: Path, undisturbed: Path, size: int) -> None:
    found, expected = told(out), told(undisturbed)
    assert found.keys() == expected.keys()
    for name, record in expected.items():
        assert found[name] == record, name
    assert (out / "gradebook.csv").read_bytes() == (undisturbed / "gradebook.csv").read_bytes()
    # Nothing is in it twice.
    assert len(rows(out)) == len(set(rows(out))) == size
    for name in ("students", "teacher"):
        assert {p.name for p in (out / name).iterdir()} == {p.name for p in (undisturbed / name).iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_or_interrupted_it_ends_in_the_same_gradebook(
    pack: Pack, small_class: Path, undisturbed: Path, tmp_path: Path, number: signal.Signals, workers: int
) -> None:
    path = tmp_path / "exercise.pack"
    path.write_bytes(pack.data)
    command = [sys.executable, "-m", "grader", "grade", str(small_class), "--exercise", str(path)]
    command += ["--workers", str(workers), "--allow-weak-isolation"]
    disturbed = _Disturbed(command, tmp_path / "out", SIZE)
    disturbed.until(FEW, number, lambda: check_same(tmp_path / "out", undisturbed, SIZE))


def test_a_run_that_is_killed_a_few_times_ends_in_the_same_gradebook(
    pack: Pack, small_class: Path, undisturbed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "exercise.pack"
    path.write_bytes(pack.data)
    command = [sys.executable, "-m", "grader", "grade", str(small_class), "--exercise", str(path)]
    command += ["--workers", "2", "--allow-weak-isolation"]
    disturbed = _Disturbed(command, tmp_path / "out", SIZE)
    disturbed.until(2, signal.SIGKILL, lambda: check_same(tmp_path / "out", undisturbed, SIZE))


@pytest.mark.slow
def test_the_real_exercise_killed_at_times_ends_in_the_same_gradebook(tmp_path: Path) -> None:
    pack = resolve_pack("mlm_forward", ROOT)
    path = tmp_path / "exercise.pack"
    path.write_bytes(pack.data)
    folder = tmp_path / "class"
    folder.mkdir()
    for number, example in enumerate(sorted((ROOT / "submissions" / "mlm_forward").rglob("*.py"))):
        if "torch" not in example.read_text("utf-8"):
            shutil.copy(example, folder / f"{number:03d}_{example.name}")
    class_ = collect([folder], asked_of(pack)).submissions
    grade_class(pack, class_, tmp_path / "undisturbed", workers=2)
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--exercise", str(path)]
    command += ["--workers", "2", "--allow-weak-isolation"]
    disturbed = _Disturbed(command, tmp_path / "out", len(class_))
    disturbed.until(
        FEW, signal.SIGKILL, lambda: check_same(tmp_path / "out", tmp_path / "undisturbed", len(class_))
    )


@pytest.mark.slow
def test_a_thousand_of_a_platforms_zip_killed_twenty_times_end_in_the_same_gradebook(
    pack: Pack, tmp_path: Path
) -> None:
    size = 1_000
    made = lms.make("moodle", size, lambda s: f"{KINDS[sum(s.sid.encode()) % len(KINDS)]}# {s.sid}\n")
    archive = made.zip(tmp_path)
    path = tmp_path / "exercise.pack"
    path.write_bytes(pack.data)
    class_ = collect([archive], asked_of(pack)).submissions
    grade_class(pack, class_, tmp_path / "undisturbed", workers=2)
    command = [sys.executable, "-m", "grader", "grade", str(archive), "--exercise", str(path)]
    command += ["--workers", "2", "--allow-weak-isolation"]
    disturbed = _Disturbed(command, tmp_path / "out", size, stride=size // KILLS)
    disturbed.until(
        KILLS, signal.SIGKILL, lambda: check_same(tmp_path / "out", tmp_path / "undisturbed", size)
    )
