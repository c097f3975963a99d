"""The cases of a phase decided together, as far as that gives what `judge_case` gives for each alone.

Most calls return an array of the expected shape. All these arrays are laid end to end in one vector of
float64, and a handful of operations on it decides nearly every case. A case for which that is not enough, as
its answer is of another kind or not finite, is left to `grader.judge.cases.judge_case`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.exercise.pack import Pack, PackCase
from grader.judge.cases import values_message
from grader.judge.relations import Judgement
from grader.outcomes import ArrayValue, StepOutcome
from grader.result import Verdict

Vector = NDArray[np.float64]
Numbers = NDArray[np.intp]


class Ruling(NamedTuple):
    """The verdict on a case.

    Attributes:
        message: Empty when it passed.
        error: Largest absolute and largest relative error, where values were compared.
    """

    verdict: Verdict
    message: str = ""
    error: tuple[float, float] | None = None


PASSED = Ruling("passed")


def ruling_of(judgement: Judgement) -> Ruling:
    """The same verdict without the arrays."""
    result = judgement.comparison
    error = (result.max_abs, result.max_rel) if result is not None else None
    return Ruling(judgement.verdict, judgement.message, error)


class _Segments:
    """Parts of a vector, one after another; those without elements have the largest element 0."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes, np.intp)
        self.filled = np.flatnonzero(self.sizes)
        offsets = np.cumsum(self.sizes) - self.sizes
        self.starts = offsets[self.filled]
        self.full = len(self.filled) == len(self.sizes)

    def largest(self, vector: Vector) -> Vector:
        """The largest element of each part; NaN where one is NaN."""
        return self._spread(np.maximum.reduceat(vector, self.starts) if len(self.starts) else vector[:0])

    def count(self, marked: NDArray[np.bool_]) -> Numbers:
        """How many elements of each part are marked."""
        found = np.zeros(len(self.sizes), np.intp)
        if len(self.starts):
            found[self.filled] = np.add.reduceat(marked, self.starts, dtype=np.intp)
        return found

    def _spread(self, found: Vector) -> Vector:
        if self.full:
            return found
        every = np.zeros(len(self.sizes))
        every[self.filled] = found
        return every


