"""Arguments of calls, read from a phase's block.

The block's form is described in `grader.exercise.calls`, which writes it.
"""

import json
import mmap
from collections import deque
from typing import Any

import numpy as np

_ndarray = np.ndarray
_loads = json.loads
_list = list
_type = type

ALIGNMENT = 64

# Number of the argument, the array, and its shape, strides and dtype before the call.
Watched = tuple[int, Any, tuple[int, ...], tuple[int, ...], Any]
# Arguments of a call, and those of them that are watched.
Prepared = tuple[list[Any], list[Watched]]


class Calls:
    """The calls of one phase.

    Args:
        memory: The shared memory.
        at: Where the phase's block begins in it.
        size: The block's length.

    Attributes:
        steps: For each step the arguments of a call, or the number of the step that is looked at once more.
    """

    def __init__(self, memory: mmap.mmap, at: int, size: int) -> None:
        length = int.from_bytes(memory[at : at + 8], "little")
        plan = _loads(memory[at + 8 : at + 8 + length])
        self.steps: list[list[Any] | int] = plan["steps"]
        self._memory = memory
        self._base = at - (-(8 + length) // ALIGNMENT) * ALIGNMENT
        self._size = at + size - self._base
        self._start: int | None = None
        self._layouts: list[tuple[tuple[int, ...], Any, tuple[int, ...], bool, int]] = []
        for name, shape, strides, memory_length, read_only in plan["layouts"]:
            dtype = np.dtype(name)
            if strides is None:
                strides = _ndarray(shape, dtype).strides
            self._layouts.append((tuple(shape), dtype, tuple(strides), read_only, memory_length))

    def prepare(self, first: int) -> deque[Prepared]:
        """The arguments of every call from a step on, in order."""
        return deque([self.arguments(step) for step in self.steps[first:] if _type(step) is _list])

    def arguments(self, call: list[Any]) -> Prepared:
        """The arguments of a call, and what has to be as before afterwards; arrays are views."""
        arguments: list[Any] = []
        watched: list[Watched] = []
        memory, base, layouts = self._memory, self._base, self._layouts
        for bit, argument in enumerate(call):
            if _type(argument) is _list:
                number, offset = argument
                shape, dtype, strides, read_only, _length = layouts[number]
                array = _ndarray(shape, dtype, memory, base + offset, strides)
                if read_only:
                    array.flags.writeable = False
                watched.append((bit, array, shape, strides, dtype))
                argument = array
            arguments.append(argument)
        return arguments, watched

    def aliased(self, step: int, ranges: list[tuple[int, int]]) -> int:
        """A bit for each array argument of a call that shares memory with one of the (low, high) ranges."""
        if not ranges:
            return 0
        if self._start is None:
            self._start = _ndarray(1, "u1", self._memory, self._base).__array_interface__["data"][0]
        start = self._start
        inside = [
            (low - start, high - start) for low, high in ranges if low < start + self._size and start < high
        ]
        bits = 0
        if not inside:
            return bits
        call = self.steps[step]
        assert isinstance(call, list)
        for bit, argument in enumerate(call):
            if _type(argument) is _list:
                number, offset = argument
                end = offset + self._layouts[number][4]
                if any(low < end and offset < high for low, high in inside):
                    bits |= 1 << bit
        return bits


def changed_arguments(watched: list[Watched]) -> int:
    """A bit for each array whose shape, strides or dtype is no longer what it was."""
    bits = 0
    for bit, array, shape, strides, dtype in watched:
        if array.shape != shape or array.strides != strides or array.dtype is not dtype:
            bits |= 1 << bit
    return bits
