"""What must hold of answers that need not be equal to expected ones: claims, tests of random behaviour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.exercise.claims import ClaimError, parse
from grader.exercise.naming import CHANGED, as_python, counts_of, defined, names_of, whole
from grader.exercise.pack import Pack, PackCase
from grader.judge.relations import Judgement
from grader.judge.statistics import (
    binomial_log_p,
    binomial_power,
    multinomial_log_p,
    multinomial_power,
)
from grader.outcomes import StepOutcome

# Simulations by which the power of a multinomial test is told.
DRAWS = 4000
# Of more categories only the one is told that is furthest off.
TOLD = 6


def judge_holds(pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome]) -> Judgement:
    """Decide a case that makes claims about answers of the right form."""
    names = names_of(pack.arguments(case), as_python(outcomes[0].value))
    if len(outcomes) > 1:
        names[CHANGED] = names_of(pack.arguments(case, 1), as_python(outcomes[1].value))
    try:
        defined(names, case.options.get("let", ()))
    except ClaimError as error:
        first = case.options["holds"][0]["says"]
        return Judgement("relation_violated", f"This does not hold: {_sentence(first)} ({error})")
    for claim in case.options["holds"]:
        try:
            if parse(claim["claim"]).holds(names):
                continue
            why = ""
        except ClaimError as error:
            # The right answer can be computed with, so it is this one's fault.
            why = f" ({error})"
        return Judgement("relation_violated", f"This does not hold: {_sentence(claim['says'])}{why}")
    return Judgement("passed")


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def judge_statistic(pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome]) -> Judgement:
    """Decide a case that tests what its calls do together."""
    try:
        counted = count(pack, case, outcomes)
    except (ClaimError, ValueError) as error:
        # The reference's answers can be counted, so it is this one's fault.
        says = _sentence(case.options["says"])
        return Judgement("relation_violated", f"This can't be told of the answers: {says} ({error})")
    least = int(case.options.get("least_trials", 0))
    if counted.trials < least:
        return Judgement("relation_violated", _too_few(case, counted.trials, len(outcomes), least))
    if counted.log_p > float(case.options["log_level"]):
        return Judgement("passed")
    return Judgement("relation_violated", f"{_sentence(case.options['says'])} {counted.words}")


def _too_few(case: PackCase, trials: int, calls: int, least: int) -> str:
    """What is said where the answers give hardly anything to count."""
    found = "nothing was" if not trials else "1 was" if trials == 1 else f"{trials:,} were"
    says = _sentence(case.options["says"])
    which = f"all {calls:,} calls" if calls > 1 else "the call"
    return f"Too little to be told from: {says} In {which} {found} counted; expected are at least {least:,}."


@dataclass(frozen=True)
class Counted:
    """What was counted in all calls of a case.

    Attributes:
        log_p: Natural logarithm of the p-value, or of a bound of it.
        words: What was counted and what was expected, and how rarely chance does that.
        trials: How many trials there were.
        expected: The probability of a success, or those of the categories.
        against: What the test has to tell from it.
    """

    log_p: float
    words: str
    trials: int
    expected: float | list[float]
    against: float | list[float]


def count(pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome]) -> Counted:
    """Add up what a statistic counts, and test it.

    Raises:
        ClaimError: An expression can't be computed for these answers.
        ValueError: What was counted can't be tested: there are too many trials, or a probability is none.
    """
    options = case.options
    each = [
        defined(names_of(pack.arguments(case, number), as_python(outcome.value)), options.get("let", ()))
        for number, outcome in enumerate(outcomes)
    ]
    return (_binomial if options["statistic"] == "binomial" else _multinomial)(options, each)


def _binomial(options: Mapping[str, Any], each: Sequence[Mapping[str, Any]]) -> Counted:
    successes = sum(whole(options["successes"], names) for names in each)
    trials = sum(whole(options["trials"], names) for names in each)
    probability = _number(options["probability"], each[0])
    if not 0 <= successes <= trials:
        raise ClaimError(f"{successes} of {trials} were counted")
    log_p = binomial_log_p(successes, trials, probability)
    share = f", {successes / trials:.2%}" if trials else ""
    said = f"Counted were {successes:,} of {trials:,}{share}; expected are {probability:.2%}"
    against = _number(options["against"], each[0])
    return Counted(log_p, f"{said}{_rarely(log_p)}.", trials, probability, against)


def _multinomial(options: Mapping[str, Any], each: Sequence[Mapping[str, Any]]) -> Counted:
    total: list[int] | None = None
    for names in each:
        total = _added(total, counts_of(options["counts"], names))
    assert total is not None
    probabilities = np.asarray(parse(options["probabilities"]).evaluate(each[0]), np.float64)
    if probabilities.shape != (len(total),):
        raise ClaimError(f"{len(total)} categories were counted; expected {probabilities.size}")
    titles = options.get("categories") or [f"category {number}" for number in range(probabilities.size)]
    if len(titles) != probabilities.size:
        raise ClaimError(f"{len(titles)} categories are named; there are {probabilities.size}")
    expected = [float(p) for p in probabilities]
    log_p = multinomial_log_p(total, expected)
    trials = sum(total)
    told = range(len(titles)) if len(titles) <= TOLD else [_furthest_off(total, trials * probabilities)]
    found = ", ".join(f"{titles[n]} {total[n]:,} times" for n in told)
    wanted = ", ".join(f"{trials * probabilities[n]:,.0f}" for n in told)
    said = f"Of {trials:,} were counted {found}; expected are about {wanted}"
    against = np.asarray(parse(str(options["against"])).evaluate(each[0]), np.float64)
    return Counted(log_p, f"{said}{_rarely(log_p)}.", trials, expected, [float(p) for p in against.ravel()])


def power_of(counted: Counted, log_level: float) -> float:
    """With which probability a test of this size rejects what it has to tell from the right behaviour."""
    if isinstance(counted.expected, list):
        assert isinstance(counted.against, list)
        return multinomial_power(counted.trials, counted.expected, counted.against, log_level, 1, DRAWS)
    assert isinstance(counted.against, float)
    return binomial_power(counted.trials, counted.expected, counted.against, log_level)


def _furthest_off(total: Sequence[int], wanted: Any) -> int:
    """The category whose count is furthest from its mean, in units of its root."""
    return int(np.argmax(np.abs(np.array(total) - wanted) / np.sqrt(np.maximum(wanted, 1e-300))))


def _added(total: list[int] | None, counts: list[int]) -> list[int]:
    if total is None:
        return counts
    if len(total) != len(counts):
        raise ClaimError("the calls count different categories")
    return [one + other for one, other in zip(total, counts, strict=True)]


def _number(text: str | float, names: Mapping[str, Any]) -> float:
    number = text if isinstance(text, int | float) else np.asarray(parse(text).evaluate(names))
    if np.shape(number) != ():
        raise ClaimError(f"{text} is no single number")
    return float(number)


def _rarely(log_p: float) -> str:
    """How rarely chance does what was counted."""
    if log_p == -math.inf:
        return ", which chance never does"
    return f", which chance does once in 10^{-log_p / math.log(10):.0f} times or less"
