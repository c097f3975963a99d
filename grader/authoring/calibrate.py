"""Honest rounding noise, measured case by case, the tolerance that follows, and what would widen a margin."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ExerciseError, GraderError, Problem, ToolMissingError
from grader.exercise.assemble import AssembledCase, plain_call
from grader.exercise.frozen import Measured
from grader.exercise.models import Exercise, Relation
from grader.exercise.recipes import Parameter, Values
from grader.exercise.reference import load_module

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

    def __init__(self, folder: Path) -> None:
        module = load_module(folder, "rounding")
        runs = getattr(module, "RUNS", None)
        if not isinstance(runs, dict) or not runs:
            path = f"{folder}/rounding.py"
            message = f"{path} defines no RUNS, a dictionary of honest runs by name"
            raise ExerciseError.at(path, 0, message)
        self.runs: Mapping[str, Any] = runs
        self.fragile: frozenset[str] = frozenset(getattr(module, "FRAGILE", ()))

    def measure(self, call: list[Any], answer: Array) -> Noise:
        """Noise of one call whose answer by the reference is ``answer``.

        Raises:
            GraderError: A run fails or gives another shape, or one that is not fragile gives NaN where the
                reference is finite.
        """
        scale = float(np.max(np.abs(answer), initial=0.0)) or 1.0
        worst = {"float32": 0.0, "float64": 0.0}
        name_of_worst = ""
        for name, run in self.runs.items():
            for dtype in worst:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        got = np.asarray(run(tuple(call), dtype)).astype(np.float64)
                    except ModuleNotFoundError as failure:
                        raise ToolMissingError(
                            f"the run {name} needs {failure.name}; install mlm-grader[author]"
                        ) from None
                    except Exception as failure:
                        said = f"{type(failure).__name__}: {failure}"
                        raise GraderError(f"the run {name} in {dtype} fails: {said}") from failure
                if got.shape != answer.shape:
                    raise GraderError(f"the run {name} gives the shape {got.shape}, expected {answer.shape}")
                if not np.isfinite(got).all():
                    if name in self.fragile:
                        continue
                    raise GraderError(f"the run {name} in {dtype} gives NaN or infinity")
                error = float(np.max(np.abs(got - answer), initial=0.0)) / scale
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


def smallest_change(check: Relation, answers: list[Array]) -> float:
    """The smallest relative change of the rows that a ``differs`` relation names."""
    first = answers[0] if check.rows is None else answers[0][check.rows]
    second = answers[1] if check.other_rows is None else answers[1][check.other_rows]
    scale = float(max(np.max(np.abs(first), initial=0.0), np.max(np.abs(second), initial=0.0))) or 1.0
    return float(np.min(np.max(np.abs(second - first), axis=-1), initial=np.inf)) / scale


def measure_case(runs: HonestRuns, assembled: AssembledCase, answers: list[Array]) -> Measured:
    """What is frozen of one case.

    Args:
        runs: The exercise's honest runs.
        assembled: The case with its arrays.
        answers: The reference's answer to each of its calls.

    Raises:
        ExerciseError: The case can't be told from rounding and should check ``finite`` only, or its
            answer does not change where it must.
    """
    case = assembled.case
    placed = assembled.placed
    digest = assembled.inputs_digest

    def fault(message: str, *key: str) -> ExerciseError:
        return ExerciseError([Problem(placed.file, placed.at(*key), "", f"{case.id}: {message}")])

    for answer in answers:
        if not np.isfinite(answer).all():
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
    relation = case.check.relation if isinstance(case.check, Relation) else None
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


def margin(runs: HonestRuns, call: list[Any], right: Function, wrong: Function) -> float | None:
    """By how many times the tolerance a wrong function is off on a call; None where that can't be said."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer, other = np.asarray(right(*_copies(call))), np.asarray(wrong(*_copies(call)))
        except Exception:
            return None
        if other.shape != answer.shape or not (np.isfinite(answer).all() and np.isfinite(other).all()):
            return None
        try:
            noise = runs.measure(call, answer)
        except ToolMissingError:
            raise
        except GraderError:
            return None
    tolerance = FACTOR * _round_up(max(noise.float32, noise.float64, FLOAT32_ROUNDING))
    scale = float(np.max(np.abs(answer), initial=0.0)) or 1.0
    error = float(np.max(np.abs(other - answer), initial=0.0)) / scale
    return error / tolerance if tolerance <= USELESS else None


def advise(
    runs: HonestRuns, exercise: Exercise, call: list[Any], right: Function, wrong: Function, mistake: str
) -> str:
    """What would widen the margin between a case's tolerance and a mistake, found by trying it.

    Every array of normally distributed values, and every named part of one, is multiplied by a few factors in
    turn, and the noise and the mistake's error are measured anew.
    """
    now = margin(runs, call, right, wrong)
    best, words = 0.0, ""
    for number, (name, parameter) in enumerate(exercise.parameters.items()):
        if not isinstance(parameter.values, Values) or parameter.values.normal is None:
            continue
        for part, index in _parts(parameter, call[number]):
            for factor in FACTORS:
                changed = _copies(call)
                changed[number][index] *= changed[number].dtype.type(factor)
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


def _copies(call: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in call]
