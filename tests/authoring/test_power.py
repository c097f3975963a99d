"""What is told of an exercise's statistical tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.authoring.power import look_at_test
from grader.exercise.cached import cached_pack
from grader.exercise.pack import Pack, PackCase
from grader.exercise.rehearsal import rehearse

ROOT = Path(__file__).resolve().parents[1] / "exercises" / "root"


@pytest.fixture(scope="module")
def pack() -> Pack:
    return cached_pack(ROOT, "urn")


def looked_at(
    pack: Pack, *, stated: bool = False, of: str = "evenly", **options: Any
) -> tuple[Any, list[Any]]:
    case = next(case for case in pack.cases if case.id == of)
    case = replace(case, options={**case.options, **options})
    return look_at_test(pack, case, outcomes(pack, case), stated=stated)


def codes(pack: Pack, **options: Any) -> list[str]:
    return [code for code, *_ in looked_at(pack, **options)[1]]


def outcomes(pack: Pack, case: PackCase) -> Any:
    def draws(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        chosen = rng.random(ids.shape) < rate
        return {"chosen": chosen, "values": ids[chosen]}

    found = rehearse(
        {"draws": draws, "totals": draws},
        pack.blocks[case.visibility],
        pack.plans[case.visibility],
        set(case.steps),
    )
    return [found[step] for step in case.steps]


def test_a_sound_test_has_no_fault_and_its_floor_is_told(pack: Pack) -> None:
    found, faults = looked_at(pack)
    assert list(faults) == []
    assert found.trials / 4 < found.least_trials < found.trials
    # Two tests share one in a thousand million, and each its part with the floor of its trials.
    assert found.level == pytest.approx(5e-10)


def test_a_test_whose_trials_may_vanish_is_a_weakness(pack: Pack) -> None:
    assert codes(pack, least_trials=0) == ["statistic_without_floor"]


def test_an_author_may_say_that_any_number_is_right(pack: Pack) -> None:
    assert codes(pack, stated=True, least_trials=0) == []


def test_a_test_without_power_is_a_weakness(pack: Pack) -> None:
    assert codes(pack, against="[0.2501, 0.2499, 0.25, 0.25]") == ["statistic_without_power"]


@pytest.mark.parametrize(
    ("probability", "said"), [("0.9", "once in 10^"), ("0.0", "never"), ("0.17", "once in ")]
)
def test_a_reference_that_does_something_else_is_told_however_rare_that_is(
    pack: Pack, probability: str, said: str
) -> None:
    told = [
        fault
        for fault in looked_at(pack, of="at_the_rate", probability=probability)[1]
        if fault[0] == "reference_improbable"
    ]
    assert len(told) == 1
    assert f"the reference does what chance does {said}" in told[0][1]


def test_a_probability_that_is_none_is_a_fault_of_the_exercise(pack: Pack) -> None:
    ((kind, message, _),) = looked_at(pack, of="at_the_rate", probability="0.0 / 0.0")[1]
    assert kind == "statistic_fails" and "not nan" in message
