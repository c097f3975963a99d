"""What a submission may use on this machine, by a pack."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.exercise.pack import Pack
from grader.sandbox import workload
from grader.sandbox.allowance import Allowance, larger
from grader.sandbox.watch import Limits


@dataclass(frozen=True)
class Allowed:
    """What a pack's calls may use on this machine.

    Attributes:
        limits: Of a submission as a whole, and of a call where no other figure is there.
        steps: For each phase what each of its steps may take; empty where that is ``seconds_per_call``.
    """

    limits: Limits
    steps: dict[str, tuple[Allowance, ...]]

    @property
    def longest(self) -> float:
        """Processor seconds that the longest call may take."""
        seconds = [allowed.seconds for steps in self.steps.values() for allowed in steps]
        return max([self.limits.seconds_per_call, *seconds])


def stated(pack: Pack) -> Limits:
    """The limits as the exercise states them."""
    limits = pack.exercise.limits
    return Limits(
        seconds_per_call=float(limits["seconds_per_call"]),
        seconds=float(limits["seconds"]),
        memory=int(limits["memory"]),
        output=int(limits["output"]),
    )


def allowed_here(pack: Pack) -> Allowed:
    """The limits on this machine, whose speed is measured where they hang on it (about 0.1 s, once)."""
    limits = stated(pack)
    times = float(pack.exercise.limits.get("times_reference", 0.0))
    if not times:
        return Allowed(limits, {})
    workload_s = workload.seconds()
    start = float(pack.exercise.limits.get("reference_start", 0.0))
    needed = {phase: pack.reference_times(phase) for phase in pack.blocks}
    # Any call may be the first in its process.
    steps = {
        phase: tuple(
            [
                larger(limits.seconds_per_call, times, (time + start) * workload_s if time else 0.0)
                for time in needed[phase]
            ]
        )
        for phase in needed
    }
    together = larger(limits.seconds, times, workload_s * (start + sum(map(sum, needed.values()))))
    return Allowed(replace(limits, seconds=together.seconds, times_reference=together.times), steps)
