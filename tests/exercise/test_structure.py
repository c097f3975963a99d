"""Answers of containers are one vector with the places of its numbers, or are told to be unfit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.forms import Form
from grader.exercise.rehearsal import as_value
from grader.exercise.structure import (
    EXACT,
    Flat,
    Leaf,
    UnfitError,
    flatten,
    place,
    require_same,
    require_sizes,
    scales,
    show_path,
)
from grader.outcomes import ArrayValue, Container, PlainValue


def form(**keys: Any) -> Form:
    return Form.model_validate(keys)


def flat(answer: Any, wanted: Form) -> Flat:
    return flatten(as_value(answer), wanted)


def refused(answer: Any, wanted: Form) -> UnfitError:
    with pytest.raises(UnfitError) as caught:
        flat(answer, wanted)
    return caught.value


NUMBER, INTEGER, TEXT = form(container="number"), form(container="integer"), form(container="text")
BOOLEAN, NONE = form(container="boolean"), form(container="none")
FLOATS, COUNTS = form(shape=["N"]), form(shape=["N"], dtype=["int64"])

# --- any form with an answer that fits it ---------------------------------------------------------

floats = st.floats(-1e6, 1e6)
single: list[tuple[Form, st.SearchStrategy[Any]]] = [
    (NUMBER, floats | st.integers(-(10**6), 10**6) | floats.map(np.float64)),
    (INTEGER, st.integers(-(2**60), 2**60) | st.integers(-(2**60), 2**60).map(np.int64)),
    (BOOLEAN, st.booleans() | st.booleans().map(np.bool_)),
    (TEXT, st.text(max_size=5)),
    (NONE, st.none()),
    (FLOATS, hnp.arrays(np.float64, st.integers(0, 4), elements=floats)),
    (COUNTS, hnp.arrays(np.int64, st.integers(0, 4), elements=st.integers(-5, 5))),
]
keys = st.text("abc", min_size=1, max_size=3)


@st.composite
def asked(draw: st.DrawFn, depth: int = 2) -> tuple[Form, st.SearchStrategy[Any]]:
    """A form, and the answers that fit it."""
    kind = draw(
        st.sampled_from(["single", "single", "of", "items", "record", "table"] if depth else ["single"])
    )
    if kind == "single":
        return draw(st.sampled_from(single))
    if kind in ("of", "table"):
        inner, answers = draw(asked(depth - 1))
        if kind == "table":
            wanted = Form(container="dict", keys="text", values=inner)
            return wanted, st.dictionaries(keys, answers, max_size=3)
        container: Any = draw(st.sampled_from(["list", "tuple"]))
        made = st.lists(answers, max_size=3)
        return Form(container=container, of=inner), made if container == "list" else made.map(tuple)
    if kind == "items":
        parts = draw(st.lists(asked(depth - 1), min_size=1, max_size=3))
        wanted = Form(container="tuple", items=[inner for inner, _ in parts])
        return wanted, st.tuples(*(answers for _, answers in parts))
    named = draw(st.dictionaries(keys, asked(depth - 1), min_size=1, max_size=3))
    wanted = Form(container="dict", items={name: inner for name, (inner, _) in named.items()})
    return wanted, st.fixed_dictionaries({name: answers for name, (_, answers) in named.items()})


def turned(answer: Any) -> Any:
    """The same answer with each dictionary's items in the other order."""
    if isinstance(answer, dict):
        return {key: turned(item) for key, item in reversed(answer.items())}
    if isinstance(answer, list | tuple):
        return type(answer)(turned(item) for item in answer)
    return answer


@given(st.data())
def test_an_answer_that_fits_is_as_many_numbers_as_its_leaves_have(data: st.DataObject) -> None:
    wanted, answers = data.draw(asked())
    answer = data.draw(answers)
    found = flat(answer, wanted)
    assert found.numbers.dtype == np.float64
    assert found.numbers.shape == (sum(leaf.size for leaf in found.leaves),)
    assert len({leaf.path for leaf in found.leaves}) == len(found.leaves)
    # The order of a dictionary says nothing.
    other = flat(turned(answer), wanted)
    assert other.leaves == found.leaves and np.array_equal(other.numbers, found.numbers)
    require_same(other, found.leaves)


