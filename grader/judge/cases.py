"""The verdict on one case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import PlacedArray
from grader.exercise.pack import Pack, PackCase
from grader.judge.answers import Refusal, read_answer
from grader.judge.compare import Comparison, compare, is_exact
from grader.judge.failures import PLAIN, STATE_VERDICTS, call_message
from grader.judge.relations import RELATIONS, Evidence, Judgement
from grader.outcomes import StepOutcome
from grader.positions import Positions

if TYPE_CHECKING:
    from grader.judge.structured import Structured

Array = NDArray[Any]


def judge_case(
    pack: Pack,
    case: PackCase,
    outcomes: Sequence[StepOutcome],
    changed_elsewhere: Mapping[str, str],
    positions: Positions = PLAIN,
) -> Judgement:
    """Decide one case without regard to what it requires.

    Args:
        pack: The pack that the case is of.
        case: The case.
        outcomes: The outcome of each of its steps.
        changed_elsewhere: Arguments that any call changed, with the visibility of such a call.
        positions: Names for the lines of the submission's text.
    """
    exercise = pack.exercise
    if case.check == "raises":
        from grader.judge.raising import judge_raises

        return judge_raises(case, outcomes[0], exercise, positions)
    call = pack.call(case)
    answers: list[Array] = []
    structured: list[Structured] = []
    for number, (outcome, shape) in enumerate(zip(outcomes, case.shapes, strict=True)):
        if outcome.state != "returned":
            return Judgement(
                STATE_VERDICTS[outcome.state], call_message(outcome, exercise, positions, case.call)
            )
        answer: Array | Structured | Refusal
        if call.is_array and not case.chance:
            answer = read_answer(outcome, shape, call.dtypes)
        else:
            # Exercises whose answers are arrays start without what reads other ones.
            from grader.judge.structured import read_structured

            answer = read_structured(outcome, call.form, case, number)
        if isinstance(answer, Refusal):
            return Judgement(answer.verdict, answer.message)
        if isinstance(answer, np.ndarray):
            answers.append(answer)
        else:
            structured.append(answer)
            answers.append(answer.numbers)
    if case.check in ("holds", "statistic"):
        from grader.judge.properties import judge_holds, judge_statistic

        return (judge_holds if case.check == "holds" else judge_statistic)(pack, case, outcomes)
    if case.check == "compare" and structured:
        return _compare_structured(case, structured[0], pack.expected(case))
    if case.check == "compare":
        return _compare(case, answers[0], pack.expected(case), exact=call.exact)
    if case.check == "finite":
        return _finite(answers[0])
    placed = pack.plans[case.visibility][case.steps[0]]
    given = placed if not isinstance(placed, int) else ()
    containers = [number for number, argument in enumerate(given) if not isinstance(argument, PlacedArray)]
    evidence = Evidence(
        case, outcomes, answers, pack.parameters(case), changed_elsewhere, structured, containers
    )
    return RELATIONS[case.check](evidence)


def _compare_structured(case: PackCase, answer: Structured, expected: NDArray[np.float64]) -> Judgement:
    from grader.judge.structured import compare_structured, expected_leaves, where_most

    assert case.tolerance is not None
    leaves = expected_leaves(case, 0)
    result = compare_structured(answer, expected, case.tolerance, leaves)
    if result.equal:
        return Judgement("passed", comparison=result)
    where = where_most(result, leaves)
    at = f" Most at {where}." if where else ""
    if result.not_finite:
        what = _not_finite_words(answer.numbers)
        said = f"{result.not_finite} of {result.size} values are {what}; all expected ones are finite."
    elif math.isinf(result.max_rel):
        said = _unequal_words(result)
    else:
        said = values_message(result.beyond, result.size, result.max_abs, result.max_rel, case.tolerance)
    # Where something differs that must be equal there is no figure to tell.
    told = None if math.isinf(result.max_rel) and not result.not_finite else result
    return Judgement("wrong_value", said + at, told, answer.numbers, expected)


def _compare(case: PackCase, answer: Array, expected: NDArray[np.float64], *, exact: bool) -> Judgement:
    assert case.tolerance is not None
    # Packs that hold all expected answers as floats tell it by the form alone.
    tolerance = 0.0 if exact else case.tolerance
    result = compare(answer, expected, tolerance, case.scale)
    if result.equal:
        return Judgement("passed", comparison=result)
    if result.not_finite:
        what = _not_finite_words(answer)
        message = f"{result.not_finite} of {result.size} values are {what}; all expected ones are finite."
    elif is_exact(answer) and is_exact(expected):
        # Where all must be equal there is no figure to tell.
        return Judgement("wrong_value", _unequal_words(result), None, answer, expected)
    else:
        message = values_message(result.beyond, result.size, result.max_abs, result.max_rel, tolerance)
    return Judgement("wrong_value", message, result, answer, expected)


def _unequal_words(result: Comparison) -> str:
    several = f"{result.beyond} of {result.size} values are not as expected."
    return several if result.size != 1 else "The value is not as expected."


def values_message(beyond: int, size: int, max_abs: float, max_rel: float, tolerance: float) -> str:
    """What is said where finite values are off."""
    if size == 1:
        return f"The value is off by {max_abs:.2g} (relative {max_rel:.2g})."
    return (
        f"{beyond} of {size} values are off, by up to {max_abs:.2g} "
        f"(relative {max_rel:.2g}; {tolerance:.1g} is allowed)."
    )


def _finite(answer: Array) -> Judgement:
    bad = int(np.count_nonzero(~np.isfinite(answer)))
    if not bad:
        return Judgement("passed")
    what = _not_finite_words(answer)
    message = f"{bad} of {answer.size} values are {what}; expected finite values."
    return Judgement("wrong_value", message, obtained=answer)


def _not_finite_words(answer: Array) -> str:
    nan, infinite = bool(np.isnan(answer).any()), bool(np.isinf(answer).any())
    return "NaN or infinite" if nan and infinite else "NaN" if nan else "infinite"
