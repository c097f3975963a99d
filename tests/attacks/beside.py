"""An honest submission, graded again and again while something else goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from grader.batch.runner import Runner
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.result import Result

PAUSE = 0.03


class Beside:
    """A thread that lasts, with a runner of its own: fork servers end with the thread that started them."""

    def __init__(self, pack: Pack, submission: Submission) -> None:
        self._pack = pack
        self._submission = submission
        self._wanted = threading.Event()
        self._done = threading.Event()
        self._ready = threading.Event()
        self._closing = False
        self._results: list[Result] = []
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Beside:
        self._thread.start()
        self._ready.wait(120)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._wanted.set()
        self._thread.join()

    def _work(self) -> None:
        with Runner(self._pack) as runner:
            runner.grade(self._submission)
            self._ready.set()
            while True:
                self._wanted.wait()
                if self._closing:
                    return
                found = self._results
                found.append(runner.grade(self._submission))
                # What began before the time inside is none of its records.
                if found is self._results:
                    self._done.set()
                # Most of the machine is for the attack.
                time.sleep(PAUSE)

    @contextmanager
    def graded(self) -> Iterator[list[Result]]:
        """The honest submission's records of the time inside; at least one when it is over."""
        self._results = found = []
        self._done.clear()
        self._wanted.set()
        try:
            yield found
        finally:
            self._done.wait(120)
            self._wanted.clear()
