"""What the reader in the child sees equals the arguments, each call in memory of its own."""

from __future__ import annotations

import mmap
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.calls import (
    ALIGNMENT,
    Argument,
    ArrayArgument,
    GeneratorArgument,
    LeafArgument,
    MappingArgument,
    PhaseBuilder,
    PlacedArray,
    PlainArgument,
    arrays_of,
    grouped,
    leaves,
    plain,
    read_plan,
    unplaced,
    value_of,
)
from grader.sandbox.inside.arguments import Calls, changed_arguments

LAYOUTS = ("c", "fortran", "strided")
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")

arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
        elements=hnp.from_dtype(np.dtype(dtype), allow_nan=False),
    )
)
array_arguments = st.builds(ArrayArgument, arrays, st.sampled_from(LAYOUTS), st.booleans())
scalars = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)
calls = st.lists(st.lists(array_arguments | scalars, max_size=3), max_size=4)


def built(all_calls: list[list[Argument]]) -> bytes:
    builder = PhaseBuilder()
    for arguments in all_calls:
        builder.add_call(arguments)
    assert len(builder) == len(all_calls)
    return builder.finish()


def mapped(block: bytes) -> mmap.mmap:
    mapping = mmap.mmap(-1, len(block))
    mapping[:] = block
    return mapping


def in_child(mapping: mmap.mmap) -> Calls:
    """The reader in the child; the block lies somewhere in a larger memory."""
    memory = mmap.mmap(-1, 4096 + len(mapping) + 100)
    memory[4096 : 4096 + len(mapping)] = mapping[:]
    return Calls(memory, 4096, len(mapping))


def arguments_in_child(mapping: mmap.mmap, number: int) -> list[Any]:
    read = in_child(mapping)
    return read.arguments(read.steps[number])[0]  # type: ignore[arg-type]


def same(got: Any, given_: Argument) -> None:
    if not isinstance(given_, ArrayArgument):
        assert got == given_
        assert type(got) is type(given_)
        return
    assert got.dtype == given_.array.dtype
    assert got.shape == given_.array.shape
    assert np.array_equal(got, given_.array)


@given(calls)
def test_the_child_sees_the_arguments_that_were_written(all_calls: list[list[Argument]]) -> None:
    mapping = mapped(built(all_calls))
    read = in_child(mapping)
    assert len(read.steps) == len(all_calls)
    for step, arguments in zip(read.steps, all_calls, strict=True):
        assert not isinstance(step, int)
        seen, watched = read.arguments(step)
        for got, argument in zip(seen, arguments, strict=True):
            same(got, argument)
            if isinstance(argument, ArrayArgument):
                assert got.flags.writeable is not argument.read_only
        assert changed_arguments(watched) == 0


@given(calls)
def test_the_judges_reader_sees_the_same(all_calls: list[list[Argument]]) -> None:
    block = built(all_calls)
    for step, arguments in zip(read_plan(block), all_calls, strict=True):
        assert not isinstance(step, int)
        for got, argument in zip(step, arguments, strict=True):
            if isinstance(got, PlacedArray):
                assert isinstance(argument, ArrayArgument)
                assert got.read_only == argument.read_only
                same(got.read(block), argument)
                assert not got.read(block).flags.writeable
            else:
                same(got, argument)


@given(calls)
def test_every_array_lies_aligned_in_memory_of_its_own(all_calls: list[list[Argument]]) -> None:
    block = built(all_calls)
    ranges = []
    for step in read_plan(block):
        assert not isinstance(step, int)
        for argument in step:
            if isinstance(argument, PlacedArray):
                assert argument.offset % ALIGNMENT == 0
                assert argument.length >= 1, "an empty array has an address of its own too"
                ranges.append((argument.offset, argument.offset + argument.length))
    plan_end = 8 + int.from_bytes(block[:8], "little")
    for (_, end), (start, _) in zip([(0, plan_end), *sorted(ranges)], sorted(ranges), strict=False):
        assert end <= start
    assert all(end <= len(block) for _, end in ranges)


