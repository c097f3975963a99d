"""Whatever bytes a child leaves, reading them gives a value or says that they are damaged."""

from __future__ import annotations

import itertools
import json
import math
import mmap
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.outcomes import ArrayValue, Container, DamagedError, Failure, PlainValue
from grader.sandbox.inside import slots, values
from grader.sandbox.layout import Layout
from grader.sandbox.records import (
    MAX_NODES,
    Fields,
    Record,
    bits,
    read_content,
    read_failure,
    read_record,
    read_table,
    read_value,
)

STEPS = 3
LAYOUT = Layout(source=0, blocks=[], steps=STEPS, answer=1024, answers=3 * 1024, output=256)
DATA, DATA_SIZE = LAYOUT.data
ROOM = LAYOUT.room
STEP = slots.FIRST_STEP


class PlainMemory:
    """Memory that is shared with no one."""

    def __init__(self, size: int = LAYOUT.size) -> None:
        self.size = size
        self.map = mmap.mmap(-1, size)

    def read(self, at: int, length: int) -> bytes:
        return self.map[at : at + length]

    def write(self, at: int, data: bytes) -> None:
        self.map[at : at + len(data)] = data

    def close(self) -> None:
        self.map.close()


def entry(
    *,
    state: int = slots.DONE,
    kind: int = slots.DESCRIBED,
    dtype: int = 0,
    ndim: int = 0,
    at: int = DATA,
    described: int = 0,
    length: int = 0,
    cpu_ns: int = 0,
    shape: tuple[int, ...] = (0, 0, 0, 0),
) -> bytes:
    """A record as it stands in the table."""
    return slots.RECORD.pack(
        state, kind, dtype, ndim, at, described, length, 0, 0, 0, 0, cpu_ns, *(*shape, 0, 0, 0, 0)[:4]
    )


def written(table: bytes, data: bytes = b"") -> PlainMemory:
    """Memory with an entry (or more) of the table from the first step on, and with data."""
    memory = PlainMemory()
    memory.write(slots.FIRST + STEP * slots.RECORD.size, table)
    memory.write(DATA, data)
    return memory


def described(description: bytes, data: bytes = b"") -> PlainMemory:
    """Memory with one record that has a description and data."""
    return written(entry(described=len(description), length=len(data)), description + data)


def find(memory: PlainMemory, number: int = STEP) -> Record | None:
    table = read_table(memory, number, 1)
    return read_record(read_content(memory, table, LAYOUT.data), table[0], ROOM)


def record(description: Any, data: bytes = b"") -> Record:
    return Record(slots.DONE, None, description, data, 0, 0, 0, 0, 0.0)


def value_of(memory: PlainMemory, fields: Fields) -> Any:
    """The value, None for no record, or the refusal; any other exception is a fault of the reader."""
    try:
        found = read_record(read_content(memory, [fields], LAYOUT.data), fields, ROOM)
        if found is None:
            return None
        failure = read_failure(found.description)
        json.dumps([failure.type, failure.message, failure.frames, failure.bases, failure.line]).encode()
        return read_value(found)
    except DamagedError as error:
        return error


def try_to_read(memory: PlainMemory, number: int = STEP) -> Any:
    """The same of one record."""
    return value_of(memory, read_table(memory, number, 1)[0])


def assert_usable(value: Any) -> None:
    if isinstance(value, ArrayValue):
        assert all(n >= 0 for n in value.shape)
        if value.data is not None:
            assert value.array().nbytes == len(value.data)
    elif isinstance(value, Container):
        for item in value.items:
            for part in item if isinstance(item, tuple) else (item,):
                assert_usable(part)
    elif isinstance(value, PlainValue):
        str(value.value).encode()
    else:
        assert value is None or isinstance(value, DamagedError)


@given(st.binary(max_size=STEPS * slots.RECORD.size), st.binary(max_size=300))
def test_random_bytes_do_no_harm(table: bytes, data: bytes) -> None:
    memory = written(table, data)
    for number in range(LAYOUT.count):
        assert_usable(try_to_read(memory, number))


