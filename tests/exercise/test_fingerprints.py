"""Fingerprints tell answers apart: form by its kind, values by projections that are linear and bounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.fingerprints import (
    HUGE,
    MOST_ELEMENTS,
    PROJECTIONS,
    fingerprint,
    is_empty,
    is_finite,
    is_half,
    of_array,
    signs,
)
from grader.exercise.forms import Form
from grader.exercise.rehearsal import as_value
from grader.outcomes import ArrayValue, Container, Failure, PlainValue, StepOutcome

sizes = st.integers(1, 60)
numbers = st.floats(-1e6, 1e6)


def pairs_of_arrays() -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    shapes = hnp.array_shapes(max_dims=3, max_side=6)
    return shapes.flatmap(
        lambda s: st.tuples(
            hnp.arrays(np.float64, s, elements=numbers), hnp.arrays(np.float64, s, elements=numbers)
        )
    )


def returned(value: Any) -> StepOutcome:
    return StepOutcome("returned", value=as_value(value))


# --- projections ------------------------------------------------------------------------------


@given(sizes)
def test_the_vectors_are_signs_of_length_one(length: int) -> None:
    rows = signs(length)
    assert rows.shape == (PROJECTIONS, length)
    assert np.allclose(np.abs(rows), 1 / math.sqrt(length))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


def test_the_vectors_are_the_same_everywhere() -> None:
    """A pack holds projections, so that other vectors would make all packs wrong."""
    rows = ["".join("-+"[int(sign > 0)] for sign in row) for row in signs(5)]
    assert rows == ["+-+-+", "---++", "+--+-", "++-++", "+---+", "-+-+-", "+++++", "-+++-"]


def test_the_vectors_of_a_length_differ_from_each_other() -> None:
    for length in (16, 40, 100, 1000):
        rows = signs(length) * math.sqrt(length)
        agree = np.abs(rows @ rows.T / length) - np.eye(PROJECTIONS)
        assert agree.max() < 0.9, "no two are the same or opposite"
    assert abs(float((signs(4096) > 0).mean()) - 0.5) < 0.02


@given(pairs_of_arrays(), st.floats(-100, 100))
def test_projections_are_linear(arrays: tuple[np.ndarray, np.ndarray], factor: float) -> None:
    one, other = arrays
    together = of_array(factor * one + other).values
    apart = factor * of_array(one).values + of_array(other).values
    scale = abs(factor) * np.abs(one).sum() + np.abs(other).sum()
    assert np.allclose(together, apart, rtol=0, atol=1e-12 * scale + 1e-300)


@given(pairs_of_arrays())
def test_projections_differ_by_no_more_than_the_error_times_the_root_of_the_length(
    arrays: tuple[np.ndarray, np.ndarray],
) -> None:
    one, other = arrays
    error = float(np.max(np.abs(one - other)))
    off = np.abs(of_array(one).values - of_array(other).values)
    rounding = 1e-12 * (np.abs(one).sum() + np.abs(other).sum())
    assert (off <= error * math.sqrt(one.size) + rounding).all()


@given(st.integers(0, 2**32), st.integers(2, 400))
def test_rounding_moves_projections_by_about_its_own_size(seed: int, length: int) -> None:
    chance = np.random.default_rng(seed)
    error = chance.uniform(-1, 1, length)
    # Hoeffding: each of the eight lies within 6 with a probability of more than 1 - 2 exp(-18).
    assert np.abs(of_array(error).values).max() < 6


@given(st.integers(0, 2**32), st.integers(1, 400))
def test_another_answer_has_another_fingerprint(seed: int, length: int) -> None:
    chance = np.random.default_rng(seed)
    one = chance.normal(size=length)
    other = one.copy()
    other[chance.integers(length)] += 1e-3
    moved = np.abs(of_array(one).values - of_array(other).values)
    assert np.allclose(moved, 1e-3 / math.sqrt(length)), "one element moves all eight alike"


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=6), elements=numbers))
def test_equal_arrays_have_equal_fingerprints_whatever_their_memory(array: np.ndarray) -> None:
    one = of_array(array)
    for same in (np.asfortranarray(array), np.repeat(array, 2, axis=-1)[..., ::2], array.copy()):
        other = of_array(same)
        assert (other.kind, other.scale) == (one.kind, one.scale)
        assert np.array_equal(other.values, one.values)
    assert one.scale == np.abs(array).max()


@given(
    hnp.arrays(np.float32, hnp.array_shapes(max_dims=2, max_side=6), elements=st.floats(-10, 10, width=32))
)
def test_single_precision_is_no_other_form(array: np.ndarray) -> None:
    one, other = of_array(array), of_array(array.astype(np.float64))
    assert one.kind == other.kind and np.array_equal(one.values, other.values)


def test_the_order_of_elements_and_their_signs_matter() -> None:
    array = np.arange(12.0).reshape(3, 4)
    same = of_array(array)
    for other in (array[::-1], array[:, ::-1], -array, array.T.reshape(3, 4), np.roll(array, 1)):
        assert np.abs(of_array(np.ascontiguousarray(other)).values - same.values).max() > 0.1


# --- kinds ------------------------------------------------------------------------------------

KINDS: dict[str, StepOutcome] = {
    "array": returned(np.zeros((2, 3))),
    "other_shape": returned(np.zeros((3, 2))),
    "flat": returned(np.zeros(6)),
    "more_axes": returned(np.zeros((1, 2, 3))),
    "empty": returned(np.zeros((0, 3))),
    "empty_flat": returned(np.zeros(0)),
    "int64": returned(np.zeros((2, 3), np.int64)),
    "int32": returned(np.zeros((2, 3), np.int32)),
    "bool": returned(np.zeros((2, 3), bool)),
    "complex": returned(np.zeros((2, 3), complex)),
    "nan": returned(np.full((2, 3), np.nan)),
    "inf": returned(np.full((2, 3), np.inf)),
    "minus_inf": returned(np.full((2, 3), -np.inf)),
    "huge": returned(np.full((2, 3), 10 * HUGE)),
    "scalar": returned(np.float64(1)),
    "scalar_int": returned(np.int64(1)),
    "float": returned(1.0),
    "int": returned(1),
    "none": returned(None),
    "text": returned("x"),
    "object": returned(object()),
    "list_2": returned([1.0, 2.0]),
    "list_3": returned([1.0, 2.0, 3.0]),
    "tuple_2": returned((1.0, 2.0)),
    "raised": StepOutcome("raised", failure=Failure("ValueError", "x")),
    "crashed": StepOutcome("crashed"),
    "timed_out": StepOutcome("timed_out"),
    "out_of_memory": StepOutcome("out_of_memory"),
    "not_run": StepOutcome("not_run"),
    "nothing": StepOutcome("returned"),
    "unreadable": StepOutcome("returned", value=ArrayValue("array", "float64", (2, 3), None)),
}


def test_every_form_has_a_kind_of_its_own() -> None:
    kinds = [fingerprint(outcome).kind for outcome in KINDS.values()]
    twice = {kind for kind in kinds if kinds.count(kind) > 1}
    # Values that were not sent are of an array all the same; numbers of numpy and of Python are the same.
    assert twice <= {"(2, 3) float64", "scalar float", "int 1"}, twice


WITH_NUMBERS = {"scalar": [1.0], "float": [1.0], "list_2": [1.0, 2.0], "tuple_2": [1.0, 2.0]}
WITH_NUMBERS["list_3"] = [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_numbers_that_are_no_array_have_projections_too(name: str) -> None:
    found, vector = fingerprint(KINDS[name]), of_array(np.array(WITH_NUMBERS[name]))
    assert np.array_equal(found.values, vector.values) and found.scale == vector.scale
    assert is_finite(found.kind) and not is_empty(found.kind)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in WITH_NUMBERS])
def test_what_holds_no_finite_numbers_has_no_projections(name: str) -> None:
    found = fingerprint(KINDS[name])
    assert found.values.shape == (PROJECTIONS,) and not found.values.any() and np.isfinite(found.scale)
    assert is_finite(found.kind) == (name not in ("nan", "inf", "minus_inf", "huge"))
    assert is_empty(found.kind) == name.startswith("empty")


def test_an_exception_is_of_one_kind_whatever_its_text() -> None:
    one, other = (StepOutcome("raised", failure=Failure(t, t)) for t in ("ValueError", "TypeError"))
    assert fingerprint(one).kind == fingerprint(other).kind


@given(st.data())
def test_the_places_of_what_is_not_finite_belong_to_the_kind(data: st.DataObject) -> None:
    odd = st.sampled_from([0.0, 1.0, -2.5, np.nan, np.inf, -np.inf])
    arrays = data.draw(st.lists(hnp.arrays(np.float64, (3, 2), elements=odd), min_size=2, max_size=2))
    one, other = (of_array(array) for array in arrays)
    marks = [np.where(np.isnan(a), 2, np.sign(a) * np.isinf(a)) for a in arrays]
    assert (one.kind == other.kind) == np.array_equal(*marks)
    zeroed = [np.where(np.isfinite(a), a, 0) for a in arrays]
    assert np.allclose(one.values, of_array(zeroed[0]).values)
    assert one.scale == np.abs(zeroed[0]).max()


def test_numbers_too_large_for_single_precision_are_told_by_their_form_alone() -> None:
    one, other = of_array(np.array([1e300, 1.0])), of_array(np.array([1.0, -1e200]))
    assert one.kind == other.kind and not is_finite(one.kind) and not one.values.any()
    assert is_finite(of_array(np.array([HUGE / 2])).kind)


def test_answers_with_very_many_elements_are_told_by_their_form_alone() -> None:
    found = of_array(np.ones(MOST_ELEMENTS + 1))
    assert not found.values.any() and found.kind == f"({MOST_ELEMENTS + 1},) float"
    assert of_array(np.ones(MOST_ELEMENTS)).scale == 1


@pytest.mark.parametrize("shape", [(2**62, 0, 2**62), (0,) * 70])
def test_an_empty_array_that_numpy_can_not_make_is_no_fault(shape: tuple[int, ...]) -> None:
    outcome = StepOutcome("returned", value=ArrayValue("array", "float64", shape, b""))
    assert not fingerprint(outcome).values.any()


def test_a_tensor_is_an_array() -> None:
    data = np.arange(4.0)
    one = StepOutcome("returned", value=ArrayValue("tensor", "float64", (4,), data.tobytes()))
    assert fingerprint(one).kind == of_array(data).kind


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("number", [2.5, -math.inf, math.nan, 0.0])
def test_a_number_without_axes_is_a_number(kind: str, dtype: str, number: float) -> None:
    """A loss that is a tensor of shape () is held against the reference's float."""
    plain = fingerprint(StepOutcome("returned", value=PlainValue("float", number)))
    value = ArrayValue(kind, dtype, (), np.array(number, dtype).tobytes())
    found = fingerprint(StepOutcome("returned", value=value))
    assert found.kind == plain.kind and found.values.tolist() == plain.values.tolist()
    with_axis = ArrayValue(kind, dtype, (1,), np.array([number], dtype).tobytes())
    assert fingerprint(StepOutcome("returned", value=with_axis)).kind != plain.kind


