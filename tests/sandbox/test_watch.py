"""Limits on time, by a clock that goes on when it is told to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.sandbox.allowance import Allowance
from grader.sandbox.clock import Reading
from grader.sandbox.watch import IDLE_FACTOR, LOAD_FACTOR, Limits, Watch

LIMITS = Limits(seconds_per_call=5.0, seconds=60.0)
SCALED = Limits(seconds_per_call=5.0, seconds=900.0, times_reference=10.0)
# The steps 2 to 4; the third of them takes long.
STEPS = {2: Allowance(5.0), 3: Allowance(5.0), 4: Allowance(120.0, 10.0)}


class Subject:
    """A child whose times and step are set by a test."""

    def __init__(self) -> None:
        self.cpu = self.idle = 0.0
        self.step = 0

    def read_clock(self) -> Reading:
        return Reading(self.cpu, self.idle)


class Watched:
    """A watch, and what it says of a child that is set to a step and a time."""

    def __init__(self, limits: Limits = SCALED, steps: Any = STEPS, cpu_before: float = 0.0) -> None:
        self.child: Any = Subject()
        self.watch = Watch(self.child, lambda: self.child.step, limits, cpu_before, 0.0, steps)

    def at(self, step: int, cpu: float, idle: float = 0.0, *, loading: bool = False) -> str | None:
        self.child.step, self.child.cpu, self.child.idle = step, cpu, idle
        return self.watch.over(loading=loading)


def test_each_step_has_its_own_time() -> None:
    seen = Watched()
    assert seen.at(2, 1.0) is None and seen.at(2, 5.9) is None
    assert seen.at(4, 6.0) is None and seen.at(4, 125.9) is None
    said = seen.at(4, 126.1)
    assert said == (
        "the call took more than 120 s of processor time (10 times what the reference needs here)"
    )
    assert seen.at(3, 127.0) is None
    assert seen.at(3, 132.1) == "the call took more than 5 s of processor time"


def test_a_step_that_nobody_knows_has_the_stated_time() -> None:
    seen = Watched()
    assert seen.at(2**64 - 1, 1.0) is None
    assert seen.at(2**64 - 1, 6.1) == "the call took more than 5 s of processor time"


def test_loading_has_the_stated_time_whatever_the_child_says_it_is_at() -> None:
    seen = Watched()
    assert seen.at(4, 1.0, loading=True) is None
    said = seen.at(4, 1.1 + 5.0 * LOAD_FACTOR, loading=True)
    assert said == "loading the file took more than 10 s of processor time"


def test_a_long_step_may_idle_longer() -> None:
    seen = Watched()
    assert seen.at(4, 1.0) is None and seen.at(4, 1.0, 120 * IDLE_FACTOR) is None
    assert seen.at(4, 1.0, 120 * IDLE_FACTOR + 0.1) == "the call did nothing for more than 240 s"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (LIMITS, "the 60 s for all calls together were used up"),
        (
            SCALED,
            "the 900 s for all calls together (10 times what the reference needs here) were used up",
        ),
    ],
)
def test_the_time_of_all_calls_is_told_with_what_it_comes_from(limits: Limits, said: str) -> None:
    seen = Watched(limits, cpu_before=limits.seconds - 1)
    assert seen.at(2, 0.5) is None and seen.at(3, 1.5) == said
    patient = Watched(replace(limits, spare_seconds=3), cpu_before=limits.seconds - 1)
    assert patient.at(2, 1.5) is None and patient.at(3, 4.1) == said
