"""Many submissions: the number of workers changes nothing, and a lost worker costs no one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from classes import by_id, submissions_in, write_class
from support.small import RIGHT

from grader.batch import pool as pool_module
from grader.batch.pool import default_workers, grade_all
from grader.batch.runner import Runner
from grader.exercise.pack import Pack
from grader.result import Result

HERE = Path(__file__).resolve()
ENDLESS = "def row_scale(x, w, factor):\n    while True: pass\n"


def test_one_worker_and_two_give_the_same_records(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class")
    one = by_id(grade_all(pack, submissions, workers=1))
    two = by_id(grade_all(pack, submissions, workers=2))
    assert one == two and set(one) == {s.id for s in submissions}


@pytest.mark.slow
def test_a_worker_that_was_killed_costs_no_one(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(8)} | {"z": ENDLESS})
    results: list[Result] = []
    killed = False
    for result in grade_all(pack, submissions, workers=2):
        results.append(result)
        if not killed:
            killed = True
            worker = multiprocessing.active_children()[0]
            os.kill(worker.pid or 0, signal.SIGKILL)
    assert sorted(r.submission.id for r in results) == [s.id for s in submissions]
    assert {r.status for r in results if r.submission.id != "z"} == {"passed"}


@pytest.mark.slow
def test_workers_that_are_killed_every_time_end_in_faults_that_cost_nothing(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_start_worker", end_at_once)
    submissions = write_class(tmp_path / "class", {"ann": RIGHT, "bob": RIGHT})
    results = list(grade_all(pack, submissions, workers=2))
    assert sorted(r.submission.id for r in results) == ["ann", "bob"]
    for result in results:
        assert result.status == "grader_fault" and result.score is None
        assert {case.points for case in result.cases} == {0.0}


def end_at_once(pack_data: bytes, reports: Path | None) -> None:
    os._exit(1)


def test_whatever_fails_in_the_grader_is_a_fault_and_the_class_goes_on(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Runner.grade

    def grade(self: Runner, submission: Any) -> Result:
        if submission.id == "bob":
            raise ZeroDivisionError("a mistake of ours")
        return honest(self, submission)

    monkeypatch.setattr(Runner, "grade", grade)
    submissions = write_class(tmp_path / "class", {"ann": RIGHT, "bob": RIGHT, "cem": RIGHT})
    results = {r.submission.id: r for r in grade_all(pack, submissions, workers=1)}
    assert [results[n].status for n in ("ann", "bob", "cem")] == ["passed", "grader_fault", "passed"]
    assert results["bob"].score is None and "a mistake of ours" in results["bob"].message


def test_pages_that_cannot_be_written_are_a_fault(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class", {"ann": RIGHT})
    (result,) = grade_all(pack, submissions, workers=1, reports=tmp_path / "missing")
    assert result.status == "grader_fault" and result.score is None


def test_leaving_early_ends_the_workers(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(9)})
    results = grade_all(pack, submissions, workers=2)
    assert next(results).status == "passed"
    results.close()
    assert multiprocessing.active_children() == []


OWNER = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from classes import submissions_in
from grader.batch.pool import grade_all
from grader.exercise import pack as packs
if __name__ == "__main__":
    import multiprocessing
    results = grade_all(packs.load(Path({pack!r})), submissions_in(Path({folder!r})), workers=2)
    next(results)
    print(*[p.pid for p in multiprocessing.active_children()], flush=True)
    list(results)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
def test_workers_end_when_the_run_is_killed(pack: Pack, tmp_path: Path) -> None:
    pack_path = tmp_path / "exercise.pack"
    pack_path.write_bytes(pack.data)
    folder = tmp_path / "class"
    write_class(folder, {"a": RIGHT} | {f"z{n}": ENDLESS for n in range(6)})
    assert len(submissions_in(folder)) == 7
    script = tmp_path / "owner.py"
    path = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]
    script.write_text(OWNER.format(path=path, pack=str(pack_path), folder=str(folder)))
    owner = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert owner.stdout is not None
    try:
        pids = [int(n) for n in owner.stdout.readline().split()]
        assert len(pids) == 2
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    for _ in range(3000):
        if not any(map(alive, pids)):
            return
        time.sleep(0.01)
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
    raise AssertionError("a worker outlived its run")


@pytest.mark.parametrize("count", [0, 1, 5, 10**6])
def test_there_is_at_least_one_worker_and_at_most_one_a_core(count: int) -> None:
    assert 1 <= default_workers(count) <= len(os.sched_getaffinity(0))
    assert default_workers(1) == 1
