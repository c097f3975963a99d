"""Many submissions graded by local worker processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path

from grader.batch.runner import Runner
from grader.batch.worker import grade
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.result import Result

# Starting a worker costs as much as grading some submissions does.
SUBMISSIONS_PER_WORKER = 8
# A submission whose worker dies is tried once more: the machine may have killed it for something else.
MAX_TRIES = 2
MAX_FAILED_STARTS = 3

ROOT = Path(__file__).resolve().parents[2]


def default_workers(count: int) -> int:
    """How many workers pay for that many submissions on this machine."""
    return max(1, min(len(os.sched_getaffinity(0)), -(-count // SUBMISSIONS_PER_WORKER)))


def grade_all(
    pack: Pack, submissions: Sequence[Submission], *, workers: int, reports: Path | None = None
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
                yield grade(runner, submission, reports)
        return
    pool = _Pool(pack, reports, workers)
    try:
        yield from pool.run(submissions)
    finally:
        pool.close()


def fault(pack: Pack, submission: Submission, message: str) -> Result:
    """The record of a submission on which the grader failed."""
    return Runner(pack).fault(submission, message)


class _Worker:
    """One process and what it works on."""

    def __init__(self, pack: Pack, reports: Path | None) -> None:
        ours, theirs = socket.socketpair()
        code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from grader.batch.worker import main; main()"
        with theirs:
            self.process = subprocess.Popen(
                # -P: a submission called signal.py in the current folder is no module of ours.
                [sys.executable, "-P", "-c", code, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # An interrupt from the terminal is for the parent alone, which then ends its workers.
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())
        self.work: Submission | None = None
        self.finished = 0
        try:
            self.connection.send_bytes(json.dumps({"reports": str(reports) if reports else None}).encode())
            self.connection.send_bytes(pack.data)
        except OSError:
            pass  # it has ended; the first look at its connection tells

    def begin(self, submission: Submission) -> None:
        """Hand over a submission."""
        self.work = submission
        try:
            self.connection.send_bytes(json.dumps(vars(submission)).encode())
        except OSError:
            pass  # as above

    def answer(self) -> Result | None:
        """The result that is ready; None when the process has ended."""
        try:
            data = self.connection.recv_bytes()
        except (EOFError, OSError):
            return None
        self.work = None
        self.finished += 1
        return Result.from_dict(json.loads(data))

    def end(self) -> None:
        """End the process and, with it, its fork servers."""
        self.connection.close()
        self.process.kill()
        self.process.wait()


class _Pool:
    def __init__(self, pack: Pack, reports: Path | None, count: int) -> None:
        self.pack = pack
        self.reports = reports
        self.workers = [_Worker(pack, reports) for _ in range(count)]

    def run(self, submissions: Sequence[Submission]) -> Generator[Result]:
        waiting = deque(submissions)
        tries: dict[str, int] = {}
        failed_starts = 0
        while waiting or any(w.work is not None for w in self.workers):
            for worker in self.workers:
                if worker.work is None and waiting:
                    worker.begin(waiting.popleft())
            busy = {w.connection: w for w in self.workers if w.work is not None}
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                submission = worker.work
                assert submission is not None
                result = worker.answer()
                if result is not None:
                    failed_starts = 0
                    yield result
                    continue
                worker.end()
                self.workers[self.workers.index(worker)] = _Worker(self.pack, self.reports)
                tries[submission.id] = tries.get(submission.id, 0) + 1
                failed_starts += worker.finished == 0
                if tries[submission.id] < MAX_TRIES and failed_starts < MAX_FAILED_STARTS:
                    # At the end, so that what kills workers meets the rest of the class last.
                    waiting.append(submission)
                else:
                    yield fault(self.pack, submission, "its worker process ended early twice")

    def close(self) -> None:
        for worker in self.workers:
            worker.end()
