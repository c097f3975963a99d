"""Whether the time limits leave room: what the reference needs here, beside what a submission may take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.batch.limits import Allowed
from grader.exercise.pack import Pack
from grader.sandbox.allowance import Allowance
from grader.validation import TimeLimit, TimeLimits

# An honest submission is slower than the reference, and other machines are slower than the author's.
SAFE = 3.0


@dataclass(frozen=True)
class Need:
    """What the reference needs for something, and what a submission may take for it, both on this machine.

    Attributes:
        case: Id of the case whose calls these are; empty for all calls together.
        seconds: Processor time of the reference.
        allowed: Processor time of a submission.
    """

    case: str
    seconds: float
    allowed: Allowance

    @property
    def room(self) -> float:
        """How many times the reference's time a submission may take."""
        return self.allowed.seconds / self.seconds if self.seconds > 0 else math.inf

    @property
    def tight(self) -> bool:
        """That is less than `SAFE`."""
        return self.room < SAFE

    @property
    def key(self) -> str:
        """The key of ``limits`` that decides."""
        if self.allowed.times:
            return "times_reference"
        return "seconds_per_call" if self.case else "seconds"

    def __str__(self) -> str:
        what, who = (f" for {self.case}", "a call") if self.case else ("", "all calls together")
        wanted = f"at least {SAFE:g} times as much is wanted"
        advice = f"; raise {self.key}, or let it follow the reference with times_reference"
        if self.allowed.times:
            advice = f" ({self.allowed.times:g} times what is frozen); raise times_reference, or freeze anew"
        return (
            f"the reference needs {self.seconds:.2g} s of processor time here{what}, and {who} may take "
            f"{self.allowed.seconds:g} s; {wanted}{advice}"
        )


def tight(pack: Pack, allowed: Allowed, seconds: Mapping[str, float], start: float = 0.0) -> list[Need]:
    """The case with the least room and all calls together, those of the two that are tight; as `needs`."""
    *cases, together = needs(pack, allowed, seconds, start)
    return [need for need in (min(cases, key=lambda need: need.room), together) if need.tight]


def needs(pack: Pack, allowed: Allowed, seconds: Mapping[str, float], start: float = 0.0) -> Iterator[Need]:
    """The need of each case, then that of all together.

    Args:
        pack: The pack.
        allowed: What a submission may take here.
        seconds: What the reference takes here, by case.
        start: What its first call takes longer; any may be the first.
    """
    stated = Allowance(allowed.limits.seconds_per_call)
    for case in pack.cases:
        steps = allowed.steps.get(case.visibility, ())
        most = max((steps[n] for n in case.steps), key=lambda a: a.seconds) if steps else stated
        yield Need(case.id, seconds[case.id] + start, most)
    limits = allowed.limits
    yield Need("", sum(seconds.values()) + start, Allowance(limits.seconds, limits.times_reference))


def figures(
    pack: Pack, allowed: Allowed, seconds: Mapping[str, float], start: float, workload_s: float
) -> TimeLimits:
    """What is told of limits that follow the reference: of the case that takes longest, and of all."""
    *cases, together = needs(pack, allowed, seconds, start)
    longest = max(cases, key=lambda need: need.seconds)
    frozen = {case.id: case.reference_time or 0.0 for case in pack.cases}
    in_all = sum(sum(pack.reference_times(phase)) for phase in pack.blocks)
    first = pack.exercise.limits["reference_start"]
    told = [
        TimeLimit(need.case, workloads + first, need.seconds, need.allowed.seconds, need.allowed.times)
        for need, workloads in ((longest, frozen[longest.case]), (together, in_all))
    ]
    return TimeLimits(workload_s, *told)
