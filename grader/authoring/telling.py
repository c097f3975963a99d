"""Whether an input tells a changed model from the right one, and how clearly."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.authoring.calibrate import HonestRuns
from grader.authoring.inputs import Input
from grader.errors import GraderError, ToolMissingError
from grader.exercise.answers import Answer, read_answer
from grader.exercise.forms import Form
from grader.exercise.rehearsal import arrays_in
from grader.exercise.structure import UnfitError

Array = NDArray[Any]
Function = Callable[..., Any]

# Shares of the expected answer's magnitude. A difference of this much shows in printed digits.
CLEAR = 1e-2
# Less than this is no difference that anybody could be shown.
LEAST = 1e-5
# Rounding to float32 moves the right answer by no more than this, and by this share of the difference.
STEADY = 1e-5
STEADY_SHARE = 0.05

VALUE, BROKEN = 0, 1


class Tell(NamedTuple):
    """How a wrong answer differs.

    Attributes:
        empty: The right answer has no numbers.
        kind: `VALUE` for other numbers, another shape or type, an argument overwritten or handed out;
            `BROKEN` for an exception, or NaN and infinity where the right answer is finite.
        margin: The difference relative to the largest magnitude of the right answer (to 1 where that is 0);
            infinite where it is no matter of size.
    """

    empty: bool
    kind: int
    margin: float

    def reaches(self, goal: Tell) -> bool:
        """Whether this is as good as ``goal``."""
        return self[:2] <= goal[:2] and self.margin >= goal.margin

    def better(self, other: Tell) -> bool:
        """Whether this tells more than another."""
        return (self.empty, self.kind, -self.margin) < (other.empty, other.kind, -other.margin)


class Reference:
    """The right answers, kept by input.

    Args:
        double, single: The reference computed in float64 and in float32; the same where there is only one.
        form: What the call returns.
        runs: Other right ways to order the arithmetic, when there are any.
    """

    def __init__(
        self, double: Function, single: Function, form: Form, runs: HonestRuns | None = None
    ) -> None:
        self.double = double
        self.single = single
        self.form = form
        self.runs = runs
        self._known: dict[tuple[Any, ...], Answer | None] = {}

    def right(self, given: Input) -> Answer | None:
        """The answer; None where the reference fails or its answer is not finite, or shakes with rounding."""
        if given.key not in self._known:
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[given.key] = self._run(given)
        return self._known[given.key]

    def _run(self, given: Input) -> Answer | None:
        try:
            answer = read_answer(self.double(*given.call()), self.form)
        except Exception:
            return None
        return answer if answer.finite else None

    def steady(self, given: Input, right: Answer, margin: float) -> bool:
        """Whether rounding to float32 moves the right answer by little beside a difference of that margin."""
        try:
            single = read_answer(self.single(*given.call()), self.form)
        except Exception:
            return False
        if right.unlike(single):
            return False
        return right.error(single) <= min(STEADY, STEADY_SHARE * margin)

    def settled(self, given: Input) -> bool:
        """Whether all honest runs agree with the right answer, in float32 too."""
        right = self.right(given)
        if right is None or self.runs is None:
            return right is not None
        try:
            noise = self.runs.measure(given.call(), right)
        except ToolMissingError:
            raise
        except GraderError:
            return False
        return max(noise.float32, noise.float64) <= STEADY


@dataclass(frozen=True)
class Rival:
    """A changed model.

    Attributes:
        id: Its name.
        double, single: It computed in float64 and in float32.
    """

    id: str
    double: Function
    single: Function


class Trial:
    """A rival held against the reference; what was seen of an input is kept."""

    def __init__(self, reference: Reference, rival: Rival) -> None:
        self.reference = reference
        self.rival = rival
        self._known: dict[tuple[Any, ...], Tell | None] = {}
        self.runs = 0

    def look(self, given: Input) -> Tell | None:
        """How the rival's answer differs in float64; None where it doesn't, or there is no right answer."""
        if given.key not in self._known:
            self._known[given.key] = self._look(given)
        return self._known[given.key]

    def _look(self, given: Input) -> Tell | None:
        right = self.reference.right(given)
        if right is None:
            return None
        self.runs += 1
        return difference(self.rival.double, given, right, self.reference.form)

    def holds(self, given: Input, goal: Tell) -> Tell | None:
        """How the rival's answer differs; None where that falls short of ``goal`` or float32 disagrees."""
        tell = self.look(given)
        if tell is None or not tell.reaches(goal):
            return None
        right = self.reference.right(given)
        assert right is not None
        if not self.reference.steady(given, right, tell.margin):
            return None
        if self.rival.single is self.rival.double:
            return tell
        single = difference(self.rival.single, given, right, self.reference.form)
        if single is None:
            # Converted to float32, arrays are others than the caller's, which then nobody touches.
            return tell if _touches(self.rival.double, given) else None
        return tell if single.margin >= 0.5 * goal.margin else None


def difference(function: Function, given: Input, right: Answer, form: Form) -> Tell | None:
    """How a function's answer differs from the right one; None where it is the same."""
    call = given.call()
    empty = right.array.size == 0
    try:
        answer = function(*call)
    except Exception:
        return Tell(empty, BROKEN, np.inf)
    try:
        found = read_answer(answer, form)
    except UnfitError:
        return Tell(empty, VALUE, np.inf)
    dtypes = form.dtype if form.is_array else ()
    odd = form.is_array and (not isinstance(answer, np.ndarray) or answer.dtype.name not in dtypes)
    if odd or right.unlike(found) or _touched(given, call, answer):
        return Tell(empty, VALUE, np.inf)
    error = right.error(found)
    if error == 0:
        return None
    if not found.finite:
        return Tell(empty, BROKEN, np.inf)
    return Tell(empty, VALUE, error)


def _touched(given: Input, call: list[Any], answer: Any) -> bool:
    """Whether an argument was overwritten or shares memory with the answer."""
    arrays = [a for n, a in given.arguments.items() if isinstance(a, np.ndarray) and n not in given.lists]
    for after, before in zip(arrays_in(call), arrays, strict=True):
        if after.shape != before.shape or after.tobytes() != before.tobytes():
            return True
        near = isinstance(answer, np.ndarray) and np.may_share_memory(answer, after)
        if near and np.shares_memory(answer, after):
            return True
    if not any(isinstance(argument, list) for argument in call):
        return False
    return any(a != b for a, b in zip(call, given.call(), strict=True) if isinstance(a, list))


def _touches(function: Function, given: Input) -> bool:
    call = given.call()
    try:
        return _touched(given, call, function(*call))
    except Exception:
        return False


@contextmanager
def quiet() -> Iterator[None]:
    """Overflow and the like are looked for in the answers, not told on the way."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
