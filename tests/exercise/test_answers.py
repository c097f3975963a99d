"""Trusted answers: read by their form, and how far two of them are apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.answers import Answer, read_answer
from grader.exercise.forms import Form
from grader.exercise.structure import UnfitError

ROWS = Form(shape=["N", "D"])
RECORD = Form.model_validate(
    {
        "container": "dict",
        "items": {
            "loss": {"container": "number"},
            "count": {"container": "integer"},
            "rows": {"shape": ["N"]},
        },
    }
)
arrays = hnp.arrays(np.float64, (2, 3), elements=st.floats(-1e6, 1e6))


def record(loss: float = 2.0, count: int = 3, rows: Any = (1.0, -4.0)) -> Answer:
    return read_answer({"loss": loss, "count": count, "rows": np.array(rows, np.float64)}, RECORD)


def test_an_array_is_its_own_answer_and_has_no_leaves() -> None:
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    answer = read_answer(array, ROWS)
    assert answer.leaves is None and answer.array.dtype == np.float32
    assert np.array_equal(answer.array, array)


def test_other_answers_are_vectors_with_leaves() -> None:
    answer = record()
    assert answer.array.tolist() == [3.0, 2.0, 1.0, -4.0]
    assert [leaf.path for leaf in answer.leaves or ()] == [("count",), ("loss",), ("rows",)]


@pytest.mark.parametrize("answer", [None, [1.0], np.float64(1), {"loss": 1.0}])
def test_what_is_of_another_form_is_refused(answer: Any) -> None:
    for form in (ROWS, RECORD):
        with pytest.raises(UnfitError):
            read_answer(answer, form)


@given(arrays, st.floats(-1, 1), st.integers(0, 5))
def test_the_error_of_an_array_is_relative_to_its_largest_value(array: Any, off: float, place: int) -> None:
    other = array.copy()
    other.ravel()[place] += off
    scale = np.abs(array).max() or 1.0
    difference = np.abs(other - array).max()
    assert Answer(array).error(Answer(other)) == difference / scale
    assert Answer(array).error(Answer(array)) == 0
    assert Answer(array).unlike(Answer(other)) == ""


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_whole_numbers_and_truth_values_are_equal_or_infinitely_off(dtype: Any) -> None:
    right = Answer(np.array([0, 1, 10**7]).astype(dtype))
    off = Answer(np.array([1, 1, 10**7]).astype(dtype))
    assert right.error(right) == 0 and right.error(off) == math.inf


def test_nothing_is_never_off() -> None:
    empty = Answer(np.zeros((0, 3)))
    assert empty.error(Answer(np.zeros((0, 3)))) == 0 and empty.finite


def test_each_part_has_its_own_scale() -> None:
    assert record().error(record(loss=2.2)) == pytest.approx(0.1)
    assert record().error(record(rows=(1.0, -4.4))) == pytest.approx(0.1)
    assert record().error(record(loss=2.2, rows=(1.0, -6.0))) == pytest.approx(0.5)
    assert record().error(record()) == 0


def test_what_must_be_equal_is_infinitely_off() -> None:
    assert record().error(record(count=4)) == math.inf
    assert record().error(record(loss=2.1, count=4)) == math.inf


def test_an_answer_that_is_not_finite_has_no_error_that_is() -> None:
    odd = record(loss=math.nan)
    assert not odd.finite and record().finite
    assert not math.isfinite(record().error(odd))
    assert not math.isfinite(Answer(np.ones(2)).error(Answer(np.array([1.0, np.nan]))))


def test_another_form_is_told() -> None:
    one, other = Answer(np.ones((2, 3))), Answer(np.ones((3, 2)))
    assert one.unlike(other) == "shape (3, 2), expected (2, 3)"
    assert record().unlike(record(rows=(1.0,))) == "other parts, or other shapes"
    assert record().unlike(record(loss=9.0)) == ""
    assert record().unlike(Answer(record().array)) and Answer(record().array).unlike(record())