def test_whole_numbers_have_projections_too() -> None:
    array = np.array([[3, -1, 4]])
    assert np.allclose(of_array(array).values, of_array(array.astype(float)).values)
    assert of_array(np.array([True, False])).values.any()


# --- containers -------------------------------------------------------------------------------

exact = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=4)
contents = st.recursive(
    exact | st.floats(-1e6, 1e6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def with_floats(item: Any, change: Any) -> Any:
    """The same contents with each float changed."""
    if isinstance(item, list):
        return [with_floats(inner, change) for inner in item]
    if isinstance(item, dict):
        return {key: with_floats(inner, change) for key, inner in item.items()}
    return change(item) if isinstance(item, float) else item


def floats_of(item: Any) -> list[float]:
    if isinstance(item, list):
        return [number for inner in item for number in floats_of(inner)]
    if isinstance(item, dict):
        by_key = sorted(item.items(), key=lambda pair: repr(PlainValue("str", pair[0])))
        return [number for _, inner in by_key for number in floats_of(inner)]
    return [item] if isinstance(item, float) else []


@given(st.lists(contents, max_size=3))
def test_the_floats_of_a_container_are_projected_and_the_rest_is_its_kind(item: Any) -> None:
    found = fingerprint(returned(item))
    other = fingerprint(returned(with_floats(item, lambda x: x / 2 + 1)))
    assert other.kind == found.kind
    vector = of_array(np.array(floats_of(item), np.float64))
    assert np.array_equal(found.values, vector.values) and found.scale == vector.scale


@given(st.lists(contents, min_size=1, max_size=3), st.lists(contents, min_size=1, max_size=3))
def test_containers_of_one_kind_differ_in_floats_alone(one: Any, other: Any) -> None:
    def exactly(item: Any) -> str:
        return repr(returned(with_floats(item, lambda x: 0.0)).value)

    same = fingerprint(returned(one)).kind == fingerprint(returned(other)).kind
    if exactly(one) == exactly(other):
        assert same
    elif same:
        # The order of a dictionary's items is no matter.
        assert "'dict'" in exactly(one) and sorted(exactly(one)) == sorted(exactly(other))


def test_a_list_and_a_tuple_of_the_same_are_two_kinds() -> None:
    kinds = [fingerprint(returned(c)).kind for c in ([1, 2], (1, 2), [1, 2, 3], [2, 1], [[1, 2]], [1.0, 2.0])]
    assert len(set(kinds)) == len(kinds)


WHOLE = Form(container="integer")
LENIENT = {
    "list": Form(container="list", of=WHOLE, length="K", also=["tuple", "array"]),
    "tuple": Form(container="tuple", of=WHOLE, length="K", also=["list"]),
    "strict": Form(container="list", of=WHOLE, length="K"),
}


@pytest.mark.parametrize(
    ("form", "of_one_kind"),
    [
        ("list", [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], np.int32), [np.int64(1), 2]]),
        ("tuple", [[1, 2], (1, 2)]),
        ("strict", [[1, 2]]),
    ],
)
def test_containers_that_are_allowed_are_of_one_kind(form: str, of_one_kind: list[Any]) -> None:
    others = [(1, 2), [1, 2], np.array([1, 2]), [2, 1], [1, 2, 3], [1.0, 2.0], np.array([1.0, 2.0]), "1, 2"]
    wanted = {fingerprint(returned(value), (), LENIENT[form]).kind for value in of_one_kind}
    assert len(wanted) == 1
    same = [repr(value) for value in of_one_kind]
    for value in others:
        kind = fingerprint(returned(value), (), LENIENT[form]).kind
        assert (kind in wanted) == (repr(value) in same), value


