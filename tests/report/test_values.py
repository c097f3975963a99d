"""Arrays in a few words: those that are nearly all the same."""

from __future__ import annotations

from typing import Any

import pytest

from grader.report.advice import Given
from grader.report.terminal.advice import _given
from grader.report.values import in_few_words

SPARSE = [[0.0] * 8 for _ in range(16)]
SPARSE[6] = [0.0, 0.0, -1.5, 0.0, 0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[0.0] * 8] * 3, "all 0"),
        ([2.5, 2.5], "all 2.5"),
        ([0, -0.0, 0], "all 0"),
        (SPARSE, "0 but for [6, 2] = -1.5, [6, 6] = 1"),
        ([0, 0, 0, 3], "0 but for [3] = 3"),
        ([0, 3], ""),
        ([0, 0, 0, 0, 0, 0, 1, 2, 3], ""),
        ([1, 1, 1, 2], ""),
        ([0, 0, 0, "nan"], ""),
        ([[0, 0], [0]], ""),
        ([], ""),
        ([1], ""),
    ],
)
def test_what_is_nearly_all_the_same_is_told_in_words(values: Any, said: str) -> None:
    assert in_few_words(values) == said


def test_a_line_of_the_terminal_has_words_where_numbers_would_be_too_many() -> None:
    given = Given("weights.words", "float64", (16, 8), SPARSE)
    assert _given(given) == "weights.words: 0 but for [6, 2] = -1.5, [6, 6] = 1, float64 (16, 8)"
    assert _given(Given("b", "float64", (32,), [0.0] * 32)) == "b: all 0, float64 (32,)"
    assert _given(Given("b", "float64", (4,), [0.0] * 4)) == "b = [0, 0, 0, 0]"
