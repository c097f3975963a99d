"""Comparing: norm-wise, element by element, NaN and infinity never equal to a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.judge.compare import compare

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
numbers = st.floats(-1e6, 1e6, width=32)
finite = shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=numbers))
filled = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=numbers)
tolerances = st.floats(1e-9, 1e-2)


def scale_of(array: Any) -> float:
    return float(np.max(np.abs(array), initial=0.0)) or 1.0


@given(finite, tolerances)
def test_an_array_equals_itself(array: Any, tolerance: float) -> None:
    result = compare(array, array.copy(), tolerance, scale_of(array))
    assert result.equal
    assert (result.max_abs, result.max_rel, result.beyond, result.size) == (0, 0, 0, array.size)
    assert result.worst == ()


@given(filled, tolerances, st.data())
def test_one_element_off_passes_within_the_tolerance_and_fails_beyond_it(
    array: Any, tolerance: float, data: Any
) -> None:
    scale = scale_of(array)
    index = np.unravel_index(data.draw(st.integers(0, array.size - 1)), array.shape)
    for factor, equal in ((0.99, True), (1.01, False), (-0.99, True), (-1.01, False)):
        changed = array.copy()
        changed[index] += factor * tolerance * scale
        error = abs(changed[index] - array[index])
        assume((error <= tolerance * scale) == equal)  # unless rounding took it over the edge
        result = compare(changed, array, tolerance, scale)
        assert result.equal is equal
        assert result.max_abs == error
        assert result.max_rel == error / scale
        assert result.beyond == (0 if equal else 1)
        if not equal:
            assert result.worst == (tuple(map(int, index)),)


def test_an_error_of_exactly_the_tolerance_passes() -> None:
    assert compare(np.array([4.5]), np.array([4.0]), 0.125, 4.0).equal
    assert not compare(np.array([np.nextafter(4.5, 5)]), np.array([4.0]), 0.125, 4.0).equal


@given(filled, st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_nan_or_infinity_for_a_number_is_wrong_whatever_the_tolerance(
    array: Any, bad: float, data: Any
) -> None:
    index = np.unravel_index(data.draw(st.integers(0, array.size - 1)), array.shape)
    changed = array.copy()
    changed[index] = bad
    result = compare(changed, array, 1e30, scale_of(array))
    assert not result.equal
    assert result.not_finite == 1
    assert result.max_abs == np.inf
    assert result.worst[0] == tuple(map(int, index))


@pytest.mark.parametrize(
    ("got", "want", "equal"),
    [
        (np.nan, np.nan, True),
        (np.inf, np.inf, True),
        (-np.inf, -np.inf, True),
        (np.inf, -np.inf, False),
        (np.nan, np.inf, False),
        (1.0, np.nan, False),
        (1.0, np.inf, False),
        (1e308, -np.inf, False),
    ],
)
def test_where_the_expected_value_is_not_finite_the_same_is_expected(
    got: float, want: float, equal: bool
) -> None:
    result = compare(np.array([0.0, got]), np.array([0.0, want]), 1e-3, 1.0)
    assert result.equal is equal
    assert result.not_finite == 0


@given(filled, filled, st.randoms(use_true_random=False))
def test_the_order_of_the_elements_does_not_matter(first: Any, noise: Any, random: Any) -> None:
    want = first.ravel()
    got = want + np.resize(noise.ravel(), want.shape) * 1e-6
    order = list(range(len(want)))
    random.shuffle(order)
    scale = scale_of(want)
    one, other = compare(got, want, 1e-6, scale), compare(got[order], want[order], 1e-6, scale)
    assert (one.max_abs, one.max_rel, one.beyond, one.size) == (
        other.max_abs,
        other.max_rel,
        other.beyond,
        other.size,
    )
    assert len(one.worst) == len(other.worst)


@given(filled, filled)
def test_the_worst_elements_come_first_and_all_are_beyond_the_tolerance(first: Any, noise: Any) -> None:
    want = first
    got = want + np.resize(noise, want.shape)
    scale = scale_of(want)
    result = compare(got, want, 1e-3, scale, worst=3)
    difference = np.abs(got - want)
    errors = [difference[i] for i in result.worst]
    assert errors == sorted(errors, reverse=True)
    assert all(e > 1e-3 * scale for e in errors)
    assert len(result.worst) == min(3, result.beyond) == min(3, int((difference > 1e-3 * scale).sum()))
    if result.worst:
        assert errors[0] == result.max_abs == difference.max()


@given(filled)
def test_an_answer_in_float32_is_compared_in_float64(array: Any) -> None:
    assert compare(array.astype(np.float32), array, 1e-7, scale_of(array)).equal
    third = np.array([1 / 3])
    assert not compare(third.astype(np.float32), third, 1e-9, 1 / 3).equal, "and not the other way round"


def test_large_differences_do_not_overflow_into_equality() -> None:
    result = compare(np.array([1e308]), np.array([-1e308]), 1e-3, 1e308)
    assert not result.equal
    assert result.max_abs == np.inf


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 1)])
def test_empty_arrays_are_equal(shape: tuple[int, ...]) -> None:
    assert compare(np.zeros(shape), np.zeros(shape), 1e-6, 1.0).equal


@pytest.mark.parametrize(("one", "other"), [((3,), (3, 1)), ((1, 3), (3,)), ((0, 3), (0, 2)), ((), (1,))])
def test_shapes_are_never_broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="can't compare the shapes"):
        compare(np.zeros(one), np.zeros(other), 1e-6, 1.0)


def test_the_arrays_are_left_as_they_are() -> None:
    got, want = np.array([1.0, np.nan]), np.array([1.0, 2.0])
    got.flags.writeable = want.flags.writeable = False
    compare(got, want, 1e-6, 2.0)
    assert np.isnan(got[1]) and want[1] == 2


@pytest.mark.parametrize("edge", [3, 10**8, 2**53, -(2**53) - 1, 2**63 - 2])
@pytest.mark.parametrize("scale", [1e9, np.zeros(2)], ids=["one", "each"])
def test_whole_numbers_have_to_be_equal_whatever_the_tolerance(edge: int, scale: Any) -> None:
    expected = np.array([1, edge])
    assert compare(expected.copy(), expected, 1e-3, scale).equal
    found = compare(np.array([1, edge + 1]), expected, 1e-3, scale)
    assert (found.beyond, found.worst, found.not_finite) == (1, ((1,),), 0)
    assert not compare(np.array([True, False]), np.array([True, True]), 2.0, scale).equal


def test_a_single_whole_number_has_to_be_equal_too() -> None:
    assert compare(np.array(10**9), np.array(10**9), 1e-3, 1e9).equal
    assert not compare(np.array(10**9 + 1), np.array(10**9), 1e-3, 1e9).equal


def test_floats_beside_whole_numbers_keep_their_tolerance() -> None:
    assert compare(np.array([1.0 + 1e-9]), np.array([1]), 1e-6, 1.0).equal
