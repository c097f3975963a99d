"""Many submissions graded by local worker processes, each a judge with its own fork servers."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from pathlib import Path

from grader.batch.runner import Runner
from grader.exercise import pack as packs
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.result import Result

# Starting a worker costs as much as grading some submissions does.
SUBMISSIONS_PER_WORKER = 8
MAX_BREAKS = 3


def default_workers(count: int) -> int:
    """How many workers pay for that many submissions on this machine."""
    return max(1, min(len(os.sched_getaffinity(0)), -(-count // SUBMISSIONS_PER_WORKER)))


def grade_all(
    pack: Pack,
    submissions: Sequence[Submission],
    *,
    workers: int,
    reports: Path | None = None,
) -> Generator[Result]:
    """Results as they become ready, in any order.

    Args:
        pack: The exercise's pack.
        submissions: What to grade.
        workers: How many processes; with one, this process grades.
        reports: A run's folder; each submission's pages are written there as it is graded.
    """
    if workers <= 1:
        with Runner(pack) as runner:
            for submission in submissions:
                yield _grade(runner, submission, reports)
        return
    left = {submission.id: submission for submission in submissions}
    breaks = 0
    while left:
        try:
            for result in _pooled(pack, list(left.values()), workers, reports):
                left.pop(result.submission.id, None)
                yield result
        except BrokenProcessPool:
            # A worker was killed from outside: what it worked on is begun again, a few times.
            breaks += 1
            if breaks < MAX_BREAKS:
                continue
            for submission in left.values():
                yield fault(pack, submission, "a worker process ended early several times")
            return


def fault(pack: Pack, submission: Submission, message: str) -> Result:
    """The record of a submission on which the grader failed."""
    return Runner(pack).fault(submission, message)


def _pooled(
    pack: Pack, submissions: Sequence[Submission], workers: int, reports: Path | None
) -> Generator[Result]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(pack.data, reports)
    )
    try:
        waiting = iter(submissions)
        running: set[Future[str]] = set()
        # Few in flight at a time: an interrupted run has little to wait for.
        for submission in waiting:
            running.add(pool.submit(_work, submission))
            if len(running) >= 2 * workers:
                break
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield Result.from_dict(json.loads(future.result()))
                following = next(waiting, None)
                if following is not None:
                    running.add(pool.submit(_work, following))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_runner: Runner | None = None
_reports: Path | None = None


def _start_worker(pack_data: bytes, reports: Path | None) -> None:
    global _runner, _reports
    # The parent decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _runner = Runner(packs.loads(pack_data))
    _reports = reports


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever, and its fork servers with it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait_for([parent.sentinel])
    os._exit(1)


def _work(submission: Submission) -> str:
    assert _runner is not None
    return _grade(_runner, submission, _reports).to_json()


def _grade(runner: Runner, submission: Submission, reports: Path | None) -> Result:
    try:
        result = runner.grade(submission)
        if reports is not None:
            from grader.report.files import write_pages

            write_pages(reports, result)
        return result
    except Exception as error:
        # Whatever fails here is ours: it must neither cost the student points nor stop the class.
        return runner.fault(submission, f"{type(error).__name__}: {error}")
