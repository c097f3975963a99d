"""What something may take: the stated seconds, or a multiple of the reference's where that is more."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.sandbox.allowance import Allowance, larger, two_digits_up

positive = st.floats(1e-6, 1e9)


@given(positive)
def test_two_digits_are_kept_and_never_less(value: float) -> None:
    rounded = two_digits_up(value)
    assert value * (1 - 1e-9) <= rounded <= value * 1.1 * (1 + 1e-9)
    assert float(f"{rounded:.1e}") == rounded == two_digits_up(rounded)


def test_nothing_and_less_stay_nothing() -> None:
    assert two_digits_up(0.0) == two_digits_up(-3.0) == 0.0


@given(stated=positive, times=st.floats(1.01, 1000), needed=st.floats(0, 1e5))
def test_the_larger_one_counts_and_says_where_it_comes_from(
    stated: float, times: float, needed: float
) -> None:
    allowed = larger(stated, times, needed)
    assert allowed.seconds >= stated and allowed.seconds >= times * needed * (1 - 1e-9)
    assert (allowed.times == times) == (allowed.seconds > stated)
    assert allowed.times or allowed.seconds == stated


def test_a_slower_machine_never_gives_less() -> None:
    seconds = [larger(5, 10, speed * 0.4).seconds for speed in (0.1, 1, 1.5, 2, 40)]
    assert seconds == sorted(seconds) == [5, 5, 6, 8, 160] and not math.isinf(seconds[-1])


def test_it_is_told_in_seconds_and_by_what_the_reference_needs() -> None:
    assert Allowance(5).why == ""
    assert Allowance(13, 10).why == " (10 times what the reference needs here)"
    assert Allowance(13, 2.5).why == " (2.5 times what the reference needs here)"
