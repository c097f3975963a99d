"""Difficulty and discrimination are what their formulas say, and are undefined where these are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.class_page.item_analysis import MIN_SUBMISSIONS, item_analysis

MARKS = st.integers(1, 7).flatmap(
    lambda cases: st.lists(st.text("+x", min_size=cases, max_size=cases), min_size=1, max_size=40)
)


@given(MARKS)
def test_discrimination_is_the_correlation_with_the_other_cases(marks: list[str]) -> None:
    passed = np.array([[mark == "+" for mark in row] for row in marks], dtype=float)
    for number, item in enumerate(item_analysis(marks, len(marks[0]))):
        one = passed[:, number]
        others = passed.sum(axis=1) - one
        assert (item.passed, item.judged) == (one.sum(), len(marks))
        if len(marks) < MIN_SUBMISSIONS or np.ptp(one) == 0 or np.ptp(others) == 0:
            assert item.discrimination is None
        else:
            assert item.discrimination == pytest.approx(np.corrcoef(one, others)[0, 1], abs=1e-12)


@given(MARKS, st.randoms(use_true_random=False))
def test_the_order_of_the_submissions_moves_nothing(marks: list[str], drawn: object) -> None:
    other = list(marks)
    drawn.shuffle(other)  # type: ignore[attr-defined]
    assert item_analysis(marks, len(marks[0])) == item_analysis(other, len(marks[0]))


def test_who_was_not_judged_in_a_case_says_nothing_of_it() -> None:
    judged = ["++x", "xx+", "+xx", "x++"] * 5
    (first, *_) = item_analysis(judged, 3)
    (again, *_) = item_analysis([*judged, "-++", "?xx", " ++"], 3)
    assert first == again and first.judged == 20


def test_flags_name_what_an_author_should_look_at() -> None:
    marks = ["x+" + "+" * 5 + "x"] * 6 + ["x+" + "x" * 5 + "+"] * 6
    nobody, everybody, *rest, turned = item_analysis(marks, 8)
    assert (nobody.flag, everybody.flag, turned.flag) == ("nobody", "everybody", "negative")
    assert {item.flag for item in rest} == {""}
    assert (nobody.difficulty, everybody.difficulty, turned.difficulty) == (0, 1, 0.5)
    assert turned.discrimination == -1


def test_a_class_without_marks_has_items_without_figures() -> None:
    (item,) = item_analysis([], 1)
    assert (item.difficulty, item.discrimination, item.flag) == (None, None, "")
    assert item_analysis([], 0) == item_analysis([""], 0) == []
