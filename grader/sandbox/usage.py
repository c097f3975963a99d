"""What another process uses, and its end together with all that it started; by psutil, on every platform."""

from __future__ import annotations

import contextlib
import time

try:
    import psutil
except ModuleNotFoundError:
    psutil = None

from grader.sandbox.children import PackageMissingError
from grader.sandbox.clock import Reading

# The system counts in steps of about 10 ms: shorter intervals would tell nothing about idleness.
INTERVAL_SECONDS = 0.5
# Of the time that may have been a wait for a core.
COUNTED_SHARE = 0.1
# With less of a core than this a process did not wait for one: on a busy system too each has its turn.
ASLEEP_SHARE = 0.02


def require_psutil() -> None:
    """Raise PackageMissingError where processes can't be watched."""
    if psutil is None:
        raise PackageMissingError(
            "psutil is not installed; without it nothing watches the time and memory of submissions on this "
            "system: pip install psutil"
        )


def idle_within(wall: float, cpu: float, free: float) -> float:
    """For how many seconds of an interval a process did nothing, at least.

    It may have waited for a core only while all of them were busy. Of that time a tenth counts all the same,
    so that one that hardly works ends on a busy machine too; of one that did not work at all, everything.

    Args:
        wall: Length of the interval in seconds.
        cpu: Processor seconds that the process used in it.
        free: Seconds in which a core had nothing to do, the mean over all cores.
    """
    rest = max(0.0, wall - cpu)
    if cpu < ASLEEP_SHARE * wall:
        return rest
    return min(rest, max(COUNTED_SHARE * rest, free - cpu))


class Usage:
    """What one process uses from `begin` on.

    Args:
        pid: A process of ours that is not reaped yet.
    """

    def __init__(self, pid: int) -> None:
        self._process = None
        with contextlib.suppress(psutil.Error):
            self._process = psutil.Process(pid)
        self._cpu_before = 0.0
        self._cpu = self._idle = 0.0
        self._looked = (time.monotonic(), 0.0, 0.0)

    def begin(self, cpu_s: float) -> int:
        """Count from here; the bytes of memory that it has now.

        Args:
            cpu_s: Processor seconds that it has used so far, by its own account.
        """
        self._cpu_before = cpu_s
        self._looked = (time.monotonic(), 0.0, _free())
        return self.resident()

    def read(self) -> Reading:
        """The time that it has used; zeros when it is gone."""
        try:
            times = self._process.cpu_times() if self._process is not None else None
        except psutil.Error:
            times = None
        if times is None:
            return Reading(0.0, 0.0)
        self._cpu = max(self._cpu, times.user + times.system - self._cpu_before)
        now, free = time.monotonic(), _free()
        then, cpu, free_then = self._looked
        if now - then >= INTERVAL_SECONDS:
            self._idle += idle_within(now - then, self._cpu - cpu, free - free_then)
            self._looked = (now, self._cpu, free)
        return Reading(self._cpu, self._idle)

    @property
    def last_cpu(self) -> float:
        """Processor seconds by the last reading."""
        return self._cpu

    @property
    def cpu_before(self) -> float:
        """Processor seconds before `begin`."""
        return self._cpu_before

    def resident(self) -> int:
        """Bytes of memory; 0 when it is gone."""
        try:
            return int(self._process.memory_info().rss) if self._process is not None else 0
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End it and the processes that it started."""
        if self._process is None:
            return
        below = []
        with contextlib.suppress(psutil.Error):
            below = self._process.children(recursive=True)
        for process in (self._process, *below):
            with contextlib.suppress(psutil.Error):
                process.kill()


def _free() -> float:
    """Seconds in which a core had nothing to do, the mean over all cores, since some time in the past."""
    return float(psutil.cpu_times().idle) / (psutil.cpu_count() or 1)
