"""Generated inputs on which a changed reference is held against the right one.

A mutant that no case kills is either the same function written otherwise, or off by less than rounding, or a
hole of the cases. These inputs decide: drawn like the random batches, but with the edges of every dim, all
dtypes and memory layouts, and values at which formulas break.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.authoring.calibrate import FACTOR, FLOAT32_ROUNDING, HonestRuns
from grader.authoring.inputs import Domain
from grader.errors import GraderError
from grader.exercise.answers import Answer, answer_of
from grader.exercise.arrays import RecipeError, Stream
from grader.exercise.assemble import AssembledCase, assemble, plain_call
from grader.exercise.calls import PhaseBuilder, Step, read_plan
from grader.exercise.checks import Raises
from grader.exercise.expressions import ExpressionError, evaluate
from grader.exercise.forms import Form
from grader.exercise.models import Case, Exercise
from grader.exercise.recipes import ArrayChange, Edit, Parameter, PartChange, Uniform, Values
from grader.exercise.rehearsal import rehearse
from grader.exercise.source import ExerciseSource, PlacedCase
from grader.exercise.structure import UnfitError
from grader.judge.answers import Refusal, read_answer
from grader.outcomes import StepOutcome

Array = NDArray[Any]
Function = Callable[..., Any]

COUNT = 1000
# So many are run before the answers are looked at.
CHUNK = 50
# After so many chunks without a single answer a call is taken for one that always raises.
REFUSALS = 4
# Of float64 work in another order, relative to the answer's largest magnitude, where none was measured.
FLOAT64_ROUNDING = 1e-12

# How far above its smallest value a dim goes, and how far now and then: dims that whole numbers lie below,
# beyond what a byte holds.
SPAN = 6
FAR = 24
FAR_NUMBERS = 300
SCALES = (1e-4, 1e-3, 1e-2, 0.1, 0.5, 2.0, 4.0, 16.0, 64.0)
# Beside ordinary values: halves and their successor in float32, fractions, negative ones.
MARKS = (0.0, 0.2, 0.5, float(np.nextafter(np.float32(0.5), np.float32(1))), 0.7, 1.0, 2.0, -1.0)
LAYOUTS = ("c", "c", "fortran", "strided")


@dataclass(frozen=True)
class Sample:
    """One generated input with the reference's outcome and answer."""

    number: int
    assembled: AssembledCase
    outcome: StepOutcome
    answer: Answer

    @property
    def words(self) -> str:
        """What it is, for a report."""
        return _words(self.number, self.assembled)


@dataclass(frozen=True)
class Agreement:
    """How a function agrees with the reference on the samples.

    Attributes:
        inputs: How many were compared.
        same: It agrees on all of them, within float64 rounding.
        error: Largest error, relative to the answer's largest magnitude.
        ratio: Largest error over the tolerance that a case of that input would have.
        where: The input with that ratio, or the first without an answer that could be compared.
        refused: What that answer is; empty where all could be compared.
    """

    inputs: int
    same: bool
    error: float = 0.0
    ratio: float = 0.0
    where: str = ""
    refused: str = ""


