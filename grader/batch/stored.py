"""What running a submission gave, as bytes: to judge it again later without running it.

After a line that names the version and a digest of all that follows come compressed parts: one of JSON with
everything but the bytes of arrays, and one for each size of elements with the arrays' bytes, the first byte
of every element first: signs and exponents of numbers are alike, their last digits are not. Nothing is ever
unpickled.
"""

from __future__ import annotations

import hashlib
import json
import math
import types
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from grader.batch.jobs import join, split
from grader.outcomes import ArrayValue, Container, Execution, PlainValue, StepOutcome, Value
from grader.result import Isolation
from grader.sandbox.records import ITEM_SIZES

MAGIC = b"grader.ran/1\n"
DIGEST_BYTES = 16
# More than a submission can leave in most exercises; what is larger is not kept, and not believed.
MAX_BYTES = 64 << 20
# Most bytes are digits without any order: a higher level takes twice as long for a hundredth of them.
LEVEL = 1
SIZES = sorted(set(ITEM_SIZES.values()))


@dataclass(frozen=True)
class SmallCalls:
    """What the few calls gave that are made after a failure; see `grader.judge.follow_up`.

    Attributes:
        calls: Digest of the block with these calls.
        steps: Their outcomes.
        cpu_s: Processor time that they took.
    """

    calls: str
    steps: tuple[StepOutcome, ...]
    cpu_s: float


@dataclass(frozen=True)
class Ran:
    """What running a submission gave: everything that it takes to judge it.

    Attributes:
        pack: The `execution_digest` of the pack by which it was run.
        program: The digest of what was run.
        execution: What came back.
        isolation: How it was confined.
        kind: The fork server that ran it.
        wall_s: Seconds on the clock until everything had run.
        small: The calls after a failure; None when none were made.
    """

    pack: str
    program: str
    execution: Execution
    isolation: Isolation
    kind: str
    wall_s: float = 0.0
    small: SmallCalls | None = None

    def to_bytes(self) -> bytes:
        """For a gradebook or a network; see `from_bytes`. Raises ValueError when it is too large."""
        arrays = _Arrays()
        try:
            ran = _written(self, arrays)
            text = json.dumps({"ran": ran, "arrays": arrays.lengths}, separators=(",", ":"))
        except RecursionError:
            raise ValueError("what the submission left is nested too deeply to be kept") from None
        parts = [text.encode(), *arrays.planes()]
        if sum(map(len, parts)) > MAX_BYTES:
            raise ValueError(f"what the submission left is more than {MAX_BYTES} bytes")
        body = join([zlib.compress(part, LEVEL) for part in parts])
        return MAGIC + _digest(body) + body

    @staticmethod
    def from_bytes(data: bytes) -> Ran:
        """What `to_bytes` gave.

        Raises:
            ValueError: The bytes are damaged, or another version wrote them.
        """
        start = len(MAGIC) + DIGEST_BYTES
        body = data[start:]
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError("what is stored of a run is damaged, or another version of the grader wrote it")
        if data[len(MAGIC) : start] != _digest(body):
            raise ValueError("what is stored of a run is damaged: its bytes have changed")
        try:
            text, *planes = _inflated(split(body))
            about = json.loads(text)
            ran = _reader(Ran)(about["ran"], _chunks(about["arrays"], planes))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError, zlib.error) as error:
            raise ValueError(f"what is stored of a run is damaged: {error}") from None
        assert isinstance(ran, Ran)
        return ran


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:DIGEST_BYTES]


def _inflated(parts: Sequence[bytes]) -> list[bytes]:
    found = []
    left = MAX_BYTES
    for part in parts:
        inflate = zlib.decompressobj()
        found.append(inflate.decompress(part, left + 1))
        left -= len(found[-1])
        if left < 0 or not inflate.eof:
            raise ValueError(f"a part is cut short, or it is more than {MAX_BYTES} bytes")
    return found


# --- the bytes of arrays --------------------------------------------------------------------------


class _Arrays:
    """The bytes of arrays, each once: an answer that is looked at again is mostly the same.

    Attributes:
        lengths: Size of an element and number of bytes of each.
    """

    def __init__(self) -> None:
        self.lengths: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, bytes], int] = {}

    def add(self, size: int, data: bytes) -> int:
        """The number under which the bytes are found."""
        number = self._numbers.setdefault((size, data), len(self.lengths))
        if number == len(self.lengths):
            self.lengths.append((size, len(data)))
        return number

    def planes(self) -> list[bytes]:
        """For each size of an element all first bytes, then all second bytes, and so on."""
        parts: dict[int, list[bytes]] = {size: [] for size in SIZES}
        for size, data in self._numbers:
            parts[size].append(data)
        return [_turned(b"".join(parts[size]), size) for size in SIZES]


def _turned(data: bytes, size: int) -> bytes:
    return data if size == 1 else np.frombuffer(data, np.uint8).reshape(-1, size).T.tobytes()


def _turned_back(data: bytes, size: int) -> bytes:
    return data if size == 1 else np.frombuffer(data, np.uint8).reshape(size, -1).T.tobytes()


_Chunks = Sequence[tuple[int, bytes]]