# Numbers near the limits of what may be there are likelier than others.
near = st.one_of(
    st.integers(0, 300),
    st.integers(DATA - 8, DATA + 300),
    st.integers(DATA + DATA_SIZE - 64, DATA + DATA_SIZE + 64),
    st.integers(ROOM - 8, ROOM + 8),
    st.integers(2**63 - 2, 2**64 - 1),
    st.integers(0, 2**64 - 1),
)
dims = st.one_of(st.integers(0, 6), st.integers(2**31, 2**64 - 1), st.sampled_from([2**32, 2**62, 2**63]))
entries = st.tuples(
    st.integers(0, 7),
    st.integers(0, 3),
    st.integers(0, 5) | st.integers(0, 255),
    st.integers(0, 6) | st.integers(0, 255),
    *[near] * 2,
    near | st.sampled_from([8, 16, 24, 32, 48, 64]),
    *[st.integers(0, 2**64 - 1)] * 2,
    *[st.integers(0, 2**32 - 1)] * 2,
    st.integers(0, 2**64 - 1),
    *[dims] * 4,
)


def pack(fields: tuple[int, ...]) -> bytes:
    """Any numbers as an entry, cut to the widths of the table."""
    widths = {"B": 8, "Q": 64, "I": 32}
    formats = re.sub(r"(\d)Q", lambda m: "Q" * int(m[1]), slots.RECORD.format.lstrip("<").replace("x", ""))
    assert len(formats) == len(fields)
    return slots.RECORD.pack(*(n % (1 << widths[f]) for n, f in zip(fields, formats, strict=True)))


@settings(max_examples=200)
@given(entries, st.binary(max_size=300))
def test_hostile_entries_do_no_harm(fields: tuple[int, ...], data: bytes) -> None:
    memory = written(pack(fields), data)
    value = try_to_read(memory)
    assert_usable(value)
    (found,) = read_table(memory, STEP, 1)
    state, _kind, _dtype, _ndim, at, text, length = found[:7]
    if state > slots.STARTED and not DATA <= at <= at + text + length <= DATA + DATA_SIZE:
        assert isinstance(value, DamagedError)
    if state > slots.STARTED and text + length > ROOM:
        assert isinstance(value, DamagedError)


@settings(max_examples=200)
@given(
    st.integers(0, 3),
    st.integers(0, 5),
    st.lists(st.integers(0, 4) | st.sampled_from([2**32, 2**62, 2**63, 2**64 - 1]), min_size=4, max_size=4),
    st.integers(-8, 8),
)
def test_an_array_never_has_other_bytes_than_those_of_its_shape(
    dtype: int, ndim: int, shape: list[int], more: int
) -> None:
    """Also not where the product of its dimensions is as long as the data in 64 bits."""
    size = (8, 4, 8, 8)[dtype]
    for n in shape[: min(ndim, 4)]:
        size *= n
    length = (size + more) % (1 << 64)
    memory = written(
        entry(kind=slots.ARRAY, dtype=dtype, ndim=ndim, length=length, shape=tuple(shape)), bytes(4096)
    )
    value = try_to_read(memory)
    right = dtype < 3 and ndim <= 4 and length == size <= ROOM and max([0, *shape[:ndim]]) < 1 << 63
    assert isinstance(value, ArrayValue) == right
    if isinstance(value, ArrayValue):
        assert value.kind == "array" and value.dtype == slots.DTYPES[dtype]
        assert value.shape == tuple(shape[:ndim]) and value.data == bytes(size)
    else:
        assert isinstance(value, DamagedError)


@given(st.integers(0, LAYOUT.size + 64), st.integers(1, 64))
def test_no_record_reaches_what_lies_beside_the_answers(at: int, length: int) -> None:
    memory = PlainMemory()
    memory.write(0, b"\x01" * LAYOUT.size)
    memory.write(slots.FIRST + STEP * slots.RECORD.size, entry(at=at, length=length))
    found = value_of(memory, read_table(memory, STEP, 1)[0])
    if at >= DATA and at + length <= DATA + DATA_SIZE:
        # Nothing is described there, which is no answer of an honest child.
        assert isinstance(found, DamagedError) and "longer than its room" not in str(found)
    else:
        assert isinstance(found, DamagedError) and "longer than its room" in str(found)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=12)
    | st.sampled_from(["array", "list", "dict", "scalar", "float64", "complex128", "int", "0x1p9999", "-"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["kind", "items", "value", "dtype", "shape", "offset", "x"]), inner)
    ),
    max_leaves=25,
)
arrays = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["array", "tensor", "scalar"]),
        "dtype": st.sampled_from(["float64", "bool", "float16", "object", "O", "float128", ">f8", "V8"])
        | json_values,
        "shape": st.lists(st.integers(-2, 4) | st.integers(2**31, 2**66) | json_values, max_size=4),
    },
    optional={"offset": st.integers(-8, 64) | json_values},
)
nodes = st.recursive(
    arrays | st.fixed_dictionaries({"kind": st.sampled_from(["int", "float", "complex", "str", "object"])}),
    lambda inner: st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["list", "tuple", "dict"]),
            "items": st.lists(inner | json_values, max_size=4),
        }
    ),
    max_leaves=6,
)