class Samples:
    """The generated inputs of one call of an exercise; always the same ones.

    Args:
        exercise: Gives dims, constraints and recipes: the exercise with that call alone.
        reference: The right function.
        runs: The exercise's honest runs, which measure an input's rounding noise.
        count: How many inputs.
        loose: Names of arguments that get unusual values or dtypes too, as cases give them such.
        classes: Names of the exceptions that cases ask for, where they ask for no message.
    """

    def __init__(
        self,
        exercise: Exercise,
        reference: Function,
        runs: HonestRuns,
        *,
        count: int = COUNT,
        loose: Collection[str] = (),
        classes: Collection[str] = (),
    ) -> None:
        self._loose = loose
        self._classes = frozenset(classes)
        self._exercise = exercise
        self._reference = reference
        self._runs = runs
        self._count = count
        self._chance = any(p.generator is not None for p in exercise.slots.values())
        self._noises: dict[int, tuple[float, float]] = {}
        # What the reference raises, where it has no answer to any input.
        self._refusals: list[tuple[bytes, list[Step], list[AssembledCase], list[StepOutcome]]] = []

    @cached_property
    def _chunks(self) -> list[tuple[bytes, list[Step], list[Sample]]]:
        chunks: list[tuple[bytes, list[Step], list[Sample]]] = []
        drawn = _drawn(self._exercise, self._loose)
        empty = 0
        while (missing := self._count - sum(len(chunk[2]) for chunk in chunks)) > 0:
            cases = list(itertools.islice(drawn, min(CHUNK, missing)))
            if not cases:
                break
            block, plan = _block(cases)
            outcomes = rehearse(self._reference, block, plan)
            kept = [
                (case, outcome, answer)
                for case, outcome in zip(cases, outcomes, strict=True)
                if (answer := _answer(outcome, self._exercise.form)) is not None
            ]
            if not kept:
                if not chunks and all(outcome.state == "raised" for outcome in outcomes):
                    self._refusals.append((block, plan, cases, outcomes))
                    if len(self._refusals) >= REFUSALS:
                        # A call that is there to raise.
                        break
                    continue
                # Of a few inputs none may have an answer; of many chunks some must.
                empty += 1
                if empty > CHUNK:
                    raise GraderError("the reference gives no finite answer to any generated input")
                continue
            empty = 0
            block, plan = _block([case for case, *_ in kept])
            first = sum(len(chunk[2]) for chunk in chunks) + 1
            chunks.append((block, plan, [Sample(first + n, *each) for n, each in enumerate(kept)]))
        return chunks

    def __iter__(self) -> Iterator[Sample]:
        for *_, samples in self._chunks:
            yield from samples

    def agreement(self, entry: Function) -> Agreement:
        """Hold a function against the reference, until it is clear that it is wrong."""
        compared, error, ratio, where, same = 0, 0.0, 0.0, "", True
        for block, plan, samples in self._chunks:
            outcomes = rehearse(entry, block, plan)
            for sample, outcome in zip(samples, outcomes, strict=True):
                compared += 1
                refused = self._refused(sample, outcome)
                if isinstance(refused, str):
                    return Agreement(compared, False, error, np.inf, sample.words, refused)
                off = sample.answer.error(refused)
                error = max(error, off)
                if off <= FLOAT64_ROUNDING:
                    continue
                same = same and off <= FACTOR * self._noise(sample)[1]
                # No tolerance is smaller than that of rounding the answer to float32.
                if off <= ratio * FACTOR * FLOAT32_ROUNDING:
                    continue
                tolerance = FACTOR * max(*self._noise(sample), FLOAT32_ROUNDING)
                if off > ratio * tolerance:
                    ratio, where = off / tolerance, sample.words
            if ratio > 1:
                break
        if not self._chunks:
            return self._raised_alike(entry)
        return Agreement(compared, same, error, ratio, where)

    def _raised_alike(self, entry: Function) -> Agreement:
        """A call that has no answer is held to what the reference raises, message included."""
        compared = 0
        for block, plan, cases, wanted in self._refusals:
            for case, outcome, right in zip(cases, rehearse(entry, block, plan), wanted, strict=True):
                compared += 1
                if _raised(outcome) != _raised(right) and not self._asked_alone(outcome, right):
                    said = f"{_raised(outcome)}, not {_raised(right).removeprefix('it raises ')}"
                    where = _words(compared, case)
                    return Agreement(compared, False, where=where, refused=said)
        return Agreement(compared, True)

    def _asked_alone(self, *outcomes: StepOutcome) -> bool:
        """Whether all raise a class that cases ask for, where none asks for anything in its message."""
        return bool(self._classes) and all(
            o.failure is not None and not self._classes.isdisjoint((o.failure.type, *o.failure.bases))
            for o in outcomes
        )

    def _refused(self, sample: Sample, outcome: StepOutcome) -> Answer | str:
        """The answer, or what is wrong with it beside its values."""
        if outcome.state != "returned":
            failure = outcome.failure
            return f"it raises {failure.type}" if failure else f"it {outcome.state}"
        form = self._exercise.form
        if form.is_array:
            array = read_answer(outcome, sample.answer.array.shape, form.dtype)
            if isinstance(array, Refusal):
                return array.message
            answer = Answer(array)
        else:
            try:
                answer = answer_of(outcome.value, form)
            except UnfitError as error:
                return error.message
            if unlike := sample.answer.unlike(answer):
                return f"its answer has {unlike}"
        if outcome.overwritten != sample.outcome.overwritten or outcome.aliased != sample.outcome.aliased:
            return "it changes an argument, or its answer shares memory with one"
        if sample.answer.finite and not answer.finite:
            return "its answer is not finite"
        return "it differs in what is compared exactly" if np.isinf(sample.answer.error(answer)) else answer

    def _noise(self, sample: Sample) -> tuple[float, float]:
        """Noise of honest float32 and float64 work on an input; infinite where it can't be measured."""
        if self._chance:
            # The same generator gives the same numbers: what differs is no rounding.
            return (FLOAT64_ROUNDING, FLOAT64_ROUNDING)
        if sample.number not in self._noises:
            try:
                noise = self._runs.measure(plain_call(sample.assembled.calls[0]), sample.answer)
                self._noises[sample.number] = (noise.float32, noise.float64)
            except GraderError:
                self._noises[sample.number] = (np.inf, FLOAT64_ROUNDING)
        return self._noises[sample.number]


