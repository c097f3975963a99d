"""Whatever bytes a child leaves, reading them gives a value or says that they are damaged."""

from __future__ import annotations

import json
import math
import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.outcomes import ArrayValue, Container, DamagedError, Failure, PlainValue
from grader.sandbox.inside import slots, values
from grader.sandbox.records import MAX_NODES, Record, bits, read_failure, read_record, read_value

SLOT_SIZE = 4096


def mapping(count: int = 3) -> mmap.mmap:
    return mmap.mmap(-1, slots.total_size(slots.FIRST_STEP_SLOT + count, SLOT_SIZE))


def written(content: bytes, slot: int = slots.FIRST_STEP_SLOT) -> mmap.mmap:
    out = mapping()
    at, room = slots.position(slot, SLOT_SIZE)
    out[at : at + min(len(content), room)] = content[:room]
    return out


def record(description: Any, data: bytes = b"") -> Record:
    return Record(slots.DONE, description, data, 0, 0, 0, 0, 0.0)


def try_to_read(out: mmap.mmap, slot: int = slots.FIRST_STEP_SLOT) -> Any:
    """The value, None for no record, or the refusal; any other exception is a fault of the reader."""
    try:
        found = read_record(out, slot, SLOT_SIZE)
        if found is None:
            return None
        failure = read_failure(found.description)
        json.dumps([failure.type, failure.message, failure.frames, failure.bases, failure.line]).encode()
        return read_value(found)
    except DamagedError as error:
        return error


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


@given(st.binary(max_size=SLOT_SIZE))
def test_random_bytes_do_no_harm(content: bytes) -> None:
    assert_usable(try_to_read(written(content)))


headers = st.tuples(
    st.integers(0, 7),
    st.one_of(st.integers(0, 200), st.integers(0, 2**32 - 1)),
    st.one_of(st.integers(0, 200), st.integers(0, 2**64 - 1)),
    *[st.integers(0, 2**64 - 1)] * 2,
    *[st.integers(0, 2**32 - 1)] * 2,
    *[st.integers(0, 2**64 - 1)] * 2,
)


@given(headers, st.binary(max_size=300))
def test_hostile_headers_do_no_harm(header: tuple[Any, ...], rest: bytes) -> None:
    out = written(slots.HEADER.pack(*header) + rest)
    value = try_to_read(out)
    assert_usable(value)
    if header[0] and header[1] + header[2] > SLOT_SIZE - slots.HEADER.size:
        assert isinstance(value, DamagedError)


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
    text = json.dumps(description).encode()
    header = slots.HEADER.pack(slots.DONE, len(text), len(data), 0, 0, 0, 0, 0, 0)
    assert_usable(try_to_read(written(header + text + data)))


@given(nodes, st.integers(0, 400), st.binary(max_size=64))
def test_a_description_cut_anywhere_is_damaged(description: Any, cut: int, data: bytes) -> None:
    text = json.dumps(description).encode()
    cut = min(cut, len(text) - 1)
    header = slots.HEADER.pack(slots.DONE, cut, len(data), 0, 0, 0, 0, 0, 0)
    value = try_to_read(written(header + text[:cut] + data))
    assert isinstance(value, DamagedError)


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
    header = slots.HEADER.pack(slots.DONE, len(text), 0, 0, 0, 0, 0, 0, 0)
    if len(text) < SLOT_SIZE - slots.HEADER.size:
        assert_usable(try_to_read(written(header + text)))


@given(
    hnp.arrays(
        st.sampled_from(["f8", "f4", "f2", "i8", "u1", "?", "c16", ">f8"]),
        hnp.array_shapes(min_dims=0, min_side=0),
    )
)
def test_what_an_honest_child_writes_is_read_as_it_was(array: np.ndarray[Any, Any]) -> None:
    out = mmap.mmap(-1, slots.total_size(4, 1 << 16))
    writer = slots.Slots(out, 1 << 16)
    encoder = values.Encoder(writer.capacity)
    answer = [array, {"a": (1.5, None)}]
    writer.start(3, 0, 0)
    assert read_record(out, 3, 1 << 16) == Record(slots.STARTED, {}, b"", 0, 0, 0, 0, 0.0)
    writer.finish(3, slots.DONE, encoder.encode(answer), encoder.chunks, changed=5, aliased=2, cpu_ns=1500)
    found = read_record(out, 3, 1 << 16)
    assert found is not None and (found.changed, found.aliased, found.cpu_s) == (5, 2, 1.5e-6)
    value = read_value(found)
    assert isinstance(value, Container)
    first, second = value.items
    assert first.dtype == array.dtype.name and first.shape == array.shape
    assert first.array().tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert second.items == (
        (PlainValue("str", "a"), Container("tuple", (PlainValue("float", 1.5), PlainValue("none")))),
    )
    assert read_record(out, 2, 1 << 16) is None


@pytest.mark.parametrize("length", [SLOT_SIZE, 2**32, 2**64 - 1])
def test_a_record_that_reaches_beyond_its_slot_is_damaged(length: int) -> None:
    text = b'{"kind":"none"}'
    fits = slots.HEADER.pack(slots.DONE, len(text), 8, 0, 0, 0, 0, 0, 0)
    assert try_to_read(written(fits + text)) == PlainValue("none")
    beyond = slots.HEADER.pack(slots.DONE, len(text), length, 0, 0, 0, 0, 0, 0)
    assert isinstance(try_to_read(written(beyond + text)), DamagedError)


@given(st.integers(0, 2 * SLOT_SIZE), st.lists(st.integers(0, SLOT_SIZE), max_size=3))
def test_a_record_is_never_written_beyond_its_slot(described: int, lengths: list[int]) -> None:
    out = mapping()
    writer = slots.Slots(out, SLOT_SIZE)
    writer.start(3, 7, 7)
    at, _ = slots.position(3, SLOT_SIZE)
    before = out[:at], out[at + SLOT_SIZE :]
    writer.finish(3, slots.DONE, b" " * described, [b"x" * n for n in lengths])
    assert (out[:at], out[at + SLOT_SIZE :]) == before
    found = read_record(out, 3, SLOT_SIZE) if not described or described + sum(lengths) > SLOT_SIZE else None
    if found is not None and described + sum(lengths) > SLOT_SIZE:
        assert found.state == slots.TOO_LARGE and found.data == b""


def test_a_slot_that_was_never_begun_is_none() -> None:
    assert read_record(mapping(), slots.FIRST_STEP_SLOT, SLOT_SIZE) is None


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
    out = written(slots.HEADER.pack(slots.DONE, 0, 0, 0, 0, 0, 0, 2**64 - 1, 0))
    found = read_record(out, slots.FIRST_STEP_SLOT, SLOT_SIZE)
    assert found is not None and math.isfinite(found.cpu_s) and found.cpu_s <= 10**6
