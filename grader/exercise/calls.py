"""Calls laid out for the child: one block of bytes a phase, plan first, then the arrays.

A block begins with the length of its plan (8 bytes, little-endian), then the plan as JSON:
``{"layouts": [LAYOUT, ...], "steps": [STEP, ...]}``.
A layout is ``[DTYPE, SHAPE, STRIDES, LENGTH, READ_ONLY]``, with STRIDES in bytes (null for C order) and the
LENGTH of memory that such an array takes. A step is the list of a call's arguments, or the number of the step
whose answer is looked at once more. An argument is a number, or ``[LAYOUT'S NUMBER, OFFSET]`` with the offset
of the array's first element from where the arrays begin: the first multiple of 64 after the plan; or a
mapping with one key: ``{"list": [LAYOUT'S NUMBER, OFFSET]}`` for an array that is handed over as nested
lists, ``{"plain": VALUE}`` for a text, true, false or nothing, ``{"generator": SEED}`` for a random generator
that begins with that seed, ``{"mapping": [[KEY, ARGUMENT], ...]}`` for a dictionary.

Where an exercise has several calls, the plan has ``"calls"``, their names, and ``"of"``, for each step the
number of its call's name.

`grader.sandbox.inside.arguments` is the reader in the child; it shares no code with this module, so that
nothing of the trusted side is loaded there.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64


@dataclass(frozen=True)
class ArrayArgument:
    """An array as the entry point receives it; as nested lists of Python's numbers with ``as_list``."""

    array: NDArray[Any]
    layout: str = "c"
    read_only: bool = False
    as_list: bool = False


@dataclass(frozen=True)
class PlainArgument:
    """A text, true, false, nothing, or a list of such values and numbers."""

    value: Any


