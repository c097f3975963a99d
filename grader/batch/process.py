"""A worker process on this machine, and the talk with it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from grader.batch.messages import receive, send

_T = TypeVar("_T")

ROOT = Path(__file__).resolve().parents[2]


class WorkerEndedError(Exception):
    """A worker process has ended and answers no more."""


class WorkerProcess:
    """One process that grades jobs, one after another; see `grader.batch.worker`.

    Two threads do the talking: a pipe takes little at a time, and not every platform can wait for several.

    Args:
        settings: ``reports``: the folder of a run, or None. ``pages``: ``write`` the pages there,
            ``return`` them in the answer, or ``none``. ``weak_isolation``: run submissions also where they
            can't be confined fully.
        pack_data: The bytes of the exercise's pack.
        tell: Called in a thread of this object's with each answer, and with None when the process has ended;
            without it there is `ask`.

    Raises:
        OSError: It can't be started.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        pack_data: bytes,
        tell: Callable[[WorkerProcess, bytes | None], None] | None = None,
    ) -> None:
        self._tell = tell
        self._jobs: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._asking = threading.Lock()
        self._ended = False
        started: queue.SimpleQueue[subprocess.Popen[bytes] | Exception] = queue.SimpleQueue()
        first = json.dumps(dict(settings)).encode(), pack_data
        self._threads = [threading.Thread(target=self._talk, args=(started, *first), daemon=True)]
        self._threads[0].start()
        process = started.get()
        if isinstance(process, Exception):
            self._threads[0].join()
            raise process
        self.process = process
        self._threads.append(threading.Thread(target=self._listen, daemon=True))
        self._threads[1].start()

    def send(self, job: bytes) -> None:
        """Hand over a job; its answer, in its turn, is told."""
        self._jobs.put(job)

    def ask(self, job: bytes) -> bytes:
        """The answer to a job; of several threads that ask one waits for the other.

        Raises:
            WorkerEndedError: The process has ended, now or before.
        """
        assert self._tell is None
        with self._asking:
            if self._ended:
                raise WorkerEndedError("the worker process has ended")
            self._jobs.put(job)
            answer = next_of(self._answers)
            if answer is None:
                self._ended = True
                raise WorkerEndedError("the worker process has ended")
            return answer

    def kill(self) -> None:
        """End the process at once, without waiting for its end; `end` has to follow."""
        self.process.kill()

    def end(self) -> None:
        """End the process and, with it, its servers; who waits in `ask` learns of it.

        May be called again, but not by `tell`.
        """
        self._jobs.put(None)
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _talk(self, started: queue.SimpleQueue[subprocess.Popen[bytes] | Exception], *first: bytes) -> None:
        # Started here, as Linux ends a worker with the thread that started it: this one lives as long.
        try:
            process = _start()
        except Exception as error:
            started.put(error)
            return
        started.put(process)
        assert process.stdin is not None
        # That a process has ended is heard by the other thread.
        with contextlib.suppress(OSError):
            for message in first:
                send(process.stdin, message)
            while (job := self._jobs.get()) is not None:
                send(process.stdin, job)
            return
        process.kill()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, EOFError):
            while True:
                self._take(receive(self.process.stdout))
        self._take(None)

    def _take(self, answer: bytes | None) -> None:
        if self._tell is None:
            self._answers.put(answer)
        else:
            self._tell(self, answer)


def _start() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!a}); from grader.batch.worker import main; main()"
    return subprocess.Popen(
        # -P: a submission called signal.py in the current folder is no module of ours.
        [sys.executable, "-P", "-c", code, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # An interrupt from the terminal is for the parent alone, which then ends its workers.
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def next_of(answers: queue.SimpleQueue[_T]) -> _T:
    """The next of a queue, whenever it comes."""
    while True:
        # On Windows a wait without end hears no interrupt.
        with contextlib.suppress(queue.Empty):
            return answers.get(timeout=1.0)