def _words(number: int, assembled: AssembledCase) -> str:
    """A generated input in words."""
    dims = ", ".join(f"{name}={n}" for name, n in assembled.case.dims.items())
    told = {"values", "set", "scale", "edits", "dtype"}
    changes = "; ".join(
        f"{name}: {json.dumps(said)}"
        for name, change in assembled.case.arrays.items()
        if (said := change.model_dump(include=told, exclude_defaults=True, by_alias=True))
    )
    dtype = f", {assembled.placed.dtype}" if assembled.placed.dtype else ""
    return f"input {number} ({dims}{dtype}{'; ' + changes if changes else ''})"


def _raised(outcome: StepOutcome) -> str:
    """What a call raised, in words."""
    failure = outcome.failure
    return f"it raises {failure.type}: {failure.message}" if failure else f"it {outcome.state}"


def _answer(outcome: StepOutcome, form: Form) -> Answer | None:
    """A right answer that is of use; None where the reference fails or gives no finite numbers."""
    if outcome.state != "returned":
        return None
    try:
        answer = answer_of(outcome.value, form)
    except UnfitError:
        return None
    return answer if answer.finite else None


def _block(cases: list[AssembledCase]) -> tuple[bytes, list[Step]]:
    builder = PhaseBuilder()
    for case in cases:
        builder.add_call(case.calls[0])
    block = builder.finish()
    return block, read_plan(block)


def _drawn(exercise: Exercise, loose: Collection[str]) -> Iterator[AssembledCase]:
    """Inputs without end, or until nothing more can be drawn; one where there is nothing to draw."""
    domain = Domain(exercise)
    slots = exercise.slots.values()
    varies = bool(domain.lowest) or any(p.shape is not None or p.generator is not None for p in slots)
    failures = 0
    for number in itertools.count(1) if varies else (1,):
        draw = _Draw(Stream(number, "sample"))
        dims = _dims(domain, draw)
        try:
            if dims is None:
                raise RecipeError("no dims")
            arrays = {
                name: _array(draw, parameter, dims, loose=name in loose)
                for name, parameter in exercise.slots.items()
                if parameter.shape is not None
            }
            clause = next(iter(exercise.clauses))
            case = Case(id=f"sample_{number}", clause=clause, points=0, dims=dims, seed=number, arrays=arrays)
            dtype = draw.one_of((None, None, "float32"))
            yield assemble(exercise, PlacedCase(case, "samples", "", 0, dtype=dtype))
            failures = 0
        except (RecipeError, ExpressionError, GraderError):
            failures += 1
            if failures > COUNT:
                return


def classes_asked(source: ExerciseSource, call: str) -> frozenset[str]:
    """Names of the exceptions that cases of a call ask for; none where some case asks for a message too."""
    asked = [
        entry.spec.check
        for entry in source.entries
        if isinstance(entry.spec.check, Raises) and source.exercise.call_named(entry.spec.call) == call
    ]
    if any(check.mentions for check in asked):
        return frozenset()
    return frozenset(name for check in asked for name in check.types)


