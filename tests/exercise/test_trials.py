"""How many trials right answers give at the least: the bound holds for every distribution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercise.checks import Statistic
from grader.exercise.trials import MOST_RUNS, hangs_on_answer, least_total, runs_needed

LEVEL = math.log(5e-11)


def totals_of(size: int, chances: Sequence[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """How often each value may be drawn in so many draws, with its probability."""
    for cuts in itertools.combinations_with_replacement(range(size + 1), len(chances) - 1):
        ends = [0, *cuts, size]
        often = tuple(b - a for a, b in itertools.pairwise(ends))
        ways = math.factorial(size) // math.prod(map(math.factorial, often))
        yield often, ways * math.prod(p**n for p, n in zip(chances, often, strict=True))


@pytest.mark.parametrize("level", [0.3, 0.05, 0.001])
@pytest.mark.parametrize(("runs", "calls"), [(4, 3), (9, 4), (12, 8), (5, 12)])
@pytest.mark.parametrize(
    ("values", "chances"),
    [
        ((0, 1), ("1/2", "1/2")),
        ((0, 7), ("9/10", "1/10")),
        ((1, 2), ("1/20", "19/20")),
        ((0, 5, 6), ("1/10", "3/10", "6/10")),
        ((2, 3, 100), ("1/3", "1/3", "1/3")),
        ((0, 1, 1000), ("1/100", "98/100", "1/100")),
    ],
)
def test_right_answers_have_fewer_as_rarely_as_the_level_says(
    values: tuple[int, ...], chances: tuple[str, ...], runs: int, calls: int, level: float
) -> None:
    """Exactly: over all that the reference and a submission may draw."""
    exact = [Fraction(text) for text in chances]
    submissions = [
        (sum(n * value for n, value in zip(often, values, strict=True)), chance)
        for often, chance in totals_of(calls, exact)
    ]
    fewer = Fraction(0)
    for often, chance in totals_of(runs, exact):
        reference = [value for n, value in zip(often, values, strict=True) for _ in range(n)]
        floor = least_total(reference, calls, math.log(level))
        fewer += chance * sum(part for total, part in submissions if total < floor)
    assert fewer <= level


@given(st.lists(st.integers(0, 1000), max_size=200), st.integers(1, 200), st.floats(-60, -1e-3))
def test_never_more_than_the_calls_could_give(counts: list[int], calls: int, log_level: float) -> None:
    floor = least_total(counts, calls, log_level)
    assert 0 <= floor <= calls * max(counts, default=0)
    assert floor <= least_total(counts, calls, log_level / 2)


@given(st.lists(st.integers(0, 1000), min_size=50, max_size=200), st.integers(10, 200), st.integers(0, 199))
def test_more_in_one_of_the_references_calls_never_lowers_it(
    counts: list[int], calls: int, which: int
) -> None:
    more = list(counts)
    more[which % len(more)] += 1
    assert least_total(more, calls, LEVEL) >= least_total(counts, calls, LEVEL)


@pytest.mark.parametrize("calls", [12, 20, 40, 150, 1000])
def test_of_a_constant_count_at_least_half_is_asked(calls: int) -> None:
    runs = runs_needed(calls, LEVEL)
    assert runs <= MOST_RUNS
    floor = least_total([30] * runs, calls, LEVEL)
    assert 15 * calls <= floor <= 30 * calls
    assert least_total([30] * (runs - 1), calls, LEVEL) < 15 * calls


def test_of_few_calls_nothing_can_be_said() -> None:
    assert runs_needed(1, LEVEL) == runs_needed(4, LEVEL) == 0
    assert least_total([30] * MOST_RUNS, 4, LEVEL) == 0
    assert runs_needed(8, LEVEL) == MOST_RUNS


def test_many_calls_that_often_give_nothing_have_a_floor_still() -> None:
    # One call in four gives nothing.
    floor = least_total([0, 1, 1, 1] * 40, 200, LEVEL)
    assert 20 < floor < 150


@pytest.mark.parametrize(
    ("let", "trials", "hangs"),
    [
        ({}, "200", False),
        ({}, "sum(lengths)", False),
        ({}, "size(chosen)", True),
        ({"n": "size(ids)", "m": "n + 1"}, "m", False),
        ({"n": "size(chosen)", "m": "n + 1"}, "m", True),
        ({"ids": "answer"}, "size(ids)", True),
    ],
)
def test_which_trials_hang_on_the_answer(let: dict[str, str], trials: str, hangs: bool) -> None:
    check = Statistic(
        statistic="binomial",
        says="x",
        let=let,
        successes="1",
        trials=trials,
        probability=0.5,
        against=0.6,
    )
    assert hangs_on_answer(check, ["ids", "lengths"]) is hangs
