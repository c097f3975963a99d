"""Many submissions: the number of workers changes nothing, and a lost worker costs no one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from classes import Counted, by_id, jobs_of, submissions_in, whole, write_class
from processes import alive, all_end, below, workers_of
from support.small import RIGHT

from grader.batch import pool as pool_module
from grader.batch import process as process_module
from grader.batch.jobs import Graded, Job
from grader.batch.pool import default_workers, grade_all
from grader.batch.process import WorkerProcess
from grader.batch.runner import Runner
from grader.exercise.pack import Pack
from grader.result import Adjustment, Result
from grader.sandbox.inside import confinement
from grader.sandbox.levels import WITHOUT

HERE = Path(__file__).resolve()
ENDLESS = "def row_scale(x, w, factor):\n    while True: pass\n"


def results_of(graded: Iterable[Graded]) -> dict[str, Result]:
    """Results by id, each of which came once."""
    found = [whole(one) for one in graded]
    results = {result.submission.id: result for result in found}
    assert len(results) == len(found)
    return results


def test_one_worker_and_two_give_the_same_records(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class")
    one = by_id(grade_all(pack, jobs_of(submissions), workers=1))
    two = by_id(grade_all(pack, jobs_of(submissions), workers=2))
    assert one == two and set(one) == {s.id for s in submissions}


@pytest.mark.slow
def test_a_worker_that_was_killed_costs_no_one(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(8)} | {"z": ENDLESS})
    results: list[Result] = []
    for graded in grade_all(pack, jobs_of(submissions), workers=2):
        results.append(whole(graded))
        if len(results) == 1:
            os.kill(workers_of(os.getpid())[0], signal.SIGKILL)
    assert sorted(r.submission.id for r in results) == [s.id for s in submissions]
    assert {r.status for r in results if r.submission.id != "z"} == {"passed"}
    assert {r.status for r in results if r.submission.id == "z"} == {"failed"}


def test_all_workers_killed_at_once_cost_no_one(pack: Pack, tmp_path: Path) -> None:
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(6)})
    results: list[Result] = []
    for graded in grade_all(pack, jobs_of(submissions), workers=2):
        results.append(whole(graded))
        if len(results) == 2:
            for pid in workers_of(os.getpid()):
                os.kill(pid, signal.SIGKILL)
    assert sorted((r.submission.id, r.status) for r in results) == [(s.id, "passed") for s in submissions]


# Kills the process that it was forked from and that one's parent: a worker, and nothing else.
KILLER = """\
import os, signal


def parent(pid):
    with open(f"/proc/{pid}/status") as file:
        return int([line for line in file if line.startswith("PPid:")][0].split()[1])


def row_scale(x, w, factor):
    worker = parent(os.getppid())
    with open(f"/proc/{worker}/cmdline") as file:
        if "grader.batch.worker" in file.read():
            os.kill(worker, signal.SIGKILL)
    return RIGHT(x, w, factor)


