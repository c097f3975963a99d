"""What is told of an exercise's statistical tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.authoring.power import look_at_test
from grader.exercise.cached import cached_pack
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import rehearse

ROOT = Path(__file__).resolve().parents[1] / "exercises" / "root"


@pytest.fixture(scope="module")
def pack() -> Pack:
    return cached_pack(ROOT, "urn")


def faults(pack: Pack, **options: Any) -> list[tuple[str, ...]]:
    """What is wrong with the test of the rate, with other options."""
    case = next(case for case in pack.cases if case.id == "at_the_rate")

    def draws(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        chosen = rng.random(ids.shape) < rate
        return {"chosen": chosen, "values": ids[chosen]}

    plan = pack.plans[case.visibility]
    found = rehearse({"draws": draws, "totals": draws}, pack.blocks[case.visibility], plan, set(case.steps))
    case = replace(case, options={**case.options, **options})
    return look_at_test(pack, case, [found[step] for step in case.steps])[1]


def test_a_test_that_tells_what_it_has_to_is_sound(pack: Pack) -> None:
    assert faults(pack) == []


@pytest.mark.parametrize(
    ("probability", "said"), [("0.9", "once in 10^"), ("0.0", "never"), ("0.17", "once in ")]
)
def test_a_reference_that_does_something_else_is_told_however_rare_that_is(
    pack: Pack, probability: str, said: str
) -> None:
    told = [fault for fault in faults(pack, probability=probability) if fault[0] == "reference_improbable"]
    assert len(told) == 1
    assert f"the reference does what chance does {said}" in told[0][1]


def test_a_probability_that_is_none_is_a_fault_of_the_exercise(pack: Pack) -> None:
    ((kind, message, _),) = faults(pack, probability="0.0 / 0.0")
    assert kind == "statistic_fails" and "not nan" in message
