"""What a Dask worker does: it hands jobs to worker processes of its own.

Everything here runs in the process of a Dask worker, in its threads or its loop; see `grader.batch.cluster`.
"""

from __future__ import annotations

import functools
import platform
import secrets
import socket
import threading
import time
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

import grader
from grader.batch.jobs import Job
from grader.batch.process import WorkerEndedError, WorkerProcess
from grader.batch.surroundings import whole_digest
from grader.intake.submission import Submission
from grader.sandbox.levels import probe, why_not_full

# Seconds that a process waits for the next job: the one who asked may have been killed.
LINGER_S = 120.0


@functools.lru_cache(maxsize=16)
def describe(run: str) -> dict[str, str]:
    """What of this process and its host has a say in results.

    Args:
        run: For which run; each has worker processes of its own, which load the code that is there then.
    """
    level, _layers = probe()
    return {
        "host": socket.gethostname(),
        "grader": grader.__version__,
        "code": whole_digest()[:12],
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "level": level,
        "weak": why_not_full(),
    }


def grade_job(
    run: str, settings: Mapping[str, Any], needed: Mapping[str, str], pack: bytes, job: bytes
) -> tuple[str, Any, bytes]:
    """One job graded by a process of this Dask worker.

    Args:
        run: Whose processes to use.
        settings: Those of a `WorkerProcess`.
        needed: What `unfit` needs.
        pack: The bytes of the pack.
        job: The bytes of a `Job`.

    Returns:
        What happened, more about it, and the answer. ``graded``: the answer of a worker process, compressed.
        ``unfit``: with what `describe` tells, as nothing may run here. ``ended``: the process ended on this
        job. ``broken``: with the reason why processes can't be started here. ``released``: the run is over.
    """
    from distributed import Reschedule, get_worker

    about = describe(run)
    if unfit(about, needed):
        return "unfit", about, b""
    processes = _processes_of(get_worker())
    try:
        try:
            process = processes.take(run, settings, pack)
        except OSError as error:
            return "broken", one_line(error), b""
        try:
            answer = process.ask(job)
        except WorkerEndedError:
            processes.drop(run, process)
            why = processes.try_out(run, settings, pack)
            return ("broken", why, b"") if why else ("ended", "", b"")
        except BaseException:
            processes.drop(run, process)
            raise
        processes.give_back(run, process)
        return "graded", "", zlib.compress(answer, 1)
    except _ReleasedError:
        if processes.closed:
            # This Dask worker is about to leave: that says nothing about the job.
            raise Reschedule from None
        return "released", "", b""


def release(run: str) -> None:
    """End a run's processes on this Dask worker."""
    with _lock:
        all_processes = list(_processes.values())
    for processes in all_processes:
        processes.release(run)


def unfit(about: Mapping[str, str], needed: Mapping[str, str]) -> str:
    """Why a host can't give the results that are wanted, or nothing."""
    wrong = [
        f"{name} {needed[name]} is needed and it has {about.get(name, 'none')}"
        for name in ("grader", "python", "numpy")
        if about.get(name) != needed[name]
    ]
    if about.get("grader") == needed["grader"] and about.get("code") != needed.get("code"):
        wrong.append(
            f"its grader {needed['grader']} is of other code ({about.get('code', 'none')}, and "
            f"{needed.get('code', 'none')} is needed)"
        )
    if needed["level"] and about.get("level") != needed["level"]:
        wrong.append(
            f"it isolates submissions only at the level {about.get('level')}, as {about.get('weak')}"
        )
    return "; ".join(wrong)


class _ReleasedError(Exception):
    """A run's processes on this worker are no longer wanted."""


class _Processes:
    """The worker processes of one Dask worker: as many as its threads ask for at once."""

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.Lock()
        self._idle: dict[str, list[tuple[float, WorkerProcess]]] = {}
        self._busy: dict[str, list[WorkerProcess]] = {}
        self._released: set[str] = set()
        self._closing = threading.Event()
        threading.Thread(target=self._end_idle, name="grader-idle", daemon=True).start()

    def take(self, run: str, settings: Mapping[str, Any], pack: bytes) -> WorkerProcess:
        """A process that has nothing to do. Raises OSError, or _ReleasedError."""
        with self._lock:
            self._check(run)
            idle = self._idle.get(run, [])
            while idle:
                _since, process = idle.pop()
                if process.process.poll() is None:
                    self._busy.setdefault(run, []).append(process)
                    return process
                process.end()
        process = WorkerProcess(settings, pack)
        with self._lock:
            try:
                self._check(run)
            except _ReleasedError:
                process.end()
                raise
            self._busy.setdefault(run, []).append(process)
        return process

    def give_back(self, run: str, process: WorkerProcess) -> None:
        """It has nothing to do again."""
        with self._lock:
            if process in self._busy.get(run, []):
                self._busy[run].remove(process)
                self._idle.setdefault(run, []).append((time.monotonic(), process))

    def drop(self, run: str, process: WorkerProcess) -> None:
        """It has ended, or can't be used. Raises _ReleasedError when the run is over."""
        with self._lock:
            if process in self._busy.get(run, []):
                self._busy[run].remove(process)
                process.end()
            self._check(run)

    def try_out(self, run: str, settings: Mapping[str, Any], pack: bytes) -> str:
        """Why a new process can't do anything here, or nothing. Raises _ReleasedError."""
        trial = Submission("trial", "trial", "trial.py", "", None, problem="no submission")
        try:
            process = self.take(run, settings, pack)
        except OSError as error:
            return one_line(error)
        try:
            process.ask(Job((trial,), reports=False).to_bytes())
        except WorkerEndedError:
            self.drop(run, process)
            return "a worker process ends as soon as it is started"
        self.give_back(run, process)
        return ""

    def release(self, run: str) -> None:
        """End the processes of a run; it gets no more."""
        with self._lock:
            self._released.add(run)
            self._end(run)

    def close(self) -> None:
        """End all."""
        with self._lock:
            self.closed = True
            for run in [*self._idle, *self._busy]:
                self._end(run)
        self._closing.set()

    def _end(self, run: str) -> None:
        processes = [process for _, process in self._idle.pop(run, [])] + self._busy.pop(run, [])
        for process in processes:
            process.end()

    def _check(self, run: str) -> None:
        if self.closed or run in self._released:
            raise _ReleasedError

    def _end_idle(self) -> None:
        while not self._closing.wait(min(5.0, LINGER_S)):
            before = time.monotonic() - LINGER_S
            with self._lock:
                for run, idle in self._idle.items():
                    for _, process in [one for one in idle if one[0] < before]:
                        process.end()
                    self._idle[run] = [one for one in idle if one[0] >= before]


_lock = threading.Lock()
_processes: dict[str, _Processes] = {}


def _processes_of(worker: Any) -> _Processes:
    from distributed import WorkerPlugin

    class Ending(WorkerPlugin):  # type: ignore[misc]
        """Known to this Dask worker alone: the scheduler and other users never hear of it."""

        def teardown(self, worker: Any) -> None:
            with _lock:
                processes = _processes.pop(worker.id, None)
            if processes is not None:
                processes.close()

    with _lock:
        processes = _processes.get(worker.id)
        if processes is None:
            processes = _processes[worker.id] = _Processes()
            worker.loop.add_callback(worker.plugin_add, Ending(), f"grader-{secrets.token_hex(4)}")
    return processes


def one_line(error: BaseException) -> str:
    """What an error says, in a line."""
    text = " ".join(str(error).split())
    return text[:300] if text else type(error).__name__
