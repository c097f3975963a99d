"""Many submissions graded by local worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path

from grader.batch.messages import receive, send
from grader.batch.runner import Runner
from grader.batch.worker import grade
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.result import Result
from grader.summary import Record

# Starting a worker costs as much as grading some submissions does.
SUBMISSIONS_PER_WORKER = 8
# How many submissions a worker holds: one that it grades, and the next, so that it never waits for one.
IN_HAND = 2
# A submission whose worker dies is tried once more: the machine may have killed it for something else.
MAX_TRIES = 2
MAX_FAILED_STARTS = 3

ROOT = Path(__file__).resolve().parents[2]


def default_workers(count: int) -> int:
    """How many workers pay for that many submissions on this machine."""
    return max(1, min(_cores(), -(-count // SUBMISSIONS_PER_WORKER)))


def _cores() -> int:
    # Those that this process may use, where that is told.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def grade_all(
    pack: Pack, submissions: Sequence[Submission], *, workers: int, reports: Path | None = None
) -> Generator[Result | Record]:
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
    """One process and what it works on.

    Two threads do the talking: a pipe takes little at a time, and not every platform can wait for several.

    Args:
        pack: The exercise's pack.
        reports: Where the worker writes pages.
        answers: Gets this worker with each answer, or with None when the process has ended.
    """

    def __init__(self, pack: Pack, reports: Path | None, answers: _Answers) -> None:
        code = f"import sys; sys.path.insert(0, {str(ROOT)!a}); from grader.batch.worker import main; main()"
        self.process = subprocess.Popen(
            # -P: a submission called signal.py in the current folder is no module of ours.
            [sys.executable, "-P", "-c", code, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # An interrupt from the terminal is for the parent alone, which then ends its workers.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self.work: deque[Submission] = deque()
        self.finished = 0
        self._answers = answers
        self._submissions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        settings = json.dumps({"reports": str(reports) if reports else None}).encode()
        self._threads = [
            threading.Thread(target=self._talk, args=(settings, pack.data), daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def begin(self, submission: Submission) -> None:
        """Hand over a submission."""
        self.work.append(submission)
        self._submissions.put(json.dumps(submission.to_dict()).encode())

    def take(self, answer: bytes) -> Record:
        """The result that its answer is, as text: nobody here needs more."""
        self.work.popleft()
        self.finished += 1
        return Record.from_bytes(answer)

    def end(self) -> None:
        """End the process and, with it, its servers."""
        self._submissions.put(None)
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _talk(self, *first: bytes) -> None:
        assert self.process.stdin is not None
        # That a process has ended is heard by the other thread.
        with contextlib.suppress(OSError):
            for message in first:
                send(self.process.stdin, message)
            while (submission := self._submissions.get()) is not None:
                send(self.process.stdin, submission)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, EOFError):
            while True:
                self._answers.put((self, receive(self.process.stdout)))
        self._answers.put((self, None))


_Answers = queue.SimpleQueue[tuple[_Worker, bytes | None]]


class _Pool:
    def __init__(self, pack: Pack, reports: Path | None, count: int) -> None:
        self.pack = pack
        self.reports = reports
        self.answers: _Answers = queue.SimpleQueue()
        self.workers = [_Worker(pack, reports, self.answers) for _ in range(count)]

    def run(self, submissions: Sequence[Submission]) -> Generator[Result | Record]:
        waiting = deque(submissions)
        tries: dict[str, int] = {}
        failed_starts = 0
        while waiting or any(w.work for w in self.workers):
            # What is left when few are waiting goes to whoever is free first.
            for held in range(IN_HAND if len(waiting) > IN_HAND * len(self.workers) else 1):
                for worker in self.workers:
                    if len(worker.work) <= held and waiting:
                        worker.begin(waiting.popleft())
            worker, answer = self._next()
            if answer is not None:
                failed_starts = 0
                yield worker.take(answer)
                continue
            worker.end()
            if not worker.work and len(self.workers) > 1:
                # It had nothing to do, and the others go on without it.
                self.workers.remove(worker)
                continue
            self.workers[self.workers.index(worker)] = _Worker(self.pack, self.reports, self.answers)
            if not worker.work:
                continue
            # It was at work on the first; the next it had not begun.
            submission = worker.work.popleft()
            waiting.extendleft(reversed(worker.work))
            tries[submission.id] = tries.get(submission.id, 0) + 1
            failed_starts += worker.finished == 0
            if tries[submission.id] < MAX_TRIES and failed_starts < MAX_FAILED_STARTS:
                # At the end, so that what kills workers meets the rest of the class last.
                waiting.append(submission)
            else:
                yield fault(self.pack, submission, "its worker process ended early twice")

    def _next(self) -> tuple[_Worker, bytes | None]:
        while True:
            # On Windows a wait without end hears no interrupt.
            with contextlib.suppress(queue.Empty):
                return self.answers.get(timeout=1.0)

    def close(self) -> None:
        for worker in self.workers:
            worker.end()
