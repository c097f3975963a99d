"""Honest rounding noise, measured case by case, the tolerance that follows, and what would widen a margin."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ExerciseError, GraderError, Problem, ToolMissingError
from grader.exercise.answers import Answer, read_answer
from grader.exercise.assemble import AssembledCase, plain_call
from grader.exercise.checks import Holds, Raises, Relation, Statistic
from grader.exercise.frozen import Measured
from grader.exercise.models import Exercise
from grader.exercise.recipes import Parameter, Values
from grader.exercise.reference import load_module
from grader.exercise.structure import UnfitError, show_path

FACTOR = 10.0
# The relative error of one rounding to float32: every answer may be handed over in float32.
FLOAT32_ROUNDING = 2.0**-24
# Above this share of the answer's magnitude a tolerance tells nothing from a mistake.
USELESS = 1e-2

Array = NDArray[Any]
Function = Callable[..., Any]


@dataclass(frozen=True)
class Noise:
    """Largest norm-wise error of honest runs against the reference, and the run that shows it."""

    float32: float
    float64: float
    run: str


class HonestRuns:
    """The exercise's right ways to order the arithmetic (``reference/NAME/rounding.py``).

    Raises:
        ExerciseError: The module lacks ``RUNS``.
    """

    def __init__(self, folder: Path, exercise: Exercise, call: str = "") -> None:
        module = load_module(folder, "rounding")
        path = f"{folder}/rounding.py"
        runs = getattr(module, "RUNS", None)
        if not isinstance(runs, dict) or not runs:
            message = f"{path} defines no RUNS, a dictionary of honest runs by name"
            raise ExerciseError.at(path, 0, message)
        if exercise.calls:
            for name, inner in runs.items():
                if name not in exercise.calls or not isinstance(inner, dict):
                    message = (
                        f"{path}: RUNS has {name!r}; expected a call's name with a dictionary of its runs"
                    )
                    raise ExerciseError.at(path, 0, message)
            # A call without arithmetic needs no runs.
            runs = runs.get(exercise.call_named(call), {})
        self.runs: Mapping[str, Any] = runs
        self.form = exercise.view(call).form
        self.fragile: frozenset[str] = frozenset(getattr(module, "FRAGILE", ()))

    def measure(self, call: Sequence[Any], answer: Answer) -> Noise:
        """Noise of one call whose answer by the reference is ``answer``.

        Raises:
            GraderError: A run fails or gives another shape, or one that is not fragile gives NaN where the
                reference is finite, or one differs in what is compared exactly.
        """
        worst = {"float32": 0.0, "float64": 0.0}
        name_of_worst = ""
        for name, run in self.runs.items():
            for dtype in worst:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        got = read_answer(run(tuple(copies(call)), dtype), self.form)
                    except UnfitError as unfit:
                        raise GraderError(f"the run {name}: {unfit.message}") from None
                    except ModuleNotFoundError as failure:
                        raise ToolMissingError(
                            f"the run {name} needs {failure.name}; install mlm-grader[author]"
                        ) from None
                    except Exception as failure:
                        said = f"{type(failure).__name__}: {failure}"
                        raise GraderError(f"the run {name} in {dtype} fails: {said}") from failure
                if unlike := answer.unlike(got):
                    raise GraderError(f"the run {name} gives the {unlike}")
                if not got.finite:
                    if name in self.fragile:
                        continue
                    raise GraderError(f"the run {name} in {dtype} gives NaN or infinity")
                error = answer.error(got)
                if math.isinf(error):
                    raise GraderError(f"the run {name} in {dtype} differs in what is compared exactly")
                if error > worst[dtype]:
                    worst[dtype] = error
                    if error >= max(worst.values()):
                        name_of_worst = f"{name} in {dtype}"
        return Noise(worst["float32"], worst["float64"], name_of_worst)


def _round_up(value: float) -> float:
    """Two significant digits, upward: what is committed does not change with a machine's last bits."""
    if value == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.1e}")


def smallest_change(check: Relation, answers: Sequence[Answer]) -> float:
    """The smallest relative change of the rows that a ``differs`` relation names."""
    first, second = (_part(answer, check.part) for answer in answers[:2])
    first = first if check.rows is None else first[check.rows]
    second = second if check.other_rows is None else second[check.other_rows]
    scale = float(max(np.max(np.abs(first), initial=0.0), np.max(np.abs(second), initial=0.0))) or 1.0
    difference = np.atleast_1d(np.abs(second - first))
    changes = difference.max(axis=tuple(range(1, difference.ndim)), initial=0.0)
    return float(np.min(changes, initial=np.inf)) / scale


def _part(answer: Answer, part: str | None) -> Array:
    """The part of an answer that a relation names."""
    if part is None or answer.leaves is None:
        return answer.array
    at = 0
    for leaf in answer.leaves:
        if show_path(leaf.path) == part:
            return answer.array[at : at + leaf.size].reshape(leaf.shape)
        at += leaf.size
    return answer.array[:0]


