"""Limits on time, watched from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.sandbox.children import Child
from grader.sandbox.clock import Reading

TICK_SECONDS = 0.05
LOAD_FACTOR = 2.0
IDLE_FACTOR = 2.0


@dataclass(frozen=True)
class Limits:
    """What one submission may use: processor seconds, bytes of memory and bytes of captured output.

    Attributes:
        spare_seconds: Added to ``seconds`` for what is not the submission's own doing.
    """

    seconds_per_call: float = 5.0
    seconds: float = 60.0
    memory: int = 1 << 30
    output: int = 64 << 10
    spare_seconds: float = 0.0


class Watch:
    """Whether a child has used up the time of its current step, or of the whole submission.

    Args:
        child: Whose time it is.
        progress: A number that is another one at each step.
        limits: What is allowed.
        cpu_before: Processor seconds that earlier children of the submission used.
        idle_before: Seconds in which they did nothing.
    """

    def __init__(
        self,
        child: Child,
        progress: Callable[[], int],
        limits: Limits,
        cpu_before: float,
        idle_before: float,
    ) -> None:
        self.child = child
        self.progress = progress
        self.limits = limits
        self.cpu_before = cpu_before
        self.idle_before = idle_before
        self.step = -1
        self.since = Reading(0.0, 0.0)
        self.idle = 0.0

    def over(self, *, loading: bool) -> str | None:
        """Why the child is to be ended, if it is."""
        now = self.child.read_clock()
        self.idle = max(self.idle, now.idle)
        step = self.progress()
        if step != self.step:
            self.step, self.since = step, now
        allowed = self.limits.seconds_per_call * (LOAD_FACTOR if loading else 1.0)
        what = "loading the file" if loading else "the call"
        if now.cpu - self.since.cpu > allowed:
            return f"{what} took more than {allowed:g} s of processor time"
        if now.idle - self.since.idle > IDLE_FACTOR * allowed:
            return f"{what} did nothing for more than {IDLE_FACTOR * allowed:g} s"
        if now.cpu + self.cpu_before > self.limits.seconds + self.limits.spare_seconds:
            return f"the {self.limits.seconds:g} s for all calls together were used up"
        if now.idle + self.idle_before > IDLE_FACTOR * self.limits.seconds:
            return f"the submission did nothing for {IDLE_FACTOR * self.limits.seconds:g} s in all"
        return None
