"""Tests of random behaviour: exact p-values, bounds that hold for any number of trials, error rates."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.judge.statistics import (
    binomial_log_p,
    binomial_power,
    level_each,
    multinomial_log_p,
    multinomial_power,
    trials_needed,
)

# Binary fractions and others; each is taken exactly as the float that it is.
PROBABILITIES = [0.0, 1e-300, 1e-9, 0.01, 0.1, 0.15, 1 / 3, 0.5, 0.8, 0.999, 1 - 2**-53, 1.0]


def exact_masses(trials: int, probability: float) -> tuple[list[int], int]:
    """The probability of each number of successes: numerators and their denominator."""
    top, bottom = probability.as_integer_ratio()
    other = bottom - top
    if not other:
        return [0] * trials + [1], 1
    masses = [other**trials]
    for n in range(trials):
        masses.append(masses[-1] * ((trials - n) * top) // ((n + 1) * other))
    return masses, bottom**trials


def log_of(top: int, bottom: int) -> float:
    """The log of a fraction, which may be far smaller than a float."""
    if not top:
        return -math.inf
    shift = 100 + bottom.bit_length() - top.bit_length()
    return math.log((top << max(shift, 0)) // (bottom << max(-shift, 0))) - shift * math.log(2.0)


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("trials", [0, 1, 2, 7, 40, 150])
def test_the_p_value_is_twice_the_smaller_tail_exactly(trials: int, probability: float) -> None:
    masses, whole = exact_masses(trials, probability)
    lower = list(itertools.accumulate(masses))
    upper = list(itertools.accumulate(reversed(masses)))[::-1]
    for n in range(trials + 1):
        wanted = min(0.0, log_of(2 * min(lower[n], upper[n]), whole))
        found = binomial_log_p(n, trials, probability)
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12), (n, trials, probability)


@given(st.integers(1, 10**7), st.floats(1e-6, 1 - 1e-6), st.floats(-38, 38))
@example(10**7, 0.15, 0.0)
@example(10**7, 0.15, -37.0)
@example(10**7, 1e-6, 30.0)
def test_it_agrees_with_scipys_tails_where_those_are_floats(trials: int, p: float, deviations: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    spread = math.sqrt(trials * p * (1 - p))
    successes = min(trials, max(0, round(trials * p + deviations * spread)))
    tail = min(stats.binom.cdf(successes, trials, p), stats.binom.sf(successes - 1, trials, p))
    if tail < 1e-290:
        return
    assert binomial_log_p(successes, trials, p) == pytest.approx(min(0.0, math.log(2 * tail)), abs=2e-9)


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_it_agrees_with_scipys_binomial_test(alternative: str) -> None:
    stats = pytest.importorskip("scipy.stats")
    for successes, trials, p in [(7, 20, 0.5), (120, 1000, 0.15), (180, 1000, 0.15), (3, 9, 0.01)]:
        tails = {
            side: stats.binomtest(successes, trials, p, alternative=side).pvalue
            for side in ("less", "greater")
        }
        if min(tails, key=tails.__getitem__) == alternative:
            assert math.exp(binomial_log_p(successes, trials, p)) == pytest.approx(2 * tails[alternative])


@pytest.mark.parametrize(
    ("successes", "trials", "probability"),
    [(0, 2000, 0.5), (2000, 2000, 0.15), (1500, 2000, 0.3), (3, 1999, 0.7), (10, 10, 5e-324)],
)
def test_p_values_far_below_the_smallest_float_are_right(
    successes: int, trials: int, probability: float
) -> None:
    masses, whole = exact_masses(trials, probability)
    wanted = log_of(2 * min(sum(masses[: successes + 1]), sum(masses[successes:])), whole)
    assert wanted < -700
    assert binomial_log_p(successes, trials, probability) == pytest.approx(wanted, rel=1e-12)


def test_the_edges_of_the_binomial_test() -> None:
    assert binomial_log_p(0, 0, 0.3) == 0.0
    assert binomial_log_p(0, 5, 0.0) == binomial_log_p(5, 5, 1.0) == 0.0
    assert binomial_log_p(1, 5, 0.0) == binomial_log_p(4, 5, 1.0) == -math.inf
    # The most extreme of ten million: a closed form.
    assert binomial_log_p(10**7, 10**7, 0.5) == pytest.approx((1 - 10**7) * math.log(2), rel=1e-15)


@given(st.integers(1, 5000), st.floats(0, 1), st.data())
def test_further_out_is_never_more_probable(trials: int, p: float, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, trials - 1))
    here, next_one = binomial_log_p(n, trials, p), binomial_log_p(n + 1, trials, p)
    if n + 1 <= math.floor(trials * p):
        assert here <= next_one + 1e-12
    if n >= math.ceil(trials * p):
        assert here >= next_one - 1e-12


@given(st.integers(0, 3000), st.floats(0, 1), st.data())
def test_successes_and_failures_are_alike(trials: int, p: float, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, trials))
    q = 1.0 - p
    if 1.0 - q == p:
        assert binomial_log_p(n, trials, p) == pytest.approx(
            binomial_log_p(trials - n, trials, q), rel=1e-12, abs=1e-12
        )


# Power

LEVELS = [math.log(level) for level in (0.3, 0.05, 0.01, 1e-6)]


@pytest.mark.parametrize("log_level", LEVELS)
@pytest.mark.parametrize(("probability", "alternative"), [(0.15, 0.3), (0.5, 0.4), (0.8, 0.8), (0.1, 0.0)])
def test_the_power_is_the_sum_over_what_is_rejected(
    probability: float, alternative: float, log_level: float
) -> None:
    for trials in (0, 1, 5, 33, 120):
        masses, whole = exact_masses(trials, alternative)
        rejected = [n for n in range(trials + 1) if binomial_log_p(n, trials, probability) <= log_level]
        wanted = Fraction(sum(masses[n] for n in rejected), whole)
        found = binomial_power(trials, probability, alternative, log_level)
        assert found == pytest.approx(float(wanted), rel=1e-12, abs=1e-300)


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(-40, -0.01))
def test_a_true_null_hypothesis_is_rejected_at_most_as_often_as_the_level_says(
    trials: int, p: float, log_level: float
) -> None:
    assert binomial_power(trials, p, p, log_level) <= math.exp(log_level) * (1 + 1e-9)


@given(st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1), st.floats(-20, -1), st.floats(0, 10))
def test_a_stricter_level_has_no_more_power(
    trials: int, p: float, alternative: float, log_level: float, stricter: float
) -> None:
    power = binomial_power(trials, p, alternative, log_level)
    assert binomial_power(trials, p, alternative, log_level - stricter) <= power + 1e-12


@given(st.integers(1, 2000), st.floats(0.01, 0.98), st.floats(0, 1), st.floats(0, 1), st.floats(-20, -1))
def test_an_alternative_further_off_is_found_more_often(
    trials: int, p: float, one: float, other: float, log_level: float
) -> None:
    # Beyond this the tail on the other side no longer counts.
    near, far = sorted((p + (1 - p) * one, p + (1 - p) * other))
    power = binomial_power(trials, p, near, log_level)
    assert binomial_power(trials, p, far, log_level) >= power - math.exp(log_level) / 2


@pytest.mark.parametrize("power", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("log_level", LEVELS)
@pytest.mark.parametrize(
    ("probability", "alternative"),
    [(0.15, 0.3), (0.15, 0.05), (0.5, 0.7), (0.5, 0.52), (0.0, 0.02), (1.0, 0.9), (0.9, 1.0)],
)
def test_no_smaller_number_of_trials_has_the_power(
    probability: float, alternative: float, log_level: float, power: float
) -> None:
    needed = trials_needed(probability, alternative, log_level, power)
    # Where there are many, those at which the power could have been reached before.
    first = needed - 60 if needed > 300 else 1
    assert binomial_power(needed, probability, alternative, log_level) >= power
    for trials in range(first, needed):
        assert binomial_power(trials, probability, alternative, log_level) < power


def test_small_differences_need_many_trials() -> None:
    needed = trials_needed(0.15, 0.149, math.log(1e-9), 0.99)
    # By the normal approximation: ((6.109 + 2.326) * sqrt(0.15 * 0.85) / 0.001)**2.
    assert needed == pytest.approx(9.05e6, rel=0.01)
    with pytest.raises(ValueError, match=r"more than 100,000,000 trials would be needed to tell 0.50001"):
        trials_needed(0.5, 0.50001, math.log(1e-9), 0.99)


# Multinomial


def compositions(trials: int, categories: int) -> list[tuple[int, ...]]:
    if categories == 1:
        return [(trials,)]
    return [
        (first, *rest) for first in range(trials + 1) for rest in compositions(trials - first, categories - 1)
    ]


def statistic(counts: tuple[int, ...], probabilities: list[float]) -> float:
    trials = sum(counts)
    return sum(n * math.log(n / (trials * p)) for n, p in zip(counts, probabilities, strict=True) if n)


SMALL = [
    (trials, probabilities)
    for trials in (1, 2, 5, 12)
    for probabilities in (
        [0.5, 0.25, 0.25],
        [0.8, 0.1, 0.1],
        [0.98, 0.01, 0.01],
        [0.25] * 4,
        [0.7, 0.1, 0.1, 0.1],
        [0.2] * 5,
    )
]


@pytest.mark.parametrize(("trials", "probabilities"), SMALL)
def test_the_bound_is_never_below_the_exact_p_value(trials: int, probabilities: list[float]) -> None:
    found = []
    for counts in compositions(trials, len(probabilities)):
        mass = math.factorial(trials) * math.prod(
            p**n / math.factorial(n) for n, p in zip(counts, probabilities, strict=True)
        )
        found.append((statistic(counts, probabilities), mass, multinomial_log_p(counts, probabilities)))
    for x, _, log_bound in found:
        exact = sum(mass for other, mass, _ in found if other >= x - 1e-12)
        assert log_bound >= math.log(exact) - 1e-9
        # By the method of types, each possible count as probable as can be.
        kinds = math.comb(trials + len(probabilities) - 1, trials)
        assert log_bound <= min(0.0, math.log(kinds) - x) + 1e-9


@pytest.mark.parametrize(("trials", "categories"), [(1, 3), (6, 3), (9, 4), (5, 6)])
def test_the_constant_of_the_method_of_types_is_the_sum_over_all_counts(trials: int, categories: int) -> None:
    total = sum(
        math.factorial(trials) * math.prod((n / trials) ** n / math.factorial(n) for n in counts)
        for counts in compositions(trials, categories)
    )
    # All in a category that is very improbable: there this bound is the smallest.
    rare = 1e-30
    counts = [trials] + [0] * (categories - 1)
    probabilities = [rare] + [(1 - rare) / (categories - 1)] * (categories - 1)
    x = -trials * math.log(rare)
    agrawal = -x + (categories - 1) * (1 + math.log(x / (categories - 1)))
    assert multinomial_log_p(counts, probabilities) == pytest.approx(min(math.log(total) - x, agrawal))


def test_with_many_trials_agrawals_bound_is_taken() -> None:
    counts = [1_005_000, 995_000, 1_000_000]
    x = statistic(tuple(counts), [1 / 3] * 3)
    assert multinomial_log_p(counts, [1 / 3] * 3) == pytest.approx(-x + 2 * (1 + math.log(x / 2)), rel=1e-9)


def test_two_possible_categories_are_a_binomial_test() -> None:
    for n in range(31):
        assert multinomial_log_p([n, 0, 30 - n], [0.15, 0.0, 0.85]) == binomial_log_p(n, 30, 0.15)


def test_the_edges_of_the_multinomial_test() -> None:
    assert multinomial_log_p([0, 0, 0], [0.5, 0.25, 0.25]) == 0.0
    assert multinomial_log_p([5], [1.0]) == 0.0
    assert multinomial_log_p([5, 0], [1.0, 0.0]) == 0.0
    assert multinomial_log_p([5, 1], [1.0, 0.0]) == -math.inf
    assert multinomial_log_p([2, 2, 1, 1], [0.5, 0.25, 0.25, 0.0]) == -math.inf
    assert multinomial_log_p([50, 25, 25], [0.5, 0.25, 0.25]) == 0.0
    assert multinomial_log_p([1, 0, 0], [5e-324, 0.5, 0.5]) == pytest.approx(math.log(5e-324), abs=5)


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=6), st.integers(0, 2), st.integers(1, 10**6))
def test_the_order_of_the_categories_does_not_matter(counts: list[int], first: int, more: int) -> None:
    k = len(counts)
    probabilities = [(n + 1) * 2 / (k * (k + 1)) for n in range(k)]
    found = multinomial_log_p(counts, probabilities)
    assert found <= 0.0
    assert multinomial_log_p(counts[::-1], probabilities[::-1]) == pytest.approx(found, rel=1e-9, abs=1e-9)


# Simulated, with seeds of their own

DRAWS = 20_000


def spread(rate: float) -> float:
    return 5 * math.sqrt(rate * (1 - rate) / DRAWS)


@pytest.mark.parametrize(("trials", "p"), [(20, 0.15), (400, 0.15), (10_000, 0.5)])
def test_false_alarms_of_the_binomial_test_are_as_computed_and_not_above_the_level(
    trials: int, p: float
) -> None:
    drawn = np.random.default_rng(11).binomial(trials, p, DRAWS)
    log_p = {int(n): binomial_log_p(int(n), trials, p) for n in np.unique(drawn)}
    alarms = np.mean([log_p[int(n)] <= math.log(0.01) for n in drawn])
    size = binomial_power(trials, p, p, math.log(0.01))
    assert size <= 0.01
    assert abs(alarms - size) <= spread(max(size, 1e-4))


@pytest.mark.parametrize(
    ("trials", "p", "alternative"), [(400, 0.15, 0.2), (2000, 0.8, 0.77), (60, 0.1, 0.3)]
)
def test_the_power_of_the_binomial_test_is_as_simulated(trials: int, p: float, alternative: float) -> None:
    drawn = np.random.default_rng(12).binomial(trials, alternative, DRAWS)
    log_p = {int(n): binomial_log_p(int(n), trials, p) for n in np.unique(drawn)}
    found = np.mean([log_p[int(n)] <= math.log(0.01) for n in drawn])
    power = binomial_power(trials, p, alternative, math.log(0.01))
    assert 0.1 < power < 0.999
    assert abs(found - power) <= spread(power)


@pytest.mark.parametrize("probabilities", [[0.8, 0.1, 0.1], [0.1] * 10, [0.5, 0.5], [0.97, 0.01, 0.01, 0.01]])
@pytest.mark.parametrize("trials", [10, 300, 5000])
def test_false_alarms_of_the_multinomial_test_are_not_above_the_level(
    trials: int, probabilities: list[float]
) -> None:
    for level in (0.3, 0.01):
        size = multinomial_power(trials, probabilities, probabilities, math.log(level), seed=3, draws=DRAWS)
        assert size <= level + spread(level)


def test_the_multinomial_test_finds_what_is_wrong() -> None:
    # 80/10/10 is asked for, and 80/20/0 or 90/5/5 is done.
    level = level_each(1e-6, 4)
    right = [0.8, 0.1, 0.1]
    assert multinomial_power(2000, right, [0.8, 0.2, 0.0], level, seed=5, draws=500) == 1.0
    assert multinomial_power(2000, right, [0.9, 0.05, 0.05], level, seed=5, draws=500) == 1.0
    small = multinomial_power(100, right, [0.9, 0.05, 0.05], level, seed=5, draws=500)
    assert small < 0.05


def test_a_simulated_power_is_the_same_with_the_same_seed_and_near_the_exact_one() -> None:
    same = [multinomial_power(200, [0.3, 0.7], [0.4, 0.6], math.log(0.01), 9, DRAWS) for _ in range(2)]
    assert same[0] == same[1]
    exact = binomial_power(200, 0.3, 0.4, math.log(0.01))
    assert abs(same[0] - exact) <= spread(exact)
    assert multinomial_power(200, [0.3, 0.7], [0.4, 0.6], math.log(0.01), 10, DRAWS) != same[0]


# Levels and faults


def test_a_familys_error_rate_is_shared_among_its_tests() -> None:
    assert level_each(0.05, 1) == math.log(0.05)
    assert math.exp(level_each(1e-6, 40)) * 40 == pytest.approx(1e-6)
    assert level_each(1e-300, 10**300) == pytest.approx(-600 * math.log(10))


@pytest.mark.parametrize(
    "call",
    [
        lambda: binomial_log_p(6, 5, 0.5),
        lambda: binomial_log_p(-1, 5, 0.5),
        lambda: binomial_log_p(0, -1, 0.5),
        lambda: binomial_log_p(0, 10**12 + 1, 0.5),
        lambda: binomial_log_p(1, 5, 1.5),
        lambda: binomial_log_p(1, 5, math.nan),
        lambda: binomial_power(5, 0.5, -0.1, -1.0),
        lambda: binomial_power(5, 0.5, 0.6, 0.0),
        lambda: binomial_power(5, 0.5, 0.6, math.nan),
        lambda: trials_needed(0.5, 0.5, -1.0, 0.9),
        lambda: trials_needed(0.5, 0.6, -1.0, 1.0),
        lambda: trials_needed(0.5, 0.6, 1.0, 0.9),
        lambda: multinomial_log_p([1, 2], [0.5, 0.25, 0.25]),
        lambda: multinomial_log_p([1, -1], [0.5, 0.5]),
        lambda: multinomial_log_p([1.0, 1.0], [0.5, 0.5]),
        lambda: multinomial_log_p([1, 1], [0.5, 0.6]),
        lambda: multinomial_log_p([1, 1], [1.5, -0.5]),
        lambda: multinomial_log_p([1, 1], [math.nan, 0.5]),
        lambda: multinomial_log_p([], []),
        lambda: multinomial_log_p([10**12, 1, 1], [0.5, 0.25, 0.25]),
        lambda: multinomial_power(5, [0.5, 0.5], [1.0], -1.0, 1, 10),
        lambda: multinomial_power(5, [0.5, 0.5], [0.5, 0.5], 0.0, 1, 10),
        lambda: multinomial_power(5, [0.5, 0.5], [0.5, 0.5], -1.0, 1, 0),
        lambda: multinomial_power(-5, [0.5, 0.5], [0.5, 0.5], -1.0, 1, 10),
        lambda: level_each(0.0, 1),
        lambda: level_each(1.0, 1),
        lambda: level_each(math.nan, 1),
        lambda: level_each(0.05, 0),
    ],
)
def test_numbers_out_of_range_are_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=r"probabilit|trials|successes|counts|level|power|test|rate"):
        call()