def measure_case(
    runs: HonestRuns, assembled: AssembledCase, answers: Sequence[Answer], *, chance: bool
) -> Measured:
    """What is frozen of one case.

    Args:
        runs: The exercise's honest runs.
        assembled: The case with its arrays.
        answers: The reference's answer to each of its calls.
        chance: They hang on chance, so honest runs need not agree with them.

    Raises:
        ExerciseError: The case can't be told from rounding and should check ``finite`` only, or its
            answer does not change where it must.
    """
    case = assembled.case
    placed = assembled.placed
    digest = assembled.inputs_digest

    def fault(message: str, *key: str) -> ExerciseError:
        return ExerciseError([Problem(placed.file, placed.at(*key), "", f"{case.id}: {message}")])

    if isinstance(case.check, Raises | Holds | Statistic):
        return Measured(inputs=digest)
    relation = case.check.relation if isinstance(case.check, Relation) else None
    if chance:
        compared = relation in ("equals", "same_on_repeat")
        return Measured(inputs=digest, tolerance=FACTOR * FLOAT32_ROUNDING if compared else None)
    for answer in answers:
        if not answer.finite:
            raise fault("the reference's answer is not finite; make its inputs smaller")
    try:
        noises = [runs.measure(plain_call(c), a) for c, a in zip(assembled.calls, answers, strict=True)]
    except ToolMissingError:
        raise
    except GraderError as error:
        advice = "; make its inputs smaller" if "NaN or infinity" in str(error) else ""
        raise fault(f"{error}{advice}") from None
    worst = max(noises, key=lambda n: max(n.float32, n.float64))
    noise = _round_up(max(worst.float32, worst.float64, FLOAT32_ROUNDING))
    float64_noise = _round_up(max(n.float64 for n in noises))
    if case.check == "finite":
        return Measured(inputs=digest, noise=noise, float64_noise=float64_noise, run=worst.run)
    tolerance = case.tolerance or float(f"{FACTOR * noise:.1e}")
    if relation in ("inputs_unchanged", "output_not_aliased", "earlier_answer_kept"):
        return Measured(inputs=digest)
    if isinstance(case.check, Relation) and relation == "differs":
        change = smallest_change(case.check, answers)
        if change < case.check.at_least:
            said = f"the reference's answer changes by only {change:.1g} of its magnitude"
            raise fault(said, "check", "at_least")
        return Measured(
            inputs=digest,
            noise=noise,
            float64_noise=float64_noise,
            run=worst.run,
            at_least=float(f"{change:.2g}"),
        )
    if tolerance > USELESS and case.tolerance is not None:
        said = f"its tolerance {tolerance:.1g} lets mistakes through; at most {USELESS:.0g} is of use"
        raise fault(said, "tolerance")
    if tolerance > USELESS:
        raise fault(
            f"honest runs differ by {noise:.1g} of the answer, so a tolerance would let mistakes through; "
            "use smaller inputs, or check: finite"
        )
    return Measured(
        inputs=digest, noise=noise, float64_noise=float64_noise, run=worst.run, tolerance=tolerance
    )


# --- what would help a case with poor margins ------------------------------------------------------

FACTORS = (1e-3, 1 / 32, 1 / 4, 4.0, 32.0)
# Honest noise beyond this leaves little room for a tolerance.
HIGH_NOISE = 1e-5
# So many times better a margin must become to be worth a line of advice.
WORTH = 3.0


def margin(runs: HonestRuns, call: Sequence[Any], right: Function, wrong: Function) -> float | None:
    """By how many times the tolerance a wrong function is off on a call; None where that can't be said."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer, other = (read_answer(f(*copies(call)), runs.form) for f in (right, wrong))
        except Exception:
            return None
        if answer.unlike(other) or not (answer.finite and other.finite):
            return None
        try:
            noise = runs.measure(call, answer)
        except ToolMissingError:
            raise
        except GraderError:
            return None
    tolerance = FACTOR * _round_up(max(noise.float32, noise.float64, FLOAT32_ROUNDING))
    return answer.error(other) / tolerance if tolerance <= USELESS else None


def advise(
    runs: HonestRuns, exercise: Exercise, call: Sequence[Any], right: Function, wrong: Function, mistake: str
) -> str:
    """What would widen the margin between a case's tolerance and a mistake, found by trying it.

    Every array of normally distributed values, and every named part of one, is multiplied by a few factors in
    turn, and the noise and the mistake's error are measured anew.
    """
    now = margin(runs, call, right, wrong)
    best, words = 0.0, ""
    for name, parameter in exercise.slots.items():
        if not isinstance(parameter.values, Values) or parameter.values.normal is None or parameter.as_list:
            continue
        for part, index in _parts(parameter, slot_of(call, exercise, name)):
            for factor in FACTORS:
                changed = copies(call)
                array = slot_of(changed, exercise, name)
                array[index] *= array.dtype.type(factor)
                found = margin(runs, changed, right, wrong)
                if found is not None and found > best:
                    what = f"{part} of {name}" if part else name
                    best, words = found, f"{what} multiplied by {factor:.3g}"
    if best >= max(WORTH * (now or 0.0), FACTOR):
        stands = "" if now is None else f" (now {now:.2g} ×)"
        return f"with {words}, {mistake} stands at {best:.2g} × the tolerance{stands}"
    return f"no scaling of an array tells {mistake} clearly enough; a case of its own may"


def _parts(parameter: Parameter, array: Array) -> Iterator[tuple[str, Any]]:
    """The whole array, then each named part, as an index."""
    yield "", ...
    if parameter.parts is None:
        return
    for number, name in enumerate(parameter.parts.names):
        index: list[Any] = [slice(None)] * array.ndim
        index[parameter.parts.axis] = number
        yield name, tuple(index)


def slot_of(call: Sequence[Any], exercise: Exercise, slot: str) -> Any:
    """What a slot of a call's arguments holds."""
    name, _, key = slot.partition(".")
    argument = call[list(exercise.parameters).index(name)]
    return argument[key] if key else argument


def copies(call: Sequence[Any]) -> list[Any]:
    """The arguments of a call made anew: what a function does to them is done to them alone."""
    return [_copy(argument) for argument in call]


def _copy(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if isinstance(argument, dict):
        return {key: _copy(item) for key, item in argument.items()}
    return copy.deepcopy(argument) if isinstance(argument, list | np.random.Generator) else argument