""" + RIGHT.replace("row_scale", "RIGHT")


@pytest.mark.slow
@pytest.mark.parametrize("killers", [("aaa",), ("aaa", "s05_", "s10_", "zzz")])
def test_a_submission_that_kills_its_worker_costs_no_one_else(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killers: tuple[str, ...]
) -> None:
    # Confined, it could not.
    monkeypatch.setenv(WITHOUT, ",".join(confinement.LAYERS))
    right = [f"s{n:02}" for n in range(20)]
    submissions = write_class(
        tmp_path / "class", dict.fromkeys(right, RIGHT) | dict.fromkeys(killers, KILLER)
    )
    results = results_of(grade_all(pack, jobs_of(submissions), workers=2))
    assert len(results) == len(submissions)
    assert {n: results[n].status for n in right} == dict.fromkeys(right, "passed")
    assert {n: results[n].score for n in right} == dict.fromkeys(right, pack.max_score)
    for name in killers:
        assert (results[name].status, results[name].score) == ("grader_fault", None)
        assert "worker process ended early" in results[name].message


def test_a_confined_submission_can_neither_find_nor_kill_its_worker(pack: Pack, tmp_path: Path) -> None:
    blind = KILLER.replace("worker = parent(os.getppid())", "worker = os.getppid()").replace(
        "with open", "if True:\n        os.kill(worker, signal.SIGKILL)\n    with open"
    )
    sources = {f"s{n}": RIGHT for n in range(4)} | {"aaa": KILLER, "zzz": blind}
    submissions = write_class(tmp_path / "class", sources)
    results = results_of(grade_all(pack, jobs_of(submissions), workers=2))
    assert {results[n].status for n in ("s0", "s1", "s2", "s3")} == {"passed"}
    for name in ("aaa", "zzz"):
        assert results[name].status == "failed"
        raised = [c for c in results[name].cases if c.verdict == "raised"]
        assert raised and "PermissionError" in raised[0].message


def test_workers_that_end_every_time_end_in_faults_that_cost_nothing(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A grader whose workers can't start.
    broken = tmp_path / "broken"
    (broken / "grader" / "batch").mkdir(parents=True)
    for name, text in (("__init__", ""), ("batch/__init__", ""), ("batch/worker", "raise SystemExit(1)\n")):
        (broken / "grader" / f"{name}.py").write_text(text)
    monkeypatch.setattr(process_module, "ROOT", broken)
    started: list[int] = []

    class Counted(WorkerProcess):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self.process.pid)

    monkeypatch.setattr(pool_module, "WorkerProcess", Counted)
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(12)})
    results = [whole(graded) for graded in grade_all(pack, jobs_of(submissions), workers=2)]
    assert sorted(r.submission.id for r in results) == sorted(s.id for s in submissions)
    for result in results:
        assert result.status == "grader_fault" and result.score is None
        assert {case.points for case in result.cases} == {0.0}
    # After some failures in a row nothing is tried twice.
    assert len(started) < 2 * len(submissions)
    assert not any(map(alive, started))


def test_whatever_fails_in_the_grader_is_a_fault_and_the_class_goes_on(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Runner.grade_job

    def grade_job(self: Runner, job: Job) -> tuple[list[Result], bytes | None]:
        if job.submissions[0].id == "bob":
            raise ZeroDivisionError("a mistake of ours")
        return honest(self, job)

    monkeypatch.setattr(Runner, "grade_job", grade_job)
    submissions = write_class(tmp_path / "class", {"ann": RIGHT, "bob": RIGHT, "cem": RIGHT})
    results = results_of(grade_all(pack, jobs_of(submissions), workers=1))
    assert [results[n].status for n in ("ann", "bob", "cem")] == ["passed", "grader_fault", "passed"]
    assert results["bob"].score is None and "a mistake of ours" in results["bob"].message


@pytest.mark.parametrize("workers", [1, 2])
def test_pages_that_cannot_be_written_are_a_warning_and_cost_no_result(
    pack: Pack, tmp_path: Path, workers: int
) -> None:
    submissions = write_class(tmp_path / "class", {"ann": RIGHT})
    (graded,) = grade_all(pack, jobs_of(submissions), workers=workers, reports=tmp_path / "missing")
    assert (graded.record.status, graded.record.score) == ("passed", pack.max_score)
    assert "the pages of ann can't be written" in graded.warning and graded.execution


@pytest.mark.parametrize("workers", [1, 2])
def test_leaving_early_ends_the_workers(pack: Pack, tmp_path: Path, workers: int) -> None:
    before = set(below(os.getpid()))
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(9)})
    results = grade_all(pack, jobs_of(submissions), workers=workers)
    assert next(results).record.status == "passed"
    started = [pid for pid in below(os.getpid()) if pid not in before]
    assert len(started) >= workers
    results.close()
    assert workers_of(os.getpid()) == []
    assert all_end(started), "a process outlived its run"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_done_leaves_no_process(pack: Pack, tmp_path: Path, workers: int) -> None:
    before = set(below(os.getpid()))
    submissions = write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(3)})
    started: set[int] = set()
    for _ in grade_all(pack, jobs_of(submissions), workers=workers):
        started |= set(below(os.getpid())) - before
    assert len(started) >= workers
    assert all_end(sorted(started)), "a process outlived its run"


OWNER = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from classes import jobs_of, submissions_in
from grader.batch.pool import grade_all
from grader.exercise import pack as packs
results = grade_all(packs.load(Path({pack!r})), jobs_of(submissions_in(Path({folder!r}))), workers=2)
next(results)
print("begun", flush=True)
list(results)
"""


