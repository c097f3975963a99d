"""The verdict on one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.pack import Pack, PackCase
from grader.judge.answers import Refusal, read_answer
from grader.judge.compare import compare
from grader.judge.failures import PLAIN, STATE_VERDICTS, call_message
from grader.judge.relations import RELATIONS, Evidence, Judgement
from grader.outcomes import StepOutcome
from grader.positions import Positions

Array = NDArray[Any]


def judge_case(
    pack: Pack,
    case: PackCase,
    outcomes: Sequence[StepOutcome],
    changed_elsewhere: Mapping[int, str],
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
    answers: list[Array] = []
    for outcome, shape in zip(outcomes, case.shapes, strict=True):
        if outcome.state != "returned":
            return Judgement(STATE_VERDICTS[outcome.state], call_message(outcome, exercise, positions))
        answer = read_answer(outcome, shape, exercise.dtypes)
        if isinstance(answer, Refusal):
            return Judgement(answer.verdict, answer.message)
        answers.append(answer)
    if case.check == "compare":
        return _compare(case, answers[0], pack.expected(case))
    if case.check == "finite":
        return _finite(answers[0])
    evidence = Evidence(case, outcomes, answers, exercise.parameters, changed_elsewhere)
    return RELATIONS[case.check](evidence)


def _compare(case: PackCase, answer: Array, expected: NDArray[np.float64]) -> Judgement:
    assert case.tolerance is not None
    result = compare(answer, expected, case.tolerance, case.scale)
    if result.equal:
        return Judgement("passed", comparison=result)
    if result.not_finite:
        what = _not_finite_words(answer)
        message = f"{result.not_finite} of {result.size} values are {what}; all expected ones are finite."
    else:
        message = values_message(result.beyond, result.size, result.max_abs, result.max_rel, case.tolerance)
    return Judgement("wrong_value", message, result, answer, expected)


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