class PhaseJudge:
    """Decides the cases of one phase; made once for a pack.

    Args:
        pack: The pack.
        visibility: The name of the phase.
    """

    def __init__(self, pack: Pack, visibility: str) -> None:
        self.cases = [case for case in pack.cases if case.visibility == visibility]
        # Answers that are no arrays of floats, or hang on chance, are left to `judge_case`.
        plain = [case for case in self.cases if _is_plain(pack, case)]
        self._pack = pack
        shapes: dict[int, set[tuple[int, ...]]] = {}
        for case in plain:
            for step, shape in zip(case.steps, case.shapes, strict=True):
                shapes.setdefault(step, set()).add(shape)
        # Steps in the order of the vector: those of the compared answers first, so that they are one slice.
        compared = [c for c in plain if c.check == "compare" and c.tolerance and len(c.steps) == 1]
        compared = [c for c in compared if c.id in pack.tensors and pack.expected(c).shape == c.shapes[0]]
        compared = [c for c in compared if len(shapes[c.steps[0]]) == 1]
        order = dict.fromkeys([c.steps[0] for c in compared] + sorted(shapes))
        self._steps = {step: next(iter(shapes[step])) for step in order if len(shapes[step]) == 1}
        self._dtypes = {
            step: set(pack.call(case).dtypes) & {"float64", "float32"}
            for case in plain
            for step in case.steps
        }
        sizes = [prod(shape) for shape in self._steps.values()]
        self._wanted = [(step, shape, prod(shape)) for step, shape in self._steps.items()]
        self._offsets = dict(zip(self._steps, accumulate(sizes, initial=0), strict=False))
        self._places = {step: number for number, step in enumerate(self._steps)}
        self._answers = _Segments(sizes)
        self._zeros = bytes(8 * max(sizes, default=0))
        # Two compare cases of one step would need its answer twice in the slice.
        once = {c.steps[0]: c for c in reversed(compared)}
        self._compare = _Compare(pack, [c for c in compared if once[c.steps[0]] is c])
        self._pairs = _Pairs(self, [c for c in plain if c.check in ("equals", "same_on_repeat")])
        self._differs = _Differs(self, [c for c in plain if c.check == "differs"])
        self._rest = [c for c in plain if c.check in _REST]

    def decide(
        self, outcomes: Sequence[StepOutcome], changed_elsewhere: Mapping[str, str]
    ) -> dict[str, Ruling]:
        """Rulings by case id, without those of the cases that need a closer look.

        Args:
            outcomes: The outcomes of the phase's steps.
            changed_elsewhere: As `judge_case` takes it.
        """
        with np.errstate(all="ignore"):
            vector, odd = self._vector(outcomes)
            magnitudes = self._answers.largest(np.abs(vector))
            finite = np.isfinite(magnitudes)
            ready = {step for step, number in self._places.items() if finite[number]} - odd
            rulings = self._compare.decide(vector, odd)
            rulings |= self._pairs.decide(vector, magnitudes, ready)
            rulings |= self._differs.decide(vector, ready)
        for case in self._rest:
            if self._passes(case, outcomes, ready, odd, changed_elsewhere):
                rulings[case.id] = PASSED
        return rulings

    def elements(self, step: int, rows: Sequence[int] | None) -> Numbers | None:
        """Where the elements of a step's answer, or of rows of it, lie in the vector: shaped as they are.

        None when the step has no place in it, or not such rows.
        """
        if step not in self._steps:
            return None
        shape = self._steps[step]
        numbers = np.arange(prod(shape), dtype=np.intp).reshape(shape) + self._offsets[step]
        try:
            return np.asarray(numbers if rows is None else numbers[list(rows)], np.intp)
        except IndexError:
            return None

    def place(self, step: int) -> int:
        """The number of a step among those in the vector."""
        return self._places[step]

    def _vector(self, outcomes: Sequence[StepOutcome]) -> tuple[Vector, set[int]]:
        """All answers end to end, and the steps without one of the expected form: zeros stand for these."""
        parts: list[bytes] = []
        odd: set[int] = set()
        for step, shape, size in self._wanted:
            outcome = outcomes[step]
            value = outcome.value
            if (
                outcome.state == "returned"
                and isinstance(value, ArrayValue)
                and value.shape == shape
                and value.kind != "scalar"
                and value.dtype in self._dtypes[step]
                and value.data is not None
            ):
                if value.dtype == "float64" and len(value.data) == 8 * size:
                    parts.append(value.data)
                    continue
                if value.dtype == "float32" and len(value.data) == 4 * size:
                    parts.append(np.frombuffer(value.data, np.float32).astype(np.float64).tobytes())
                    continue
            odd.add(step)
            parts.append(self._zeros[: 8 * size])
        return np.frombuffer(b"".join(parts), np.float64), odd

    def _passes(
        self,
        case: PackCase,
        outcomes: Sequence[StepOutcome],
        ready: set[int],
        odd: set[int],
        changed_elsewhere: Mapping[str, str],
    ) -> bool:
        if not odd.isdisjoint(case.steps) or any(step not in self._steps for step in case.steps):
            return False
        first = outcomes[case.steps[0]]
        if case.check == "finite":
            return case.steps[0] in ready
        if case.check == "earlier_answer_kept":
            return first.value == outcomes[case.steps[-1]].value
        if case.check == "output_not_aliased":
            return not first.aliased
        name = str(case.options["argument"])
        number = self._pack.parameters(case).index(name)
        changed = number in first.overwritten or number in first.reshaped or name in changed_elsewhere
        return not changed


def _is_plain(pack: Pack, case: PackCase) -> bool:
    """Whether the answers of a case are arrays that can be held against those of the reference."""
    return pack.call(case).is_array and not case.chance and case.check != "raises"


_REST = ("finite", "earlier_answer_kept", "output_not_aliased", "inputs_unchanged")


class _Compare:
    """Cases whose answers are compared with expected ones; these answers begin the vector, in this order."""

    def __init__(self, pack: Pack, cases: Sequence[PackCase]) -> None:
        self._cases = cases
        expected = [pack.expected(case) for case in cases]
        self._expected = np.concatenate([np.zeros(0), *[e.ravel() for e in expected]])
        self._segments = _Segments([e.size for e in expected])
        self._scales = np.array([case.scale for case in cases], np.float64)
        self._allowed = np.array([(case.tolerance or 0.0) * case.scale for case in cases], np.float64)

    def decide(self, vector: Vector, odd: set[int]) -> dict[str, Ruling]:
        """Rulings on those whose answer is finite where the expected one is."""
        difference = np.abs(vector[: self._expected.size] - self._expected)
        largest = self._segments.largest(difference)
        relative = (largest / self._scales).tolist()
        passed = (largest <= self._allowed).tolist()
        known = np.isfinite(largest).tolist()
        beyond: list[int] = []
        rulings = {}
        for number, (case, error) in enumerate(zip(self._cases, largest.tolist(), strict=True)):
            if not known[number] or case.steps[0] in odd:
                continue
            if passed[number]:
                rulings[case.id] = Ruling("passed", "", (error, relative[number]))
                continue
            if not beyond:
                allowed = np.repeat(self._allowed, self._segments.sizes)
                beyond = self._segments.count(difference > allowed).tolist()
            assert case.tolerance is not None
            message = values_message(
                beyond[number], prod(case.shapes[0]), error, relative[number], case.tolerance
            )
            rulings[case.id] = Ruling("wrong_value", message, (error, relative[number]))
        return rulings