@given(st.data())
def test_every_number_has_a_place_of_its_own(data: st.DataObject) -> None:
    wanted, answers = data.draw(asked())
    found = flat(data.draw(answers), wanted)
    places = [place(found.leaves, number) for number in range(found.numbers.size)]
    assert len(set(places)) == len(places)
    with pytest.raises(IndexError):
        place(found.leaves, found.numbers.size)


@given(st.data())
def test_an_answer_of_one_form_is_never_a_crash_for_another(data: st.DataObject) -> None:
    wanted, _ = data.draw(asked())
    _, answers = data.draw(asked())
    try:
        flat(data.draw(answers), wanted)
    except UnfitError as error:
        assert error.verdict in ("wrong_type", "wrong_shape", "wrong_value")
        assert error.message.endswith((".", "?"))


@given(st.data())
def test_scales_are_the_largest_of_a_group_and_none_where_it_is_exact(data: st.DataObject) -> None:
    wanted, answers = data.draw(asked())
    found = flat(data.draw(answers), wanted)
    made = scales(found.leaves, found.numbers)
    assert made.shape == found.numbers.shape
    at = 0
    for leaf in found.leaves:
        own = made[at : at + leaf.size]
        assert (
            not own.any()
            if leaf.exact
            else (own >= np.abs(found.numbers[at : at + leaf.size])).all() or (own == 1).all()
        )
        at += leaf.size
    # A second answer that is larger widens it.
    assert (scales(found.leaves, found.numbers, 2 * found.numbers) >= made).all()


# --- exactly what ---------------------------------------------------------------------------------


def test_numbers_and_floats_have_a_tolerance_and_the_rest_has_none() -> None:
    wanted = form(
        container="dict",
        items={"a": FLOATS, "b": COUNTS, "c": INTEGER, "d": TEXT, "e": NUMBER, "f": BOOLEAN, "g": NONE},
    )
    answer = {"a": np.ones(2), "b": np.ones(1, np.int64), "c": 3, "d": "x", "e": 2, "f": True, "g": None}
    found = flat(answer, wanted)
    assert [(leaf.path, leaf.shape, leaf.exact) for leaf in found.leaves] == [
        (("a",), (2,), False),
        (("b",), (1,), True),
        (("c",), (), True),
        (("d",), (), True),
        (("e",), (), False),
        (("f",), (), True),
        (("g",), (), True),
    ]
    assert found.numbers[:4].tolist() == [1, 1, 1, 3] and found.numbers[5:].tolist() == [2, 1, 0]


def test_items_of_a_list_share_a_scale_and_named_items_do_not() -> None:
    wanted = form(
        container="dict",
        items={"losses": form(container="list", of=NUMBER), "rate": NUMBER, "zero": NUMBER},
    )
    found = flat({"losses": [1e-3, 100.0], "rate": 0.25, "zero": 0.0}, wanted)
    assert scales(found.leaves, found.numbers).tolist() == [100.0, 100.0, 0.25, 1.0]


def test_numbers_that_are_not_finite_widen_no_scale() -> None:
    found = flat([1.0, math.inf, math.nan], form(container="list", of=NUMBER))
    assert scales(found.leaves, found.numbers).tolist() == [1.0, 1.0, 1.0]


@given(st.text(max_size=20), st.text(max_size=20))
def test_texts_are_equal_numbers_just_when_they_are_equal(one: str, other: str) -> None:
    numbers = [flat(text, TEXT).numbers[0] for text in (one, other)]
    assert (numbers[0] == numbers[1]) == (one == other)
    assert all(number.is_integer() and 0 <= number < EXACT for number in numbers)


@pytest.mark.parametrize("number", [10**17, -(10**17), 2**53 + 2])
def test_a_number_may_be_a_large_int(number: int) -> None:
    """How many operations something takes is counted in ints, and estimated in floats."""
    assert flat(number, NUMBER).numbers.tolist() == flat(float(number), NUMBER).numbers.tolist()