@given(nodes | json_values, st.binary(max_size=64))
def test_hostile_descriptions_do_no_harm(description: Any, data: bytes) -> None:
    assert_usable(try_to_read(described(json.dumps(description).encode(), data)))


@given(nodes, st.integers(1, 400), st.binary(max_size=64))
def test_a_description_cut_anywhere_is_damaged(description: Any, cut: int, data: bytes) -> None:
    text = json.dumps(description).encode()
    cut = min(cut, len(text) - 1)
    assert isinstance(try_to_read(described(text[:cut], data)), DamagedError)


@pytest.mark.parametrize("depth", [10, 100, 900, 950, 980, 990, 1000, 1500])
@pytest.mark.parametrize(
    "around",
    [
        '{"kind":"complex","value":[%s,0]}',
        '{"kind":%s}',
        '{"kind":"object","type":%s}',
        '{"kind":"array","dtype":%s,"shape":[]}',
        '{"kind":"list","items":%s}',
        '{"type":%s,"message":%s}',
        '{"frames":[[1,%s]],"bases":[%s],"line":%s}',
        '{"kind":"str","value":"\\ud800","x":%s}',
    ],
)
def test_deep_nesting_does_no_harm(depth: int, around: str) -> None:
    text = around.replace("%s", "[" * depth + "]" * depth).encode()
    if len(text) < ROOM:
        assert_usable(try_to_read(described(text)))


@given(
    hnp.arrays(
        st.sampled_from(["f8", "f4", "f2", "i8", "u1", "?", "c16", ">f8"]),
        hnp.array_shapes(min_dims=0, min_side=0),
    )
)
def test_what_an_honest_child_writes_is_read_as_it_was(array: np.ndarray[Any, Any]) -> None:
    memory = PlainMemory()
    writer = slots.Slots(memory.map, DATA, ROOM, DATA + DATA_SIZE)
    encoder = values.Encoder(ROOM)
    answer = [array, {"a": (1.5, None)}]
    writer.start(3, 4, 5)
    assert find(memory, 3) == Record(slots.STARTED, None, {}, b"", 0, 0, 4, 5, 0.0)
    assert slots.PROGRESS.unpack(memory.read(0, slots.PROGRESS.size)) == (3, 0)
    writer.finish(
        3, slots.DONE, encoder.encode(answer), encoder.chunks, changed=5, aliased=2, begin=(4, 5), cpu_ns=1500
    )
    found = find(memory, 3)
    assert found is not None and (found.changed, found.aliased, found.cpu_s) == (5, 2, 1.5e-6)
    assert (found.stdout, found.stderr) == (4, 5)
    value = read_value(found)
    assert isinstance(value, Container)
    first, second = value.items
    assert first.dtype == array.dtype.name and first.shape == array.shape
    assert first.array().tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert second.items == (
        (PlainValue("str", "a"), Container("tuple", (PlainValue("float", 1.5), PlainValue("none")))),
    )
    assert find(memory, 2) is None


@given(
    st.lists(
        hnp.arrays(
            st.sampled_from(slots.DTYPES),
            hnp.array_shapes(min_dims=0, max_dims=slots.MAX_DIMS, min_side=0, max_side=5),
        ),
        min_size=1,
        max_size=STEPS,
    )
)
def test_arrays_without_a_description_are_read_as_they_were(arrays: list[np.ndarray[Any, Any]]) -> None:
    memory = PlainMemory()
    writer = slots.Slots(memory.map, DATA, ROOM, DATA + DATA_SIZE)
    fitted = [
        writer.array(
            STEP + n, slots.DTYPES.index(a.dtype.name), a.shape, a.tobytes(), n, (2 * n, 3 * n), 10**9
        )
        for n, a in enumerate(arrays)
    ]
    assert fitted == [a.nbytes <= ROOM for a in arrays]
    for n, array in enumerate(arrays):
        found = find(memory, STEP + n)
        if not fitted[n]:
            assert found is None
            continue
        assert found is not None and found.state == slots.DONE and found.cpu_s == 1.0
        assert (found.changed, found.aliased, found.stdout, found.stderr) == (n, 0, 2 * n, 3 * n)
        value = read_value(found)
        assert value == ArrayValue("array", array.dtype.name, array.shape, array.tobytes())


