"""Claims about answers, and tests of what many calls do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.exercise.cached import cached_pack
from grader.exercise.claims import ClaimError
from grader.exercise.naming import as_python
from grader.exercise.pack import Pack, PackCase
from grader.exercise.rehearsal import as_value, rehearse
from grader.judge.cases import judge_case
from grader.judge.properties import count, power_of
from grader.outcomes import ArrayValue, Container, PlainValue, StepOutcome, Value
from grader.result import Verdict

ROOT = Path(__file__).resolve().parents[1] / "exercises" / "root"


@pytest.fixture(scope="module")
def pack() -> Pack:
    return cached_pack(ROOT, "urn")


def case_of(pack: Pack, name: str) -> PackCase:
    return next(case for case in pack.cases if case.id == name)


def outcomes(pack: Pack, name: str, draws: Callable[..., Any]) -> list[StepOutcome]:
    """What a function would leave that makes the case's calls."""
    case = case_of(pack, name)
    plan = pack.plans[case.visibility]
    entries = {"draws": draws, "totals": draws}
    found = rehearse(entries, pack.blocks[case.visibility], plan, set(case.steps))
    return [found[step] for step in case.steps]


def verdict(pack: Pack, name: str, draws: Callable[..., Any]) -> tuple[Verdict, str]:
    judged = judge_case(pack, case_of(pack, name), outcomes(pack, name, draws), {})
    return judged.verdict, judged.message


def right(rate: float, ids: Any, rng: Any, factor: float = 1.0) -> dict[str, Any]:
    chosen = rng.random(ids.shape) < factor * rate
    return {"chosen": chosen, "values": ids[chosen]}


def test_right_answers_pass(pack: Pack) -> None:
    for name in ("values_are_chosen", "at_the_rate", "evenly", "ids_do_not_steer", "same_seed"):
        assert verdict(pack, name, right) == ("passed", "")