def loose_arguments(source: ExerciseSource, call: str) -> frozenset[str]:
    """Arguments of a call for which some case has other values or another kind of dtype than the recipe."""
    found = set()
    slots = source.exercise.view(call).slots
    for entry in source.entries:
        if source.exercise.call_named(entry.spec.call) != call:
            continue
        for name, change in entry.spec.arrays.items():
            floats = (change.dtype or "").startswith("float") and slots[name].dtype.startswith("int")
            if floats or change.values is not None or change.edits:
                found.add(name)
    return frozenset(found)


class _Draw:
    """Choices from a seeded stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def below(self, count: int) -> int:
        return min(int(self._stream.uniform(1)[0] * count), count - 1)

    def one_of(self, items: Any) -> Any:
        return items[self.below(len(items))]

    def chance(self, share: float) -> bool:
        return bool(self._stream.uniform(1)[0] < share)


def _dims(domain: Domain, draw: _Draw) -> dict[str, int] | None:
    """Allowed dims: often the smallest value, mostly a few more, now and then one far beyond."""
    exercise = domain.exercise
    work = exercise.work
    recipes = [p.values for p in exercise.slots.values() if isinstance(p.values, Values)]
    numbered = {recipe.integers.below for recipe in recipes if recipe.integers is not None}
    for _ in range(200):
        dims = {
            name: low + (0 if draw.chance(0.1) else draw.below(SPAN)) for name, low in domain.lowest.items()
        }
        if dims and draw.chance(0.03):
            far = draw.one_of(list(dims))
            dims[far] += (FAR_NUMBERS if far in numbered else FAR) + draw.below(SPAN)
        if not domain.allows(dims):
            continue
        if work is not None:
            symbols = dict.fromkeys(exercise.form.free(dims), 0)
            if evaluate(work.expression, symbols | dims) > work.per_case:
                continue
        return dims
    return None


def _array(draw: _Draw, parameter: Parameter, dims: Mapping[str, int], *, loose: bool) -> ArrayChange:
    """Ordinary values half of the time; else scaled, constant, or with single unusual ones."""
    recipe = parameter.values
    change: dict[str, Any] = {"layout": draw.one_of(LAYOUTS), "read_only": draw.chance(0.1)}
    kind = recipe if isinstance(recipe, Values) else Values(constant=0)
    if kind.integers is not None:
        # Drawn in any case, so that what others get does not hang on it.
        if parameter.dtype.startswith("int") and draw.chance(0.15) and loose:
            change["dtype"] = "float64"
        return ArrayChange(**change)
    assert parameter.shape is not None
    shape = [int(evaluate(e, dims)) for e in parameter.shape]
    if kind.bernoulli is not None:
        if not loose:
            return ArrayChange(**change)
        if draw.chance(0.4):
            change["edits"] = _edits(draw, shape, MARKS, draw.below(6))
        elif draw.chance(0.3):
            change["values"] = draw.one_of(("zeros", "ones", Values(uniform=Uniform(low=-1, high=2))))
    elif kind.normal is not None:
        if draw.chance(0.3):
            change["scale"] = draw.one_of(SCALES)
        elif draw.chance(0.15):
            change["values"] = draw.one_of(("zeros", "ones"))
        elif draw.chance(0.2):
            change["edits"] = _edits(draw, shape, (0.0, 1.0, -1.0, 0.01, 10.0, 30.0), 1 + draw.below(3))
        if parameter.parts is not None and draw.chance(0.5):
            values = ["zeros", "identity", PartChange(scale=draw.one_of(SCALES))]
            if parameter.parts.axis % len(shape) >= len(shape) - 2 or len(shape) < 3:
                values.remove("identity")
            change["set"] = {draw.one_of(parameter.parts.names): draw.one_of(values) for _ in range(2)}
    return ArrayChange(**change)


def _edits(draw: _Draw, shape: list[int], values: tuple[float, ...], count: int) -> list[Edit]:
    if 0 in shape:
        return []
    return [Edit(at=[draw.below(n) for n in shape], to=draw.one_of(values)) for _ in range(count)]
