"""The calls of an influence map, and the picture that the reference gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ExerciseError, Problem
from grader.exercise.arrays import RecipeError
from grader.exercise.assemble import Call, assemble, change_argument, plain_call
from grader.exercise.calls import ArrayArgument, LeafArgument, grouped, leaves
from grader.exercise.expressions import ExpressionError, evaluate
from grader.exercise.influence import MOVED, InfluenceMap, read_map
from grader.exercise.models import Case, Exercise, Influence
from grader.exercise.recipes import Values
from grader.exercise.source import PlacedCase

# The right picture must not hang on the bound of what has moved: a row moves by this much, or not at all.
CLEARLY = 1e-3
STILL = 1e-12
# Larger pictures can't be read, and take a call for every row.
LARGEST = 40

Array = NDArray[Any]


def influence_calls(exercise: Exercise, spec: Influence, file: str, line: int) -> list[Call]:
    """The calls of all views.

    Raises:
        ExerciseError: The arrays can't be made, or the argument is no array.
    """

    def fault(message: str) -> ExerciseError:
        return ExerciseError([Problem(file, line, "influence", message)])

    parameter = exercise.slots.get(spec.argument)
    if parameter is None or parameter.shape is None:
        raise fault(f"{spec.argument!r} is no array argument")
    if not exercise.form.is_array:
        raise fault("an influence map needs an answer that is an array")
    case = Case(id="influence", clause="", points=0, dims=spec.dims, seed=spec.seed, arrays=spec.arrays)
    base = leaves(assemble(exercise, PlacedCase(case, "", file, line)).calls[0])
    names = list(exercise.slots)
    place = names.index(spec.argument)
    calls: list[Call] = []
    for view in spec.views:
        changed = list(base)
        for name, change in view.change.items():
            if name not in names:
                raise fault(f"unknown parameter {name!r}")
            number = names.index(name)
            try:
                changed[number] = change_argument(name, base[number], change, dict(spec.dims), 0)
            except (RecipeError, ExpressionError) as error:
                raise fault(f"{name} {error}") from None
        argument = changed[place]
        assert isinstance(argument, ArrayArgument)
        calls.append(_call(names, changed))
        for element in range(argument.array.size):
            moved = _moved(argument.array, element, parameter.values, spec.dims)
            other = list(changed)
            other[place] = ArrayArgument(moved, argument.layout, argument.read_only, argument.as_list)
            calls.append(_call(names, other))
    return calls


def _call(names: Sequence[str], held: Sequence[LeafArgument]) -> Call:
    return grouped(dict(zip(names, held, strict=True)))


def _moved(array: Array, element: int, recipe: Any, dims: Mapping[str, int]) -> Array:
    """The array with one element changed: to the next whole number of its range, or by 1."""
    moved = array.copy()
    integers = recipe.integers if isinstance(recipe, Values) else None
    value = moved.flat[element]
    if integers is None:
        moved.flat[element] = value + 1
    else:
        low, below = (int(evaluate(e, dict(dims))) for e in (integers.from_, integers.below))
        moved.flat[element] = low + (int(value) - low + 1) % max(below - low, 1)
    return moved


def right_map(
    entry: Callable[..., Any],
    calls: Sequence[Call],
    exercise: Exercise,
    spec: Influence,
    file: str,
    line: int,
) -> InfluenceMap:
    """The picture that the reference gives.

    Raises:
        ExerciseError: The views' rows don't fit the answers, or a row moves neither clearly nor not at all.
    """

    def fault(message: str) -> ExerciseError:
        return ExerciseError([Problem(file, line, "influence", message)])

    place = list(exercise.slots).index(spec.argument)
    argument = leaves(calls[0])[place]
    assert isinstance(argument, ArrayArgument)
    size = argument.array.size
    answers: list[Array | None] = []
    rows: list[tuple[int, ...]] = []
    for number, call in enumerate(calls):
        with np.errstate(all="ignore"):
            answer = np.atleast_1d(np.asarray(entry(*plain_call(call)), np.float64))
        view = spec.views[number // (1 + size)]
        count = len(answer)
        named = tuple(range(count) if view.rows is None else view.rows)
        if count != len(named):
            raise fault(f"a view names {len(named)} rows, the answer has {count}")
        if number % (1 + size) == 0:
            rows.append(named)
        answers.append(answer)
        if max(size, count) > LARGEST:
            raise fault(f"the picture has {size} rows and {count} columns; more than {LARGEST} can't be read")
    numbers = sorted(n for view_rows in rows for n in view_rows)
    if numbers != list(range(len(numbers))):
        raise fault(f"the rows of all views together must be 0 to {len(numbers) - 1}, each once")
    axes = tuple(str(length) for length in exercise.slots[spec.argument].shape or ())
    unknown = ("?" * len(numbers),) * size
    blank = InfluenceMap(spec.argument, argument.array.shape, axes, tuple(rows), unknown)
    for one, other in ((MOVED, CLEARLY), (MOVED, STILL)):
        if read_map(blank, answers, one) != read_map(blank, answers, other):
            raise fault("a row moves by too little to be seen; use other dims, arrays or another seed")
    return replace(blank, expected=read_map(blank, answers, MOVED))
