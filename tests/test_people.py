"""Names of people, and which of them are like each other."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.people import LikeAny, alike

WORDS = st.sampled_from(["ann", "Ash", "annash", "ash-ann", "A.", "Oz", "o", "李", "李明", "é", "Ábc", ""])
NAMES = st.lists(WORDS, max_size=4).map(" ".join)


@given(st.lists(NAMES | st.text(max_size=12), max_size=6), NAMES | st.text(max_size=12))
@example(["hw1_ash"], "Ann Ash")
@example(["ashann"], "Ann Ash")
@example(["Ann Ash"], "ashann")
def test_like_any_is_like_one_of_them(names: list[str], name: str) -> None:
    assert LikeAny(names)(name) == any(alike(one, name) for one in names)


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        ("hw1_ash", "Ann Ash", True),
        ("ashann", "Ann Ash", True),
        ("A. Oz", "A. Ash", False),
        ("", "A", False),
    ],
)
def test_names_are_like_each_other(one: str, other: str, are: bool) -> None:
    assert alike(one, other) is alike(other, one) is are