def test_another_use_of_the_generator_passes(pack: Pack) -> None:
    def column_by_column(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        chosen = np.stack([rng.uniform(size=len(ids)) < rate for _ in range(ids.shape[1])], axis=1)
        return {"chosen": chosen, "values": ids[chosen].astype(np.int32)}

    for name in ("values_are_chosen", "at_the_rate", "evenly", "ids_do_not_steer", "same_seed"):
        assert verdict(pack, name, column_by_column)[0] == "passed"


def test_a_claim_that_does_not_hold_is_told_in_its_words(pack: Pack) -> None:
    def reversed_values(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        answer = right(rate, ids, rng)
        return {**answer, "values": answer["values"][::-1]}

    found, message = verdict(pack, "values_are_chosen", reversed_values)
    assert found == "relation_violated"
    assert message == "This does not hold: The values are the chosen ids."


def test_sizes_that_should_be_one_are_two(pack: Pack) -> None:
    def short(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        answer = right(rate, ids, rng)
        return {**answer, "chosen": answer["chosen"][:2]}

    found, message = verdict(pack, "values_are_chosen", short)
    assert found == "wrong_shape"
    assert "chosen has 2 where 4 are expected" in message


def test_a_call_with_fewer_rows_is_held_to_its_own_sizes(pack: Pack) -> None:
    case = case_of(pack, "ids_do_not_steer")
    claims = [{"claim": "all(chosen[:2] == changed.chosen)", "says": "The first rows are as before."}]
    case = replace(case, options={"holds": claims, "let": [], "changed_dims": {"N": 2, "K": 9}})

    def rows(number: int) -> StepOutcome:
        def draws(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
            return right(rate, ids, rng) | {"chosen": np.ones((number, 9), bool)}

        return outcomes(pack, "ids_do_not_steer", draws)[0]

    first, second = rows(9), rows(2)
    assert judge_case(pack, case, [first, second], {}).verdict == "passed"
    judged = judge_case(pack, case, [first, first], {})
    assert judged.verdict == "wrong_shape"
    said = "In the second call, with changed arguments: chosen has 9 where 2 are expected (N)."
    assert judged.message == said


def test_a_rate_that_is_off_is_told_with_its_figures(pack: Pack) -> None:
    found, message = verdict(pack, "at_the_rate", lambda *a: right(*a, factor=1.2))
    assert found == "relation_violated"
    assert "of 7,200" in message and "expected are 25.00%" in message and "once in 10^" in message


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_a_right_one_passes_whatever_its_own_luck(pack: Pack, number: int) -> None:
    """The chance of a failure is below one in a thousand million."""

    def draws(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        own = np.random.default_rng([int(rng.integers(2**32)), number])
        return right(rate, ids, own)

    for name in ("at_the_rate", "evenly"):
        assert verdict(pack, name, draws)[0] == "passed"


def test_the_power_is_that_of_the_trials(pack: Pack) -> None:
    case = case_of(pack, "at_the_rate")
    counted = count(pack, case, outcomes(pack, "at_the_rate", right))
    assert counted.trials == 12 * 20 * 30
    assert (counted.expected, counted.against) == (0.25, 0.3)
    assert power_of(counted, float(case.options["log_level"])) > 0.999
    assert power_of(counted, math.log(1e-300)) < 0.5


def told_of(pack: Pack, probabilities: list[float], categories: list[str]) -> str:
    """What is told of a multinomial statistic whose first category takes all 8,000 ids."""
    size = len(probabilities)
    changed = {
        "counts": f"concatenate([[size(chosen)], zeros({size - 1}) > 0])",
        "probabilities": str(probabilities),
        "against": str(probabilities),
        "categories": categories,
    }
    case = case_of(pack, "evenly")
    case = replace(case, options={**case.options, **changed})
    return count(pack, case, outcomes(pack, "evenly", right)).words


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("at_the_rate", {"probability": "0.0 / 0.0"}, "a probability is between 0 and 1, not nan"),
        ("at_the_rate", {"probability": "2"}, "a probability is between 0 and 1, not 2"),
        ("at_the_rate", {"trials": "2 ** 60"}, "there are 0 to"),
        ("evenly", {"counts": "0 - sum(chosen, axis=0)"}, "below 0"),
        ("evenly", {"counts": "[2 ** 61, 2 ** 61, 2 ** 61, 2 ** 61]"}, "counts are integers"),
        ("evenly", {"probabilities": "full(4, 0.5)"}, "probabilities are 1 together"),
    ],
)
def test_what_can_not_be_tested_is_no_pass_and_no_fault_of_the_grader(
    pack: Pack, name: str, options: dict[str, str], said: str
) -> None:
    case = case_of(pack, name)
    case = replace(case, options={**case.options, **options})
    judged = judge_case(pack, case, outcomes(pack, name, right), {})
    assert judged.verdict == "relation_violated"
    assert judged.message.startswith("This can't be told of the answers: ") and said in judged.message


def test_counts_are_told_by_the_names_of_their_categories(pack: Pack) -> None:
    message = told_of(pack, [0.25, 0.75], ["first", "second"])
    assert "Of 8,000 were counted first 8,000 times, second 0 times" in message
    assert "expected are about 2,000, 6,000" in message
    assert "category 0" in told_of(pack, [0.25, 0.75], [])


def test_of_many_categories_the_one_that_is_furthest_off_is_told(pack: Pack) -> None:
    message = told_of(pack, [0.1] * 10, [f"letter {name}" for name in "abcdefghij"])
    assert "letter a" in message and "letter b" not in message


def test_categories_need_a_name_each(pack: Pack) -> None:
    with pytest.raises(ClaimError, match="1 categories are named; there are 2"):
        told_of(pack, [0.25, 0.75], ["first"])


@pytest.mark.parametrize(
    "answer",
    [
        {"chosen": np.zeros((20, 30), bool), "values": np.zeros(0, np.int64)},
        {"chosen": np.ones((20, 30), bool), "values": np.zeros(600, np.int64)},
    ],
    ids=["none", "all"],
)
def test_always_the_same_is_no_chance(pack: Pack, answer: dict[str, Any]) -> None:
    assert verdict(pack, "at_the_rate", lambda *a: answer)[0] == "relation_violated"


def test_an_answer_with_nothing_to_count_fails(pack: Pack) -> None:
    def none(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        return {"chosen": np.zeros(ids.shape, bool), "values": ids[:0, 0]}

    found, message = verdict(pack, "evenly", none)
    assert found == "relation_violated"
    assert "Each column is chosen equally often." in message
    assert "In all 100 calls nothing was counted; expected are at least" in message


def test_an_answer_with_little_to_count_fails_with_its_figures(pack: Pack) -> None:
    def few(rate: float, ids: Any, rng: Any) -> dict[str, Any]:
        chosen = np.zeros(ids.shape, bool)
        chosen[0] = rng.random(ids.shape[1]) < rate
        return {"chosen": chosen, "values": ids[chosen]}

    found, message = verdict(pack, "evenly", few)
    assert found == "relation_violated"
    assert re.search(r"In all 100 calls \d\d+ were counted; expected are at least [\d,]+\.", message)
    least = case_of(pack, "evenly").options["least_trials"]
    # Of 20 rows of 4 a quarter is chosen in each of 100 calls.
    assert 500 < least < 2000


def test_a_pack_of_an_earlier_version_asks_for_no_number_of_trials(pack: Pack) -> None:
    case = case_of(pack, "evenly")
    old = replace(case, options={k: v for k, v in case.options.items() if k != "least_trials"})
    none = {"chosen": np.zeros((20, 4), bool), "values": np.zeros(0, np.int64)}
    given = outcomes(pack, "evenly", lambda *a: none)
    assert judge_case(pack, old, given, {}).verdict == "passed"


def test_the_test_and_the_floor_of_its_trials_share_a_level(pack: Pack) -> None:
    levels = 0.0
    for case in pack.cases:
        if case.check == "statistic":
            levels += math.exp(case.options["log_level"]) + math.exp(case.options["log_floor_level"])
    assert levels == pytest.approx(1e-9)


@pytest.mark.parametrize("counts", ["[5 - size(values), 1, 1, 1]", "[size(values) * 10**15, 1, 1, 1]"])
def test_counts_that_are_none_fail_the_answer_and_not_the_grader(pack: Pack, counts: str) -> None:
    case = case_of(pack, "evenly")
    case = replace(case, options={**case.options, "counts": counts})
    judged = judge_case(pack, case, outcomes(pack, "evenly", right), {})
    assert judged.verdict == "relation_violated" and "can't be told" in judged.message


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (PlainValue("int", 3), 3),
        (PlainValue("str", "a"), "a"),
        (PlainValue("none"), None),
        (PlainValue("object", "thing"), None),
        (ArrayValue("scalar", "float64", (), np.float64(0.5).tobytes()), 0.5),
        (ArrayValue("array", "object", (2,), None), None),
        (Container("list", (PlainValue("int", 1), PlainValue("bool", True))), [1, True]),
        (Container("dict", ((PlainValue("int", 4), PlainValue("str", "x")),)), {4: "x"}),
        (Container("dict", ((PlainValue("none"), PlainValue("str", "x")),)), {"None": "x"}),
    ],
)
def test_values_as_claims_see_them(value: Value, found: Any) -> None:
    assert as_python(value) == found


def test_an_array_keeps_its_dtype() -> None:
    array = as_python(as_value(np.arange(3, dtype=np.int32)))
    assert array.dtype == np.int32 and array.tolist() == [0, 1, 2]
