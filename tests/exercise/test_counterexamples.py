"""Small inputs written out: numbers as short as they can be, arrays made again without loss."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercise.arrays import float32_values
from grader.exercise.counterexamples import Counterexample, WrittenArray, shortest


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array([0.0, -1.0, 1e5]), [0, -1, 100000]),
        (np.array([[0.5, 0.25]]), [[0.5, 0.25]]),
        (float32_values(np.array([0.1, 0.02, 1e-4, 1e30])), [0.1, 0.02, 0.0001, 1e30]),
        (np.array([0.1], np.float32), [0.1]),
        (np.array([[3], [0]]), [[3], [0]]),
        (np.zeros((2, 0)), [[], []]),
        (np.array([True, False]), [True, False]),
    ],
)
def test_numbers_are_written_with_few_digits(array: np.ndarray, values: list[object]) -> None:
    written = WrittenArray.of(array)
    assert json.dumps(written.values) == json.dumps(values)  # which tells 1 from 1.0
    again = written.array()
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shortest_number_is_the_same_in_float32(number: float) -> None:
    assert np.float32(shortest(number)) == np.float32(number)
    assert len(repr(shortest(number))) <= len(repr(number))


def test_each_call_has_arrays_of_its_own() -> None:
    example = Counterexample("m", {"N": 2}, {"x": WrittenArray.of(np.array([1.0, 2.0])), "k": 3})
    first, second = example.call(), example.call()
    first[0][:] = 0
    assert second[0].tolist() == [1, 2]
    assert second[1] == 3
