"""Arrays made from recipes and seeds, the same bytes on every machine.

Only the raw 64-bit output of PCG64 is used, whose stream numpy promises to keep, and only additions,
multiplications and roundings, which IEEE 754 fixes to the last bit. So a case written today has the
same inputs under any later numpy and on any processor.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.checks import Change, Take
from grader.exercise.expressions import Number, evaluate
from grader.exercise.recipes import ArrayChange, Edit, Parameter, PartChange, Parts, ValueRecipe, Values

Array = NDArray[Any]
MAX_ELEMENTS = 4_000_000


class RecipeError(ValueError):
    """A recipe doesn't fit the shape it is asked for."""


class Stream:
    """Seeded draws that depend on nothing but the seed and the labels."""

    def __init__(self, seed: int, *labels: str) -> None:
        digest = hashlib.sha256("\0".join([str(seed), *labels]).encode()).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest[:16], "big"))

    def uniform(self, count: int) -> Array:
        """``count`` multiples of 2**-53 in [0, 1)."""
        raw = np.asarray(self._bits.random_raw(count), dtype=np.uint64).reshape(count)
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, count: int) -> Array:
        """``count`` draws of mean 0 and variance 1: the sum of twelve uniform draws less six."""
        total = np.full(count, -6.0)
        for row in self.uniform(12 * count).reshape(12, count):
            total += row
        return total


def float32_values(array: Array) -> Array:
    """Float64 values rounded to what float32 can hold; whole-number arrays as they are."""
    if array.dtype.kind != "f":
        return array
    with np.errstate(over="ignore"):
        rounded: Array = array.astype(np.float32).astype(np.float64)
    return rounded


def make_values(
    recipe: ValueRecipe, shape: Sequence[int], dims: Mapping[str, Number], stream: Stream
) -> Array:
    """A float64 array of the given shape.

    Raises:
        RecipeError: The recipe can't give that shape.
        ExpressionError: A number in the recipe can't be computed from the dims.
    """
    shape = tuple(shape)
    if min(shape, default=0) < 0:
        raise RecipeError(f"would have the shape {shape}, which has a negative length")
    count = math.prod(shape)
    if count > MAX_ELEMENTS:
        raise RecipeError(f"has {count:,} elements; at most {MAX_ELEMENTS:,} are made")
    if isinstance(recipe, str):
        return _word(recipe, shape)
    if not isinstance(recipe, Values):
        return np.full(shape, float(recipe), np.float64)
    if recipe.integers is not None:
        low = _whole(evaluate(recipe.integers.from_, dims))
        high = _whole(evaluate(recipe.integers.below, dims))
        if high <= low:
            raise RecipeError(f"draws integers from {low} below {high}, which is an empty range")
        whole: Array = np.floor(stream.uniform(count) * (high - low))
        return whole.reshape(shape) + low
    if recipe.bernoulli is not None:
        drawn_ones: Array = stream.uniform(count) < recipe.bernoulli
        return drawn_ones.astype(np.float64).reshape(shape)
    if recipe.normal is not None:
        scale, mean = (float(evaluate(e, dims)) for e in (recipe.normal.scale, recipe.normal.mean))
        drawn = stream.normal(count).reshape(shape)
        axis = recipe.normal.same_along
        if axis is not None:
            if not -len(shape) <= axis < len(shape):
                raise RecipeError(f"same_along is {axis}; the array has {len(shape)} axes")
            drawn = np.broadcast_to(np.take(drawn, [0], axis=axis), shape).copy() if count else drawn
        return drawn * scale + mean
    if recipe.uniform is not None:
        low_, high_ = (float(evaluate(e, dims)) for e in (recipe.uniform.low, recipe.uniform.high))
        return stream.uniform(count).reshape(shape) * (high_ - low_) + low_
    if recipe.constant is not None:
        return np.full(shape, float(evaluate(recipe.constant, dims)))
    return _literal(recipe.literal, shape)


def _whole(number: Number) -> int:
    if not math.isfinite(number):
        raise RecipeError(f"needs a whole number, found {number}")
    return int(number)


def _word(word: str, shape: tuple[int, ...]) -> Array:
    if word == "zeros":
        return np.zeros(shape)
    if word == "ones":
        return np.ones(shape)
    if len(shape) < 2:
        raise RecipeError(f"identity needs at least two axes, the shape is {shape}")
    return np.broadcast_to(np.eye(shape[-2], shape[-1]), shape).copy()


