"""Arguments of calls, read from a phase's block.

The block's form is described in `grader.exercise.calls`, which writes it.
"""

import json
import mmap
from typing import Any

import numpy as np

_ndarray = np.ndarray
_loads = json.loads


def read_steps(block: mmap.mmap) -> list[dict[str, Any]]:
    """The phase's steps as plain data."""
    length = int.from_bytes(block[:8], "little")
    steps: list[dict[str, Any]] = _loads(block[8 : 8 + length])["steps"]
    return steps


def make_arguments(call: list[dict[str, Any]], block: mmap.mmap) -> list[Any]:
    """The arguments of one call; arrays are views into the block."""
    arguments: list[Any] = []
    for argument in call:
        if "value" in argument:
            arguments.append(argument["value"])
            continue
        dtype, shape, strides, offset, _length, read_only = argument["array"]
        array = _ndarray(shape, dtype, block, offset, strides)
        if read_only:
            array.flags.writeable = False
        arguments.append(array)
    return arguments


def changed_arguments(call: list[dict[str, Any]], arguments: list[Any]) -> int:
    """A bit for each array argument whose shape, strides or dtype is no longer what it was."""
    bits = 0
    for number, (argument, array) in enumerate(zip(call, arguments)):
        if "value" in argument:
            continue
        dtype, shape, strides, _offset, _length, _read_only = argument["array"]
        if array.dtype.str != dtype or list(array.shape) != shape or list(array.strides) != strides:
            bits |= 1 << number
    return bits


def address(block: mmap.mmap) -> int:
    """Where a block lies in memory."""
    start: int = _ndarray(1, "u1", block).__array_interface__["data"][0]
    return start


def aliased_arguments(
    call: list[dict[str, Any]], start: int, size: int, ranges: list[tuple[int, int]]
) -> int:
    """A bit for each array argument that shares memory with one of the answer's (low, high) ranges.

    Args:
        call: The call's arguments as planned.
        start: Where the block lies in memory.
        size: Its length.
        ranges: Memory of the answer's arrays.
    """
    inside = [(low - start, high - start) for low, high in ranges if low < start + size and start < high]
    bits = 0
    if not inside:
        return bits
    for number, argument in enumerate(call):
        if "value" in argument:
            continue
        _dtype, _shape, _strides, offset, length, _read_only = argument["array"]
        if any(low < offset + length and offset < high for low, high in inside):
            bits |= 1 << number
    return bits
