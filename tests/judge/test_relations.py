"""Each relation accepts answers that are known to be right and refuses answers that are known to be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.checks import RelationName
from grader.judge.relations import RELATIONS, Evidence, Judgement
from grader.outcomes import ArrayValue, StepOutcome
from judge.made_up import EXERCISE, case, returned, value

ROWS = np.array([[1.0, 2.0, -4.0], [0.5, 0.25, 8.0]])
rows = hnp.arrays(np.float64, (3, 2), elements=st.floats(-100, 100, width=32))


def judged(
    relation: str,
    *answers: Any,
    changed: Mapping[str, str] | None = None,
    outcomes: Any = None,
    **options: Any,
) -> Judgement:
    if relation == "differs":
        options = {"at_least": 1e-3} | options
    made = [np.asarray(a) for a in answers]
    one = case(relation, options=options, shapes=tuple(a.shape for a in made), tolerance=1e-6)
    evidence = Evidence(
        one, outcomes or [returned(a) for a in made], made, EXERCISE.parameters, changed or {}
    )
    return RELATIONS[relation](evidence)


def test_every_relation_of_the_yaml_is_judged() -> None:
    assert set(RELATIONS) == set(RelationName.__args__)


# --- equals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["equals", "same_on_repeat"])
def test_whole_numbers_are_equal_or_not(relation: str) -> None:
    """One in ten million is less than the tolerance of floats."""
    first = np.array([3, 4, 10**7])
    assert judged(relation, first, first.copy()).verdict == "passed"
    assert judged(relation, first, np.add(first, [1, 0, 0])).verdict != "passed"


@given(rows, st.permutations([0, 1, 2]))
def test_equal_rows_in_the_order_named_pass(first: Any, order: list[int]) -> None:
    judgement = judged("equals", first, first[order], rows=order, other_rows=[0, 1, 2])
    assert judgement.verdict == "passed"


@given(rows, st.permutations([0, 1, 2]), st.integers(0, 2), st.integers(0, 1))
def test_one_value_off_beyond_the_tolerance_is_a_violation(
    first: Any, order: list[int], row: int, column: int
) -> None:
    second = first[order]
    scale = np.abs(first).max()
    assume(scale > 0)
    for factor, verdict in ((0.5, "passed"), (2.0, "relation_violated")):
        second_ = second.copy()
        second_[row, column] += factor * 1e-6 * scale
        judgement = judged("equals", first, second_, rows=order, other_rows=[0, 1, 2])
        assert judgement.verdict == verdict
    assert judgement.message.startswith("Rows that must be equal differ by up to ")
    assert "1e-06 is allowed" in judgement.message


def test_rows_that_are_not_named_do_not_count() -> None:
    other = ROWS.copy()
    other[1] = 99
    assert judged("equals", ROWS, other, rows=[0], other_rows=[0]).verdict == "passed"
    assert judged("equals", ROWS, other).verdict == "relation_violated"


def test_without_rows_all_are_held_against_each_other() -> None:
    assert judged("equals", ROWS, ROWS.copy()).verdict == "passed"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_nan_or_infinity_never_fulfils_equals_also_when_both_answers_have_it(bad: float, which: int) -> None:
    broken = ROWS.copy()
    broken[0, 0] = bad
    answers = [ROWS, ROWS]
    answers[which] = broken
    judgement = judged("equals", *answers)
    assert judgement.verdict == "relation_violated"
    assert (
        judgement.message == f"The {'first' if which == 0 else 'second'} answer holds NaN or infinite values."
    )
    assert judged("equals", broken, broken).verdict == "relation_violated"


# --- differs ----------------------------------------------------------------------------------


def test_rows_that_change_enough_pass() -> None:
    assert judged("differs", ROWS, ROWS + np.array([0, 0, 0.1])).verdict == "passed"


def test_every_named_row_must_change() -> None:
    changed = ROWS.copy()
    changed[0, 0] += 1
    assert judged("differs", ROWS, changed, rows=[0], other_rows=[0]).verdict == "passed"
    judgement = judged("differs", ROWS, changed)
    assert judgement.verdict == "relation_violated"
    assert "its largest relative change is 0; at least 0.001 is expected" in judgement.message
    assert judged("differs", ROWS, changed, rows=[1], other_rows=[1]).verdict == "relation_violated"


@pytest.mark.parametrize(("change", "verdict"), [(0.0079, "relation_violated"), (0.0081, "passed")])
def test_the_change_is_relative_to_the_larger_answer(change: float, verdict: str) -> None:
    # The largest magnitude is 8, so a thousandth of it is 0.008.
    assert judged("differs", ROWS, ROWS + np.array([change, 0, 0])).verdict == verdict


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_nan_is_no_difference(bad: float, which: int) -> None:
    broken = ROWS.copy()
    broken[0, 0] = bad
    answers = [ROWS, ROWS + 1]
    answers[which] = broken
    judgement = judged("differs", *answers)
    assert (judgement.verdict, judgement.message) == (
        "relation_violated",
        "An answer holds NaN or infinite values.",
    )


def test_zeros_and_no_rows_at_all_show_no_difference() -> None:
    assert judged("differs", np.zeros((2, 3)), np.zeros((2, 3))).verdict == "relation_violated"
    assert judged("differs", np.zeros((0, 3)), np.zeros((0, 3))).verdict == "relation_violated"
    assert judged("differs", np.zeros((2, 0)), np.zeros((2, 0))).verdict == "relation_violated"


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 3, 4)])
def test_a_row_is_what_the_first_axis_counts(shape: tuple[int, ...]) -> None:
    first = np.ones(shape)
    second = first.copy()
    second[(0,) * len(shape)] += 1
    whole = judged("differs", first, second).verdict
    assert whole == ("passed" if len(shape) == 0 else "relation_violated"), "row 1 has not changed"
    if shape:
        assert judged("differs", first, second, rows=[0], other_rows=[0]).verdict == "passed"


# --- same_on_repeat ---------------------------------------------------------------------------


def test_the_same_answer_again_passes_and_rounding_is_no_matter() -> None:
    assert judged("same_on_repeat", ROWS, ROWS.copy()).verdict == "passed"
    assert judged("same_on_repeat", ROWS, ROWS * (1 + 1e-9)).verdict == "passed"


def test_another_answer_to_the_same_call_is_not_repeatable() -> None:
    judgement = judged("same_on_repeat", ROWS, ROWS + 1)
    assert judgement.verdict == "not_repeatable"
    assert judgement.message == "The same call gave another answer: it differs by up to 1."


def test_only_the_last_call_repeats_the_first() -> None:
    assert judged("same_on_repeat", ROWS, ROWS + 5, ROWS).verdict == "passed"
    judgement = judged("same_on_repeat", ROWS, ROWS, ROWS + 1)
    assert judgement.verdict == "not_repeatable"
    assert judgement.message.startswith("The same call after another call in between gave another answer")


def test_nan_instead_of_a_number_is_another_answer() -> None:
    broken = ROWS.copy()
    broken[1, 1] = np.nan
    assert judged("same_on_repeat", ROWS, broken).verdict == "not_repeatable"
    assert judged("same_on_repeat", broken, broken).verdict == "passed", "other cases say that NaN is wrong"


# --- earlier_answer_kept ----------------------------------------------------------------------


def test_an_answer_that_stays_as_it_was_passes() -> None:
    assert judged("earlier_answer_kept", ROWS, ROWS + 1, ROWS).verdict == "passed"


@pytest.mark.parametrize(
    "after",
    [
        StepOutcome("returned", value=value(ROWS + 1e-12)),
        StepOutcome("returned", value=value(ROWS.reshape(3, 2))),
        StepOutcome("returned", value=value(ROWS.astype(np.float32))),
        StepOutcome("returned", value=None),
    ],
    ids=["bytes", "shape", "dtype", "gone"],
)
def test_an_earlier_answer_that_changed_is_told(after: StepOutcome) -> None:
    outcomes = [returned(ROWS), returned(ROWS + 1), after]
    judgement = judged("earlier_answer_kept", ROWS, ROWS + 1, ROWS, outcomes=outcomes)
    assert judgement.verdict == "not_repeatable"
    assert "return a new array each time" in judgement.message


def test_nan_bytes_that_stay_are_kept() -> None:
    broken = np.full((2, 3), np.nan)
    assert judged("earlier_answer_kept", broken, ROWS, broken).verdict == "passed"


# --- inputs_unchanged -------------------------------------------------------------------------


def test_inputs_that_stay_pass_and_other_arguments_are_another_cases_matter() -> None:
    assert judged("inputs_unchanged", ROWS, argument="x").verdict == "passed"
    outcomes = [returned(ROWS, overwritten=frozenset({1}), reshaped=frozenset({2}))]
    assert (
        judged("inputs_unchanged", ROWS, argument="x", outcomes=outcomes, changed={"w": "public"}).verdict
        == "passed"
    )


@pytest.mark.parametrize(
    ("keys", "changed", "said"),
    [
        ({"overwritten": frozenset({0})}, {}, "The call changed values of x; work on a copy."),
        ({"reshaped": frozenset({0})}, {}, "The call changed the shape or dtype of x; work on a copy."),
        ({}, {"x": "public"}, "In another check the call changed x; work on a copy."),
        ({}, {"x": "hidden"}, "In a hidden check the call changed x; work on a copy."),
    ],
)
def test_a_changed_argument_is_told_by_name(keys: Any, changed: Any, said: str) -> None:
    judgement = judged(
        "inputs_unchanged", ROWS, argument="x", outcomes=[returned(ROWS, **keys)], changed=changed
    )
    assert (judgement.verdict, judgement.message) == ("input_mutated", said)


# --- output_not_aliased -----------------------------------------------------------------------


def test_an_answer_of_its_own_memory_passes() -> None:
    assert judged("output_not_aliased", ROWS).verdict == "passed"


@pytest.mark.parametrize(("bits", "names"), [({0}, "x"), ({1, 0}, "x, w"), ({1, 77}, "w")])
def test_shared_memory_names_the_arguments(bits: set[int], names: str) -> None:
    judgement = judged("output_not_aliased", ROWS, outcomes=[returned(ROWS, aliased=frozenset(bits))])
    assert judgement.verdict == "output_aliases_input"
    assert judgement.message == f"The answer shares memory with {names}; return a new array."


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    st.sampled_from(sorted(RELATIONS)),
)
def test_any_answers_at_all_get_a_verdict(answer: Any, relation: str) -> None:
    judgement = judged(relation, answer, answer, answer, argument="w")
    assert judgement.verdict in ("passed", "relation_violated", "not_repeatable")
    assert bool(judgement.message) == (judgement.verdict != "passed")


def test_an_answer_without_values_is_never_taken_for_kept() -> None:
    gone = ArrayValue("array", "float64", (2, 3), None)
    outcomes = [returned(ROWS), returned(ROWS), StepOutcome("returned", value=gone)]
    assert judged("earlier_answer_kept", ROWS, ROWS, ROWS, outcomes=outcomes).verdict == "not_repeatable"
