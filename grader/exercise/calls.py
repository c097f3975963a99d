"""Calls laid out for the child: one block of bytes a phase, plan first, then the arrays.

A block begins with the length of its plan (8 bytes, little-endian), then the plan as JSON:
``{"steps": [...]}``, where a step is ``{"call": [ARGUMENT, ...]}`` or ``{"reread": STEP}``. An argument is
``{"value": NUMBER}`` or ``{"array": [DTYPE, SHAPE, STRIDES, OFFSET, LENGTH, READ_ONLY]}``, with STRIDES in
bytes, OFFSET of the first element from the block's start and LENGTH of the memory it lies in.
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
        self._steps: list[dict[str, Any]] = []
        self._chunks: list[tuple[int, bytes]] = []
        self._size = 0

    def add_call(self, arguments: Sequence[Argument]) -> int:
        """Append a call with its own copy of every array; returns the step's number."""
        self._steps.append({"call": [self._argument(a) for a in arguments]})
        return len(self._steps) - 1

    def add_reread(self, step: int) -> int:
        """Append a second look at an earlier step's answer; returns the step's number."""
        self._steps.append({"reread": step})
        return len(self._steps) - 1

    def __len__(self) -> int:
        return len(self._steps)

    def _argument(self, argument: Argument) -> dict[str, Any]:
        if not isinstance(argument, ArrayArgument):
            return {"value": argument}
        array = argument.array
        stored, strides = _stored(array, argument.layout)
        data = stored.tobytes()
        offset = self._size
        # An empty array gets room of its own too, so that no two arguments share an address.
        self._size = _align(offset + max(len(data), 1))
        self._chunks.append((offset, data))
        dtype = array.dtype.newbyteorder("<").str if array.itemsize > 1 else array.dtype.str
        return {
            "array": [dtype, list(array.shape), list(strides), offset, max(len(data), 1), argument.read_only]
        }

    def finish(self) -> bytes:
        """The phase's block."""
        # Offsets depend on the plan's length and the plan on the offsets: a fixed-width base settles it.
        base = 0
        while True:
            plan = json.dumps({"steps": self._shifted(base)}, separators=(",", ":")).encode()
            needed = _align(8 + len(plan))
            if needed == base:
                break
            base = max(base, needed)
            if needed < base:
                plan += b" " * (base - 8 - len(plan))
                break
        block = bytearray(base + self._size)
        block[:8] = len(plan).to_bytes(8, "little")
        block[8 : 8 + len(plan)] = plan
        for offset, data in self._chunks:
            block[base + offset : base + offset + len(data)] = data
        return bytes(block)

    def _shifted(self, base: int) -> list[dict[str, Any]]:
        def shift(argument: dict[str, Any]) -> dict[str, Any]:
            if "value" in argument:
                return argument
            dtype, shape, strides, offset, length, read_only = argument["array"]
            return {"array": [dtype, shape, strides, offset + base, length, read_only]}

        return [{"call": [shift(a) for a in s["call"]]} if "call" in s else s for s in self._steps]


def read_plan(block: bytes | memoryview) -> list[list[PlacedArgument] | int]:
    """The steps of a block: a list of arguments for a call, a step's number for a second look."""
    length = int.from_bytes(block[:8], "little")
    steps = json.loads(bytes(block[8 : 8 + length]))["steps"]

    def placed(argument: dict[str, Any]) -> PlacedArgument:
        if "value" in argument:
            value: int | float = argument["value"]
            return value
        dtype, shape, strides, offset, size, read_only = argument["array"]
        return PlacedArray(dtype, tuple(shape), tuple(strides), offset, size, read_only)

    return [[placed(a) for a in s["call"]] if "call" in s else int(s["reread"]) for s in steps]