@dataclass(frozen=True)
class GeneratorArgument:
    """A random generator of numpy's (``default_rng``), made anew for each call."""

    seed: int

    def make(self) -> np.random.Generator:
        """The generator."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class MappingArgument:
    """A dictionary of arguments by text."""

    items: tuple[tuple[str, ArrayArgument | PlainArgument | GeneratorArgument | int | float], ...]


LeafArgument = ArrayArgument | PlainArgument | GeneratorArgument | int | float
Argument = LeafArgument | MappingArgument


def grouped(slots: Mapping[str, LeafArgument]) -> tuple[Argument, ...]:
    """The arguments of a call, made of its slots: those of ``weights.w_q`` and ``weights.w_k`` are one."""
    made: dict[str, Argument] = {}
    for slot, argument in slots.items():
        name, dot, key = slot.partition(".")
        if not dot:
            made[name] = argument
            continue
        before = made.get(name)
        items = before.items if isinstance(before, MappingArgument) else ()
        made[name] = MappingArgument((*items, (key, argument)))
    return tuple(made.values())


def leaves(call: Sequence[Argument]) -> list[LeafArgument]:
    """The inverse of `grouped`: what the slots of a call hold, in their order."""
    return [
        leaf
        for argument in call
        for leaf in (
            [item for _, item in argument.items] if isinstance(argument, MappingArgument) else [argument]
        )
    ]


def plain(argument: Argument) -> Any:
    """The argument as a function written in Python takes it: arrays in C order and writable, made anew."""
    match argument:
        case ArrayArgument():
            return argument.array.tolist() if argument.as_list else argument.array.copy()
        case PlainArgument():
            return copy.deepcopy(argument.value)
        case GeneratorArgument():
            return argument.make()
        case MappingArgument():
            return {key: plain(item) for key, item in argument.items}
    return argument


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


@dataclass(frozen=True)
class PlacedList:
    """Where the numbers of an argument lie that is handed over as nested lists."""

    array: PlacedArray


@dataclass(frozen=True)
class PlacedMapping:
    """A dictionary whose arrays lie in a block."""

    items: tuple[tuple[str, PlacedArray | PlacedList | PlainArgument | GeneratorArgument | int | float], ...]


PlacedArgument = PlacedArray | PlacedList | PlacedMapping | PlainArgument | GeneratorArgument | int | float


class PlacedCall(list[PlacedArgument]):
    """The arguments of a call, as they lie in a block.

    Attributes:
        call: Which of the exercise's calls it is; empty where there is only one.
    """

    def __init__(self, arguments: Sequence[PlacedArgument] = (), call: str = "") -> None:
        super().__init__(arguments)
        self.call = call


Step = PlacedCall | int


def placed_arrays(argument: PlacedArgument) -> Iterator[PlacedArray]:
    """The arrays of an argument that a function can write into."""
    if isinstance(argument, PlacedArray):
        yield argument
    elif isinstance(argument, PlacedMapping):
        for _, item in argument.items:
            yield from placed_arrays(item)


def calls_of(plan: Sequence[Step]) -> list[str]:
    """The call that each step makes, or whose answer it looks at once more."""
    made = [plan[step] if isinstance(step, int) else step for step in plan]
    return [step.call for step in made if isinstance(step, PlacedCall)]


def arrays_of(step: Step) -> list[PlacedArray]:
    """The arrays of a call that a function can write into; none of a second look at an answer."""
    return [] if isinstance(step, int) else [array for argument in step for array in placed_arrays(argument)]


def value_of(argument: PlacedArgument, block: bytes | memoryview) -> Any:
    """What an argument holds: arrays as read-only views into the block; a generator as it is described."""
    match argument:
        case PlacedArray():
            return argument.read(block)
        case PlacedList():
            return argument.array.read(block).tolist()
        case PlacedMapping():
            return {key: value_of(item, block) for key, item in argument.items}
        case PlainArgument():
            return argument.value
    return argument


def unplaced(argument: PlacedArgument, block: bytes | memoryview) -> Argument:
    """The argument as it was before it was laid out."""
    match argument:
        case PlacedArray():
            return ArrayArgument(argument.read(block), argument.layout, argument.read_only)
        case PlacedList():
            return ArrayArgument(argument.array.read(block), as_list=True)
        case PlacedMapping():
            items = [(key, unplaced(item, block)) for key, item in argument.items]
            return MappingArgument(tuple(items))  # type: ignore[arg-type]
    return argument


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
        self._calls: list[str] = []
        self._chunks: list[tuple[int, bytes]] = []
        self._size = 0

    def add_call(self, arguments: Sequence[Argument], call: str = "") -> int:
        """Append a call with its own copy of every array; returns the step's number."""
        self._steps.append([self._argument(a) for a in arguments])
        self._calls.append(call)
        return len(self._steps) - 1

    def add_reread(self, step: int) -> int:
        """Append a second look at an earlier step's answer; returns the step's number."""
        self._steps.append(step)
        self._calls.append(self._calls[step])
        return len(self._steps) - 1

    def __len__(self) -> int:
        return len(self._steps)

    def _argument(self, argument: Argument) -> Any:
        match argument:
            case ArrayArgument(as_list=True):
                return {"list": self._array(ArrayArgument(argument.array))}
            case ArrayArgument():
                return self._array(argument)
            case PlainArgument():
                return {"plain": argument.value}
            case GeneratorArgument():
                return {"generator": argument.seed}
            case MappingArgument():
                return {"mapping": [[key, self._argument(item)] for key, item in argument.items]}
        return argument

    def _array(self, argument: ArrayArgument) -> list[int]:
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
        told: dict[str, Any] = {"layouts": layouts, "steps": self._steps}
        if any(self._calls):
            told["calls"] = list(dict.fromkeys(self._calls))
            told["of"] = [told["calls"].index(call) for call in self._calls]
        plan = json.dumps(told, separators=(",", ":")).encode()
        base = _align(8 + len(plan))
        block = bytearray(base + self._size)
        block[:8] = len(plan).to_bytes(8, "little")
        block[8 : 8 + len(plan)] = plan
        for offset, data in self._chunks:
            block[base + offset : base + offset + len(data)] = data
        return bytes(block)


def read_plan(block: bytes | memoryview) -> list[Step]:
    """The steps of a block: the arguments of a call, or a step's number for a second look at its answer."""
    size = int.from_bytes(block[:8], "little")
    plan = json.loads(bytes(block[8 : 8 + size]))
    base = _align(8 + size)
    layouts = []
    for dtype, shape, strides, length, read_only in plan["layouts"]:
        if strides is None:
            strides = np.zeros(shape, dtype).strides
        layouts.append((dtype, tuple(shape), tuple(strides), length, read_only))

    def array(place: Any) -> PlacedArray:
        dtype, shape, strides, length, read_only = layouts[place[0]]
        return PlacedArray(dtype, shape, strides, base + place[1], length, read_only)

    def placed(argument: Any) -> Any:
        match argument:
            case [_, _]:
                return array(argument)
            case {"list": place}:
                return PlacedList(array(place))
            case {"plain": value}:
                return PlainArgument(value)
            case {"generator": seed}:
                return GeneratorArgument(int(seed))
            case {"mapping": items}:
                return PlacedMapping(tuple((key, placed(item)) for key, item in items))
        return argument

    names = plan.get("calls", [""])
    of = plan.get("of", [0] * len(plan["steps"]))
    return [
        PlacedCall([placed(a) for a in step], names[number]) if isinstance(step, list) else int(step)
        for step, number in zip(plan["steps"], of, strict=True)
    ]