@pytest.mark.slow
def test_workers_and_fork_servers_end_when_the_run_is_killed(pack: Pack, tmp_path: Path) -> None:
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
        assert owner.stdout.readline() == "begun\n"
        workers, started = workers_of(owner.pid), below(owner.pid)
        assert len(workers) == 2
        assert len(started) > len(workers), "no fork server runs"
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    assert all_end(started), "a process outlived its run"


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_are_asked_for_when_a_worker_is_there_for_them(pack: Pack, tmp_path: Path, workers: int) -> None:
    sources = {f"s{n:02d}": f"{RIGHT}# {n}\n" for n in range(16)}
    jobs = Counted(jobs_of(write_class(tmp_path / "class", sources)))
    ahead = []
    for number, _ in enumerate(grade_all(pack, jobs, workers=workers), start=1):
        ahead.append(jobs.asked - number)
    assert len(ahead) == len(sources) and jobs.asked == len(sources)
    assert max(ahead) <= pool_module.IN_HAND * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_submissions_with_the_same_text_are_run_once_and_all_get_results(
    pack: Pack, tmp_path: Path, workers: int
) -> None:
    ann, bob, zoe = write_class(tmp_path / "class", {"ann": RIGHT, "bob": ENDLESS, "zoe": RIGHT})
    zoe = replace(zoe, file="ann.py", late=True)
    (tmp_path / "out" / "students").mkdir(parents=True)
    (tmp_path / "out" / "teacher").mkdir()
    jobs = [Job((bob,)), Job((ann, zoe), {"zoe": (Adjustment("a typo", -0.5),)})]
    graded = list(grade_all(pack, jobs, workers=workers, reports=tmp_path / "out"))
    found = {one.record.submission.id: one for one in graded}
    assert len(graded) == 3
    assert found["ann"].execution and found["bob"].execution and found["zoe"].execution is None
    assert found["ann"].record.score == pack.max_score
    assert found["zoe"].record.score == pack.max_score - 0.5
    assert found["zoe"].record.submission.late is True
    assert {p.stem for p in (tmp_path / "out" / "students").iterdir()} == {"ann", "bob", "zoe"}
    assert not any(one.warning or one.pages for one in graded)


@pytest.mark.slow
def test_a_worker_that_dies_twice_on_a_job_costs_all_its_submissions_nothing(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WITHOUT, ",".join(confinement.LAYERS))
    ann, bob, cem = write_class(tmp_path / "class", {"ann": KILLER, "bob": KILLER, "cem": RIGHT})
    jobs = [Job((ann, replace(bob, file="ann.py"))), Job((cem,))]
    (tmp_path / "out" / "students").mkdir(parents=True)
    (tmp_path / "out" / "teacher").mkdir()
    results = results_of(grade_all(pack, jobs, workers=2, reports=tmp_path / "out"))
    assert {name: r.status for name, r in results.items()} == {
        "ann": "grader_fault",
        "bob": "grader_fault",
        "cem": "passed",
    }
    # The pages that tell of it are written all the same.
    assert {p.stem for p in (tmp_path / "out" / "students").iterdir()} == {"ann", "bob", "cem"}


def test_workers_that_have_no_room_are_done_without(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = [1]

    class Few(WorkerProcess):
        def __init__(self, *arguments: Any) -> None:
            if not room:
                raise BlockingIOError("no room for one more process")
            super().__init__(*arguments)
            room.pop()

    monkeypatch.setattr(pool_module, "WorkerProcess", Few)
    jobs = jobs_of(write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(3)}))
    assert {r.status for r in results_of(grade_all(pack, jobs, workers=3)).values()} == {"passed"}
    with pytest.raises(BlockingIOError):
        next(grade_all(pack, jobs, workers=3))


@pytest.mark.parametrize("count", [0, 1, 5, 10**6])
def test_there_is_at_least_one_worker_and_at_most_one_a_core(count: int) -> None:
    assert 1 <= default_workers(count) <= len(os.sched_getaffinity(0))
    assert default_workers(1) == 1