def test_an_int_that_no_float_can_be_is_infinite() -> None:
    assert flat(10**400, NUMBER).numbers.tolist() == [math.inf]
    assert flat(-(10**400), NUMBER).numbers.tolist() == [-math.inf]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2))
def test_whole_numbers_of_an_array_are_told_apart_beyond_what_a_float_holds(numbers: list[int]) -> None:
    one, other = flat(np.array(numbers, np.int64), COUNTS).numbers
    assert (one == other) == (numbers[0] == numbers[1])


def test_neighbours_of_an_array_are_told_apart_beyond_what_a_float_holds() -> None:
    one, other = flat(np.array([2**60, 2**60 + 1]), COUNTS).numbers
    assert one != other


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
def test_whole_numbers_are_told_apart_beyond_what_a_float_holds(one: int, other: int) -> None:
    numbers = [flat(number, INTEGER).numbers[0] for number in (one, other)]
    assert (numbers[0] == numbers[1]) == (one == other)


def test_neighbours_beyond_what_a_float_holds_are_told_apart() -> None:
    assert flat(2**60, INTEGER).numbers[0] != flat(2**60 + 1, INTEGER).numbers[0]


def test_neighbours_in_an_array_beyond_what_a_float_holds_are_told_apart() -> None:
    wanted = form(shape=["N"], dtype=["int64"])
    for edge in (2**53, -(2**53) - 1, 2**63 - 2, -(2**63)):
        one, other = (flat(np.array([3, n]), wanted).numbers for n in (edge, edge + 1))
        assert one[0] == other[0] == 3 and one[1] != other[1]
        assert (one == flat(np.array([3, edge]), wanted).numbers).all()


def test_an_array_does_where_all_items_are_numbers_and_it_is_allowed() -> None:
    wanted = form(container="list", of=form(container="list", of=NUMBER), also=["array", "tuple"])
    rows = [[1.0, 2.0], [3.0, 4.0]]
    inner = form(
        container="list", of=form(container="list", of=NUMBER, also=["array"]), also=["array", "tuple"]
    )
    for answer in (rows, np.array(rows), tuple(rows)):
        assert flat(answer, inner).numbers.tolist() == [1, 2, 3, 4]
    assert flat(np.array(rows), wanted).leaves == flat(rows, wanted).leaves
    assert refused(np.array(rows), form(container="list", of=form(container="list", of=NUMBER))).message == (
        "It returned an array of dtype float64 and shape (2, 2); "
        "expected a list with a list with a number at each place at each place."
    )


# --- what is unfit --------------------------------------------------------------------------------

UNFIT: list[tuple[Any, Form, str, str]] = [
    (None, NUMBER, "wrong_type", "It returned None; expected a number. Is a return statement missing?"),
    (True, NUMBER, "wrong_type", "It returned the single bool True; expected a number."),
    (True, INTEGER, "wrong_type", "It returned the single bool True; expected a whole number."),
    (2.0, INTEGER, "wrong_type", "It returned the single float 2.0; expected a whole number."),
    (1, BOOLEAN, "wrong_type", "It returned the single int 1; expected True or False."),
    ("3", NUMBER, "wrong_type", "It returned a text; expected a number."),
    (
        np.ones(1),
        NUMBER,
        "wrong_type",
        "It returned an array of dtype float64 and shape (1,); expected a number.",
    ),
    (
        np.float16(1),
        NUMBER,
        "wrong_type",
        (
            "It returned a single number of type float16; expected a number. "
            "float16 keeps about three digits, too few here."
        ),
    ),
    (
        np.ones((2, 2)),
        FLOATS,
        "wrong_shape",
        (
            "It returned an array of dtype float64 and shape (2, 2); expected an array of shape (N,) "
            "and dtype float32 or float64."
        ),
    ),
    (
        np.ones(2, np.int64),
        FLOATS,
        "wrong_type",
        (
            "It returned an array of dtype int64 and shape (2,); expected an array of shape (N,) "
            "and dtype float32 or float64."
        ),
    ),
    (
        [1.0],
        FLOATS,
        "wrong_type",
        "It returned a list of 1 item; expected an array of shape (N,) and dtype float32 or float64.",
    ),
    (
        (1.0, 2.0),
        form(container="list", of=NUMBER),
        "wrong_type",
        "It returned a tuple of 2 items; expected a list with a number at each place.",
    ),
    (
        [1.0, "x"],
        form(container="list", of=NUMBER),
        "wrong_type",
        "[1] is a text; expected a number.",
    ),
    (
        (1.0,),
        form(container="tuple", items=[NUMBER, NUMBER]),
        "wrong_shape",
        "It returned a tuple of 1 item; expected a tuple of 2 items.",
    ),
    (
        {"los": 1.0, "n": 2},
        form(container="dict", items={"loss": NUMBER, "n": INTEGER}),
        "wrong_type",
        "The answer lacks the key 'loss' and has the key 'los', which is not asked for.",
    ),
    (
        {"a": {"b": None}},
        form(container="dict", keys="text", values=form(container="dict", keys="text", values=NUMBER)),
        "wrong_type",
        "a.b is None; expected a number.",
    ),
]