def _chunks(lengths: Sequence[Any], planes: Sequence[bytes]) -> _Chunks:
    """Size of an element and bytes of each array. Raises ValueError, KeyError or TypeError."""
    data = {size: _turned_back(plane, size) for size, plane in zip(SIZES, planes, strict=True)}
    at = dict.fromkeys(SIZES, 0)
    found = []
    for size, length in lengths:
        chunk = data[size][at[size] : at[size] + _natural(length)]
        if len(chunk) != length:
            raise ValueError("an array is cut short")
        at[size] += length
        found.append((size, chunk))
    return found


# --- records as JSON: by the types of their fields, and without what is as it mostly is -----------


def _written(value: Any, arrays: _Arrays) -> Any:
    if isinstance(value, str | int | float) or value is None:
        return value
    if isinstance(value, ArrayValue):
        data = None if value.data is None else arrays.add(ITEM_SIZES[value.dtype], value.data)
        return ["array", value.kind, value.dtype, value.shape, data]
    if isinstance(value, PlainValue):
        number = value.value
        plain = [number.real, number.imag] if isinstance(number, complex) else number
        return ["plain", value.kind, plain]
    if isinstance(value, Container):
        return ["container", value.kind, [_written(item, arrays) for item in value.items]]
    if is_dataclass(value):
        found, record = vars(value), cast(Hashable, type(value))
        return {
            name: _written(found[name], arrays)
            for name, default in _defaults(record).items()
            if found[name] != default
        }
    if isinstance(value, Mapping):
        return {key: _written(item, arrays) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_written(item, arrays) for item in value]


@cache
def _defaults(record: Any) -> dict[str, Any]:
    return {f.name: f.default for f in fields(record)}


# From JSON and the arrays to a value. Raises ValueError, KeyError or TypeError.
_Reader = Callable[[Any, _Chunks], Any]
VALUES = frozenset(get_args(Value))
NONE = type(None)
PLAIN_MAPPING = Mapping[str, Any]


@cache
def _reader(kind: Any) -> _Reader:
    """The reader of a type as it is written at a field."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda found, arrays: found
    if kind in (bool, int, float, str):
        return lambda found, arrays: _plain(found, kind)
    if is_dataclass(kind):
        return _record_reader(kind)
    if origin is Literal:
        return lambda found, arrays: _among(found, inner)
    if origin in (Union, types.UnionType):
        rest = [one for one in inner if one is not NONE]
        read = _read_value if frozenset(rest) == VALUES else _reader(rest[0])
        assert read is _read_value or len(rest) == 1, f"nothing reads {kind}"
        return lambda found, arrays: None if found is None and len(rest) < len(inner) else read(found, arrays)
    if origin is tuple and inner[-1] is not ...:
        readers = [_reader(one) for one in inner]
        return lambda found, arrays: tuple(
            [read(one, arrays) for read, one in zip(readers, _listed(found), strict=True)]
        )
    if origin in (list, tuple, frozenset):
        read = _reader(inner[0])
        return lambda found, arrays: origin([read(one, arrays) for one in _listed(found)])
    if kind == PLAIN_MAPPING:
        return lambda found, arrays: _mapping(found)
    assert origin is Mapping, f"nothing reads {kind}"
    read = _reader(inner[1])
    return lambda found, arrays: {key: read(one, arrays) for key, one in _mapping(found).items()}


def _record_reader(record: Any) -> _Reader:
    hints = get_type_hints(record)
    readers = {f.name: _reader(hints[f.name]) for f in fields(record)}

    def read(found: Any, arrays: _Chunks) -> Any:
        return record(**{name: readers[name](one, arrays) for name, one in _mapping(found).items()})

    return read


def _plain(found: Any, kind: type) -> Any:
    if type(found) is kind:
        return found
    if kind is float and type(found) is int:
        return float(found)
    raise TypeError(f"expected {kind.__name__}, found {type(found).__name__}")


def _among(found: Any, allowed: Sequence[Any]) -> Any:
    if found not in allowed:
        raise ValueError(f"expected one of {', '.join(map(str, allowed))}")
    return found


def _listed(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError(f"expected a list, found {type(found).__name__}")
    return found


def _mapping(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise TypeError(f"expected keys and values, found {type(found).__name__}")
    return found


def _natural(found: Any) -> int:
    if type(found) is not int or found < 0:
        raise ValueError("expected a whole number")
    return found


def _read_value(found: Any, arrays: _Chunks) -> Value:
    what, kind, *rest = _listed(found)
    kind = _plain(kind, str)
    if what == "plain":
        (value,) = rest
        return PlainValue(kind, complex(*value) if kind == "complex" else value)
    if what == "container":
        (items,) = rest
        read = _read_pair if kind == "dict" else _read_value
        return Container(kind, tuple([read(item, arrays) for item in _listed(items)]))
    if what != "array":
        raise ValueError(f"no value is a {what}")
    dtype, dims, number = rest
    shape = tuple([_natural(n) for n in _listed(dims)])
    if number is None:
        return ArrayValue(kind, _plain(dtype, str), shape, None)
    size, data = arrays[_natural(number)]
    if ITEM_SIZES[dtype] != size or math.prod(shape) * size != len(data):
        raise ValueError("an array's bytes are not those of its shape")
    return ArrayValue(kind, dtype, shape, data)


def _read_pair(found: Any, arrays: _Chunks) -> tuple[Value, Value]:
    key, value = _listed(found)
    return _read_value(key, arrays), _read_value(value, arrays)
