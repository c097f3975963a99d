"""Values as people read them: Python's notation, on one line where it fits, cut where it is long."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercise.rehearsal import as_value
from grader.exercise.written import MOST_LETTERS, WIDTH, written
from grader.outcomes import ArrayValue, PlainValue

# Floats with as many digits as are written.
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(max_size=8)
    | st.sampled_from([0.5, -2.25])
)
contents = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers(0, 9), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(contents)
def test_what_is_written_is_read_back_as_it_was(value: Any) -> None:
    text = written(as_value(value))
    read = ast.literal_eval(text)
    assert read == value and repr(read) == repr(value)


@given(contents)
def test_on_one_line_just_where_it_fits(value: Any) -> None:
    text = written(as_value(value))
    if len(repr(value)) <= WIDTH or not isinstance(value, list | tuple | dict):
        assert text == repr(value)
    else:
        assert "\n" in text


def test_what_does_not_fit_is_laid_out() -> None:
    value = {"loss": 0.25, "targets": list(range(100, 140)), 3: (1,)}
    lines = written(as_value(value)).splitlines()
    # What stands under a key begins beneath its bracket.
    assert lines[:4] == ["{", "    'loss': 0.25,", "    'targets': [", " " * 19 + "100,"]
    assert lines[-3:] == [" " * 15 + "],", "    3: (1,),", "}"]
    assert ast.literal_eval("\n".join(lines)) == value


def test_long_values_are_cut() -> None:
    text = written(as_value(list(range(5000))))
    assert len(text) == MOST_LETTERS and text.endswith("…")


def test_numbers_have_eight_digits_and_arrays_their_dtype() -> None:
    assert written(as_value(1 / 3)) == "0.33333333"
    assert written(as_value(np.float64(2) / 3)) == "0.66666667"
    assert written(as_value(float("nan"))) == "nan" and written(as_value(-np.inf)) == "-inf"
    array = np.array([[1, 2], [3, 4]], np.int64)
    assert written(as_value(array)) == "array([[1, 2],\n       [3, 4]], dtype=int64)"
    assert written(as_value([np.array([0.5])])) == "[array([0.5], dtype=float64)]"
    assert "..." in written(as_value(np.arange(500.0)))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "nothing"),
        (PlainValue("object", "Odd"), "<Odd>"),
        (ArrayValue("array", "float64", (2, 3), None), "<an array of dtype float64 and shape (2, 3)>"),
        (ArrayValue("scalar", "float64", (), None), "<a single number of type float64>"),
        (ArrayValue("scalar", "float64", (2,), np.ones(2).tobytes()), "array([1., 1.], dtype=float64)"),
        (
            ArrayValue("array", "float64", (2**62, 0, 2**62), b""),
            f"<an array of dtype float64 and shape {(2**62, 0, 2**62)}>",
        ),
        (PlainValue("str", "\ud800"), "'\\ud800'"),
    ],
)
def test_what_has_no_values_is_described(value: Any, said: str) -> None:
    assert written(value) == said
