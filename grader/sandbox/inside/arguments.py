"""Arguments of calls, read from a phase's block.

The block's form is described in `grader.exercise.calls`, which writes it.
"""

import json
import mmap
from collections import deque
from typing import Any

import numpy as np

_ndarray = np.ndarray
_default_rng = np.random.default_rng
_loads = json.loads
_dumps = json.dumps
_list = list
_dict = dict
_PLAIN = frozenset((int, float, str, bool))
_type = type

ALIGNMENT = 64

# Number of the argument, the array, and its shape, strides and dtype before the call; or number of the
# argument, a list or dictionary, and what it held before.
Watched = tuple[int, Any, tuple[int, ...], tuple[int, ...], Any] | tuple[int, Any, Any]
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
        names = plan.get("calls", [""])
        of = plan.get("of")
        self.names: list[str] = [names[n] for n in of] if of is not None else [""] * len(self.steps)
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
            elif _type(argument) is _dict:
                argument = self._special(argument, bit, watched)
            arguments.append(argument)
        return arguments, watched

    def _special(self, argument: dict[str, Any], bit: int, watched: list[Watched]) -> Any:
        """An argument that is neither a number nor an array."""
        kind, content = next(iter(argument.items()))
        if kind == "plain":
            if _type(content) is _list:
                watched.append((bit, content, _loads(_dumps(content))))
            return content
        if kind == "generator":
            return _default_rng(content)
        if kind == "list":
            (array,), _ = self.arguments([content])
            numbers = array.tolist()
            if _type(numbers) is _list:
                watched.append((bit, numbers, array.tolist()))
            return numbers
        items, inner = self.arguments([item for _, item in content])
        mapping = {key: item for (key, _), item in zip(content, items)}
        watched.append((bit, mapping, dict(mapping)))
        watched.extend([(bit, *one[1:]) for one in inner])
        return mapping

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
            if _type(argument) is _dict:
                within = [item for _, item in argument.get("mapping", ()) if _type(item) is _list]
            else:
                within = [argument] if _type(argument) is _list else []
            for number, offset in within:
                end = offset + self._layouts[number][4]
                if any(low < end and offset < high for low, high in inside):
                    bits |= 1 << bit
        return bits


def changed_arguments(watched: list[Watched]) -> int:
    """A bit for each array whose shape, strides or dtype is no longer what it was."""
    bits = 0
    for one in watched:
        if len(one) == 3:
            bit, now, before = one
            if not _same(now, before):
                bits |= 1 << bit
            continue
        bit, array, shape, strides, dtype = one
        if array.shape != shape or array.strides != strides or array.dtype is not dtype:
            bits |= 1 << bit
    return bits


def _same(now: Any, before: Any) -> bool:
    """Whether a list, or a dictionary of arguments, holds what it held."""
    if _type(before) is _dict:
        # Of its arrays each is watched by itself; here it matters that they are the same ones.
        return len(now) == len(before) and all(
            key in now and (now[key] is item or (_type(item) in _PLAIN and now[key] == item))
            for key, item in before.items()
        )
    return bool(_dumps(now) == _dumps(before)) if _type(now) is _list else False
