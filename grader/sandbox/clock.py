"""How long another process has worked and how long it has idled."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reading:
    """Seconds since the clock was made: of processor time, and of neither working nor waiting for a core."""

    cpu: float
    idle: float


class ProcessClock:
    """Reads a process's time from outside.

    Processor time decides about limits, so that a busy machine fails nobody. Time in which the process
    neither runs nor waits for a core (it sleeps) counts as idle.
    """

    def __init__(self, pid: int) -> None:
        # The kernel's number for "processor time of process pid" (CPUCLOCK_SCHED in <linux/posix-timers.h>).
        self._clock = (~pid << 3) | 2
        self._tasks = Path(f"/proc/{pid}/task")
        self._begin = time.monotonic()

    def read(self) -> Reading:
        """The current reading; zeros when the process is gone."""
        wall = time.monotonic() - self._begin
        try:
            cpu = time.clock_gettime(self._clock)
        except OSError:
            return Reading(0.0, 0.0)
        try:
            # Of all threads: a thread that waits for a core is no idleness of the one that waits for it.
            waited = sum(
                int((task / "schedstat").read_text().split()[1]) / 1e9 for task in self._tasks.iterdir()
            )
        except (OSError, ValueError, IndexError):
            # Without the scheduler's figures every second without work might be a wait for a core;
            # a tenth of it counts, so that a sleeper still ends.
            waited = 0.9 * max(0.0, wall - cpu)
        return Reading(cpu, max(0.0, wall - cpu - waited))
