"""Small inputs with written-out numbers: what a mistake is shown on, so that it can be followed on paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.arrays import float32_values
from grader.exercise.calls import (
    ArrayArgument,
    GeneratorArgument,
    LeafArgument,
    PlainArgument,
    grouped,
    plain,
)

Array = NDArray[Any]
DTYPE = "float64"


@dataclass(frozen=True)
class WrittenArray:
    """An array as nested lists of numbers.

    Attributes:
        dtype: Name of its dtype.
        shape: Its shape, which the lists of an empty array don't tell.
        values: Nested lists; whole numbers are ints, whatever the dtype. Others have the fewest digits that
            give the same float32.
    """

    dtype: str
    shape: tuple[int, ...]
    values: Any

    @classmethod
    def of(cls, array: Array) -> WrittenArray:
        """An array written out."""
        return cls(array.dtype.name, array.shape, _short(array.tolist()))

    def array(self) -> Array:
        """The array, in C order, its float values rounded to what float32 can hold."""
        array = np.array(self.values, self.dtype).reshape(self.shape)
        return float32_values(array).astype(self.dtype)


# A number; an array; a generator by its seed; or a text, nothing and the like.
WrittenArgument = WrittenArray | GeneratorArgument | PlainArgument | int | float


@dataclass(frozen=True)
class Counterexample:
    """A small input.

    Attributes:
        misconception: Id of the known mistake that it tells; empty for an input of the ladder.
        dims: Value of each dim.
        arguments: What the slots of the call's parameters hold, in their order.
        call_name: Which of the exercise's calls it is; empty where there is only one.
        lists: Names of the slots whose arrays are handed over as nested lists.
    """

    misconception: str
    dims: Mapping[str, int]
    arguments: Mapping[str, WrittenArgument]
    call_name: str = ""
    lists: frozenset[str] = frozenset()

    def slots(self) -> dict[str, LeafArgument]:
        """What the slots hold, made anew."""
        return {
            name: ArrayArgument(a.array(), as_list=name in self.lists) if isinstance(a, WrittenArray) else a
            for name, a in self.arguments.items()
        }

    def call(self) -> list[Any]:
        """The arguments as the entry point takes them, made anew."""
        return [plain(argument) for argument in grouped(self.slots())]


def to_plain(example: Counterexample) -> dict[str, Any]:
    """What is written into JSON.

    A list is a float64 array. Any other array is a mapping with ``dtype`` and ``values``, or ``shape`` in the
    place of ``values`` where it is empty.
    """
    told: dict[str, Any] = {
        "dims": dict(example.dims),
        "arguments": {name: _plain(a) for name, a in example.arguments.items()},
    }
    if example.call_name:
        told["call"] = example.call_name
    if example.lists:
        told["lists"] = sorted(example.lists)
    return told


def _plain(array: WrittenArgument) -> Any:
    if isinstance(array, GeneratorArgument):
        return {"generator": array.seed}
    if isinstance(array, PlainArgument):
        return {"plain": array.value}
    if not isinstance(array, WrittenArray):
        return array
    if math.prod(array.shape) == 0:
        return {"dtype": array.dtype, "shape": list(array.shape)}
    if array.dtype == DTYPE and array.shape:
        return array.values
    return {"dtype": array.dtype, "values": array.values}


def from_plain(misconception: str, data: Mapping[str, Any]) -> Counterexample:
    """What `to_plain` wrote. Raises ValueError, KeyError, TypeError or AttributeError on damage."""
    arguments = {name: _argument(value) for name, value in data["arguments"].items()}
    call, lists = str(data.get("call", "")), frozenset(data.get("lists", ()))
    return Counterexample(misconception, dict(data["dims"]), arguments, call, lists)


def _argument(value: Any) -> WrittenArgument:
    if isinstance(value, int | float):
        return value
    if isinstance(value, list):
        value = {"dtype": DTYPE, "values": value}
    if "generator" in value:
        return GeneratorArgument(int(value["generator"]))
    if "plain" in value:
        return PlainArgument(value["plain"])
    dtype, shape = value["dtype"], value.get("shape")
    return WrittenArray.of(np.array(value["values"], dtype) if shape is None else np.zeros(shape, dtype))


def _short(values: Any) -> Any:
    if isinstance(values, list):
        return [_short(value) for value in values]
    if not isinstance(values, float):
        return values
    return int(values) if values.is_integer() and abs(values) < 1e6 else shortest(values)


def shortest(number: float) -> float:
    """The number of the fewest digits that rounds to the same float32."""
    return float(str(np.float32(number)))
