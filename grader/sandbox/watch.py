"""Limits on time, watched from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader.sandbox.allowance import Allowance
from grader.sandbox.children import Child
from grader.sandbox.clock import Reading

TICK_SECONDS = 0.05
LOAD_FACTOR = 2.0
IDLE_FACTOR = 2.0


@dataclass(frozen=True)
class Limits:
    """What one submission may use: processor seconds, bytes of memory and bytes of captured output.

    Attributes:
        seconds_per_call: For a call; loading the file may take `LOAD_FACTOR` times as long.
        seconds: For all calls together.
        times_reference: ``seconds`` is so many times what the reference needs here; 0 where it is stated.
        spare_seconds: Added to ``seconds`` for what is not the submission's own doing.
    """

    seconds_per_call: float = 5.0
    seconds: float = 60.0
    memory: int = 1 << 30
    output: int = 64 << 10
    times_reference: float = 0.0
    spare_seconds: float = 0.0

    @property
    def used_up(self) -> str:
        """What is said when the time for all calls together is over."""
        allowed = Allowance(self.seconds, self.times_reference)
        return f"the {self.seconds:g} s for all calls together{allowed.why} were used up"


class Watch:
    """Whether a child has used up the time of its current step, or of the whole submission.

    Args:
        child: Whose time it is.
        progress: A number that is another one at each step.
        limits: What is allowed.
        steps: What a step may take, by its number, where that is not ``seconds_per_call``.
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
        steps: Mapping[int, Allowance] = MappingProxyType({}),
    ) -> None:
        self.child = child
        self.progress = progress
        self.limits = limits
        self.steps = steps
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
        stated = Allowance(self.limits.seconds_per_call)
        what = "the call"
        # Which step it is at is the child's word; the time of all calls together bounds what a lie gains.
        allowed = self.steps.get(step, stated)
        if loading:
            what, allowed = "loading the file", Allowance(LOAD_FACTOR * stated.seconds)
        if now.cpu - self.since.cpu > allowed.seconds:
            return f"{what} took more than {allowed.seconds:g} s of processor time{allowed.why}"
        if now.idle - self.since.idle > IDLE_FACTOR * allowed.seconds:
            return f"{what} did nothing for more than {IDLE_FACTOR * allowed.seconds:g} s"
        if now.cpu + self.cpu_before > self.limits.seconds + self.limits.spare_seconds:
            return self.limits.used_up
        if now.idle + self.idle_before > IDLE_FACTOR * self.limits.seconds:
            return f"the submission did nothing for {IDLE_FACTOR * self.limits.seconds:g} s in all"
        return None
