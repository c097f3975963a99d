"""Named relations between the calls of a case; none needs an expected value."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.pack import PackCase
from grader.judge.compare import Comparison, compare, is_exact
from grader.outcomes import StepOutcome
from grader.result import Verdict

if TYPE_CHECKING:
    from grader.judge.structured import Structured

Array = NDArray[Any]


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason, and the two arrays that were held against each other.

    Attributes:
        obtained, expected: One of them may be a part of another answer of the submission's.
        answers: Where they are two answers of the submission's: both, the earlier first, with their names.
    """

    verdict: Verdict
    message: str = ""
    comparison: Comparison | None = None
    obtained: Array | None = None
    expected: Array | None = None
    answers: tuple[tuple[str, Array], ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What a relation is judged on.

    Attributes:
        case: The case.
        outcomes: The outcome of each of its steps.
        answers: Their answers as arrays of the expected shapes.
        parameters: Names of the arguments.
        changed_elsewhere: For each argument whether another call changed it, and in which visibility.
        structured: The same answers with their parts, where they are no arrays.
        containers: Numbers of the arguments that are lists or dictionaries.
    """

    case: PackCase
    outcomes: Sequence[StepOutcome]
    answers: Sequence[Array]
    parameters: Sequence[str]
    changed_elsewhere: Mapping[str, str]
    structured: Sequence[Structured] = ()
    containers: Collection[int] = ()

    def side(self, number: int) -> Array | None:
        """An answer, or the part and the rows of it that the case asks about; None where it has no such part.

        Args:
            number: 0 for the first answer, else of the one that it is held against.
        """
        answer: Array | None = self.answers[number]
        part = self.case.options.get("part")
        if part is not None and self.structured:
            answer = self.structured[number].part(str(part))
        rows = self.case.options.get("rows" if not number else "other_rows")
        try:
            return answer if answer is None or rows is None else _rows(answer, rows)
        except IndexError:
            return None

    def scale(self, *numbers: int) -> float | Array:
        """What errors are relative to: the largest magnitude of these answers, of each of their parts."""
        part = self.case.options.get("part")
        if not self.structured:
            return _scale(*(self.answers[n] for n in numbers))
        if part is not None:
            parts = [self.structured[n].part(str(part)) for n in numbers]
            return _scale(*(p for p in parts if p is not None))
        from grader.exercise.structure import scales

        return scales(self.structured[0].leaves, *(self.answers[n] for n in numbers))


def _tolerance(measured: float, *arrays: Array) -> float:
    """What two answers may be apart: whole numbers and truth values are equal or not."""
    return 0.0 if all(map(is_exact, arrays)) else measured


def _scale(*arrays: Array) -> float:
    return max((_magnitude(a) for a in arrays), default=0.0) or 1.0


def _magnitude(array: Array) -> float:
    largest = float(np.max(np.abs(array), initial=0.0))
    if math.isfinite(largest):
        return largest
    return float(np.max(np.abs(array[np.isfinite(array)]), initial=0.0))


def _rows(answer: Array, rows: Sequence[int] | None) -> Array:
    return answer if rows is None else answer[list(rows)]


def _named(e: Evidence, first: Array, second: Array) -> tuple[tuple[str, Array], ...]:
    """The rows of both answers that are held against each other, with their names."""
    options = e.case.options
    names = (
        "First answer" if options.get("rows") is None else "Rows of the first answer",
        "Second answer" if options.get("other_rows") is None else "Rows of the second answer",
    )
    return (names[0], first), (names[1], second)


_UNLIKE = "The two answers are not of the same form, so they can't be held against each other."


def equals(e: Evidence) -> Judgement:
    """Rows of the first answer equal rows of the second, within the case's tolerance."""
    assert e.case.tolerance is not None
    first, second = e.side(0), e.side(1)
    if first is None or second is None or first.shape != second.shape:
        return Judgement("relation_violated", _UNLIKE)
    both = _named(e, first, second)
    for name, answer in (("first", first), ("second", second)):
        if not np.isfinite(answer).all():
            said = f"The {name} answer holds NaN or infinite values."
            return Judgement("relation_violated", said, answers=both)
    # The tolerance was measured on whole answers.
    tolerance = _tolerance(e.case.tolerance, first, second)
    result = compare(second, first, tolerance, e.scale(0, 1))
    if result.equal:
        return Judgement("passed", comparison=result)
    message = (
        f"Rows that must be equal differ by up to {result.max_abs:.2g} "
        f"(relative {result.max_rel:.2g}; {tolerance:.1g} is allowed)."
    )
    return Judgement("relation_violated", message, result, second, first, both)


def differs(e: Evidence) -> Judgement:
    """Each named row changes by at least ``at_least``, relative to the larger of the two answers."""
    first, second = e.side(0), e.side(1)
    if first is None or second is None or first.shape != second.shape:
        return Judgement("relation_violated", _UNLIKE)
    both = _named(e, first, second)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return Judgement("relation_violated", "An answer holds NaN or infinite values.", answers=both)
    least = float(e.case.options["at_least"])
    difference = np.atleast_1d(np.abs(second.astype(np.float64) - first))
    # A row is what the first axis counts, however many axes it has.
    change = difference.max(axis=tuple(range(1, difference.ndim)), initial=0.0) / _scale(first, second)
    if change.size and (change >= least).all():
        return Judgement("passed")
    smallest = float(change.min(initial=np.inf)) if change.size else 0.0
    message = (
        f"A row that must change with this input does not: its largest relative change is {smallest:.2g}; "
        f"at least {least:.1g} is expected."
    )
    return Judgement("relation_violated", message, answers=both)


def same_on_repeat(e: Evidence) -> Judgement:
    """The last call, which repeats the first, gives the same answer within the tolerance."""
    assert e.case.tolerance is not None
    first, last = e.answers[0], e.answers[-1]
    if first.shape != last.shape:
        return Judgement("not_repeatable", "The same call gave an answer of another size.")
    result = compare(last, first, _tolerance(e.case.tolerance, first, last), e.scale(0))
    if result.equal:
        return Judgement("passed", comparison=result)
    between = " after another call in between" if len(e.answers) > 2 else ""
    message = f"The same call{between} gave another answer: it differs by up to {result.max_abs:.2g}."
    both = ("First answer", first), ("Last answer", last)
    return Judgement("not_repeatable", message, result, last, first, both)


def earlier_answer_kept(e: Evidence) -> Judgement:
    """The first answer holds the same bytes after a later call."""
    before, after = e.outcomes[0].value, e.outcomes[-1].value
    if after == before:
        return Judgement("passed")
    message = (
        "An answer given earlier changed when the function was called again; return a new array each time."
    )
    both = ("First answer", e.answers[0]), ("The same array after another call", e.answers[-1])
    return Judgement("not_repeatable", message, answers=both)


def inputs_unchanged(e: Evidence) -> Judgement:
    """Bytes, dtype and shape of one argument are as before, in this and in every other call."""
    name = str(e.case.options["argument"])
    number = list(e.parameters).index(name)
    own = e.outcomes[0]
    if number in own.overwritten:
        return Judgement("input_mutated", f"The call changed values of {name}; work on a copy.")
    if number in own.reshaped:
        what = name if number in e.containers else f"the shape or dtype of {name}"
        return Judgement("input_mutated", f"The call changed {what}; work on a copy.")
    if name in e.changed_elsewhere:
        which = "a hidden check" if e.changed_elsewhere[name] == "hidden" else "another check"
        return Judgement("input_mutated", f"In {which} the call changed {name}; work on a copy.")
    return Judgement("passed")


def output_not_aliased(e: Evidence) -> Judgement:
    """The answer shares no memory with an argument."""
    if not e.outcomes[0].aliased:
        return Judgement("passed")
    names = ", ".join(e.parameters[n] for n in sorted(e.outcomes[0].aliased) if n < len(e.parameters))
    return Judgement("output_aliases_input", f"The answer shares memory with {names}; return a new array.")


RELATIONS: Mapping[str, Callable[[Evidence], Judgement]] = {
    "equals": equals,
    "differs": differs,
    "same_on_repeat": same_on_repeat,
    "earlier_answer_kept": earlier_answer_kept,
    "inputs_unchanged": inputs_unchanged,
    "output_not_aliased": output_not_aliased,
}