@given(st.lists(array_arguments, min_size=1, max_size=3), st.data())
def test_writing_all_of_one_call_changes_no_other(
    arguments: list[ArrayArgument], data: st.DataObject
) -> None:
    mapping = mapped(built([list(arguments)] * 3))
    chosen = data.draw(st.integers(0, 2))
    for step in read_plan(bytes(mapping))[chosen]:  # type: ignore[union-attr]
        assert isinstance(step, PlacedArray)
        mapping[step.offset : step.offset + step.length] = b"\xaa" * step.length
    for number in {0, 1, 2} - {chosen}:
        for got, argument in zip(arguments_in_child(mapping, number), arguments, strict=True):
            same(got, argument)


@given(arrays, st.sampled_from(LAYOUTS))
def test_a_layout_is_the_one_asked_for_and_can_be_told_again(array: Any, layout: str) -> None:
    block = built([[ArrayArgument(array, layout)]])
    ((placed,),) = read_plan(block)  # type: ignore[misc]
    assert isinstance(placed, PlacedArray)
    seen = placed.read(block)
    if layout == "c":
        assert seen.flags.c_contiguous
    elif layout == "fortran":
        assert seen.flags.f_contiguous
    elif array.size > 1 and array.shape[-1] > 1:
        assert not seen.flags.c_contiguous and not seen.flags.f_contiguous
    # Laid out again by the name found, it lies in the same way.
    ((again,),) = read_plan(built([[ArrayArgument(array, placed.layout)]]))  # type: ignore[misc]
    assert isinstance(again, PlacedArray)
    if array.size:
        assert again.strides == placed.strides


