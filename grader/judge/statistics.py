"""Tests of random behaviour with stated error rates: exact binomial tests, and a bound for multinomial ones.

All p-values, significance levels and family-wise error rates are natural logarithms, so that they can be far
smaller than the smallest float. A null hypothesis is rejected where the log p-value is at most the log level;
then a right submission is rejected with at most that probability, however many trials there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_TRIALS = 10**12
MAX_TRIALS_NEEDED = 10**8

# A sum has ended when what is left of it is smaller than this part of it.
_NEGLIGIBLE = 1e-17
_TWO = math.log(2.0)


def level_each(family: float, tests: int) -> float:
    """The log significance level of each of several tests (Bonferroni's correction).

    Whatever the tests have to do with each other, the probability that any of them rejects a true null
    hypothesis is then at most ``family``.

    Args:
        family: The family-wise error rate, above 0 and below 1.
        tests: How many tests there are.

    Raises:
        ValueError: There is no test, or the rate is no such probability.
    """
    if not 0.0 < family < 1.0:
        raise ValueError(f"a family-wise error rate is above 0 and below 1, not {family!r}")
    if tests < 1:
        raise ValueError(f"a family has at least one test, not {tests!r}")
    return math.log(family) - math.log(tests)


# Binomial


def binomial_log_p(successes: int, trials: int, probability: float) -> float:
    """The natural log of the exact two-sided p-value of a binomial test: twice the smaller tail, at most 0.

    The tail is the probability of so many successes or of anything further out, summed from its largest term
    on; each term follows from the one before it. The first term is computed by deviances, which lose no
    digits where log-gamma functions would cancel (C. Loader 2000, "Fast and accurate computation of binomial
    probabilities").

    Args:
        successes: How often it happened, 0 to ``trials``.
        trials: How often it could have, 0 to 10**12.
        probability: Of a success, by the null hypothesis.

    Returns:
        0.0 where everything is as expected or nothing was tried; -inf where the null hypothesis excludes it.
        Right to about 1e-9 of the p-value, or of its log where that is far below -700.

    Raises:
        ValueError: A number is out of its range.
    """
    _check_binomial(trials, probability)
    if not 0 <= successes <= trials:
        raise ValueError(f"there are 0 to {trials} successes, not {successes!r}")
    lower = _log_at_most(successes, trials, probability)
    upper = _log_at_least(successes, trials, probability)
    return min(0.0, _TWO + min(lower, upper))


def binomial_power(trials: int, probability: float, alternative: float, log_level: float) -> float:
    """The exact power of the two-sided binomial test: how probably it rejects.

    Args:
        trials: How many trials the test has.
        probability: Of a success, by the null hypothesis.
        alternative: Of a success in truth. Where it is ``probability``, the result is the test's size: how
            probably it gives a false alarm, never above the level.
        log_level: Natural log of the significance level.

    Raises:
        ValueError: A number is out of its range.
    """
    _check_binomial(trials, probability)
    _check_probability(alternative)
    _check_level(log_level)
    return _power(*_critical(trials, probability, log_level), trials, alternative)


def trials_needed(probability: float, alternative: float, log_level: float, power: float) -> int:
    """The smallest number of trials with which the two-sided binomial test has this power.

    The power does not rise with every trial: the test is discrete, so it falls a little whenever the next
    count is needed to reject (M. Chernick and C. Liu 2002, "The saw-toothed behavior of power versus sample
    size"). With somewhat more trials than the smallest number it can therefore be somewhat less; see
    `binomial_power`.

    Args:
        probability: Of a success, by the null hypothesis.
        alternative: Of a success in truth, another probability.
        log_level: Natural log of the significance level.
        power: How probably the test is to reject, above 0 and below 1.

    Raises:
        ValueError: A number is out of its range, or more than 10**8 trials would be needed.
    """
    _check_probability(probability)
    _check_probability(alternative)
    _check_level(log_level)
    if probability == alternative:
        raise ValueError(f"no number of trials tells the probability {probability!r} from itself")
    if not 0.0 < power < 1.0:
        raise ValueError(f"a power is above 0 and below 1, not {power!r}")
    above = alternative > probability
    trials = _too_few(probability, alternative, log_level, power, above=above)
    low, high = _critical(trials, probability, log_level)
    while trials <= MAX_TRIALS_NEEDED:
        # One trial more moves each critical value by one at most.
        low, high = _moved(low, high, trials, probability, log_level)
        if _power(low, high, trials, alternative) >= power:
            return trials
        trials += 1
    raise _too_many(probability, alternative)


def _too_many(probability: float, alternative: float) -> ValueError:
    return ValueError(
        f"more than {MAX_TRIALS_NEEDED:,} trials would be needed to tell {alternative!r} from {probability!r}"
    )


def _check_probability(probability: float) -> None:
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"a probability is between 0 and 1, not {probability!r}")


def _check_level(log_level: float) -> None:
    if not log_level < 0.0:
        raise ValueError(f"the log of a significance level is negative, not {log_level!r}")


def _check_binomial(trials: int, probability: float) -> None:
    _check_probability(probability)
    if not 0 <= trials <= MAX_TRIALS:
        raise ValueError(f"there are 0 to {MAX_TRIALS:,} trials, not {trials!r}")


def _critical(trials: int, probability: float, log_level: float) -> tuple[int, int]:
    """The critical values: at most the first and at least the second number of successes are rejected.

    They are -1 and ``trials + 1`` where no number is.
    """
    centre = min(trials, int(trials * probability))
    low, top = -1, centre
    while low < top:
        middle = (low + top + 1) // 2
        if _TWO + _log_at_most(middle, trials, probability) <= log_level:
            low = middle
        else:
            top = middle - 1
    bottom, high = centre, trials + 1
    while bottom < high:
        middle = (bottom + high) // 2
        if _TWO + _log_at_least(middle, trials, probability) <= log_level:
            high = middle
        else:
            bottom = middle + 1
    return low, high


def _moved(low: int, high: int, trials: int, probability: float, log_level: float) -> tuple[int, int]:
    """The critical values, from those of the same or of one trial less."""
    if _TWO + _log_at_most(low + 1, trials, probability) <= log_level:
        low += 1
    if _TWO + _log_at_least(high, trials, probability) > log_level:
        high += 1
    return low, high


def _power(low: int, high: int, trials: int, alternative: float) -> float:
    below = math.exp(_log_at_most(low, trials, alternative))
    return min(1.0, below + math.exp(_log_at_least(high, trials, alternative)))


def _too_few(probability: float, alternative: float, log_level: float, power: float, *, above: bool) -> int:
    """A number of trials, at least 1, below which the power is too small for certain.

    The randomized one-sided test at half the level is the most powerful one (Neyman and Pearson), so its
    power only rises with the trials; the other side adds at most half the level.
    """

    half = math.exp(log_level) / 2

    def enough(trials: int) -> bool:
        low, high = _critical(trials, probability, log_level)
        critical, edge, log_tail = (high, high - 1, _log_at_least) if above else (low, low + 1, _log_at_most)

        def tails(p: float) -> tuple[float, float]:
            return math.exp(log_tail(critical, trials, p)), math.exp(log_tail(edge, trials, p))

        # Beyond the critical value all is rejected, at the edge before it as much as the level allows.
        false_alarm, with_edge = tails(probability)
        share = (half - false_alarm) / (with_edge - false_alarm) if with_edge > false_alarm else 1.0
        detected, detected_with_edge = tails(alternative)
        at_best = detected + min(max(share, 0.0), 1.0) * (detected_with_edge - detected) + half
        # A little room for rounding: more trials are looked at one by one.
        return at_best >= power - 1e-9

    most = 1
    while not enough(most):
        most *= 2
        if most > 2 * MAX_TRIALS_NEEDED:
            raise _too_many(probability, alternative)
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        if enough(middle):
            most = middle
        else:
            least = middle
    return most


def _log_at_least(successes: int, trials: int, probability: float) -> float:
    """log P(X >= successes)."""
    if successes <= 0:
        return 0.0
    if successes > trials:
        return -math.inf
    return _log_upper(successes, trials, probability, 1.0 - probability)


def _log_at_most(successes: int, trials: int, probability: float) -> float:
    """log P(X <= successes): so many failures or more."""
    if successes < 0:
        return -math.inf
    if successes >= trials:
        return 0.0
    return _log_upper(trials - successes, trials, 1.0 - probability, probability)


def _log_upper(successes: int, trials: int, p: float, q: float) -> float:
    """log P(X >= successes) for 1 to ``trials`` successes; ``q`` is 1 - p with all its digits."""
    if p == 0.0:
        return -math.inf
    if q == 0.0:
        return 0.0
    if successes >= (trials + 1) * p:
        # At or beyond the mode terms fall.
        return min(0.0, _log_mass(successes, trials, p, q) + math.log(_falling(successes, trials, p, q)))
    # All but the lower tail, whose terms fall from its largest on, seen as failures.
    failures = trials - successes + 1
    lower = _log_mass(failures, trials, q, p) + math.log(_falling(failures, trials, q, p))
    return math.log1p(-math.exp(lower))


def _falling(successes: int, trials: int, p: float, q: float) -> float:
    """The sum of the probabilities of ``successes``, ``successes + 1``, … in units of the first."""
    total, last, n, length = 1.0, 1.0, successes, 64
    odds = p / q
    while n < trials:
        steps = np.arange(n, min(n + length, trials), dtype=np.float64)
        ratios = (trials - steps) / (steps + 1.0) * odds
        terms = last * np.cumprod(ratios)
        total += float(terms.sum())
        last, ratio = float(terms[-1]), float(ratios[-1])
        # Ratios only fall, so what is left is less than a geometric series.
        if ratio < 1.0 and last * ratio <= _NEGLIGIBLE * total * (1.0 - ratio):
            break
        n += len(steps)
        length = min(2 * length, 65536)
    return total


def _log_mass(successes: int, trials: int, p: float, q: float) -> float:
    """log P(X = successes)."""
    failures = trials - successes
    if failures == 0:
        return trials * (math.log(p) if p <= 0.5 else math.log1p(-q))
    if successes == 0:
        return trials * (math.log(q) if q <= 0.5 else math.log1p(-p))
    return (
        _stirling_error(trials)
        - _stirling_error(successes)
        - _stirling_error(failures)
        - _deviance(successes, trials * p)
        - _deviance(failures, trials * q)
        + 0.5 * (math.log(trials / successes) - math.log(2.0 * math.pi * failures))
    )


def _deviance(count: float, mean: float) -> float:
    """count * log(count / mean) + mean - count, without the loss of digits where the two are near."""
    if count == 0.0:
        return mean
    difference = count - mean
    if abs(difference) < 0.5 * mean:
        return count * math.log1p(difference / mean) - difference
    return count * (math.log(count) - math.log(mean)) - difference


def _stirling_error(n: int) -> float:
    """How much log(n!) is above Stirling's formula log(sqrt(2 pi n) (n/e)**n)."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi)
    square = float(n) * n
    series = 1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square
    return series / n


# Multinomial


def multinomial_log_p(counts: Sequence[int], probabilities: Sequence[float]) -> float:
    """The natural log of an upper bound of the p-value of a multinomial likelihood-ratio test.

    The statistic is the log-likelihood ratio n D, the number of trials times the relative entropy of the
    observed frequencies to the probabilities. Wilks' chi-square law holds for many trials only; these
    inequalities hold for any number of them, and the smallest is taken:

    * R. Agrawal 2020, "Finite-sample concentration of the multinomial in relative entropy" : for k
      categories and n D = x > k - 1, P(n D >= x) <= exp(-x) (e x / (k - 1))**(k - 1).
    * The method of types: a sample whose statistic is at least x is at most exp(-x) times as probable as
      it is by its own frequencies, so P(n D >= x) <= exp(-x) C, where C is the sum of these largest
      probabilities over all possible counts. (Often each is bounded by 1, and C by the number of possible
      counts.) C is the constant of the normalized maximum likelihood code (Y. Shtarkov 1987), computed by the
      recurrence of P. Kontkanen and P. Myllymäki 2007, "A linear-time algorithm for computing the multinomial
      stochastic complexity".
    * Of two possible categories the exact binomial p-value.

    Categories of probability 0 are not counted in k.

    Args:
        counts: How often each category occurred.
        probabilities: Of each category, by the null hypothesis; together 1.

    Returns:
        0.0 where the bound says nothing, -inf where a category of probability 0 occurred.

    Raises:
        ValueError: The numbers are no counts or no probabilities, or not the same number of each.
    """
    expected = _checked_probabilities(probabilities)
    observed = np.array(counts)
    if observed.shape != expected.shape:
        raise ValueError(f"{len(expected)} probabilities need as many counts, not {observed.size}")
    if observed.dtype.kind not in "iu" or (observed < 0).any():
        raise ValueError("counts are integers that are not negative")
    trials = sum(int(count) for count in observed)
    if trials > MAX_TRIALS:
        raise ValueError(f"there are 0 to {MAX_TRIALS:,} trials, not {trials}")
    return float(_multinomial_log_ps(observed[None].astype(np.int64), expected, trials)[0])


def multinomial_power(
    trials: int,
    probabilities: Sequence[float],
    alternatives: Sequence[float],
    log_level: float,
    seed: int,
    draws: int,
) -> float:
    """The power of the test by `multinomial_log_p`, simulated: in which part of the draws it rejects.

    Its standard error is sqrt(power (1 - power) / draws), at most 0.5 / sqrt(draws).

    Args:
        trials: How many trials a draw has.
        probabilities: Of each category, by the null hypothesis.
        alternatives: Of each category in truth; the ``probabilities`` give the size of the test.
        log_level: Natural log of the significance level.
        seed: Of the simulation's own generator.
        draws: How often the test is simulated.

    Raises:
        ValueError: A number is out of its range.
    """
    expected, actual = _checked_probabilities(probabilities), _checked_probabilities(alternatives)
    if expected.shape != actual.shape:
        raise ValueError(f"{len(expected)} probabilities need as many alternatives, not {len(actual)}")
    _check_level(log_level)
    if not 0 <= trials <= MAX_TRIALS:
        raise ValueError(f"there are 0 to {MAX_TRIALS:,} trials, not {trials!r}")
    if draws < 1:
        raise ValueError(f"a power is simulated by at least one draw, not {draws!r}")
    generator = np.random.Generator(np.random.PCG64(seed))
    observed = generator.multinomial(trials, actual, size=draws)
    return float(np.mean(_multinomial_log_ps(observed, expected, trials) <= log_level))


def _checked_probabilities(given: Sequence[float]) -> NDArray[np.float64]:
    probabilities = np.array(given, np.float64)
    if probabilities.ndim != 1 or not probabilities.size:
        raise ValueError("there is at least one probability")
    if not ((probabilities >= 0.0) & (probabilities <= 1.0)).all():
        raise ValueError("probabilities are between 0 and 1")
    total = math.fsum(probabilities)
    if abs(total - 1.0) > 1e-9:
        raise ValueError(f"probabilities are 1 together, not {total!r}")
    return np.asarray(probabilities / total)


def _multinomial_log_ps(
    observed: NDArray[Any], expected: NDArray[np.float64], trials: int
) -> NDArray[np.float64]:
    """The bound for each row of counts."""
    possible = expected > 0.0
    excluded = observed[:, ~possible].any(axis=1)
    observed, expected = observed[:, possible], expected[possible]
    categories = len(expected)
    if trials == 0 or categories == 1:
        bounds = np.zeros(len(observed))
    elif categories == 2:
        bounds = _binomial_log_ps(observed[:, 0], trials, float(expected[0]))
    else:
        bounds = _bounds(_statistics(observed, expected, trials), categories, trials)
    return np.where(excluded, -np.inf, bounds)


def _binomial_log_ps(successes: NDArray[Any], trials: int, probability: float) -> NDArray[np.float64]:
    different, which = np.unique(np.minimum(successes, trials), return_inverse=True)
    found = np.array([binomial_log_p(int(count), trials, probability) for count in different])
    return np.asarray(found[which.reshape(-1)])


def _statistics(observed: NDArray[Any], expected: NDArray[np.float64], trials: int) -> NDArray[np.float64]:
    """n D for each row: the sum of deviances, in which the means cancel the counts; never below 0."""
    means = trials * expected
    difference = observed - means
    near = np.abs(difference) < 0.5 * means
    change = np.divide(difference, means, where=near, out=np.zeros(difference.shape))
    # log1p keeps the digits of counts near their means; an unseen category adds its mean alone.
    logs = np.where(near, np.log1p(change), np.log(np.maximum(observed, 1)) - np.log(means))
    return np.asarray(np.maximum((observed * logs - difference).sum(axis=1), 0.0))


def _bounds(x: NDArray[np.float64], categories: int, trials: int) -> NDArray[np.float64]:
    freedom = categories - 1
    types = -x + _log_types(categories, trials)
    agrawal = np.where(x > freedom, -x + freedom * (1.0 + np.log(np.maximum(x, freedom) / freedom)), 0.0)
    return np.minimum(0.0, np.minimum(types, agrawal))


def _log_types(categories: int, trials: int) -> float:
    """log of the sum, over all counts of so many trials, of their probability by their own frequencies."""
    # Of two categories it is 1 + n/n + n (n - 1)/n**2 + …, Ramanujan's Q function and 1.
    terms = 1.0
    for part in _birthdays(trials):
        terms += part
    log_before, log_now = 0.0, math.log(terms)
    for k in range(1, categories - 1):
        # C(k + 2) = C(k + 1) + n / k C(k).
        log_before, log_now = log_now, float(np.logaddexp(log_now, math.log(trials / k) + log_before))
    return log_now


def _birthdays(trials: int) -> Iterator[float]:
    """Sums of blocks of n/n, n (n - 1)/n**2, … until they no longer count."""
    last, start, length = 1.0, 0, 4096
    while start < trials:
        steps = np.arange(start, min(start + length, trials), dtype=np.float64)
        factors = 1.0 - steps / trials
        terms = last * np.cumprod(factors)
        yield float(terms.sum())
        last, ratio = float(terms[-1]), float(factors[-1])
        if last * ratio <= _NEGLIGIBLE * (1.0 - ratio):
            return
        start += len(steps)