@pytest.mark.parametrize(
    ("answer", "wanted", "verdict", "said"), UNFIT, ids=[str(n) for n in range(len(UNFIT))]
)
def test_what_is_unfit_is_told_with_its_place(answer: Any, wanted: Form, verdict: str, said: str) -> None:
    error = refused(answer, wanted)
    assert (error.verdict, error.message) == (verdict, said)


def test_keys_of_another_kind_are_told() -> None:
    table = form(container="dict", keys="integer", values=NUMBER)
    assert flat({3: 1.0, np.int64(-1): 2.0}, table).numbers.tolist() == [2.0, 1.0]
    for key in ("a", 1.5, True, None):
        error = refused({key: 1.0}, table)
        assert error.verdict == "wrong_type" and "whole numbers" in error.message


def test_keys_that_are_told_apart_but_are_the_same_number_are_refused() -> None:
    table = form(container="dict", keys="integer", values=NUMBER)
    one, other = ArrayValue("tensor", "int64", (), np.int64(3).tobytes()), PlainValue("int", 3)
    for pair in ((one, other), (other, one), (one, one)):
        held = tuple((key, PlainValue("float", float(n))) for n, key in enumerate(pair))
        with pytest.raises(UnfitError) as caught:
            flatten(Container("dict", held), table)
        assert caught.value.message == "The answer has the key 3 more than once."


def test_a_key_that_is_no_single_value_is_told_for_what_it_is() -> None:
    table = form(container="dict", keys="text", values=NUMBER)
    held = ((PlainValue("object", "bytes"), PlainValue("float", 1.0)),)
    with pytest.raises(UnfitError) as caught:
        flatten(Container("dict", held), table)
    assert caught.value.message == "The answer has a bytes object as a key; expected texts as keys."


FORGED: list[tuple[Any, Form]] = [
    (ArrayValue("array", "float64", (2**62, 0, 2**62), b""), form(shape=["A", "B", "C"])),
    (
        ArrayValue("array", "float64", (2**62, 0, 2**62), b""),
        form(container="list", of=NUMBER, also=["array"]),
    ),
    (ArrayValue("array", "float64", (2,), None), FLOATS),
    (ArrayValue("scalar", "float64", (2,), np.ones(2).tobytes()), NUMBER),
    (ArrayValue("scalar", "complex128", (), np.complex128(1).tobytes()), NUMBER),
    (PlainValue("object", "Odd"), TEXT),
    (
        Container("dict", ((Container("list", ()), PlainValue("none")),)),
        form(container="dict", keys="text", values=NONE),
    ),
    (None, TEXT),
]


@pytest.mark.parametrize(("value", "wanted"), FORGED, ids=[str(n) for n in range(len(FORGED))])
def test_what_no_honest_child_sends_is_unfit_and_no_fault(value: Any, wanted: Form) -> None:
    with pytest.raises(UnfitError):
        flatten(value, wanted)


