"""What is run after a failure goes through a file unchanged, and a part of it holds the same calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.exercise.calls import ArrayArgument, PhaseBuilder, PlacedArray, read_plan
from grader.exercise.fingerprints import of_array
from grader.exercise.follow_up import Example, FollowUp, from_tensors, to_tensors
from grader.exercise.influence import InfluenceMap
from grader.exercise.pack import Pack


def as_bytes(tensors: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in tensors.items()}


def same(one: FollowUp, other: FollowUp) -> None:
    assert (one.block, one.influence, len(one.examples)) == (
        other.block,
        other.influence,
        len(other.examples),
    )
    for mine, theirs in zip(one.examples, other.examples, strict=True):
        assert replace(mine, wrong=None) == replace(theirs, wrong=None)
        assert (mine.wrong is None) == (theirs.wrong is None)
        if mine.wrong is not None and theirs.wrong is not None:
            assert mine.wrong.kind == theirs.wrong.kind and mine.wrong.scale == theirs.wrong.scale
            assert np.array_equal(mine.wrong.values, theirs.wrong.values)


def follow_up(stepped: Pack) -> FollowUp:
    assert stepped.follow_up is not None
    return stepped.follow_up


numbers = st.floats(allow_nan=False, allow_infinity=False)
shapes = st.sampled_from([(0, 2), (1, 1), (2, 3), (3,)])


@st.composite
def examples(draw: st.DrawFn) -> Example:
    shape = draw(shapes)
    size = int(np.prod(shape))
    expected = draw(st.lists(numbers, min_size=size, max_size=size))
    named = draw(st.booleans())
    return Example(
        misconception=draw(st.text(min_size=1, max_size=5)) if named else "",
        clause=draw(st.text(max_size=5)),
        title=draw(st.text(max_size=5)),
        dims=draw(st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3)),
        numbers=draw(st.integers(0, 99)),
        shape=shape,
        expected=tuple(expected),
        wrong=of_array(np.array(draw(st.lists(numbers, max_size=4)))) if named else None,
        part=draw(st.none() | st.fixed_dictionaries({"step": st.text(), "expected": st.lists(numbers)})),
    )


maps = st.none() | st.just(InfluenceMap("x", (2,), ("N",), ((0,), (1,)), ("10", "01")))


@given(st.binary(max_size=50), maps, st.lists(examples(), max_size=3))
def test_what_is_written_is_read(block: bytes, influence: InfluenceMap | None, found: list[Example]) -> None:
    whole = FollowUp(block, influence, tuple(found))
    same(from_tensors(as_bytes(to_tensors(whole))), whole)


def test_the_exercises_own_goes_through_its_pack(stepped: Pack) -> None:
    whole = follow_up(stepped)
    assert whole.influence is not None and len(whole.examples) > 10
    same(from_tensors(as_bytes(to_tensors(whole))), whole)
    assert as_bytes(to_tensors(whole)) == dict(stepped.follow_data)


def test_an_answer_has_its_shape() -> None:
    example = Example("", "", "", {}, 0, (2, 3), (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), None, None)
    assert np.array_equal(example.answer(), np.arange(6.0).reshape(2, 3))
    assert replace(example, shape=(0, 4), expected=()).answer().shape == (0, 4)


def test_the_calls_of_examples_come_after_the_maps(stepped: Pack) -> None:
    whole = follow_up(stepped)
    assert whole.influence is not None
    assert len(whole.plan) == whole.influence.calls + len(whole.examples)
    for number, example in enumerate(whole.examples):
        assert whole.step(number) == whole.influence.calls + number
        x, w, factor = whole.arguments(number)
        dims = {"N": x.shape[0], "D": x.shape[1], "K": w.shape[1], "factor": factor}
        assert dims == dict(example.dims)
        assert example.numbers == x.size + w.size + 1
    assert [FollowUp(whole.block, None, whole.examples).step(n) for n in (0, 3)] == [0, 3]


@given(st.data())
def test_a_part_holds_the_map_and_the_chosen_examples(stepped: Pack, data: st.DataObject) -> None:
    whole = follow_up(stepped)
    assert whole.influence is not None
    chosen = data.draw(st.lists(st.integers(0, len(whole.examples) - 1), unique=True))
    block = whole.part(chosen)
    plan = read_plan(block)
    old = [*range(whole.influence.calls), *(whole.step(n) for n in chosen)]
    assert len(plan) == len(old)
    for mine, step in zip(plan, old, strict=True):
        theirs = whole.plan[step]
        assert isinstance(mine, list) and isinstance(theirs, list)
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(a, PlacedArray) and isinstance(b, PlacedArray):
                assert (a.dtype, a.shape, a.strides, a.read_only) == (
                    b.dtype,
                    b.shape,
                    b.strides,
                    b.read_only,
                )
                assert a.read(block).tobytes() == b.read(whole.block).tobytes()
            else:
                assert a == b


def test_layouts_and_flags_are_kept_in_a_part() -> None:
    builder = PhaseBuilder()
    array = np.arange(6.0).reshape(2, 3)
    builder.add_call([ArrayArgument(array, "fortran", True), 1.5])
    builder.add_call([ArrayArgument(array.astype(np.float32), "strided"), 2])
    example = Example("", "", "", {}, 6, (1,), (0.0,), None, None)
    whole = FollowUp(builder.finish(), None, (example, example))
    (placed,) = read_plan(whole.part([1]))
    assert isinstance(placed, list) and isinstance(placed[0], PlacedArray)
    assert (placed[0].layout, placed[0].read_only, placed[1]) == ("strided", False, 2)
    assert whole.part([0, 1]) == whole.block


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "garbled": lambda data: data[:10] + bytes(b ^ 0xFF for b in data[10:20]) + data[20:],
    "other": lambda data: b"no bytes of zlib",
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("name", ["meta", "block"])
def test_a_damaged_tensor_is_told(stepped: Pack, name: str, kind: str) -> None:
    data = {**stepped.follow_data, name: DAMAGE[kind](stepped.follow_data[name])}
    with pytest.raises(GraderError, match=r"the pack is damaged \(.*\); make it anew with grader pack"):
        replace(stepped, follow_data=data).follow_up


@pytest.mark.parametrize("name", ["meta", "block"])
def test_a_missing_tensor_is_told(stepped: Pack, name: str) -> None:
    data = {n: d for n, d in stepped.follow_data.items() if n != name}
    with pytest.raises(GraderError, match="the pack is damaged"):
        replace(stepped, follow_data=data).follow_up


def test_an_exercise_without_examples_and_map_has_nothing_to_run(pack: Pack, stepped: Pack) -> None:
    found: Any = replace(stepped, follow_data={}).follow_up
    assert found is None
    # An exercise that is not built from steps still has small inputs to show an unknown mistake on.
    plain = pack.follow_up
    assert plain is not None and plain.influence is None
    assert all(not e.misconception and e.wrong is None for e in plain.examples)
