"""Answers that are containers, numbers or texts are held against the expected ones part by part."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.forms import Form
from grader.exercise.pack import PackCall
from grader.exercise.rehearsal import as_value
from grader.exercise.structure import flatten
from grader.judge.answers import Refusal
from grader.judge.cases import judge_case
from grader.judge.relations import Judgement
from grader.judge.structured import Structured, leaves_of, read_structured, where_most
from grader.outcomes import ArrayValue, StepOutcome
from judge.made_up import EXERCISE, case, pack_of

RETURNS: dict[str, Any] = {
    "container": "dict",
    "items": {
        "loss": {"container": "number"},
        "count": {"container": "integer"},
        "rows": {"shape": ["N", "D"]},
        "names": {"container": "list", "of": {"container": "text"}},
    },
}
FORM = Form.model_validate(RETURNS)
ROWS = np.array([[1.0, -2.0], [4.0, 0.5]])


def answer(**changes: Any) -> dict[str, Any]:
    return {"loss": 0.25, "count": 7, "rows": ROWS, "names": ["a", "b"]} | changes


def gave(value: Any, **keys: Any) -> StepOutcome:
    return StepOutcome("returned", value=as_value(value), **keys)


def rows_of(value: Any) -> list[list[Any]]:
    """Leaves as a pack holds them."""
    found = flatten(as_value(value), FORM)
    return [[list(leaf.path), list(leaf.shape), leaf.exact, leaf.group] for leaf in found.leaves]


def judged(*outcomes: StepOutcome, check: str = "compare", right: Any = None, **keys: Any) -> Judgement:
    right = answer() if right is None else right
    vector = flatten(as_value(right), FORM).numbers
    each = len(outcomes)
    usual: dict[str, Any] = {
        "steps": tuple(range(each)),
        "shapes": (vector.shape,) * each,
        "leaves": (rows_of(right),) * each,
    }
    one = case(check, **(usual | keys))
    pack = pack_of(one, expected={"one": vector})
    call = PackCall(EXERCISE.parameters, RETURNS)
    return judge_case(replace(pack, exercise=replace(EXERCISE, calls={"": call})), one, outcomes, {})


# --- compare --------------------------------------------------------------------------------------


def test_the_expected_answer_passes_in_any_order_and_dtype() -> None:
    for value in (
        answer(),
        dict(reversed(answer().items())),
        answer(rows=ROWS.astype(np.float32), count=np.int64(7), loss=np.float32(0.25)),
    ):
        judgement = judged(gave(value))
        assert (judgement.verdict, judgement.message) == ("passed", "")
        assert judgement.comparison is not None and judgement.comparison.max_rel == 0


WRONG: list[tuple[dict[str, Any], str, str]] = [
    (
        {"rows": ROWS + np.array([[0, 0.4], [0, 0]])},
        "wrong_value",
        "1 of 8 values are off, by up to 0.4 (relative 0.1; 1e-06 is allowed). Most at rows[0, 1].",
    ),
    (
        {"loss": 0.5},
        "wrong_value",
        "1 of 8 values are off, by up to 0.25 (relative 1; 1e-06 is allowed). Most at loss.",
    ),
    ({"count": 8}, "wrong_value", "1 of 8 values are not as expected. Most at count."),
    ({"names": ["a", "c"]}, "wrong_value", "1 of 8 values are not as expected. Most at names[1]."),
    ({"names": ["b", "a"]}, "wrong_value", "2 of 8 values are not as expected."),
    (
        {"rows": ROWS * np.array([[np.nan, 1], [1, 1]])},
        "wrong_value",
        "1 of 8 values are NaN; all expected ones are finite.",
    ),
    ({"names": ["a"]}, "wrong_value", "The answer lacks names[1]."),
    ({"names": ["a", "b", "c"]}, "wrong_value", "The answer has names[2], which it should not have."),
    ({"rows": ROWS[:1]}, "wrong_shape", "rows has the shape (1, 2); expected (2, 2)."),
    ({"count": 7.0}, "wrong_type", "count is the single float 7.0; expected a whole number."),
]


@pytest.mark.parametrize(("changes", "verdict", "said"), WRONG, ids=[str(n) for n in range(len(WRONG))])
def test_what_is_wrong_is_told_with_its_place(changes: dict[str, Any], verdict: str, said: str) -> None:
    judgement = judged(gave(answer(**changes)))
    assert judgement.verdict == verdict
    assert judgement.message.startswith(said)


@given(hnp.arrays(np.float64, (2, 2), elements=st.floats(-1e3, 1e3)), st.floats(1e-9, 1e-3))
def test_the_tolerance_is_relative_to_each_parts_own_magnitude(rows: Any, tolerance: float) -> None:
    right = answer(rows=rows)
    scale = np.abs(rows).max() or 1.0
    # Nothing is added to the smallest numbers that there are.
    assume(scale > 1e-200)
    for factor, passes in ((0.5, True), (2.0, False)):
        off = rows.copy()
        off[1, 1] += factor * tolerance * scale
        judgement = judged(gave(answer(rows=off)), right=right, tolerance=tolerance)
        assert (judgement.verdict == "passed") is passes


def test_an_answer_that_is_too_large_is_refused() -> None:
    judgement = judged(gave(answer(), too_large=True))
    assert judgement == Judgement("wrong_shape", "The answer is far larger than the right one.")


# --- finite and relations ---------------------------------------------------------------------------


def test_values_that_are_not_finite_are_counted() -> None:
    judgement = judged(gave(answer(loss=math.inf)), check="finite")
    assert judgement == replace(
        judgement, verdict="wrong_value", message="1 of 8 values are infinite; expected finite values."
    )
    assert judged(gave(answer()), check="finite").verdict == "passed"


def related(check: str, *values: Any, **options: Any) -> Judgement:
    if check == "differs":
        options = {"at_least": 1e-3} | options
    return judged(*map(gave, values), check=check, options=options)


def test_a_relation_may_hold_of_one_part_alone() -> None:
    other = answer(loss=9.0, rows=ROWS[::-1])
    assert related("equals", answer(), answer(loss=9.0), part="rows").verdict == "passed"
    assert related("equals", answer(), other, part="rows", rows=[0, 1], other_rows=[1, 0]).verdict == "passed"
    assert related("equals", answer(), other, part="rows").verdict == "relation_violated"
    assert related("equals", answer(), answer(loss=9.0)).verdict == "relation_violated"
    assert related("equals", answer(), answer(count=8)).verdict == "relation_violated"
    assert related("differs", answer(), answer(loss=9.0), part="loss").verdict == "passed"
    assert related("differs", answer(), answer(loss=9.0), part="rows").verdict == "relation_violated"


def test_a_part_that_an_answer_has_not_is_no_crash() -> None:
    judgement = related("equals", answer(), answer(), part="rwos")
    assert judgement.verdict == "relation_violated" and "not of the same form" in judgement.message


def test_the_same_call_has_to_give_the_same_parts() -> None:
    assert related("same_on_repeat", answer(), answer()).verdict == "passed"
    assert related("same_on_repeat", answer(), answer(count=8)).verdict == "not_repeatable"
    assert related("same_on_repeat", answer(), answer(loss=0.26)).verdict == "not_repeatable"


def test_an_answer_given_earlier_has_to_stay() -> None:
    assert related("earlier_answer_kept", answer(), answer(loss=1.0), answer()).verdict == "passed"
    changed = related("earlier_answer_kept", answer(), answer(loss=1.0), answer(names=["a", "x"]))
    assert changed.verdict == "not_repeatable"


# --- where answers hang on chance ------------------------------------------------------------------


def chosen(value: Any, **keys: Any) -> Structured | Refusal:
    one = case(leaves=(), dims={"N": 2}, chance=True)
    return read_structured(gave(value, **keys), FORM, one, 0)


def test_sizes_alone_are_held_against_dims_where_the_right_answer_hangs_on_chance() -> None:
    found = chosen(answer(rows=np.ones((2, 5)), names=[]))
    assert isinstance(found, Structured)
    part = found.part("rows")
    assert part is not None and part.shape == (2, 5)
    assert found.part("names[0]") is None
    wrong = chosen(answer(rows=np.ones((3, 5))))
    assert wrong == Refusal("wrong_shape", "rows has 3 where 2 are expected (N).")


FORGED: list[Callable[[], Any]] = [
    lambda: ArrayValue("array", "float64", (2**62, 0), b""),
    lambda: ArrayValue("array", "float64", (2, 2), None),
]


@pytest.mark.parametrize("made", FORGED)
def test_an_array_that_can_not_be_read_is_refused(made: Callable[[], Any]) -> None:
    value = as_value(answer())
    items = [(key, made() if key.value == "rows" else item) for key, item in value.items]  # type: ignore[union-attr]
    outcome = StepOutcome("returned", value=replace(value, items=tuple(items)))  # type: ignore[arg-type]
    for one in (case(leaves=(rows_of(answer()),)), case(leaves=(), dims={"N": 2})):
        assert isinstance(read_structured(outcome, FORM, one, 0), Refusal)


def test_leaves_come_back_from_a_pack_as_they_were() -> None:
    assert leaves_of(rows_of(answer())) == flatten(as_value(answer()), FORM).leaves


def test_nothing_is_off_most_where_nothing_is_off() -> None:
    judgement = judged(gave(answer()))
    assert judgement.comparison is not None
    assert where_most(judgement.comparison, leaves_of(rows_of(answer()))) == ""
