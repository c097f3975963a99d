"""What the reference answers to the calls of a case, and whether that fits what the exercise says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ExerciseError, Problem
from grader.exercise.answers import Answer, answer_of
from grader.exercise.assemble import AssembledCase, plain_call
from grader.exercise.checks import Raises, Relation
from grader.exercise.expressions import evaluate
from grader.exercise.forms import Form
from grader.exercise.models import Exercise
from grader.exercise.near import did_you_mean
from grader.exercise.reference import Entry
from grader.exercise.rehearsal import call as rehearsed
from grader.exercise.sending import unsendable
from grader.exercise.structure import Leaf, UnfitError, flatten, require_sizes
from grader.outcomes import StepOutcome


@dataclass(frozen=True)
class RightAnswer:
    """What the reference gives to a call.

    Attributes:
        outcome: How the call ended.
        answer: The answer; empty where the call raised.
    """

    outcome: StepOutcome
    answer: Answer

    @property
    def array(self) -> NDArray[Any]:
        """The answer's numbers."""
        return self.answer.array

    @property
    def leaves(self) -> tuple[Leaf, ...] | None:
        """What they belong to; None where the answer is an array."""
        return self.answer.leaves


def call_reference(
    entries: Mapping[str, Entry], assembled: AssembledCase, exercise: Exercise
) -> list[RightAnswer]:
    """The reference's answer to each call of a case.

    Raises:
        ExerciseError: The reference fails on it, or gives no such answer as ``returns`` says, or the case's
            relation names rows that there are not.
    """
    case, placed = assembled.case, assembled.placed
    entry, form = entries[exercise.call_named(case.call)], exercise.view(case.call).form
    answers = []

    def fault(message: str) -> ExerciseError:
        return ExerciseError([Problem(placed.file, placed.line, "", f"{case.id}: {message}")])

    for call in assembled.calls:
        outcome = rehearsed(entry, plain_call(call))
        if isinstance(case.check, Raises):
            answers.append(_raised(outcome, case.check, fault))
            continue
        if outcome.failure is not None:
            raise fault(f"the reference fails on it: {outcome.failure.type}: {outcome.failure.message}")
        answers.append(right_answer(outcome, form, fault))
    _check_rows(assembled, answers)
    return answers


def right_answer(outcome: StepOutcome, form: Form, fault: Callable[[str], Exception]) -> RightAnswer:
    """What a trusted function returned. Raises ``fault(message)`` where it is not of the form."""
    try:
        right = RightAnswer(outcome, answer_of(outcome.value, form))
    except UnfitError as error:
        raise fault(f"the reference gives another answer than returns says: {error.message}") from None
    if outcome.value is not None and right.leaves is not None and (what := unsendable(outcome.value, form)):
        raise fault(f"no right answer could pass: it has {what}; ask for less, or for arrays")
    return right


def _raised(outcome: StepOutcome, check: Raises, fault: Callable[[str], Exception]) -> RightAnswer:
    failure = outcome.failure
    if failure is None:
        raise fault(f"the reference returns; expected the exception {' or '.join(check.types)}")
    if not any(name in (failure.type, *failure.bases) for name in check.types):
        raise fault(f"the reference raises {failure.type}; expected {' or '.join(check.types)}")
    return RightAnswer(outcome, Answer(np.zeros(0)))


def _check_rows(assembled: AssembledCase, answers: list[RightAnswer]) -> None:
    """Raises ExerciseError when a relation names rows, or a part, that an answer doesn't have."""
    check, placed = assembled.case.check, assembled.placed
    if not isinstance(check, Relation) or check.relation not in ("equals", "differs"):
        return
    lengths = []
    named = {"rows": check.rows, "other_rows": check.other_rows}
    for (key, rows), right in zip(named.items(), answers, strict=True):
        answer, parts = right.array, right.answer.parts
        said = ""
        if check.part is not None and check.part not in parts:
            hint = did_you_mean(check.part, list(parts))
            said = f"unknown part {check.part!r}{hint}" if parts else "is of an answer that is one array"
        elif right.leaves is not None and rows is not None and check.part is None:
            said = "names rows of an answer that is no array; name one of its parts, too"
        if said:
            key = key if check.part is None else "part"
            where = f"{assembled.case.id}.check.{key}"
            raise ExerciseError([Problem(placed.file, placed.at("check", key), where, said)])
        if check.part is not None:
            answer = parts[check.part]
        size = len(answer) if answer.ndim else 0
        wrong = [row for row in rows or [] if not -size <= row < size]
        if wrong:
            message = f"names row {wrong[0]} of an answer with {size} rows"
            where = f"{assembled.case.id}.check.{key}"
            raise ExerciseError([Problem(placed.file, placed.at("check", key), where, message)])
        lengths.append(size if rows is None else len(rows))
    if len(lengths) == 2 and lengths[0] != lengths[1]:
        message = f"holds {lengths[0]} rows against {lengths[1]}; name them with rows and other_rows"
        where = f"{assembled.case.id}.check"
        raise ExerciseError([Problem(placed.file, placed.at("check"), where, message)])


def answer_shape(
    exercise: Exercise, assembled: AssembledCase, answer: RightAnswer, call: int = 0
) -> tuple[int, ...]:
    """The reference's shape, checked against the call's ``returns``.

    Of an answer that is no array it is the length of the vector of its numbers.

    A relation's second call may have other dims (it takes some rows, say): there only the axes are counted.

    Raises:
        ExerciseError: A dim of ``returns`` that the case fixes has another value.
    """
    dims, placed = assembled.case.dims, assembled.placed
    form = exercise.view(assembled.case.call).form
    array = answer.array
    if answer.outcome.failure is not None:
        return ()
    if answer.leaves is not None:
        if call == 0:
            try:
                assert answer.outcome.value is not None
                require_sizes(flatten(answer.outcome.value, form), dims)
            except UnfitError as error:
                message = f"{placed.case.id}: the reference's answer: {error.message}"
                raise ExerciseError([Problem(placed.file, placed.line, "", message)]) from None
        return array.shape
    symbols = form.shape or []
    fixed = [
        None if isinstance(s, str) and s.isidentifier() and s not in dims else evaluate(s, dims)
        for s in symbols
    ]
    matches = len(fixed) == array.ndim and all(
        call > 0 or f is None or f == n for f, n in zip(fixed, array.shape, strict=True)
    )
    if not matches:
        message = f"{placed.case.id}: the reference returns the shape {array.shape}, expected {symbols}"
        raise ExerciseError([Problem(placed.file, placed.line, "", message)])
    return array.shape


def hangs_on_chance(exercise: Exercise, call: str) -> bool:
    """Whether a call takes a random generator, so that two right answers may differ."""
    return any(p.generator is not None for p in exercise.view(call).slots.values())