@pytest.mark.parametrize("length", [ROOM, 2**32, 2**64 - 1])
def test_a_record_that_reaches_beyond_its_room_is_damaged(length: int) -> None:
    text = b'{"kind":"none"}'
    assert try_to_read(written(entry(described=len(text), length=8), text)) == PlainValue("none")
    beyond = written(entry(described=len(text), length=length), text)
    assert isinstance(try_to_read(beyond), DamagedError)


def test_an_array_is_refused_at_every_limit() -> None:
    right = {"kind": slots.ARRAY, "dtype": 1, "ndim": 2, "length": 24, "shape": (2, 3)}
    value = try_to_read(written(entry(**right)))  # type: ignore[arg-type]
    assert value == ArrayValue("array", "float32", (2, 3), bytes(24))
    for wrong in (
        {"dtype": len(slots.DTYPES)},
        {"dtype": 255},
        {"ndim": slots.MAX_DIMS + 1},
        {"ndim": 255},
        {"length": 20},
        {"length": 28},
        {"ndim": 1},
        {"shape": (2, 4)},
        {"shape": (2**63, 0), "length": 0},
        {"at": DATA - 1},
        {"at": DATA + DATA_SIZE - 23},
        {"at": 2**64 - 24},
        {"described": ROOM - 23},
    ):
        assert isinstance(try_to_read(written(entry(**right | wrong))), DamagedError), wrong  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 2 * ROOM), st.lists(st.integers(0, ROOM), max_size=3)), max_size=6))
def test_records_are_written_behind_each_other_and_never_beyond_their_room(
    wanted: list[tuple[int, list[int]]],
) -> None:
    memory = PlainMemory()
    writer = slots.Slots(memory.map, DATA, ROOM, DATA + DATA_SIZE)
    beside = memory.read(DATA + DATA_SIZE, LAYOUT.size), memory.read(slots.table_size(LAYOUT.count), 8)
    spans: list[tuple[int, int]] = []
    for text, lengths in wanted:
        number = len(spans) % LAYOUT.count
        writer.start(number, 7, 7)
        writer.finish(number, slots.DONE, b" " * text, [b"x" * n for n in lengths])
        state, _kind, _dtype, _ndim, at, long, length = read_table(memory, number, 1)[0][:7]
        assert long + length <= ROOM and at >= DATA and at + long + length <= DATA + DATA_SIZE
        assert (state == slots.DONE) == ((long, length) == (text, sum(lengths)))
        if state == slots.TOO_LARGE:
            found = find(memory, number)
            assert found is not None and found.data == b""
            assert read_value(found) == PlainValue("object", "...")
        spans.append((at, at + long + length))
    for (_, end), (at, _) in itertools.pairwise(spans):
        assert end == at
    assert beside == (
        memory.read(DATA + DATA_SIZE, LAYOUT.size),
        memory.read(slots.table_size(LAYOUT.count), 8),
    )


def test_every_step_has_its_whole_room_even_when_the_others_used_theirs() -> None:
    memory = PlainMemory()
    writer = slots.Slots(memory.map, DATA, ROOM, DATA + DATA_SIZE)
    for number in range(LAYOUT.count):
        writer.start(number, 0, 0)
        writer.finish(number, slots.DONE, b"{}", [bytes([number]) * (ROOM - 2)])
    for number in range(LAYOUT.count):
        found = find(memory, number)
        assert found is not None and found.state == slots.DONE
        assert found.data == bytes([number]) * (ROOM - 2)