def _literal(literal: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(literal, dtype=np.float64)
    except (TypeError, ValueError):
        raise RecipeError("literal must be numbers in nested lists of equal length") from None
    if array.size == 0 and math.prod(shape) == 0:
        return array.reshape(shape)
    if array.shape != shape:
        raise RecipeError(f"literal has the shape {array.shape}, expected {shape}")
    return array


def apply_edit(array: Array, edit: Edit) -> None:
    """Set elements in place. Raises RecipeError when the index or the values don't fit."""
    index = tuple(slice(None) if part == "*" else part for part in edit.at)
    try:
        array[index] = np.array(edit.to, dtype=np.float64)
    except (IndexError, TypeError, ValueError):
        raise RecipeError(f"can't set {edit.at} of an array of shape {array.shape} to {edit.to!r}") from None


def _part_slice(parts: Parts, name: str, shape: tuple[int, ...]) -> tuple[slice | int, ...]:
    index: list[slice | int] = [slice(None)] * len(shape)
    number = parts.names.index(name)
    if not -len(shape) <= parts.axis < len(shape) or number >= shape[parts.axis]:
        raise RecipeError(f"has the shape {shape}; {name!r} would be number {number} along axis {parts.axis}")
    index[parts.axis] = number
    return tuple(index)


def make_array(
    name: str,
    parameter: Parameter,
    change: ArrayChange,
    dims: Mapping[str, Number],
    seed: int,
    dtype: str | None,
) -> Array:
    """The C-ordered array of one parameter for one case, float values representable in float32.

    Args:
        name: The parameter's name; part of the random stream's label.
        parameter: The exercise's recipe.
        change: What the case changes of it.
        dims: Values of the dims.
        seed: The case's seed.
        dtype: The dtype a float parameter has in this case unless ``change`` says another.

    Raises:
        RecipeError, ExpressionError: As `make_values`.
    """
    shape = [_whole(evaluate(e, dims)) for e in (change.shape or parameter.shape or [])]
    recipe = parameter.values if change.values is None else change.values
    assert recipe is not None
    array = np.asarray(make_values(recipe, shape, dims, Stream(seed, name)))
    for part, new in change.set.items():
        if parameter.parts is None or part not in parameter.parts.names:
            known = parameter.parts.names if parameter.parts else []
            raise RecipeError(f"has no part {part!r}; its parts are {', '.join(known) or 'not named'}")
        index = _part_slice(parameter.parts, part, array.shape)
        if not isinstance(new, PartChange):
            new = PartChange(values=new)
        if new.values is not None:
            array[index] = make_values(new.values, array[index].shape, dims, Stream(seed, name, part))
        if new.scale is not None:
            array[index] *= float(evaluate(new.scale, dims))
    if change.scale is not None:
        array *= float(evaluate(change.scale, dims))
    for edit in change.edits:
        apply_edit(array, edit)
    final = change.dtype or (dtype if dtype and parameter.dtype.startswith("float") else parameter.dtype)
    return float32_values(array).astype(final, order="C")


def _takeable(array: Array, take: Take) -> str:
    """What could be taken instead."""
    if not -array.ndim <= take.axis < array.ndim:
        if not array.ndim:
            return "it has no axes to take from"
        return f"name an axis from 0 to {array.ndim - 1}" if array.ndim > 1 else "name axis 0"
    length = array.shape[take.axis]
    return f"this axis has the indices 0 to {length - 1}" if length else "this axis is empty"


def apply_change(array: Array, change: Change, dims: Mapping[str, Number], seed: int, label: str) -> Array:
    """The argument of a relation's second call, made from the first call's.

    Raises:
        RecipeError, ExpressionError: The change doesn't fit the array.
    """
    if change.take is not None:
        try:
            return np.ascontiguousarray(np.take(array, change.take.indices, axis=change.take.axis))
        except (IndexError, ValueError):
            raise RecipeError(
                f"can't take {change.take.indices} along axis {change.take.axis} of the shape {array.shape}"
                f"; {_takeable(array, change.take)}"
            ) from None
    if change.fill is not None:
        return np.full_like(array, change.fill)
    if change.values is not None:
        fresh = make_values(change.values, array.shape, dims, Stream(seed, label, "change"))
        return float32_values(fresh).astype(array.dtype)
    new = array.astype(np.float64)
    for edit in change.edits or []:
        apply_edit(new, edit)
    return float32_values(new).astype(array.dtype)
