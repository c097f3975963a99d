"""What trusted but changed code may use in this process: processor time for a call."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from grader.exercise.rehearsal import Functions

Function = Callable[..., Any]

SECONDS = 2.0


class _SpentError(BaseException):
    """Raised in a call that does not end; no handler of ordinary exceptions catches it."""


class EndlessError(Exception):
    """A call took longer than it may."""


class NotTriedError(EndlessError):
    """A call was not made, since one before it did not end."""


def limited_all(entry: Functions, seconds: float = SECONDS) -> Functions:
    """The same of a function, or of each of several by the calls' names."""
    if isinstance(entry, Mapping):
        return {name: limited(one, seconds) for name, one in entry.items()}
    return limited(entry, seconds)


def limited(entry: Function, seconds: float = SECONDS) -> Function:
    """A function that raises EndlessError where ``entry`` does not end, and NotTriedError in all later calls.

    Processor time counts, so that a busy machine changes nothing. The time is looked at between two steps of
    Python; away from the main thread, and where there are no such timers, it is not looked at.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return entry
    endless = False

    def spent(number: int, frame: Any) -> None:
        raise _SpentError

    def call(*arguments: Any) -> Any:
        nonlocal endless
        if endless:
            raise NotTriedError("an earlier call did not end")
        before = signal.signal(signal.SIGPROF, spent)
        try:
            try:
                # It goes off again and again, should the first time fall into a handler that swallows all.
                signal.setitimer(signal.ITIMER_PROF, seconds, seconds / 10)
                return entry(*arguments)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        except _SpentError:
            # It may have gone off while the timer was being stopped.
            signal.setitimer(signal.ITIMER_PROF, 0)
            endless = True
            raise EndlessError(f"it did not end within {seconds:g} s") from None
        finally:
            signal.signal(signal.SIGPROF, before)

    return call