@pytest.mark.parametrize("wrap", [tuple, list, np.array])
def test_parts_of_an_answer_are_of_one_kind_where_their_own_form_allows_it(wrap: Any) -> None:
    by_key = Form(container="dict", items={"ids": LENIENT["list"], "name": Form(container="text")})
    by_number = Form(container="dict", keys="integer", values=LENIENT["list"])
    nested = Form(container="list", items=[LENIENT["list"], WHOLE], also=["tuple"])
    for form, answer, other in [
        (by_key, {"ids": [3, 4], "name": "a"}, {"name": "a", "ids": wrap([3, 4])}),
        (by_number, {2: [3, 4], 0: [1, 2]}, {0: [1, 2], 2: wrap([3, 4])}),
        (nested, [[3, 4], 5], (wrap([3, 4]), 5)),
        (nested, [[3, 4], 5], [wrap([3, 4]), 5]),
    ]:
        assert fingerprint(returned(answer), (), form).kind == fingerprint(returned(other), (), form).kind
    assert fingerprint(returned({"ids": "ab"}), (), by_key).kind  # of another form, and no fault


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=4), elements=numbers))
def test_a_matrix_is_the_list_of_lists_that_it_stands_for(array: np.ndarray) -> None:
    inner = Form(container="list", of=Form(container="number"), length="K")
    form = Form(container="list", of=inner, length="N", also=["array", "tuple"])
    found = [
        fingerprint(returned(value), (), form) for value in (array, array.tolist(), tuple(array.tolist()))
    ]
    assert len({one.kind for one in found}) == 1
    assert found[0].values.tolist() == found[1].values.tolist() == found[2].values.tolist()


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3, max_side=4), elements=numbers))
def test_rows_are_the_same_whether_they_are_lists_or_arrays(array: np.ndarray) -> None:
    of_lists, of_arrays, of_tuples = (
        fingerprint(StepOutcome("returned", value=as_value(value)))
        for value in (array.tolist(), list(array), [tuple(row) for row in array.tolist()])
    )
    assert of_lists.kind == of_arrays.kind == of_tuples.kind
    assert of_lists.values.tolist() == of_arrays.values.tolist() == of_tuples.values.tolist()


