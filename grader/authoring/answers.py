"""Answers made up here, as if they had come back from a child."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.pack import Pack, PackCase
from grader.exercise.rehearsal import NOT_RUN, as_value
from grader.outcomes import StepOutcome

Array = NDArray[Any]


def outcomes_of(case: PackCase, answers: Sequence[Array]) -> list[StepOutcome]:
    """What a submission would leave that gives these answers to the case's calls."""
    values = list(answers)
    # Repeated calls and second looks give the first answer again.
    while len(values) < len(case.steps):
        values.append(answers[0])
    return [StepOutcome("returned", value=as_value(v)) for v in values]


def trivial_answers(pack: Pack) -> dict[str, dict[str, list[StepOutcome]]]:
    """For each kind of trivial answer the outcomes of every phase's steps."""
    noise = np.random.default_rng(0)
    makers: dict[str, Callable[[PackCase, int, tuple[int, ...]], Array]] = {
        "zeros": lambda case, call, shape: np.zeros(shape),
        "ones": lambda case, call, shape: np.ones(shape),
        "random numbers": lambda case, call, shape: noise.standard_normal(shape),
        "its own inputs": lambda case, call, shape: _echo(pack, case, call, shape),
    }
    return {name: _outcomes(pack, make) for name, make in makers.items()}


def _outcomes(
    pack: Pack, make: Callable[[PackCase, int, tuple[int, ...]], Array]
) -> dict[str, list[StepOutcome]]:
    outcomes = {name: [NOT_RUN] * len(plan) for name, plan in pack.plans.items()}
    for case in pack.cases:
        for number, (step, shape) in enumerate(zip(case.steps, case.shapes, strict=True)):
            value = as_value(make(case, number, shape))
            outcomes[case.visibility][step] = StepOutcome("returned", value=value)
    return outcomes


def _echo(pack: Pack, case: PackCase, call: int, shape: tuple[int, ...]) -> Array:
    """The values of an argument, cut or repeated to the expected shape."""
    step = pack.plans[case.visibility][case.steps[call]]
    arguments = pack.arguments(case, call if not isinstance(step, int) else 0)
    arrays = [v for _, v in arguments if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size]
    same = [a for a in arrays if a.shape == shape]
    chosen = same[0] if same else arrays[-1] if arrays else np.zeros(1)
    return np.resize(chosen.astype(np.float64), shape)