def test_nothing_is_written_beyond_the_answers_when_all_their_room_is_used() -> None:
    memory = PlainMemory()
    writer = slots.Slots(memory.map, DATA, ROOM, DATA + DATA_SIZE)
    for number in range(DATA_SIZE // ROOM):
        writer.finish(number % LAYOUT.count, slots.DONE, b"{}", [b"x" * (ROOM - 2)])
    for _ in range(ROOM // 100 + 40):
        # As a record does that is written again and again.
        writer.finish(slots.FINDINGS, slots.DONE, b"{}", [b"x" * 100])
        assert memory.read(DATA + DATA_SIZE, LAYOUT.size) == bytes(LAYOUT.size - DATA - DATA_SIZE)
    found = find(memory, slots.FINDINGS)
    assert found is not None and found.state == slots.TOO_LARGE and found.data == b""


def test_a_step_that_was_never_begun_is_none() -> None:
    assert find(PlainMemory()) is None


@pytest.mark.parametrize(
    "node",
    [
        {"kind": "array", "dtype": "float64", "shape": [2], "offset": 0},
        {"kind": "array", "dtype": "float64", "shape": [1], "offset": 1},
        {"kind": "array", "dtype": "float64", "shape": [1], "offset": -8},
        {"kind": "array", "dtype": "float64", "shape": [1], "offset": True},
        {"kind": "array", "dtype": "float64", "shape": [1], "offset": 0.0},
        {"kind": "array", "dtype": "float64", "shape": [-1], "offset": 0},
        {"kind": "array", "dtype": "float64", "shape": [True], "offset": 0},
        {"kind": "array", "dtype": "float64", "shape": [2**63], "offset": 0},
        {"kind": "array", "dtype": "float64", "shape": [2**62, 2**62], "offset": 0},
        {"kind": "array", "dtype": "float64", "shape": [1] * 65, "offset": 0},
        {"kind": "array", "dtype": "float64", "shape": "1", "offset": 0},
        {"kind": "array", "shape": [1], "offset": 0},
        {"kind": "list"},
        {"kind": "dict", "items": [[1]]},
        {"kind": "int", "value": "1" * 400},
        {"kind": "int", "value": "a"},
        {"kind": "float", "value": "0x1p99999"},
        {"kind": "nonsense"},
        {},
    ],
)
def test_a_description_that_no_honest_child_writes_is_damaged(node: Any) -> None:
    with pytest.raises(DamagedError):
        read_value(record(node, b"\0" * 8))


def test_too_many_values_are_damaged() -> None:
    many = {"kind": "list", "items": [{"kind": "none"}] * MAX_NODES}
    with pytest.raises(DamagedError):
        read_value(record(many))


def test_an_array_is_not_built_before_someone_asks() -> None:
    huge = {"kind": "array", "dtype": "float64", "shape": [2**62, 0], "offset": 0}
    assert read_value(record(huge)) == ArrayValue("array", "float64", (2**62, 0), b"")
    unsent = read_value(record({"kind": "array", "dtype": "float64", "shape": [2**40, 2**40]}))
    assert isinstance(unsent, ArrayValue)
    with pytest.raises(DamagedError):
        unsent.array()


def test_a_failure_keeps_only_what_has_the_right_form() -> None:
    said = {
        "type": 3,
        "message": "m" * 10_000,
        "bases": ["A", 4, "B" * 500],
        "frames": [[3, "f"], [-1, "g"], [True, 5], "x", [1], [2**70, "h"]],
        "line": -4,
    }
    assert read_failure(said) == Failure(
        "Exception", "m" * 2_100, ("A", "", "B" * 100), ((3, "f"), (0, "g"), (0, ""), (0, "h")), None
    )


def test_bits_are_numbers() -> None:
    assert bits(0b1011) == {0, 1, 3} and bits(0) == frozenset() and bits(2**64 - 1) == set(range(64))


def test_a_reported_time_is_finite() -> None:
    found = find(written(entry(cpu_ns=2**64 - 1)))
    assert found is not None and math.isfinite(found.cpu_s) and found.cpu_s <= 10**6


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**64 - 1), st.integers(0, 2**20)), max_size=6))
def test_other_entries_decide_nothing_about_one(others: list[tuple[int, int, int]]) -> None:
    """However the entries beside it lie, what one points at is read the same."""
    memory = described(b'{"kind":"int","value":"7"}')
    honest = read_table(memory, STEP, 1)
    table = [*honest, *[(state, 0, 0, 0, at, 0, length, *[0] * 9) for state, at, length in others]]
    content = read_content(memory, table, LAYOUT.data)
    assert len(content.data) <= LAYOUT.data[1]
    found = read_record(content, honest[0], ROOM)
    assert found is not None and read_value(found) == PlainValue("int", 7)