def test_rows_of_other_numbers_types_and_lengths_are_other_kinds() -> None:
    rows = [[[1, 2], [3, 4]], [[1, 2], [3, 5]], [[1.0, 2.0], [3.0, 4.0]], [[1, 2], [3]], [[1, 2, 3, 4]]]
    kinds = {fingerprint(StepOutcome("returned", value=as_value(value))).kind for value in rows}
    assert len(kinds) == len(rows)


def test_whole_numbers_of_numpy_and_of_python_are_the_same() -> None:
    assert fingerprint(returned([np.int64(3), np.bool_(True)])).kind == fingerprint(returned([3, True])).kind
    assert fingerprint(returned(np.int64(3))).kind == fingerprint(returned(3)).kind


def test_what_is_not_finite_in_a_container_belongs_to_its_kind() -> None:
    kinds = [fingerprint(returned([1.0, x])).kind for x in (2.0, np.nan, np.inf, -np.inf)]
    assert len(set(kinds)) == 4 and [is_finite(kind) for kind in kinds] == [True, False, False, False]
    assert [is_finite(fingerprint(returned(x)).kind) for x in (2.0, float("nan"), float("inf"))] == [
        True,
        False,
        False,
    ]


HOSTILE: dict[str, Any] = {
    "huge_shape": ArrayValue("array", "float64", (2**62, 0, 2**62), b""),
    "many_axes": ArrayValue("array", "int64", (0,) * 70, b""),
    "not_sent": ArrayValue("array", "float64", (2, 3), None),
    "complex_scalar": ArrayValue("scalar", "complex128", (), np.complex128(1j).tobytes()),
    "huge_int": PlainValue("int", 10**390),
    "lone_surrogate": PlainValue("str", "\ud800"),
    "deep": Container("list", (Container("dict", ((PlainValue("int", 10**390), PlainValue("none")),)),)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_comes_back_is_a_fault(name: str) -> None:
    for value in (HOSTILE[name], Container("list", (HOSTILE[name],))):
        found = fingerprint(StepOutcome("returned", value=value))
        assert found.values.shape == (PROJECTIONS,) and np.isfinite(found.scale)
        found.kind.encode()


# --- exceptions -------------------------------------------------------------------------------


def test_exceptions_that_are_asked_for_are_told_apart_from_others() -> None:
    def kind(name: str, *bases: str) -> str:
        return fingerprint(
            StepOutcome("raised", failure=Failure(name, "x", bases)), ["ValueError", "KeyError"]
        ).kind

    assert kind("ValueError") == kind("Mine", "ValueError", "Exception") == "raised ValueError"
    assert kind("KeyError") == "raised KeyError"
    assert kind("TypeError") == kind("IndexError") == "raised"


# --- half precision ---------------------------------------------------------------------------


def bfloat16(array: np.ndarray) -> np.ndarray:
    bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


@given(hnp.arrays(np.float64, (2, 3), elements=st.floats(-100, 100)))
def test_numbers_of_float16_and_bfloat16_are_seen_in_any_dtype(array: np.ndarray) -> None:
    for narrow in (array.astype(np.float16), bfloat16(array)):
        whole = bool((narrow % 1 == 0).all())
        for dtype in (narrow.dtype, np.float32, np.float64):
            assert is_half([returned(narrow.astype(dtype))]) != whole


def test_one_finer_answer_is_enough_against_it() -> None:
    coarse, fine = returned(np.array([0.5, 0.25])), returned(np.array([1 / 3]))
    assert is_half([coarse, coarse])
    assert not is_half([coarse, fine])
    assert not is_half([fine])


def test_whole_numbers_and_no_numbers_say_nothing() -> None:
    assert not is_half([])
    assert not is_half([returned(np.array([1.0, -3.0, np.nan])), returned(None), StepOutcome("raised")])
    assert not is_half([returned(np.array([1, 2]))])
    assert is_half([returned(np.array([1.5, np.nan, np.inf])), StepOutcome("raised")])


def test_float16_here_and_bfloat16_there_is_neither() -> None:
    only16 = np.array([np.float16(1 + 2**-10)], np.float64)
    onlyb = np.array([2.0**100 * 1.5 + 0.0])
    assert is_half([returned(np.append(only16, 0.5))])
    mixed = [returned(only16), returned(np.append(onlyb, 0.5))]
    assert not is_half(mixed)
