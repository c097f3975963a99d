"""How many trials the answers to a statistic's calls must give at the least.

A statistic counts its trials in the submission's own answers, and of few trials no test can tell anything.
What right answers give may itself hang on chance, and nothing is known of its distribution: so the floor is
set by calls of the reference with other generators, and by ranks alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from grader.exercise.assemble import AssembledCase, Call, case_seed, generator_seed
from grader.exercise.calls import Argument, GeneratorArgument, MappingArgument, grouped, leaves, plain
from grader.exercise.checks import Statistic
from grader.exercise.claims import ClaimError, parse
from grader.exercise.models import Exercise
from grader.exercise.naming import as_python, counts_of, defined, names_of, whole
from grader.exercise.right_answers import RightAnswer

# The part of a test's level that is kept for the floor of its trials.
FLOOR_SHARE = 0.1
# More calls of the reference than these take too long when a pack is built.
MOST_RUNS = 500
# Which of the reference's counts, sorted, bound those of right answers: the least one, and quantiles.
QUANTILES = (0.0, 0.25, 0.5, 0.75)


def least_total(counts: Sequence[int], calls: int, log_level: float) -> int:
    """The number below which the trials of so many calls fall with no more than this probability.

    The trials of all calls are at least the sum, over the steps of a ladder of values, of the step's height
    times the number of calls that reach it. The rungs are order statistics of the reference's counts. Where
    those and the submission's are independent draws of the same distribution, whatever it is, each order in
    which they can be sorted is equally likely: how many of the submission's lie below the j-th of the
    reference's has a negative hypergeometric distribution (the exact precedence test, L. Nelson 1963, "Tables
    for a precedence life test"). Equal counts only make fewer lie below. Each rung has its part of the level.

    Args:
        counts: Trials in each of the reference's calls.
        calls: How many calls a submission makes.
        log_level: Natural logarithm of the probability.

    Returns:
        0 where there are too few calls to say anything.
    """
    ordered = sorted(max(count, 0) for count in counts)
    total, before = 0, 0
    for quantile in QUANTILES if ordered else ():
        rank = int(quantile * len(ordered))
        reaching = (
            calls + 1 - _too_many_below(len(ordered), rank, calls, log_level - math.log(len(QUANTILES)))
        )
        total += (ordered[rank] - before) * max(reaching, 0)
        before = ordered[rank]
    return total


def runs_needed(calls: int, log_level: float) -> int:
    """How many calls of the reference make the floor of a constant count at least half of it.

    Of few calls no number of runs that can be made says as much, and the largest is taken; or none, where not
    even that says anything.
    """
    log_each = log_level - math.log(len(QUANTILES))
    if _too_many_below(MOST_RUNS, 0, calls, log_each) > calls:
        return 0
    sizes = range(1, MOST_RUNS + 1)
    at = bisect_left(
        sizes, True, key=lambda runs: _too_many_below(runs, 0, calls, log_each) <= calls // 2 + 1
    )
    return sizes[min(at, MOST_RUNS - 1)]


def _too_many_below(runs: int, rank: int, calls: int, log_level: float) -> int:
    """The least number of ``calls`` that lie below the value of this rank with no more than this probability.

    Ranks count from 0; the result is ``calls + 1`` where even all of them do so more often.
    """
    # In how many of all orders so many lie below: those before the value, and after it, stand as they may.
    in_all = math.comb(runs + calls, calls)
    orders = 0
    for below in range(calls, -1, -1):
        orders += math.comb(rank + below, below) * math.comb(runs - rank - 1 + calls - below, calls - below)
        if math.log(orders) - math.log(in_all) > log_level:
            return below + 1
    return 0


def hangs_on_answer(check: Statistic, arguments: Sequence[str]) -> bool:
    """Whether a statistic's trials are counted in what a submission answers, by the names that it uses."""
    known = set(arguments)
    for name, text in check.let.items():
        # A name that is made of the answer hides an argument's.
        (known.add if parse(text).names <= known else known.discard)(name)
    return not parse(check.trials or check.counts or "").names <= known


def least_trials(
    assembled: AssembledCase,
    exercise: Exercise,
    log_level: float,
    answers: Callable[[AssembledCase], Sequence[RightAnswer]],
) -> int:
    """The least number of trials of a right submission in all calls of a case with a statistic.

    Args:
        assembled: The case.
        exercise: What it is a case of.
        log_level: Natural logarithm of the chance that a right submission has fewer.
        answers: The reference's answers to the calls of a case.

    Returns:
        0 where nothing can be said.

    Raises:
        ExerciseError: The reference fails.
    """
    case = assembled.case
    check, view = case.check, exercise.view(case.call)
    assert isinstance(check, Statistic)
    others = _other_calls(assembled, view, runs_needed(check.calls, log_level))
    if not others:
        return 0
    given = answers(AssembledCase(assembled.placed, others))
    try:
        counts = [
            _trials(check, list(view.parameters), call, as_python(right.outcome.value))
            for call, right in zip(others, given, strict=True)
        ]
    except ClaimError:
        # What the case's own calls give is looked at by whoever validates it.
        return 0
    return least_total(counts, check.calls, log_level)


def _other_calls(assembled: AssembledCase, view: Exercise, runs: int) -> tuple[Call, ...]:
    """Calls as those of the case, with seeds that it has not: no submission can be told by them."""
    assert isinstance(assembled.case.check, Statistic)
    seed, own = case_seed(assembled.case), assembled.case.check.calls
    first = dict(zip(view.slots, leaves(assembled.calls[0]), strict=True))
    generators = [name for name, parameter in view.slots.items() if parameter.generator is not None]
    return tuple(
        grouped(first | {name: GeneratorArgument(generator_seed(seed, name, own + n)) for name in generators})
        for n in range(runs)
    )


def _trials(check: Statistic, parameters: Sequence[str], call: Call, answer: Any) -> int:
    """How many trials an answer gives."""
    arguments = [(name, _described(one)) for name, one in zip(parameters, call, strict=True)]
    names = defined(names_of(arguments, answer), check.let)
    if check.trials is not None:
        return whole(check.trials, names)
    return sum(counts_of(check.counts or "", names))


def _described(argument: Argument) -> Any:
    """An argument as expressions see it: generators are not made."""
    if isinstance(argument, MappingArgument):
        return {key: _described(item) for key, item in argument.items}
    return argument if isinstance(argument, GeneratorArgument) else plain(argument)
