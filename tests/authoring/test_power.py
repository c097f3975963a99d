"""What is said of a statistical test by what the reference does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.authoring.power import look_at_test
from grader.exercise.cached import cached_pack
from grader.exercise.rehearsal import rehearse

ROOT = Path(__file__).resolve().parents[1] / "exercises" / "root"


def looked_at(chosen: Callable[[Any, Any, Any], Any]) -> list[tuple[str, ...]]:
    """The faults of a test whose reference chooses ids like this."""
    pack = cached_pack(ROOT, "urn")
    case = next(case for case in pack.cases if case.id == "at_the_rate")

    def draws(rate: Any, ids: Any, rng: Any) -> Any:
        found = chosen(rate, ids, rng)
        return {"chosen": found, "values": ids[found]}

    made = {"draws": draws, "totals": lambda *_: None}
    steps = rehearse(made, pack.blocks[case.visibility], pack.plans[case.visibility], only=case.steps)
    return look_at_test(pack, case, [steps[number] for number in case.steps])[1]


def test_a_reference_that_does_what_is_tested_has_no_fault() -> None:
    assert looked_at(lambda rate, ids, rng: rng.random(ids.shape) < rate) == []


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (lambda rate, ids, rng: rng.random(ids.shape) < rate + 0.05, "once in 10^"),
        # So rarely that how often is no float.
        (lambda rate, ids, rng: np.ones(ids.shape, bool), "once in 10^"),
    ],
)
def test_a_reference_that_does_something_else_is_told(chosen: Any, said: str) -> None:
    (fault,) = looked_at(chosen)
    assert fault[0] == "reference_improbable" and said in fault[1]
