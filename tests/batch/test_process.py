"""A worker process answers each job once, and its end is told to whoever waits."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from classes import jobs_of, submissions_in, told, whole, write_class
from processes import all_end, below
from support.small import RIGHT, WRONG

from grader.batch import process as process_module
from grader.batch.jobs import Graded, Job, answer_from_bytes
from grader.batch.process import WorkerEndedError, WorkerProcess
from grader.batch.runner import Runner
from grader.exercise.pack import Pack
from grader.intake.submission import Submission

SETTINGS: dict[str, Any] = {"reports": None, "pages": "none", "weak_isolation": True}
ENDLESS = "def row_scale(x, w, factor):\n    while True: pass\n"


def submission(source: str, name: str = "ann") -> Submission:
    return Submission(name, name, f"{name}.py", "sha256:1", source, "", (name,))


def job(source: str, name: str = "ann") -> bytes:
    return Job((submission(source, name),)).to_bytes()


def answered(answer: bytes) -> Graded:
    (graded,) = answer_from_bytes(answer)
    return graded


@pytest.fixture
def worker(pack: Pack) -> Iterator[WorkerProcess]:
    made = WorkerProcess(SETTINGS, pack.data)
    yield made
    made.end()


def test_jobs_are_answered_as_if_graded_here(worker: WorkerProcess, shared_runner: Runner) -> None:
    for name, source in {"ann": RIGHT, "bob": WRONG}.items():
        graded = answered(worker.ask(job(source, name)))
        assert told(whole(graded)) == told(shared_runner.grade(submission(source, name)))
        # What it ran is judged again by another one.
        again = answered(
            worker.ask(replace(Job((submission(source, name),)), execution=graded.execution).to_bytes())
        )
        assert told(whole(again)) == told(whole(graded)) and again.execution is None


def test_what_is_too_long_for_a_pipe_at_once_goes_both_ways(worker: WorkerProcess) -> None:
    comment = f"# {'x' * (1 << 20)}\n"
    members = tuple(f"student {n:05}" for n in range(20_000))
    one = replace(submission(RIGHT + comment), members=members)
    graded = answered(worker.ask(Job((one,)).to_bytes()))
    assert graded.record.status == "passed" and graded.record.submission.members == members


def test_threads_that_ask_at_once_get_their_own_answers(worker: WorkerProcess) -> None:
    names = [f"s{n}" for n in range(8)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda name: answered(worker.ask(job(RIGHT, name))), names))
    assert [one.record.submission.id for one in answers] == names


def test_a_worker_that_was_killed_answers_no_more(worker: WorkerProcess) -> None:
    started = [worker.process.pid, *below(worker.process.pid)]
    os.kill(worker.process.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(WorkerEndedError):
            worker.ask(job(RIGHT))
    worker.end()
    worker.end()
    assert all_end(started)


def test_who_waits_for_an_answer_learns_of_the_end(worker: WorkerProcess) -> None:
    assert answered(worker.ask(job(RIGHT))).record.status == "passed"
    started = [worker.process.pid, *below(worker.process.pid)]
    said: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask() -> None:
        try:
            worker.ask(job(ENDLESS))
        except WorkerEndedError:
            said.put("ended")

    thread = threading.Thread(target=ask)
    thread.start()
    worker.end()
    thread.join()
    assert said.get_nowait() == "ended"
    assert len(started) > 1 and all_end(started), "a process outlived its worker"


def test_a_worker_outlives_the_thread_that_made_it(pack: Pack) -> None:
    with ThreadPoolExecutor(1) as threads:
        worker = threads.submit(WorkerProcess, SETTINGS, pack.data).result()
    try:
        for name in ("ann", "bob"):
            assert answered(worker.ask(job(RIGHT, name))).record.status == "passed"
    finally:
        worker.end()


def test_answers_and_the_end_are_told_in_their_order(pack: Pack, tmp_path: Path) -> None:
    told_of: queue.SimpleQueue[tuple[WorkerProcess, bytes | None]] = queue.SimpleQueue()
    worker = WorkerProcess(SETTINGS, pack.data, lambda *answer: told_of.put(answer))
    try:
        write_class(tmp_path / "class", {f"s{n}": RIGHT for n in range(3)})
        for one in jobs_of(submissions_in(tmp_path / "class")):
            worker.send(one.to_bytes())
        found = [told_of.get() for _ in range(3)]
        assert [answered(answer or b"").record.submission.id for _, answer in found] == ["s0", "s1", "s2"]
        worker.kill()
        assert told_of.get() == (worker, None) and {who for who, _ in found} == {worker}
    finally:
        worker.end()
    assert told_of.empty()


@pytest.mark.parametrize(
    "wrong",
    [
        {"settings": SETTINGS | {"pages": "burn"}},
        {"settings": SETTINGS | {"pages": "write"}},
        {"settings": SETTINGS | {"speed": 1}},
        {"pack_data": b"no pack"},
    ],
)
def test_a_worker_that_cannot_work_ends(pack: Pack, wrong: dict[str, Any]) -> None:
    worker = WorkerProcess(**({"settings": SETTINGS, "pack_data": pack.data} | wrong))
    try:
        with pytest.raises(WorkerEndedError):
            worker.ask(job(RIGHT))
    finally:
        worker.end()


def test_a_worker_that_cannot_be_started_is_told(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    monkeypatch.setattr(process_module.sys, "executable", "/no/such/python")
    with pytest.raises(FileNotFoundError):
        WorkerProcess(SETTINGS, pack.data)
    assert threading.active_count() == before
