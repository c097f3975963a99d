"""Many submissions graded by local worker processes."""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.batch.jobs import Graded, Job, answer_from_bytes
from grader.batch.process import WorkerProcess, next_of
from grader.batch.runner import Runner
from grader.batch.worker import Settings, faults, grade
from grader.exercise.pack import Pack

# Starting a worker costs as much as grading some submissions does.
JOBS_PER_WORKER = 8
# How many jobs a worker holds: one that it works on, and the next, so that it never waits for one.
IN_HAND = 2
# A job whose worker dies is tried once more: the machine may have killed it for something else.
MAX_TRIES = 2
MAX_FAILED_STARTS = 3


def default_workers(count: int) -> int:
    """How many workers pay for that many jobs on this machine."""
    return max(1, min(_cores(), -(-count // JOBS_PER_WORKER)))


def _cores() -> int:
    # Those that this process may use, where that is told.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def grade_all(
    pack: Pack,
    jobs: Sequence[Job],
    *,
    workers: int,
    reports: Path | None = None,
    weak_isolation: bool = True,
) -> Generator[Graded]:
    """Results as they become ready; those of one job follow each other in their order.

    Args:
        pack: The exercise's pack.
        jobs: What to grade; begun in this order.
        workers: How many processes; with one, this process grades.
        reports: A run's folder; each submission's pages are written there as it is graded.
        weak_isolation: Run submissions also where they can't be confined fully.
    """
    settings = Settings.to_folder(reports, weak_isolation=weak_isolation)
    if workers <= 1:
        with Runner(pack, weak_isolation=weak_isolation) as runner:
            for job in jobs:
                yield from grade(runner, job, settings)
        return
    pool = _Pool(pack, settings, workers)
    try:
        yield from pool.run(jobs)
    finally:
        pool.close()


@dataclass(eq=False)
class _Task:
    """A job, and how often it was begun in vain."""

    job: Job
    tries: int = 0


class _Waiting:
    """The tasks that nobody has begun; jobs are asked for one by one, as what is stored of all is large."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._at = 0
        # Handed out and not begun; and those to be tried once more, after everything else.
        self.returned: deque[_Task] = deque()
        self.again: deque[_Task] = deque()

    def __len__(self) -> int:
        return len(self.returned) + len(self._jobs) - self._at + len(self.again)

    def take(self) -> _Task:
        """The next one. Raises IndexError when there is none."""
        if self.returned:
            return self.returned.popleft()
        if self._at < len(self._jobs):
            self._at += 1
            return _Task(self._jobs[self._at - 1])
        return self.again.popleft()


@dataclass(eq=False)
class _Worker:
    """One process, what it holds, and how many jobs it has done."""

    process: WorkerProcess
    work: deque[_Task]
    finished: int = 0


class _Pool:
    def __init__(self, pack: Pack, settings: Settings, count: int) -> None:
        self.pack = pack
        self.settings = settings
        self.answers: queue.SimpleQueue[tuple[WorkerProcess, bytes | None]] = queue.SimpleQueue()
        self.workers: list[_Worker] = []
        try:
            for _ in range(count):
                self.workers.append(self._start())
        except OSError:
            # The machine has no room for more processes.
            if not self.workers:
                raise
        except BaseException:
            self.close()
            raise

    def _start(self) -> _Worker:
        process = WorkerProcess(
            asdict(self.settings), self.pack.data, lambda *answer: self.answers.put(answer)
        )
        return _Worker(process, deque())

    def run(self, jobs: Sequence[Job]) -> Generator[Graded]:
        waiting = _Waiting(jobs)
        failed_starts = 0
        while waiting or any(w.work for w in self.workers):
            # What is left when few are waiting goes to whoever is free first.
            for held in range(IN_HAND if len(waiting) > IN_HAND * len(self.workers) else 1):
                for worker in self.workers:
                    if len(worker.work) <= held and waiting:
                        task = waiting.take()
                        worker.work.append(task)
                        worker.process.send(task.job.to_bytes())
            process, answer = next_of(self.answers)
            worker = next(w for w in self.workers if w.process is process)
            if answer is not None:
                failed_starts = 0
                worker.work.popleft()
                worker.finished += 1
                yield from answer_from_bytes(answer)
                continue
            process.end()
            if not worker.work and len(self.workers) > 1:
                # It had nothing to do, and the others go on without it.
                self.workers.remove(worker)
                continue
            self._replace(worker)
            if not worker.work:
                continue
            # It was at work on the first; the next it had not begun.
            task = worker.work.popleft()
            waiting.returned.extend(worker.work)
            task.tries += 1
            failed_starts += worker.finished == 0
            if task.tries < MAX_TRIES and failed_starts < MAX_FAILED_STARTS:
                # At the end, so that what kills workers meets the rest of the class last.
                waiting.again.append(task)
            else:
                yield from faults(self.pack, task.job, "its worker process ended early twice", self.settings)

    def _replace(self, worker: _Worker) -> None:
        """Another worker for one that has ended, if there is room for it or none is left without it."""
        place = self.workers.index(worker)
        try:
            self.workers[place] = self._start()
        except OSError:
            del self.workers[place]
            if not self.workers:
                raise

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.end()