def test_a_text_that_is_no_text_of_unicode_is_a_text_all_the_same() -> None:
    assert flatten(PlainValue("str", "\ud800"), TEXT).numbers.size == 1


# --- parts and sizes ------------------------------------------------------------------------------


def leaf(*path: str | int, shape: tuple[int, ...] = ()) -> Leaf:
    return Leaf(path, shape, False, "")


def of(*leaves: Leaf, sizes: Any = ()) -> Flat:
    return Flat(leaves, np.zeros(sum(each.size for each in leaves)), sizes)


def test_parts_that_are_missing_or_too_many_are_named() -> None:
    wanted = [leaf("a"), leaf("b", 0), leaf("b", 1)]
    with pytest.raises(UnfitError, match=r"^The answer lacks b\[1\]\.$") as caught:
        require_same(of(leaf("a"), leaf("b", 0)), wanted)
    assert caught.value.verdict == "wrong_value"
    with pytest.raises(UnfitError, match=r"^The answer lacks a and has c, which it should not have\.$"):
        require_same(of(leaf("c"), leaf("b", 0), leaf("b", 1)), wanted)
    many = of(*(leaf("c", n) for n in range(9)))
    with pytest.raises(UnfitError, match=r"has c\[0\] and has c\[1\] and has c\[2\], and 6 more, which"):
        require_same(many, wanted)


def test_another_shape_is_told_with_its_place() -> None:
    with pytest.raises(UnfitError, match=r"^a has the shape \(3,\); expected \(2,\)\.$") as caught:
        require_same(of(leaf("a", shape=(3,))), [leaf("a", shape=(2,))])
    assert caught.value.verdict == "wrong_shape"
    with pytest.raises(UnfitError, match=r"^The answer has the shape \(3,\); expected \(2,\)\.$"):
        require_same(of(leaf(shape=(3,))), [leaf(shape=(2,))])


def test_sizes_are_held_against_dims_and_free_names_against_themselves() -> None:
    sizes = ((("a",), "M", 3), (("b",), "M", 3), (("c",), "N + 1", 5), (("d",), 2, 2))
    assert require_sizes(of(sizes=sizes), {"N": 4}) == {"M": 3}
    with pytest.raises(UnfitError, match=r"^b has 2 where 3 are expected, as M is elsewhere\.$"):
        require_sizes(of(sizes=((("a",), "M", 3), (("b",), "M", 2))), {})
    with pytest.raises(UnfitError, match=r"^c has 4 where 5 are expected \(N \+ 1\)\.$"):
        require_sizes(of(sizes=((("c",), "N + 1", 4),)), {"N": 4})
    with pytest.raises(UnfitError, match=r"^The answer has 4 where 2 are expected\.$"):
        require_sizes(of(sizes=(((), 2, 4),)), {})


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ((), ""),
        (("targets", 3), "targets[3]"),
        ((2, "tokens"), "[2].tokens"),
        (("a b", "c"), "['a b'].c"),
        (("a", "b", 0, "c"), "a.b[0].c"),
    ],
)
def test_a_path_is_shown_as_one_writes_it(path: Any, shown: str) -> None:
    assert show_path(path) == shown


def test_the_place_of_a_number_in_an_array_has_its_index() -> None:
    leaves = [leaf("a"), leaf("b", shape=(2, 3))]
    assert [place(leaves, n) for n in (0, 1, 6)] == ["a", "b[0, 0]", "b[1, 2]"]


def test_a_size_that_hangs_on_a_later_part_is_checked_too() -> None:
    """``edges`` comes before ``points``, whose size is free."""
    wanted = form(container="dict", items={"points": form(shape=["M"]), "edges": form(shape=["M + 1"])})
    assert require_sizes(flat({"edges": np.zeros(4), "points": np.zeros(3)}, wanted), {}) == {"M": 3}
    with pytest.raises(UnfitError, match="edges has 5 where 4 are expected"):
        require_sizes(flat({"edges": np.zeros(5), "points": np.zeros(3)}, wanted), {})
