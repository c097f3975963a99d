"""Small inputs of an exercise: drawn, measured for size, made smaller along an axis.

Everything follows from ``exercise.yaml``: dims with bounds and constraints, parameters with symbolic shapes
and recipes. Nothing here knows what is computed from an input.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.arrays import Stream, float32_values
from grader.exercise.assemble import Call, plain_argument
from grader.exercise.calls import (
    ArrayArgument,
    GeneratorArgument,
    LeafArgument,
    PlainArgument,
    grouped,
    leaves,
    plain,
)
from grader.exercise.counterexamples import Counterexample, WrittenArray
from grader.exercise.expressions import ExpressionError, evaluate
from grader.exercise.models import Exercise
from grader.exercise.recipes import Integers, Parameter, Values

Array = NDArray[Any]
Held = Array | GeneratorArgument | PlainArgument | int | float
# How far above its smallest value a dim is tried, how many dims may be more than one above it, and how many
# numbers such an input may hold.
SPAN = 3
WIDE = 2
MOST_NUMBERS = 140

# How the numbers of drawn inputs are made: digits, and the scales that an array is multiplied with.
DIGITS = (1, 2, 3, -1, -2, 1, -1, 0)
INDICATORS = (1.0, 0.0, 0.5, 0.7, 2.0, -1.0, 0.2)
SCALES: tuple[tuple[float, ...], ...] = (
    (1,),
    (0.5, 0.1),
    (1, 0.1, 10),
    (1, 0.5),
    (1, 0.1, 0.01, 10, 100),
    (0.1,),
    (1, 1, 0.01, 0.001, 100, 1000),
    (1, 0.5, 2),
)


@dataclass(frozen=True, eq=False)
class Input:
    """The arguments of a call; nobody writes into its arrays.

    Attributes:
        dims: Value of each dim, in the exercise's order.
        arguments: Arrays in C order, numbers, and what else an argument may be, by the slots of the
            parameters in their order.
        lists: Names of the slots whose arrays are handed over as nested lists.
    """

    dims: dict[str, int]
    arguments: dict[str, Held]
    lists: frozenset[str] = frozenset()

    @classmethod
    def of(cls, written: Counterexample) -> Input:
        """What was frozen, made again."""
        held = {n: a.array if isinstance(a, ArrayArgument) else a for n, a in written.slots().items()}
        return cls(dict(written.dims), held, written.lists)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal for inputs of the same bytes."""
        return tuple(
            (a.dtype.char, a.shape, a.tobytes()) if isinstance(a, np.ndarray) else repr(a)
            for a in self.arguments.values()
        )

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The array arguments."""
        return {name: a for name, a in self.arguments.items() if isinstance(a, np.ndarray)}

    def with_array(self, name: str, array: Array) -> Input:
        """The same with another array of the same shape."""
        return Input(self.dims, self.arguments | {name: array}, self.lists)

    def call(self) -> list[Any]:
        """The arguments as the entry point takes them, made anew."""
        slots: dict[str, LeafArgument] = {
            name: ArrayArgument(a, as_list=name in self.lists) if isinstance(a, np.ndarray) else a
            for name, a in self.arguments.items()
        }
        return [plain(argument) for argument in grouped(slots)]

    def written(self, misconception: str, call: str = "") -> Counterexample:
        """The same, to be frozen."""
        arguments = {
            name: WrittenArray.of(a) if isinstance(a, np.ndarray) else a for name, a in self.arguments.items()
        }
        return Counterexample(misconception, dict(self.dims), arguments, call, self.lists)


def numbers_of(dims: Mapping[str, int], exercise: Exercise) -> int:
    """How many numbers the arrays of such an input hold together."""
    return sum(
        math.prod(int(evaluate(e, dims)) for e in p.shape)
        for p in exercise.slots.values()
        if p.shape is not None
    )


@lru_cache(maxsize=65536)
def cost_of(number: float) -> int:
    """How hard a number is to work with on paper: 0, 1, -1, other digits, tenths, powers of ten, the rest."""
    size = abs(number)
    sign = 1 if number < 0 else 0
    if size < 10 and size == int(size):
        return int(size) + sign
    mantissa, _, exponent = np.format_float_scientific(np.float32(size)).partition("e")
    digits = len(mantissa.replace(".", ""))
    return 10 + 3 * digits + 2 * abs(int(exponent)) + sign


class Domain:
    """What the inputs of an exercise may be."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.slots = exercise.slots
        self.shapes: dict[str, list[str | int | float]] = {
            name: list(p.shape) for name, p in exercise.slots.items() if p.shape is not None
        }
        self.lists = frozenset(name for name, p in exercise.slots.items() if p.as_list)
        self.lowest: dict[str, int] = {
            name: next((n for n in range(64) if self._within(name, n)), 0) for name in exercise.dims
        }

    def counts(self, name: str) -> bool:
        """Whether a dim counts the indices of some axis."""
        return any(name == symbol for shape in self.shapes.values() for symbol in shape)

    def _within(self, name: str, n: int) -> bool:
        return bool(evaluate(f"{name} {self.exercise.dims[name]}", {name: n}))

    def allows(self, dims: Mapping[str, int]) -> bool:
        """Whether dims keep to bounds and constraints and give an input that can be made."""
        try:
            return (
                all(self._within(name, n) for name, n in dims.items())
                and all(evaluate(c, dims) for c in self.exercise.constraints)
                and all(evaluate(e, dims) >= 0 for shape in self.shapes.values() for e in shape)
                and all(low < high for low, high in self._ranges(dims))
            )
        except ExpressionError:
            return False

    def _ranges(self, dims: Mapping[str, int]) -> Iterator[tuple[float, float]]:
        """Bounds of every parameter of whole numbers that has elements."""
        for name, shape in self.shapes.items():
            integers = _integers(self.exercise.slots[name])
            if integers is not None and all(evaluate(e, dims) for e in shape):
                yield evaluate(integers.from_, dims), evaluate(integers.below, dims)

    def size(self, dims: Mapping[str, int]) -> tuple[int, ...]:
        """The order of dims: by the numbers in all arrays, then by the dims."""
        return (numbers_of(dims, self.exercise), sum(dims.values()), *dims.values())

    def small_dims(self) -> list[dict[str, int]]:
        """Allowed dims of small inputs: no dim far above its lowest value first, then by `size`."""
        names = list(self.lowest)
        found: list[tuple[int, tuple[int, ...], dict[str, int]]] = []
        for steps in itertools.product(range(SPAN + 1), repeat=len(names)):
            dims = {name: self.lowest[name] + step for name, step in zip(names, steps, strict=True)}
            if sum(step > 1 for step in steps) <= WIDE and self.allows(dims):
                size = self.size(dims)
                if size[0] <= MOST_NUMBERS:
                    found.append((max(max(steps, default=0), 1), size, dims))
        return [dims for _, _, dims in sorted(found, key=lambda each: each[:2])]

    def draw(self, dims: Mapping[str, int], number: int) -> Input:
        """The input of that number among those of such dims: one-digit numbers at several scales."""
        arguments: dict[str, Held] = {}
        for name, parameter in self.exercise.slots.items():
            if parameter.shape is None:
                arguments[name] = self.single(parameter, dims, number)
                continue
            shape = tuple(int(evaluate(e, dims)) for e in parameter.shape)
            stream = Stream(number, name, repr(sorted(dims.items())))
            arguments[name] = self._draw_array(parameter, shape, dims, stream, number)
        return Input(dict(dims), arguments, self.lists)

    def _draw_array(
        self,
        parameter: Parameter,
        shape: tuple[int, ...],
        dims: Mapping[str, int],
        stream: Stream,
        number: int,
    ) -> Array:
        count = math.prod(shape)
        integers = _integers(parameter)
        recipe = parameter.values
        if integers is not None:
            low, high = (int(evaluate(e, dims)) for e in (integers.from_, integers.below))
            drawn = low + np.floor(stream.uniform(count) * (high - low))
        elif isinstance(recipe, Values) and recipe.bernoulli is not None:
            choice = ((1.0,), (1.0, 1.0, 0.0), INDICATORS, (1.0, 0.0))[number % 4]
            drawn = np.array(choice)[_choices(stream, count, len(choice))]
        else:
            scales = SCALES[number % len(SCALES)]
            scale = scales[int(_choices(stream, 1, len(scales))[0])]
            drawn = np.array(DIGITS)[_choices(stream, count, len(DIGITS))] * scale
        array = np.round(drawn.astype(np.float64), 6).reshape(shape)
        return self.bounded(parameter, array, dims).astype(parameter.dtype)

    def single(self, parameter: Parameter, dims: Mapping[str, int], number: int = 0) -> Held:
        """What an argument is that is no array: a scalar's value, a value, or a generator of that seed."""
        if parameter.generator is not None:
            return GeneratorArgument(number)
        if parameter.scalar is None:
            return plain_argument(parameter.value)  # type: ignore[return-value]
        value = evaluate(parameter.scalar, dims)
        return int(value) if float(value).is_integer() else float(value)

    def bounded(self, parameter: Parameter, array: Array, dims: Mapping[str, int]) -> Array:
        """Values moved into the range that the parameter's recipe states, and into float32."""
        integers, recipe = _integers(parameter), parameter.values
        if integers is not None:
            return np.clip(
                np.round(array), evaluate(integers.from_, dims), evaluate(integers.below, dims) - 1
            )
        if isinstance(recipe, Values) and recipe.uniform is not None:
            array = np.clip(array, evaluate(recipe.uniform.low, dims), evaluate(recipe.uniform.high, dims))
        # Adding 0 leaves no negative one.
        return float32_values(array) + 0.0

    def of_call(self, dims: Mapping[str, int], call: Call) -> Input | None:
        """The input of a case's call; None where its arrays don't have the shapes that the dims give."""
        arguments: dict[str, Held] = {}
        for (name, parameter), argument in zip(self.exercise.slots.items(), leaves(call), strict=True):
            if not isinstance(argument, ArrayArgument):
                follows = parameter.scalar is not None
                if parameter.shape is not None or (follows and argument != self.single(parameter, dims)):
                    return None
                arguments[name] = argument
            else:
                if list(argument.array.shape) != [evaluate(e, dims) for e in self.shapes.get(name, [])]:
                    return None
                arguments[name] = argument.array
        return Input(dict(dims), arguments, self.lists)

    def restricted(
        self, old: Input, dims: Mapping[str, int], kept: Mapping[str, Sequence[int]]
    ) -> Input | None:
        """An input cut down to smaller dims.

        Args:
            old: The input.
            dims: The new dims.
            kept: For each dim that is smaller, the indices that stay along every axis of that name.

        Returns:
            None where the new dims are not allowed or an axis would have to grow.
        """
        if not self.allows(dims):
            return None
        arguments: dict[str, Held] = {}
        for name, parameter in self.exercise.slots.items():
            if parameter.shape is None:
                follows = parameter.scalar is not None
                arguments[name] = self.single(parameter, dims) if follows else old.arguments[name]
                continue
            array = old.arrays[name]
            for axis, symbol in enumerate(parameter.shape):
                length = int(evaluate(symbol, dims))
                if length > array.shape[axis]:
                    return None
                if isinstance(symbol, str) and symbol in kept:
                    array = np.take(array, kept[symbol], axis=axis)
                elif length < array.shape[axis]:
                    array = np.take(array, range(length), axis=axis)
            arguments[name] = np.ascontiguousarray(self._renumbered(parameter, array, dims, kept))
        return Input(dict(dims), arguments, self.lists)

    def _renumbered(
        self, parameter: Parameter, array: Array, dims: Mapping[str, int], kept: Mapping[str, Sequence[int]]
    ) -> Array:
        """Whole numbers that count along a dim follow the indices that stay; others keep to their range."""
        integers = _integers(parameter)
        if integers is None or not array.size:
            return array
        indices = kept.get(integers.below) if isinstance(integers.below, str) else None
        if indices is not None and evaluate(integers.from_, dims) == 0:
            array = np.clip(np.searchsorted(np.array(indices), array), 0, len(indices) - 1).astype(
                array.dtype
            )
        return self.bounded(parameter, array, dims).astype(array.dtype)

    def usual(self, given: Input) -> Input:
        """The same with the dtypes that the parameters have."""
        parameters = self.exercise.slots
        return Input(
            given.dims,
            {
                n: a.astype(parameters[n].dtype) if isinstance(a, np.ndarray) else a
                for n, a in given.arguments.items()
            },
            self.lists,
        )

    def weight(self, given: Input) -> tuple[int, ...]:
        """The order of inputs of the same `size`: unusual dtypes, numbers that are not 0, their digits."""
        unusual = sum(a.dtype != self.slots[n].dtype for n, a in given.arrays.items())
        filled, cost = 0, 0
        for array in given.arrays.values():
            present = array[array != 0]
            filled += present.size
            cost += sum(map(cost_of, present.tolist()))
        return (unusual, filled, cost)


def _integers(parameter: Parameter) -> Integers | None:
    return parameter.values.integers if isinstance(parameter.values, Values) else None


def _choices(stream: Stream, count: int, among: int) -> Array:
    chosen: Array = np.floor(stream.uniform(count) * among).astype(np.int64)
    return chosen
