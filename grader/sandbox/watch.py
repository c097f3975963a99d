"""Limits on time, watched from outside."""

from __future__ import annotations

from dataclasses import dataclass

from grader.sandbox.clock import ProcessClock, Reading
from grader.sandbox.inside import slots
from grader.sandbox.memory import SharedMemory
from grader.sandbox.server import Running

LOAD_FACTOR = 2.0
IDLE_FACTOR = 2.0


@dataclass(frozen=True)
class Limits:
    """What one submission may use: processor seconds, bytes of memory and bytes of captured output."""

    seconds_per_call: float = 5.0
    seconds: float = 60.0
    memory: int = 1 << 30
    output: int = 64 << 10


class Watch:
    """Whether a child has used up the time of its current step, or of the whole submission."""

    def __init__(
        self, running: Running, out: SharedMemory, limits: Limits, cpu_before: float, idle_before: float
    ) -> None:
        self.clock = ProcessClock(running.pid)
        self.out = out
        self.limits = limits
        self.cpu_before = cpu_before
        self.idle_before = idle_before
        self.slot = -1
        self.since = Reading(0.0, 0.0)
        self.idle = 0.0

    def over(self, *, loading: bool) -> str | None:
        now = self.clock.read()
        self.idle = max(self.idle, now.idle)
        (slot,) = slots.PROGRESS.unpack_from(self.out.map, 0)
        if slot != self.slot:
            self.slot, self.since = slot, now
        allowed = self.limits.seconds_per_call * (LOAD_FACTOR if loading else 1.0)
        what = "loading the file" if loading else "the call"
        if now.cpu - self.since.cpu > allowed:
            return f"{what} took more than {allowed:g} s of processor time"
        if now.idle - self.since.idle > IDLE_FACTOR * allowed:
            return f"{what} did nothing for more than {IDLE_FACTOR * allowed:g} s"
        if now.cpu + self.cpu_before > self.limits.seconds:
            return f"the {self.limits.seconds:g} s for all calls together were used up"
        if now.idle + self.idle_before > IDLE_FACTOR * self.limits.seconds:
            return f"the submission did nothing for {IDLE_FACTOR * self.limits.seconds:g} s in all"
        return None
