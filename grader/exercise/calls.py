"""Calls laid out for the child: one block of bytes a phase, plan first, then the arrays.

A block begins with the length of its plan (8 bytes, little-endian), then the plan as JSON:
``{"layouts": [LAYOUT, ...], "steps": [STEP, ...]}``.
A layout is ``[DTYPE, SHAPE, STRIDES, LENGTH, READ_ONLY]``, with STRIDES in bytes (null for C order) and the
LENGTH of memory that such an array takes. A step is the list of a call's arguments, or the number of the step
whose answer is looked at once more. An argument is a number, or ``[LAYOUT'S NUMBER, OFFSET]`` with the offset
of the array's first element from where the arrays begin: the first multiple of 64 after the plan.

`grader.sandbox.inside.arguments` is the reader in the child; it shares no code with this module, so that
nothing of the trusted side is loaded there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64


@dataclass(frozen=True)
class ArrayArgument:
    """An array as the entry point receives it."""

    array: NDArray[Any]
    layout: str = "c"
    read_only: bool = False


Argument = ArrayArgument | int | float


@dataclass(frozen=True)
class PlacedArray:
    """Where an array argument lies in a block."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    length: int
    read_only: bool

    @property
    def layout(self) -> str:
        """The name of the memory layout that these strides are."""
        for name in ("c", "fortran"):
            if self.strides == _stored(np.zeros(self.shape, self.dtype), name)[1]:
                return name
        return "strided"

    def read(self, block: bytes | memoryview) -> NDArray[Any]:
        """The array's values, as a read-only view into the block."""
        return np.ndarray(self.shape, self.dtype, block, self.offset, self.strides)


PlacedArgument = PlacedArray | int | float


def _stored(array: NDArray[Any], layout: str) -> tuple[NDArray[Any], tuple[int, ...]]:
    """The C-ordered memory that holds an array in a layout, and the array's strides in it."""
    if layout == "fortran":
        stored = np.ascontiguousarray(array.T).reshape(array.T.shape)  # numpy makes one axis of none
        return stored, stored.strides[::-1]
    if layout == "strided" and array.ndim:
        stored = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        stored[..., ::2] = array
        return stored, (*stored.strides[:-1], 2 * array.itemsize)
    stored = np.ascontiguousarray(array).reshape(array.shape)
    return stored, stored.strides


def _align(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


class PhaseBuilder:
    """Collects the steps of one phase."""

    def __init__(self) -> None:
        self._layouts: dict[str, int] = {}
        self._steps: list[list[Any] | int] = []
        self._chunks: list[tuple[int, bytes]] = []
        self._size = 0

    def add_call(self, arguments: Sequence[Argument]) -> int:
        """Append a call with its own copy of every array; returns the step's number."""
        self._steps.append([self._argument(a) for a in arguments])
        return len(self._steps) - 1

    def add_reread(self, step: int) -> int:
        """Append a second look at an earlier step's answer; returns the step's number."""
        self._steps.append(step)
        return len(self._steps) - 1

    def __len__(self) -> int:
        return len(self._steps)

    def _argument(self, argument: Argument) -> int | float | list[int]:
        if not isinstance(argument, ArrayArgument):
            return argument
        array = argument.array
        stored, strides = _stored(array, argument.layout)
        data = stored.tobytes()
        offset = self._size
        # An empty array gets room of its own too, so that no two arguments share an address.
        length = max(len(data), 1)
        self._size = _align(offset + length)
        self._chunks.append((offset, data))
        dtype = array.dtype.newbyteorder("<").str if array.itemsize > 1 else array.dtype.str
        plain = strides == _stored(np.zeros(array.shape, array.dtype), "c")[1]
        layout = [dtype, list(array.shape), None if plain else list(strides), length, argument.read_only]
        return [self._layouts.setdefault(json.dumps(layout), len(self._layouts)), offset]

    def finish(self) -> bytes:
        """The phase's block."""
        layouts = [json.loads(text) for text in self._layouts]
        plan = json.dumps({"layouts": layouts, "steps": self._steps}, separators=(",", ":")).encode()
        base = _align(8 + len(plan))
        block = bytearray(base + self._size)
        block[:8] = len(plan).to_bytes(8, "little")
        block[8 : 8 + len(plan)] = plan
        for offset, data in self._chunks:
            block[base + offset : base + offset + len(data)] = data
        return bytes(block)


def read_plan(block: bytes | memoryview) -> list[list[PlacedArgument] | int]:
    """The steps of a block: a list of arguments for a call, a step's number for a second look."""
    size = int.from_bytes(block[:8], "little")
    plan = json.loads(bytes(block[8 : 8 + size]))
    base = _align(8 + size)
    layouts = []
    for dtype, shape, strides, length, read_only in plan["layouts"]:
        if strides is None:
            strides = np.zeros(shape, dtype).strides
        layouts.append((dtype, tuple(shape), tuple(strides), length, read_only))

    def placed(argument: Any) -> PlacedArgument:
        if not isinstance(argument, list):
            value: int | float = argument
            return value
        dtype, shape, strides, length, read_only = layouts[argument[0]]
        return PlacedArray(dtype, shape, strides, base + argument[1], length, read_only)

    return [[placed(a) for a in step] if isinstance(step, list) else int(step) for step in plan["steps"]]
