"""What a pack knows of mistakes goes through a file unchanged; a part of it is what that part alone gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.errors import GraderError
from grader.exercise.known import (
    NONE,
    NOTHING_KNOWN,
    Known,
    KnownMistake,
    PhasePrints,
    from_tensors,
    to_tensors,
)
from grader.exercise.pack import Pack
from grader.exercise.pages import Page


def as_bytes(tensors: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in tensors.items()}


def same_prints(one: PhasePrints, other: PhasePrints) -> None:
    for f in fields(one):
        mine, theirs = getattr(one, f.name), getattr(other, f.name)
        if isinstance(mine, tuple):
            assert mine == theirs, f.name
        else:
            assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs), f.name


def same(one: Known, other: Known) -> None:
    assert (one.mistakes, one.small, one.slips) == (other.mistakes, other.small, other.slips)
    assert one.pairs.dtype == other.pairs.dtype and np.array_equal(one.pairs, other.pairs)
    assert set(one.phases) == set(other.phases)
    for name in one.phases:
        same_prints(one.phases[name], other.phases[name])


texts = st.text(max_size=12)
pages = st.builds(Page, texts, texts, texts, texts)
mistakes = st.builds(
    KnownMistake,
    texts,
    texts,
    texts,
    pages,
    st.lists(texts, max_size=2).map(tuple),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@st.composite
def knowns(draw: st.DrawFn) -> Known:
    """Anything that `Known` may hold, its phases of any sizes."""
    made = draw(st.lists(mistakes, min_size=1, max_size=4))
    pairs = draw(st.integers(0, 5))
    small = draw(st.lists(st.tuples(texts, texts), max_size=3))
    phases = {}
    for name in draw(st.lists(st.sampled_from(["public", "hidden"]), unique=True)):
        lengths = draw(st.lists(st.integers(1, 3), max_size=4))
        rows, steps, count = sum(lengths), len(lengths), len(made)

        def array(dtype: Any, *shape: int) -> Any:
            return draw(hnp.arrays(dtype, shape))

        phases[name] = PhasePrints(
            kinds=tuple(draw(st.lists(texts, max_size=3))),
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            rows=array(np.float32, rows, 8),
            row_kinds=array(np.uint16, rows),
            widths=array(np.float32, rows),
            index=array(np.uint16, count, steps),
            touched=array(np.bool_, count, steps),
            pair_steps=array(np.uint16, pairs, 3),
            pair_rows=array(np.float32, pairs, 3, 8),
            pair_kinds=array(np.uint16, pairs, 3),
            pair_widths=array(np.float32, pairs, 3),
            small=array(np.float32, len(small), steps, 8),
        )
    slips = tuple(draw(st.lists(mistakes, max_size=2)))
    return Known(tuple(made), draw(hnp.arrays(np.uint16, (pairs, 2))), tuple(small), phases, slips)


def bits(known: Known) -> Known:
    """The same with its floats as whole numbers, so that NaN equals itself."""

    def seen(value: Any) -> Any:
        return value.view(np.uint32) if getattr(value, "dtype", None) == np.float32 else value

    phases = {
        name: PhasePrints(**{f.name: seen(getattr(p, f.name)) for f in fields(p)})
        for name, p in known.phases.items()
    }
    return replace(known, phases=phases)


@given(knowns())
def test_what_is_written_is_read(known: Known) -> None:
    same(bits(from_tensors(as_bytes(to_tensors(known)))), bits(known))


def test_the_exercises_own_goes_through_its_pack(stepped: Pack) -> None:
    assert len(stepped.known.mistakes) > 5 and len(stepped.known.pairs) > 5
    same(from_tensors(as_bytes(to_tensors(stepped.known))), stepped.known)


def test_the_same_content_gives_the_same_bytes(stepped: Pack) -> None:
    assert as_bytes(to_tensors(stepped.known)) == dict(stepped.known_data)


def test_nothing_known_takes_no_room() -> None:
    assert to_tensors(NOTHING_KNOWN) == {}
    assert from_tensors({}) == NOTHING_KNOWN


def test_an_exercise_without_known_mistakes_has_none_in_its_pack(pack: Pack) -> None:
    assert pack.known == NOTHING_KNOWN and not pack.known_data


# --- damage -----------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "garbled": lambda data: data[:10] + bytes(b ^ 0xFF for b in data[10:20]) + data[20:],
    "other": lambda data: b"no bytes of zlib",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_tensor_is_told(stepped: Pack, kind: str) -> None:
    for name, data in stepped.known_data.items():
        broken = replace(stepped, known_data={**stepped.known_data, name: DAMAGE[kind](data)})
        with pytest.raises(GraderError, match=r"the pack is damaged \(.*\); make it anew with grader pack"):
            broken.known


def test_a_missing_tensor_is_told(stepped: Pack) -> None:
    for name in stepped.known_data:
        rest = {n: data for n, data in stepped.known_data.items() if n != name}
        with pytest.raises(GraderError, match="the pack is damaged"):
            replace(stepped, known_data=rest).known


@given(st.data())
def test_any_byte_changed_is_told_or_gives_something_of_the_same_form(
    stepped: Pack, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(stepped.known_data)))
    old = stepped.known_data[name]
    at = data.draw(st.integers(0, len(old) - 1))
    new = data.draw(st.integers(0, 255))
    changed = {**stepped.known_data, name: old[:at] + bytes([new]) + old[at + 1 :]}
    try:
        found = replace(stepped, known_data=changed).known
    except GraderError as error:
        assert "the pack is damaged" in str(error)
        return
    same(found, stepped.known)  # zlib has a checksum: only its header's unused bits may differ


# --- parts ------------------------------------------------------------------------------------


@given(st.data())
def test_a_part_of_the_steps_has_their_answers_in_the_given_order(stepped: Pack, data: st.DataObject) -> None:
    whole = stepped.known.phases["public"]
    count = len(whole.starts) - 1
    chosen = data.draw(st.lists(st.integers(0, count - 1), unique=True))
    part = whole.take(chosen)
    assert len(part.starts) == len(chosen) + 1 and part.kinds == whole.kinds
    for new, old in enumerate(chosen):
        mine, theirs = (slice(p.starts[s], p.starts[s + 1]) for p, s in ((part, new), (whole, old)))
        for name in ("rows", "row_kinds", "widths"):
            assert np.array_equal(getattr(part, name)[mine], getattr(whole, name)[theirs])
        for name in ("index", "touched"):
            assert np.array_equal(getattr(part, name)[:, new], getattr(whole, name)[:, old])
        assert np.array_equal(part.small[:, new], whole.small[:, old])
    for mine, theirs in zip(part.pair_steps.ravel(), whole.pair_steps.ravel(), strict=True):
        if theirs == NONE or theirs not in chosen:
            assert mine == NONE
        else:
            assert chosen[mine] == theirs
    assert np.array_equal(part.pair_rows, whole.pair_rows)
    assert len(part.rows) == part.starts[-1] == len(part.widths)


@given(st.data())
def test_a_part_of_a_part_is_a_part(stepped: Pack, data: st.DataObject) -> None:
    whole = stepped.known.phases["public"]
    first = data.draw(st.lists(st.integers(0, len(whole.starts) - 2), unique=True, min_size=1))
    second = data.draw(st.lists(st.integers(0, len(first) - 1), unique=True))
    same_prints(whole.take(first).take(second), whole.take([first[n] for n in second]))


def test_all_steps_in_their_order_are_the_whole(stepped: Pack) -> None:
    for prints in stepped.known.phases.values():
        same_prints(prints.take(range(len(prints.starts) - 1)), prints)
