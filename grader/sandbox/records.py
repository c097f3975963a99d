"""Reading the records that a child left in the shared mapping.

A child may write anything at all there, so nothing is believed before it is checked, no size is computed
except in Python's integers, and no array is built.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.outcomes import MOST_LETTERS, ArrayValue, Container, DamagedError, Failure, PlainValue, Value
from grader.sandbox.children import Memory
from grader.sandbox.inside import slots

NO_BITS: frozenset[int] = frozenset()
MAX_DIMS = 64
MAX_NODES = 20_000
MAX_FAILURES = 5
ITEM_SIZES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


@dataclass(frozen=True, slots=True)
class Record:
    """A record as found: its entry in the table and the two parts that it points at.

    Attributes:
        array: Dtype and shape of an answer that is one array and has no description; else None.
    """

    state: int
    array: tuple[str, tuple[int, ...]] | None
    description: Mapping[str, Any]
    data: bytes
    changed: int
    aliased: int
    stdout: int
    stderr: int
    cpu_s: float


Fields = tuple[int, ...]


def read_table(memory: Memory, first: int, count: int) -> list[Fields]:
    """The entries of ``count`` records from the ``first`` on, copied out of the memory."""
    size = slots.RECORD.size
    return list(slots.RECORD.iter_unpack(memory.read(slots.FIRST + first * size, count * size)))


def begun(memory: Memory, slot: int) -> bool:
    """Whether anything was ever written into an entry of the table."""
    return any(read_table(memory, slot, 1)[0])


@dataclass(frozen=True)
class Content:
    """A copy of the part of the memory that records point at.

    Attributes:
        start: Where it begins in the memory.
        data: Its bytes.
    """

    start: int
    data: bytes


def read_content(memory: Memory, table: Sequence[Fields], data: tuple[int, int]) -> Content:
    """What the entries point at, copied out of the memory in one go.

    Args:
        memory: The shared memory.
        table: The entries.
        data: Where descriptions and data may lie, and the length of that part.
    """
    start, size = data
    spans = [(f[4], f[4] + f[5] + f[6]) for f in table if f[0] > slots.STARTED]
    inside = [(a, b) for a, b in spans if start <= a <= b <= start + size]
    if not inside:
        return Content(start, b"")
    low, high = min(a for a, _ in inside), max(b for _, b in inside)
    return Content(low, memory.read(low, high - low))


def read_record(content: Content, fields: Fields, room: int) -> Record | None:
    """The record that an entry of the table describes; None when it was never begun.

    The child may still live and write: each byte is read once and checked after it was copied.

    Args:
        content: What the entries of its table point at.
        fields: The entry.
        room: How many bytes one record may have there.

    Raises:
        DamagedError: It is not of the form that an honest child writes.
    """
    state, kind, dtype, ndim, at, described, length, changed, aliased, stdout, stderr, cpu_ns = fields[:12]
    if state == 0:
        return None
    seconds = min(cpu_ns, 10**15) / 1e9
    if state == slots.STARTED:
        return Record(state, None, {}, b"", 0, 0, stdout, stderr, seconds)
    here = at - content.start
    if described + length > room or here < 0 or here + described + length > len(content.data):
        raise DamagedError("a record is longer than its room")
    text, rest = (
        content.data[here : here + described],
        content.data[here + described : here + described + length],
    )
    if kind == slots.ARRAY:
        if dtype >= len(slots.DTYPES) or ndim > slots.MAX_DIMS:
            raise DamagedError("an array's description is not of the expected form")
        name, shape = slots.DTYPES[dtype], fields[12 : 12 + ndim]
        count = ITEM_SIZES[name]
        for n in shape:
            count *= n
        if count != length or any(n >= 1 << 63 for n in shape):
            raise DamagedError("an array's bytes are not those of its shape")
        return Record(state, (name, shape), {}, rest, changed, aliased, stdout, stderr, seconds)
    description = _description(text) if described else {}
    return Record(state, None, description, rest, changed, aliased, stdout, stderr, seconds)


def _description(text: bytes) -> Mapping[str, Any]:
    try:
        description = json.loads(text.decode("utf-8"))
        if b"\\u" in text:
            # Half a surrogate pair is text that no file and no database takes.
            whole = json.dumps(description, ensure_ascii=False).encode("utf-8", "replace")
            description = json.loads(whole)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"a record's description can't be read: {error}") from None
    if not isinstance(description, dict):
        raise DamagedError("a record's description is no mapping")
    return description


def text_of(value: Any, limit: int) -> str:
    """The value cut to ``limit`` characters when it is a text, else nothing."""
    return value[:limit] if isinstance(value, str) else ""


def _whole(value: Any, limit: int = 10**9) -> int:
    return value if type(value) is int and 0 <= value <= limit else 0


def read_failure(description: Mapping[str, Any]) -> Failure:
    """An exception's description with everything that is not of the right form left out."""
    frames = description.get("frames")
    bases = description.get("bases")
    kept = [
        (_whole(frame[0]), text_of(frame[1], 100))
        for frame in (frames[:40] if isinstance(frames, list) else [])
        if isinstance(frame, list) and len(frame) == 2
    ]
    return Failure(
        type=text_of(description.get("type"), 100) or "Exception",
        message=text_of(description.get("message"), 2_100),
        bases=tuple(text_of(b, 100) for b in bases[:10]) if isinstance(bases, list) else (),
        frames=tuple(kept),
        line=_whole(description.get("line")) or None,
    )


