"""A driver's calls in this process: the driver's functions first, then the module's own."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import pytest

from grader.exercise.driving import bound

DRIVER = """\
def draw(submission, n):
    progress(0, n)
    urn = submission.Urn()
    return [urn.draw() for _ in range(n)]


def _helper(submission):
    return 0
"""


def module(**held: Any) -> types.ModuleType:
    made = types.ModuleType("handed_in")
    made.__dict__.update(held)
    return made


class Urn:
    """Counts what is drawn from it."""

    def __init__(self) -> None:
        self.drawn = 0

    def draw(self) -> int:
        self.drawn += 1
        return self.drawn


def test_without_a_driver_the_only_call_is_the_function_itself() -> None:
    def f(x: int) -> int:
        return x + 1

    assert bound("", module(f=f), ("",), "f") is f


def test_several_calls_go_to_the_driver_or_to_the_module() -> None:
    made = bound(DRIVER, module(Urn=Urn, plus=lambda x: x + 1), ("draw", "plus"), "Urn")
    assert isinstance(made, Mapping) and list(made) == ["draw", "plus"]
    assert made["draw"](3) == [1, 2, 3]
    assert made["draw"](2) == [1, 2], "each call has an urn of its own"
    assert made["plus"](4) == 5


def test_a_driver_makes_the_only_call() -> None:
    made = bound(DRIVER.replace("draw(submission", "f(submission"), module(Urn=Urn), ("",), "f")
    assert callable(made) and made(2) == [1, 2]


def test_the_driver_goes_before_a_function_of_the_module() -> None:
    made = bound(DRIVER, module(Urn=Urn, draw=lambda n: "mine"), ("draw",), "Urn")
    assert isinstance(made, Mapping) and made["draw"](1) == [1]


def test_a_function_that_is_missing_is_missed_when_it_is_called() -> None:
    made = bound("", module(f=len), ("f", "g"), "f")
    assert isinstance(made, Mapping) and made["f"]("ab") == 2
    with pytest.raises(AttributeError, match="module 'handed_in' has no attribute 'g'"):
        made["g"](1)


def test_progress_goes_to_who_asks_for_it() -> None:
    told: list[tuple[float, float]] = []
    made = bound(DRIVER, module(Urn=Urn), ("draw",), "Urn", lambda done, total: told.append((done, total)))
    assert isinstance(made, Mapping)
    made["draw"](3)
    assert told == [(0, 3)]
