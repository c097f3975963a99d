"""Answers made up here, as if they had come back from a child."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.expressions import evaluate
from grader.exercise.forms import Form
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


def outcomes_like(case: PackCase, given: Sequence[StepOutcome]) -> list[StepOutcome]:
    """The outcomes of a case's calls as those of its steps: repeated calls and second looks get the first."""
    return [given[number] if number < len(given) else given[0] for number in range(len(case.steps))]


def trivial_answers(pack: Pack) -> dict[str, dict[str, list[StepOutcome]]]:
    """For each kind of trivial answer the outcomes of every phase's steps."""
    noise = np.random.default_rng(0)
    makers: dict[str, Callable[[PackCase, int, tuple[int, ...]], Any]] = {
        "zeros": lambda case, call, shape: _filled(pack, case, shape, np.zeros),
        "ones": lambda case, call, shape: _filled(pack, case, shape, np.ones),
        "random numbers": lambda case, call, shape: _filled(pack, case, shape, noise.standard_normal),
        "its own inputs": lambda case, call, shape: _echo(pack, case, call, shape),
    }
    if any(not call.is_array for call in pack.exercise.calls.values()):
        makers["nothing"] = lambda case, call, shape: None
    return {name: _outcomes(pack, make) for name, make in makers.items()}


def _filled(pack: Pack, case: PackCase, shape: tuple[int, ...], numbers: Callable[[Any], Any]) -> Any:
    """An answer of the expected form in which every number is made up."""
    call = pack.call(case)
    if call.is_array and not case.chance:
        return numbers(shape)
    return _made(call.form, case.dims, numbers)


def _made(form: Form, dims: Mapping[str, int], numbers: Callable[[Any], Any]) -> Any:
    """An answer of a form; sizes that the answer decides are 1."""

    def size(expression: Any) -> int:
        return int(evaluate(expression, {**dict.fromkeys(form.free(dims), 1), **dims}))

    match form.container:
        case "array":
            shape = tuple(size(e) for e in form.shape or [])
            return np.asarray(numbers(shape)).astype(form.dtype[0])
        case "number":
            return float(numbers(()))
        case "integer":
            return int(numbers(()))
        case "boolean":
            return bool(numbers(()))
        case "text":
            return ""
        case "none":
            return None
        case "dict" if isinstance(form.items, dict):
            return {key: _made(inner, dims, numbers) for key, inner in form.items.items()}
        case "dict":
            return {}
    if isinstance(form.items, list):
        items = [_made(inner, dims, numbers) for inner in form.items]
    else:
        assert form.of is not None
        count = size(form.length) if form.length is not None else 1
        items = [_made(form.of, dims, numbers) for _ in range(count)]
    return tuple(items) if form.container == "tuple" else items


def _outcomes(
    pack: Pack, make: Callable[[PackCase, int, tuple[int, ...]], Any]
) -> dict[str, list[StepOutcome]]:
    outcomes = {name: [NOT_RUN] * len(plan) for name, plan in pack.plans.items()}
    for case in pack.cases:
        for number, (step, shape) in enumerate(zip(case.steps, case.shapes, strict=True)):
            value = as_value(make(case, number, shape))
            outcomes[case.visibility][step] = StepOutcome("returned", value=value)
    return outcomes


def _echo(pack: Pack, case: PackCase, call: int, shape: tuple[int, ...]) -> Any:
    """The values of an argument, cut or repeated to the expected shape; the first argument as it is where the
    answer is no array."""
    step = pack.plans[case.visibility][case.steps[call]]
    arguments = pack.arguments(case, call if not isinstance(step, int) else 0)
    if not pack.call(case).is_array or case.chance:
        return arguments[0][1] if arguments else None
    values = [v for _, v in arguments] + [i for _, v in arguments if isinstance(v, dict) for i in v.values()]
    arrays = [v for v in values if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size]
    same = [a for a in arrays if a.shape == shape]
    chosen = same[0] if same else arrays[-1] if arrays else np.zeros(1)
    return np.resize(chosen.astype(np.float64), shape)
