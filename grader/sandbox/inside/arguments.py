"""Arguments of calls, read from a phase's block.

The block's form is described in `grader.exercise.calls`, which writes it.
"""

import json
import mmap
from typing import Any

import numpy as np

_ndarray = np.ndarray
_loads = json.loads

# Number of the argument, the array, and its shape, strides and dtype before the call.
Watched = tuple[int, Any, tuple[int, ...], tuple[int, ...], Any]


class Calls:
    """The calls of one phase.

    Args:
        memory: The shared memory.
        at: Where the phase's block begins in it.
        size: The block's length.
    """

    def __init__(self, memory: mmap.mmap, at: int, size: int) -> None:
        length = int.from_bytes(memory[at : at + 8], "little")
        self.steps: list[dict[str, Any]] = _loads(memory[at + 8 : at + 8 + length])["steps"]
        self._memory = memory
        self._at = at
        self._size = size
        self._start: int | None = None
        self._dtypes: dict[str, Any] = {}

    def arguments(self, number: int) -> tuple[list[Any], list[Watched]]:
        """The arguments of one call, and what has to be as before afterwards; arrays are views."""
        arguments: list[Any] = []
        watched: list[Watched] = []
        for bit, argument in enumerate(self.steps[number]["call"]):
            if "value" in argument:
                arguments.append(argument["value"])
                continue
            name, shape, strides, offset, _length, read_only = argument["array"]
            dtype = self._dtypes.get(name)
            if dtype is None:
                dtype = self._dtypes[name] = np.dtype(name)
            array = _ndarray(shape, dtype, self._memory, self._at + offset, strides)
            if read_only:
                array.flags.writeable = False
            arguments.append(array)
            watched.append((bit, array, array.shape, array.strides, array.dtype))
        return arguments, watched

    def aliased(self, number: int, ranges: list[tuple[int, int]]) -> int:
        """A bit for each array argument of a call that shares memory with one of the (low, high) ranges."""
        if not ranges:
            return 0
        if self._start is None:
            self._start = _ndarray(1, "u1", self._memory, self._at).__array_interface__["data"][0]
        start = self._start
        inside = [
            (low - start, high - start) for low, high in ranges if low < start + self._size and start < high
        ]
        bits = 0
        if not inside:
            return bits
        for bit, argument in enumerate(self.steps[number]["call"]):
            if "value" in argument:
                continue
            _dtype, _shape, _strides, offset, length, _read_only = argument["array"]
            if any(low < offset + length and offset < high for low, high in inside):
                bits |= 1 << bit
        return bits
