"""Ctrl-C, and what a system sends in its place, as an exception that leaves nothing half done."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """Within it the signals that ask a process to end raise KeyboardInterrupt, but for shielded work.

    Signals that were ignored before stay ignored, as those of a terminal are for a process in the background.
    In a thread other than the main one, where signals can't be handled, it changes nothing.

    Attributes:
        came: Such a signal has come.
    """

    def __init__(self) -> None:
        self.came = False
        self._before: dict[int, Any] = {}
        self._shielded = False
        self._waiting = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                # None is a handler of another kind than Python's.
                if before not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextlib.contextmanager
    def shield(self) -> Iterator[None]:
        """Within it nothing is interrupted; what has come meanwhile is raised at its end."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        if self._shielded:
            self._waiting = True
        else:
            raise KeyboardInterrupt