@pytest.mark.parametrize("shape", [(2, 3), (2, 2), (3, 2), (1, 3), (3, 1), (5,), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("dtype", ["float64", "uint8"])
def test_fortran_order_is_not_taken_for_strided(shape: tuple[int, ...], dtype: str) -> None:
    ((placed,),) = read_plan(built([[ArrayArgument(np.ones(shape, dtype), "fortran")]]))  # type: ignore[misc]
    assert isinstance(placed, PlacedArray)
    assert placed.layout != "strided"


def test_a_second_look_names_its_step() -> None:
    builder = PhaseBuilder()
    first = builder.add_call([1])
    builder.add_call([2.5])
    assert builder.add_reread(first) == 2
    assert read_plan(builder.finish()) == [[1], [2.5], 0]


def test_a_change_of_shape_strides_or_dtype_is_told_by_argument() -> None:
    arguments: list[Argument] = [ArrayArgument(np.arange(6.0)), 3, ArrayArgument(np.ones((2, 3)), "fortran")]
    mapping = mapped(built([arguments]))
    read = in_child(mapping)
    seen, watched = read.arguments(read.steps[0])  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        seen[0].shape = (2, 3)
        assert changed_arguments(watched) == 0b001
        seen[0].shape = (6,)
        seen[2].dtype = np.int64
        assert changed_arguments(watched) == 0b100


@given(calls)
def test_the_same_calls_give_the_same_bytes(all_calls: list[list[Argument]]) -> None:
    assert built(all_calls) == built(all_calls)


def test_many_calls_keep_plan_and_arrays_apart() -> None:
    # The plan's own length decides the offsets that stand in it, around every multiple of the alignment.
    for count in range(40):
        all_calls: list[list[Argument]] = [[ArrayArgument(np.full(3, n)), n] for n in range(count)]
        mapping = mapped(built(all_calls))
        for number, arguments in enumerate(all_calls):
            for got, argument in zip(arguments_in_child(mapping, number), arguments, strict=True):
                same(got, argument)


@given(st.lists(array_arguments, min_size=1, max_size=3), st.data())
def test_an_answer_that_shares_memory_names_the_argument(
    arguments: list[ArrayArgument], data: st.DataObject
) -> None:
    read = in_child(mapped(built([list(arguments)] * 2)))
    chosen = data.draw(st.integers(0, len(arguments) - 1))
    call = read.steps[0]
    assert isinstance(call, list)
    array = read.arguments(call)[0][chosen]
    start = array.__array_interface__["data"][0]
    assert read.aliased(0, [(start, start + 1)]) == 1 << chosen
    assert read.aliased(1, [(start, start + 1)]) == 0, "another call's memory"
    elsewhere = np.ones(3).__array_interface__["data"][0]
    assert read.aliased(0, [(elsewhere, elsewhere + 24)]) == 0
    assert read.aliased(0, []) == 0


# --- lists, mappings, plain values and generators ------------------------------------------------

lists = st.builds(ArrayArgument, arrays, as_list=st.just(True))
texts = st.none() | st.booleans() | st.text(max_size=5)
plain_values = st.builds(
    PlainArgument, st.recursive(texts, lambda inner: st.lists(inner | scalars, max_size=3), max_leaves=5)
)
generators = st.builds(GeneratorArgument, st.integers(0, 2**48 - 1))
kept = array_arguments | lists | plain_values | generators | scalars
mappings = st.builds(
    lambda items: MappingArgument(tuple(items.items())),
    st.dictionaries(st.text(max_size=4), kept, max_size=3),
)
any_calls = st.lists(st.lists(kept | mappings, max_size=3), max_size=3)


def same_value(got: Any, wanted: Any) -> None:
    """What a function is given equals what was written, types included."""
    assert type(got) is type(wanted)
    if isinstance(wanted, np.ndarray):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape and np.array_equal(got, wanted)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key, item in wanted.items():
            same_value(got[key], item)
    elif isinstance(wanted, list):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same_value(one, other)
    else:
        assert got == wanted


def drawn(value: Any) -> Any:
    """The value with what each generator draws in its place."""
    if isinstance(value, np.random.Generator):
        return ["drawn", *value.integers(0, 2**32, 5).tolist()]
    return {key: drawn(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(any_calls)
def test_arguments_of_every_kind_arrive_as_they_were_written(all_calls: list[list[Argument]]) -> None:
    read = in_child(mapped(built(all_calls)))
    for step, arguments in zip(read.steps, all_calls, strict=True):
        assert not isinstance(step, int)
        seen, watched = read.arguments(step)
        assert changed_arguments(watched) == 0
        assert len(seen) == len(arguments)
        for got, argument in zip(seen, arguments, strict=True):
            same_value(drawn(got), drawn(plain(argument)))
        # A generator that was used is none that was changed.
        assert changed_arguments(watched) == 0


@given(any_calls)
def test_arguments_of_every_kind_can_be_read_back_by_the_judge(all_calls: list[list[Argument]]) -> None:
    block = built(all_calls)
    plan = read_plan(block)
    for step, arguments in zip(plan, all_calls, strict=True):
        assert not isinstance(step, int)
        for placed, argument in zip(step, arguments, strict=True):
            if isinstance(argument, GeneratorArgument):
                assert value_of(placed, block) == argument
            elif not isinstance(argument, MappingArgument):
                same_value(value_of(placed, block), plain(argument))
            else:
                assert list(value_of(placed, block)) == [key for key, _ in argument.items]
        for array in arrays_of(step):
            assert not array.read(block).flags.writeable
    # Laid out once more it is the same block.
    again = PhaseBuilder()
    for step in plan:
        assert not isinstance(step, int)
        again.add_call([unplaced(placed, block) for placed in step], step.call)
    if all_calls:
        assert [plain_texts(s, again.finish()) for s in read_plan(again.finish())] == [
            plain_texts(s, block) for s in plan
        ]


def plain_texts(step: Any, block: bytes) -> list[str]:
    return [repr(value_of(placed, block)) for placed in step]


@given(st.lists(st.sampled_from(["", "f", "g", "draw"]), min_size=1, max_size=6), st.data())
def test_each_step_tells_which_call_it_is(names: list[str], data: st.DataObject) -> None:
    builder = PhaseBuilder()
    for number, name in enumerate(names):
        builder.add_call([number], name)
    looked = data.draw(st.integers(0, len(names) - 1))
    builder.add_reread(looked)
    block = builder.finish()
    plan = read_plan(block)
    assert [step.call for step in plan[:-1]] == names and plan[-1] == looked  # type: ignore[union-attr]
    assert in_child(mapped(block)).names == [*names, names[looked]]


def test_calls_of_one_name_alone_make_the_same_block_as_without() -> None:
    """What was made for an exercise with one call is as it was."""
    assert b"calls" not in built([[1], [2.5]])


slot_names = st.sampled_from(["x", "y", "w.a", "w.b", "v.a"])


@given(st.dictionaries(slot_names, scalars | plain_values))
def test_slots_are_grouped_by_argument_and_told_again(slots: dict[str, LeafArgument]) -> None:
    # Items of one mapping stand together, as the exercise's parameters do.
    names = list(dict.fromkeys(name.partition(".")[0] for name in slots))
    ordered = {s: slots[s] for name in names for s in slots if s.partition(".")[0] == name}
    call = grouped(ordered)
    assert len(call) == len(names)
    assert leaves(call) == list(ordered.values())
    for name, argument in zip(names, call, strict=True):
        keys = [s.partition(".")[2] for s in ordered if s.startswith(f"{name}.")]
        assert (
            [key for key, _ in argument.items] == keys if isinstance(argument, MappingArgument) else not keys
        )


@given(st.lists(lists | mappings, min_size=1, max_size=3), st.data())
def test_what_is_made_anew_for_a_call_is_that_calls_alone(
    arguments: list[Argument], data: st.DataObject
) -> None:
    read = in_child(mapped(built([arguments] * 2)))
    (first, _), (second, watched) = (read.arguments(step) for step in read.steps)  # type: ignore[arg-type]
    chosen = data.draw(st.integers(0, len(arguments) - 1))
    if isinstance(first[chosen], list):
        first[chosen].append(1)
    elif isinstance(first[chosen], dict):
        first[chosen].clear()
        first[chosen]["other"] = 1
    for got, argument in zip(second, arguments, strict=True):
        same_value(drawn(got), drawn(plain(argument)))
    assert changed_arguments(watched) == 0


WRITES: dict[str, Any] = {
    "append": lambda a: a[1].append(3.0),
    "item of a list": lambda a: a[1].__setitem__(0, 9.0),
    "inner item": lambda a: a[2][0].__setitem__(0, 9.0),
    "sorted": lambda a: a[1].sort(),
    "a whole number for a float": lambda a: a[1].__setitem__(0, 5),
    "plain list": lambda a: a[3].append("c"),
    "new key": lambda a: a[4].__setitem__("c", 1),
    "key taken out": lambda a: a[4].pop("a"),
    "another array": lambda a: a[4].__setitem__("a", a[4]["a"].copy()),
    "another number": lambda a: a[4].__setitem__("n", 8),
    "list in a mapping": lambda a: a[4]["l"].append(1.0),
    "shape in a mapping": lambda a: setattr(a[4]["a"], "shape", (2,)),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_done_to_lists_and_mappings_is_told_by_argument(name: str) -> None:
    items: Any = (
        ("a", ArrayArgument(np.ones((2, 1)))),
        ("n", 7),
        ("l", ArrayArgument(np.zeros(2), as_list=True)),
        ("t", PlainArgument("text")),
    )
    arguments: list[Argument] = [
        ArrayArgument(np.ones(2)),
        ArrayArgument(np.array([5.0, 4.0]), as_list=True),
        ArrayArgument(np.zeros((2, 2)), as_list=True),
        PlainArgument(["a", "b"]),
        MappingArgument(items),
        GeneratorArgument(3),
    ]
    read = in_child(mapped(built([arguments])))
    seen, watched = read.arguments(read.steps[0])  # type: ignore[arg-type]
    assert changed_arguments(watched) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        WRITES[name](seen)
    place = {"inner item": 2, "plain list": 3}.get(name, 4 if "mapping" in name or "key" in name else 1)
    place = 4 if name.startswith("another") else place
    assert changed_arguments(watched) == 1 << place


def test_an_answer_that_shares_memory_with_an_item_names_its_mapping() -> None:
    items: Any = (("a", ArrayArgument(np.ones(3))), ("n", 1), ("l", ArrayArgument(np.ones(2), as_list=True)))
    arguments: list[Argument] = [3, MappingArgument(items), ArrayArgument(np.ones(2), as_list=True)]
    read = in_child(mapped(built([arguments])))
    seen, _ = read.arguments(read.steps[0])  # type: ignore[arg-type]
    start = seen[1]["a"].__array_interface__["data"][0]
    assert read.aliased(0, [(start + 8, start + 16)]) == 0b010
    own = np.array(seen[2]).__array_interface__["data"][0]
    assert read.aliased(0, [(own, own + 16)]) == 0
