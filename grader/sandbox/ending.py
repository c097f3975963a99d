"""Why a child ended early, in words."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from grader.outcomes import State
from grader.sandbox.children import Ended, SandboxError
from grader.sandbox.inside.protocol import NOT_CONFINED

# By number where the platform has none of that name.
KILLED = getattr(signal, "SIGKILL", 9)
TIME_UP = getattr(signal, "SIGXCPU", 24)


@dataclass
class Stopped:
    """Why the judge ended a child."""

    reason: str


def check_confined(ended: Ended) -> None:
    """Raise SandboxError for a child that found that it could not be confined, and so did nothing."""
    if ended.code == NOT_CONFINED:
        raise SandboxError("a process could not be confined")


def how_it_ended(stopped: Stopped | None, ended: Ended | None, raw: str, filename: str) -> tuple[State, str]:
    """State and words for a child that ended early.

    Args:
        stopped: Why the judge ended it, if it did.
        ended: How it ended, where that is known.
        raw: What reached its standard error past Python.
        filename: The student's file.
    """
    if stopped is not None:
        return "timed_out", stopped.reason
    if ended is not None and ended.out_of_memory:
        return "out_of_memory", "the process used more memory than is allowed"
    if ended is None:
        return "crashed", "the process ended early"
    if "OpenBLAS" in raw and "llocat" in raw:
        return "out_of_memory", "numpy's matrix library got no memory"
    if ended.code >= 0:
        return "crashed", f"the process ended itself with exit code {ended.code}, as os._exit does"
    if -ended.code == TIME_UP:
        return "timed_out", "all of the allowed processor time was used up"
    if -ended.code == KILLED:
        return "crashed", "the process was killed from outside, perhaps because the machine ran out of memory"
    try:
        name = signal.Signals(-ended.code).name
    except ValueError:
        name = f"signal {-ended.code}"
    line = _crash_line(raw, filename)
    return "crashed", f"the process crashed ({name}){line}"


def _crash_line(raw: str, filename: str) -> str:
    """Where in the student's file the process was, by Python's fault handler."""
    begin = f'  File "{filename}", line '
    for text in raw.splitlines():
        if text.startswith(begin):
            number = text.removeprefix(begin).split(" ")[0]
            # The text comes from the child, which may have written anything there.
            return f" in line {number}" if number.isdecimal() and len(number) < 8 else ""
    return ""