class _Pairs:
    """Cases in which two answers, or rows of them, must be equal within the tolerance."""

    def __init__(self, judge: PhaseJudge, cases: Iterable[PackCase]) -> None:
        self._cases: list[PackCase] = []
        first: list[Numbers] = []
        second: list[Numbers] = []
        # The answers whose magnitudes make the scale, as places.
        self._scaled: list[tuple[int, int]] = []
        for case in cases:
            found = [judge.elements(step, None) for step in case.steps]
            one, other = _sides(judge, case)
            if case.tolerance is None or one is None or other is None or one.shape != other.shape:
                continue
            if any(numbers is None for numbers in found):
                continue
            self._cases.append(case)
            first.append(one.ravel())
            second.append(other.ravel())
            last = case.steps[0] if case.check == "same_on_repeat" else case.steps[1]
            self._scaled.append((judge.place(case.steps[0]), judge.place(last)))
        self._first, self._second = _joined(first), _joined(second)
        self._segments = _Segments([numbers.size for numbers in first])
        self._places = np.array(self._scaled, np.intp).reshape(-1, 2)
        self._tolerances = np.array([case.tolerance for case in self._cases], np.float64)

    def decide(self, vector: Vector, magnitudes: Vector, ready: set[int]) -> dict[str, Ruling]:
        """Rulings on those that pass."""
        if not self._cases:
            return {}
        largest = self._segments.largest(np.abs(vector[self._second] - vector[self._first]))
        scales = magnitudes[self._places].max(axis=1)
        scales[scales == 0.0] = 1.0
        passed = (largest <= self._tolerances * scales).tolist()
        errors = zip(largest.tolist(), (largest / scales).tolist(), strict=True)
        return {
            case.id: Ruling("passed", "", error)
            for case, error, holds in zip(self._cases, errors, passed, strict=True)
            if holds and ready.issuperset(case.steps)
        }


class _Differs:
    """Cases in which each of some rows must change."""

    def __init__(self, judge: PhaseJudge, cases: Iterable[PackCase]) -> None:
        self._cases: list[PackCase] = []
        first: list[Numbers] = []
        second: list[Numbers] = []
        rows: list[int] = []
        width: list[int] = []
        for case in cases:
            one, other = _sides(judge, case)
            if one is None or other is None or one.shape != other.shape or not one.ndim or not one.size:
                continue
            self._cases.append(case)
            first.append(one.ravel())
            second.append(other.ravel())
            rows.append(len(one))
            width += [one.size // len(one)] * len(one)
        self._first, self._second = _joined(first), _joined(second)
        self._rows = _Segments(width)
        self._parts = _Segments([numbers.size for numbers in first])
        self._counts = np.array(rows, np.intp)
        self._starts = np.cumsum(self._counts) - self._counts
        self._least = np.repeat([float(c.options["at_least"]) for c in self._cases], self._counts)

    def decide(self, vector: Vector, ready: set[int]) -> dict[str, Ruling]:
        """Rulings on those that pass."""
        if not self._cases:
            return {}
        first, second = vector[self._first], vector[self._second]
        scales = np.maximum(self._parts.largest(np.abs(first)), self._parts.largest(np.abs(second)))
        scales[scales == 0.0] = 1.0
        change = self._rows.largest(np.abs(second - first)) / np.repeat(scales, self._counts)
        passed = np.logical_and.reduceat(change >= self._least, self._starts).tolist()
        return {
            case.id: PASSED
            for case, holds in zip(self._cases, passed, strict=True)
            if holds and ready.issuperset(case.steps)
        }


def _sides(judge: PhaseJudge, case: PackCase) -> tuple[Numbers | None, Numbers | None]:
    """Where the two sides of a case between calls lie in the vector."""
    if case.check == "same_on_repeat":
        return judge.elements(case.steps[0], None), judge.elements(case.steps[-1], None)
    if len(case.steps) != 2:
        return None, None
    one = judge.elements(case.steps[0], case.options.get("rows"))
    return one, judge.elements(case.steps[1], case.options.get("other_rows"))


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return np.concatenate([np.zeros(0, np.intp), *parts])