def read_failures(described: Any) -> tuple[tuple[int, Failure], ...]:
    """Cells that ended early, each by its first line and its exception; as `read_failure`."""
    rows = described[:MAX_FAILURES] if isinstance(described, list) else []
    return tuple([(_whole(row.get("first")), read_failure(row)) for row in rows if isinstance(row, Mapping)])


def read_value(record: Record) -> Value:
    """The answer in a record.

    Raises:
        DamagedError: The description is not of the form that an honest child writes.
    """
    if record.state == slots.TOO_LARGE and not record.description:
        return PlainValue("object", "...")
    if record.array is not None:
        return ArrayValue("array", *record.array, record.data)
    return _Reader(record.data).value(record.description, 0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.nodes = 0

    def value(self, node: Any, depth: int) -> Value:
        self.nodes += 1
        if not isinstance(node, Mapping) or depth > 50 or self.nodes > MAX_NODES:
            raise DamagedError("a value's description is not of the expected form")
        kind = node.get("kind")
        if kind in ("array", "tensor", "scalar"):
            return self._array(str(kind), node)
        if kind in ("list", "tuple", "dict"):
            items = node.get("items")
            if not isinstance(items, list):
                raise DamagedError("a container's items are missing")
            if kind == "dict":
                return Container(kind, tuple(self._pair(item, depth) for item in items))
            return Container(str(kind), tuple(self.value(item, depth + 1) for item in items))
        return self._plain(kind, node)

    def _pair(self, item: Any, depth: int) -> tuple[Value, Value]:
        if not isinstance(item, list) or len(item) != 2:
            raise DamagedError("a dictionary's item is no pair")
        return self.value(item[0], depth + 1), self.value(item[1], depth + 1)

    def _plain(self, kind: Any, node: Mapping[str, Any]) -> PlainValue:
        value = node.get("value")
        try:
            match kind:
                case "none":
                    return PlainValue("none")
                case "bool" if isinstance(value, bool):
                    return PlainValue("bool", value)
                case "int" if isinstance(value, str) and len(value) < 400:
                    return PlainValue("int", int(value))
                case "float" if isinstance(value, str):
                    return PlainValue("float", float.fromhex(value[:60]))
                case "complex" if isinstance(value, list) and len(value) == 2:
                    return PlainValue("complex", complex(*(float.fromhex(text_of(v, 60)) for v in value)))
                case "str" if isinstance(value, str):
                    return PlainValue("str", value[:MOST_LETTERS])
                case "object":
                    return PlainValue("object", text_of(node.get("type"), 200) or "object")
        except (ValueError, OverflowError):
            pass
        raise DamagedError("a value's description is not of the expected form")

    def _array(self, kind: str, node: Mapping[str, Any]) -> ArrayValue:
        dtype, shape, offset = node.get("dtype"), node.get("shape"), node.get("offset")
        if not isinstance(dtype, str) or not isinstance(shape, list) or len(shape) > MAX_DIMS:
            raise DamagedError("an array's description is not of the expected form")
        if not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
            raise DamagedError("an array's shape is not of the expected form")
        dims = tuple(shape)
        if offset is None or dtype not in ITEM_SIZES:
            return ArrayValue(kind, dtype[:60], dims, None)
        count = 1
        for n in dims:
            count *= n
        length = count * ITEM_SIZES[dtype]
        if type(offset) is not int or offset < 0 or offset + length > len(self.data):
            raise DamagedError("an array's bytes lie outside its record")
        return ArrayValue(kind, dtype, dims, self.data[offset : offset + length])


def bits(mask: int) -> frozenset[int]:
    """The numbers of the bits that are set."""
    return frozenset(n for n in range(64) if mask >> n & 1) if mask else NO_BITS
