"""Difficulty and discrimination are what their formulas say, and are undefined where these are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.class_page.item_analysis import MIN_SUBMISSIONS, Item, item_analysis, negative_bound

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


@pytest.mark.parametrize(
    ("judged", "near", "beyond"),
    [(10, -0.66, -0.67), (101, -0.19, -0.21), (401, -0.09, -0.11), (5_000, -0.09, -0.11)],
)
def test_what_is_negative_by_chance_or_by_next_to_nothing_has_no_flag(
    judged: int, near: float, beyond: float
) -> None:
    assert [Item(judged // 2, judged, r).flag for r in (0.0, near, beyond)] == ["", "", "negative"]


def test_few_checks_that_tell_nothing_are_called_negative() -> None:
    drawn = np.random.default_rng(7)
    for size in (10, 30, 300):
        flags = []
        for _ in range(20):
            # Weak and strong submissions, and among the checks one half that is passed by chance.
            strength = drawn.random((size, 1))
            told = drawn.random((size, 20)) < strength
            chance = drawn.random((size, 20)) < 0.8
            passed = np.hstack([told, chance])
            marks = ["".join("+" if one else "x" for one in row) for row in passed]
            flags += [item.flag for item in item_analysis(marks, 40)]
        # Two standard errors leave one of 44 below; every second one of chance was, with any below zero.
        assert flags.count("negative") / (len(flags) / 2) < 0.05


@given(st.integers(2, 10_000))
def test_the_bound_is_of_two_standard_errors_and_never_negligible(judged: int) -> None:
    assert negative_bound(judged) <= -0.1
    assert negative_bound(judged) <= -2 / (judged - 1) ** 0.5 + 1e-12
    assert negative_bound(judged + 1) >= negative_bound(judged)


def test_a_class_without_marks_has_items_without_figures() -> None:
    (item,) = item_analysis([], 1)
    assert (item.difficulty, item.discrimination, item.flag) == (None, None, "")
    assert item_analysis([], 0) == item_analysis([""], 0) == []
