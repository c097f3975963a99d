"""Why a child ended early, in words."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from grader.outcomes import State
from grader.sandbox.printed import Printed
from grader.sandbox.server import Ended


@dataclass
class Stopped:
    """Why the judge ended a child."""

    reason: str


def how_it_ended(
    stopped: Stopped | None, ended: Ended | None, printed: Printed, filename: str
) -> tuple[State, str]:
    """State and words for a child that ended early."""
    if stopped is not None:
        return "timed_out", stopped.reason
    if ended is None:
        return "crashed", "the process ended early"
    if "OpenBLAS" in printed.raw and "llocat" in printed.raw:
        return "out_of_memory", "numpy's matrix library got no memory"
    if ended.code >= 0:
        return "crashed", f"the process ended itself with exit code {ended.code}, as os._exit does"
    if -ended.code == signal.SIGXCPU:
        return "timed_out", "all of the allowed processor time was used up"
    if -ended.code == signal.SIGKILL:
        return "crashed", "the process was killed from outside, perhaps because the machine ran out of memory"
    try:
        name = signal.Signals(-ended.code).name
    except ValueError:
        name = f"signal {-ended.code}"
    line = _crash_line(printed.raw, filename)
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
