"""Numbers as reports show them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.figures import exact


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (2.0, "2"),
        (7, "7"),
        (0.999999999999, "0.999999999999"),
        (1e-12, "1e-12"),
        (True, "True"),
    ],
)
def test_an_argument_is_shown_in_all_its_digits(value: float, text: str) -> None:
    """A rate just below 1 would read as 1, which is refused."""
    assert exact(value) == text


@given(st.floats(allow_nan=False))
def test_what_is_shown_of_an_argument_is_the_argument(value: float) -> None:
    assert float(exact(value)) == value


def test_what_is_no_number_is_named() -> None:
    assert exact(math.nan) == "nan" and exact("nan") == "nan"


def test_an_argument_that_was_left_out_is_none() -> None:
    assert exact(None) == "None"


def test_an_argument_in_words_is_not_cut_as_a_cell_is() -> None:
    told = "numpy.random.default_rng(2354452653)"
    assert exact(told) == told
