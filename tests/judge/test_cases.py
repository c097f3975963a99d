"""The verdict on one case, from how its calls ended and what they gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.exercise.pack import PackCall
from grader.judge.cases import judge_case
from grader.judge.relations import Judgement
from grader.outcomes import Failure, PlainValue, StepOutcome
from judge.made_up import case, pack_of, returned

EXPECTED = np.array([[1.0, 2.0, 4.0], [-1.0, 0.5, 0.25]])


def judged(*outcomes: StepOutcome, check: str = "compare", **keys: Any) -> Judgement:
    usual = {"scale": 4.0, "steps": tuple(range(len(outcomes))), "shapes": ((2, 3),) * len(outcomes)}
    one = case(check, **(usual | keys))
    return judge_case(pack_of(one, expected={"one": EXPECTED}), one, outcomes, {})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_expected_answer_passes(dtype: str) -> None:
    judgement = judged(returned(EXPECTED.astype(dtype)))
    assert (judgement.verdict, judgement.message) == ("passed", "")
    assert judgement.comparison is not None
    assert judgement.comparison.max_rel == 0


def test_wrong_values_are_counted_and_measured() -> None:
    wrong = EXPECTED.copy()
    wrong[0, :2] += [0.04, -0.4]
    judgement = judged(returned(wrong))
    assert judgement.verdict == "wrong_value"
    assert judgement.message == "2 of 6 values are off, by up to 0.4 (relative 0.1; 1e-06 is allowed)."
    assert judgement.obtained is not None
    assert np.array_equal(judgement.obtained, wrong)
    assert judgement.expected is not None


@pytest.mark.parametrize("off", [0, 1])
def test_whole_numbers_are_compared_exactly_however_large_the_largest_is(off: int) -> None:
    """One in ten million is less than the tolerance of floats."""
    one = case(shapes=((3,),), scale=1e7)
    expected = np.array([3.0, 4.0, 1e7])
    made = pack_of(one, expected={"one": expected})
    call = PackCall(("x", "w", "factor"), {"shape": ["N"], "dtype": ["int64", "int32"]})
    made = replace(made, exercise=replace(made.exercise, calls={"": call}))
    answer = expected.astype(np.int64)
    answer[0] += off
    found = judge_case(made, one, [returned(answer)], {})
    assert found.verdict == ("wrong_value" if off else "passed")


def test_a_single_value_is_told_as_such() -> None:
    one = case(shapes=((1, 1),), scale=4.0)
    made = judge_case(
        pack_of(one, expected={"one": np.array([[4.0]])}), one, [returned(np.array([[5.0]]))], {}
    )
    assert made.message == "The value is off by 1 (relative 0.25)."


@pytest.mark.parametrize(
    ("bad", "word"), [([np.nan], "NaN"), ([np.inf], "infinite"), ([-np.inf, np.nan], "NaN or infinite")]
)
@pytest.mark.parametrize("check", ["compare", "finite"])
def test_values_that_are_not_finite_are_told_in_words(bad: list[float], word: str, check: str) -> None:
    wrong = EXPECTED.copy()
    wrong.ravel()[: len(bad)] = bad
    judgement = judged(returned(wrong), check=check)
    assert judgement.verdict == "wrong_value"
    end = "all expected ones are finite" if check == "compare" else "expected finite values"
    assert judgement.message == f"{len(bad)} of 6 values are {word}; {end}."


def test_finite_takes_any_finite_values_of_the_shape() -> None:
    assert judged(returned(EXPECTED * 1e9), check="finite").verdict == "passed"
    assert judged(returned(EXPECTED.T), check="finite").verdict == "wrong_shape"


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("raised", "raised"),
        ("timed_out", "timed_out"),
        ("out_of_memory", "out_of_memory"),
        ("crashed", "crashed"),
        ("not_run", "skipped"),
    ],
)
@pytest.mark.parametrize("check", ["compare", "finite", "equals", "output_not_aliased"])
def test_a_call_that_did_not_return_decides_the_case(state: Any, verdict: str, check: str) -> None:
    failure = Failure("ValueError", "x") if state == "raised" else None
    judgement = judged(StepOutcome(state, failure=failure, detail="it went wrong"), check=check)
    assert judgement.verdict == verdict
    assert judgement.message


def test_of_two_calls_the_first_that_failed_decides() -> None:
    bad = StepOutcome("returned", value=PlainValue("none"))
    slow = StepOutcome("timed_out", detail="the call took more than 5 s")
    assert judged(returned(EXPECTED), bad, check="equals").verdict == "wrong_type"
    assert judged(returned(EXPECTED), slow, check="equals").verdict == "timed_out"
    assert judged(returned(EXPECTED.T), slow, check="equals").verdict == "wrong_shape"


def test_each_step_has_its_own_expected_shape() -> None:
    judgement = judged(
        returned(EXPECTED),
        returned(EXPECTED[:1]),
        check="equals",
        shapes=((2, 3), (1, 3)),
        options={"rows": [0]},
    )
    assert judgement.verdict == "passed"
