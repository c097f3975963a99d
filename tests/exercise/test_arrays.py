"""Arrays come from recipes and seeds alone: the same bytes everywhere, values that float32 holds."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from grader.exercise.arrays import (
    MAX_ELEMENTS,
    RecipeError,
    Stream,
    apply_change,
    float32_values,
    make_array,
    make_values,
)
from grader.exercise.checks import Change
from grader.exercise.expressions import ExpressionError
from grader.exercise.recipes import ArrayChange, Parameter, ValueRecipe

RECIPE: TypeAdapter[Any] = TypeAdapter(ValueRecipe)
DIMS = {"N": 3, "D": 4, "V": 300}


def values(recipe: Any, shape: tuple[int, ...] = (3, 4), seed: int = 7) -> Any:
    return make_values(RECIPE.validate_python(recipe), shape, DIMS, Stream(seed, "x"))


def array(
    change: dict[str, Any] | None = None,
    *,
    seed: int = 7,
    case_dtype: str | None = None,
    name: str = "x",
    **parameter: Any,
) -> Any:
    given_ = {"shape": ["N", "D"], "values": {"normal": {}}} | parameter
    return make_array(
        name,
        Parameter.model_validate(given_),
        ArrayChange.model_validate(change or {}),
        DIMS,
        seed,
        case_dtype,
    )


def digest(made: Any) -> str:
    return hashlib.sha256(f"{made.dtype.str}{made.shape}".encode() + made.tobytes()).hexdigest()[:16]


# A case that was written once has the same inputs for ever: these digests never change.
GOLDEN: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("normal", {"values": {"normal": {}}}, {}, "7094e05203e909f9"),
    ("scaled_normal", {"values": {"normal": {"scale": "1/sqrt(D)", "mean": -2}}}, {}, "1f2cccea34887483"),
    ("same_along", {"values": {"normal": {"same_along": 1}}}, {}, "8dedac9cae49c50b"),
    ("uniform", {"values": {"uniform": {"low": -1, "high": "N"}}}, {}, "e128eddbcbc9092e"),
    (
        "integers",
        {"values": {"integers": {"from": 1, "below": "V"}}, "dtype": "int64"},
        {},
        "f9c362d7d5860852",
    ),
    ("bernoulli", {"values": {"bernoulli": 0.4}}, {}, "977c410ecf8e4bec"),
    ("flags", {"values": {"bernoulli": 0.5}, "dtype": "bool"}, {}, "954bd609b974c9c2"),
    ("identity", {"values": "identity"}, {}, "3dc8108f8ffcf123"),
    ("constant", {"values": {"constant": "1/N"}}, {}, "fc036e5514bcb417"),
    ("three_axes", {"shape": ["N", 2, "D"]}, {}, "82abb41642c6654c"),
    (
        "parts",
        {"shape": ["N", 2, "D"], "parts": {"axis": 1, "names": ["a", "b"]}},
        {"set": {"a": {"scale": 3}, "b": {"values": {"normal": {"scale": 0.5}}}}},
        "0c9684b231654167",
    ),
    ("edited", {}, {"scale": 10, "edits": [{"at": [0, "*"], "to": [1, 2, 3, 4]}]}, "f3b810bfcbcd562c"),
    ("float32", {}, {"dtype": "float32"}, "6dd44a333190acec"),
]


@pytest.mark.parametrize(
    ("parameter", "change", "known"), [g[1:] for g in GOLDEN], ids=[g[0] for g in GOLDEN]
)
def test_the_bytes_of_a_recipe_never_change(parameter: Any, change: Any, known: str) -> None:
    assert digest(array(change, **parameter)) == known


def test_the_stream_is_built_on_raw_pcg64_alone() -> None:
    seed = int.from_bytes(hashlib.sha256(b"7\0x").digest()[:16], "big")
    raw = np.random.PCG64(seed).random_raw(5)
    assert Stream(7, "x").uniform(5).tolist() == [(int(n) >> 11) / 2**53 for n in raw]


@given(st.integers(0, 2**40), st.integers(0, 50))
def test_uniform_draws_lie_in_zero_to_one(seed: int, count: int) -> None:
    drawn = Stream(seed, "x").uniform(count)
    assert drawn.shape == (count,)
    assert ((drawn >= 0) & (drawn < 1)).all()


def test_normal_draws_have_mean_0_and_variance_1() -> None:
    drawn = Stream(3, "x").normal(20_000)
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.var() - 1) < 0.04
    assert np.abs(drawn).max() <= 6


def test_seed_name_and_part_give_unlike_streams() -> None:
    first = values({"normal": {}})
    assert not np.array_equal(first, values({"normal": {}}, seed=8))
    assert not np.array_equal(array(name="x"), array(name="y"))
    parts = {"shape": ["N", 2, "D"], "parts": {"axis": 1, "names": ["a", "b"]}}
    fresh = {"values": {"normal": {}}}
    both = array({"set": {"a": fresh, "b": fresh}}, **parts)
    assert not np.array_equal(both[:, 0], both[:, 1])


RECIPES: list[Any] = [
    "zeros",
    "ones",
    0.1,
    {"normal": {"scale": 3, "mean": 0.1}},
    {"uniform": {"low": -0.3, "high": 0.7}},
    {"integers": {"below": 300}},
    {"bernoulli": 0.3},
    {"constant": "1/3"},
    {"literal": [[0.1, 1 / 3], [2 / 3, 1e-9]]},
]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2**31])
def test_every_float_value_can_be_held_by_float32(recipe: Any, seed: int) -> None:
    made = array({"values": recipe, "scale": "1/3"}, seed=seed, shape=[2, 2])
    assert made.dtype == np.float64
    assert np.array_equal(made, made.astype(np.float32))
    assert made.flags.c_contiguous


@given(st.floats(allow_nan=False))
def test_rounding_to_float32_values_gives_the_nearest_and_is_done_once(value: float) -> None:
    once = float32_values(np.array([value]))
    with np.errstate(over="ignore"):
        assert once[0] == np.float32(value)
    assert np.array_equal(float32_values(once), once)


@given(st.lists(st.integers(0, 4), max_size=3))
def test_recipes_fill_any_shape_also_an_empty_one(shape: list[int]) -> None:
    for recipe in RECIPES[:-1]:
        made = values(recipe, tuple(shape))
        assert made.shape == tuple(shape)
        assert made.dtype == np.float64
        assert np.isfinite(made).all()


@given(st.integers(-5, 5), st.integers(1, 9), st.integers(0, 1000))
def test_integers_are_whole_and_within_bounds(low: int, span: int, seed: int) -> None:
    made = values({"integers": {"from": low, "below": low + span}}, (40,), seed)
    assert np.array_equal(made, np.floor(made))
    assert low <= made.min() <= made.max() < low + span


def test_every_integer_of_a_range_is_drawn() -> None:
    assert set(values({"integers": {"from": 2, "below": 5}}, (200,)).tolist()) == {2, 3, 4}


def test_bernoulli_gives_zeros_and_ones_in_the_share_asked_for() -> None:
    made = values({"bernoulli": 0.25}, (4000,))
    assert set(made.tolist()) == {0, 1}
    assert abs(made.mean() - 0.25) < 0.03
    assert values({"bernoulli": 0}, (50,)).max() == 0
    assert values({"bernoulli": 1}, (50,)).min() == 1


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_same_along_makes_values_equal_along_that_axis_only(axis: int) -> None:
    made = values({"normal": {"same_along": axis}}, (2, 3, 4))
    assert np.ptp(made, axis=axis).max() == 0
    for other in {0, 1, 2} - {axis % 3}:
        assert np.ptp(made, axis=other).min() > 0


def test_identity_stands_in_the_last_two_axes() -> None:
    made = values("identity", (2, 3, 3))
    assert np.array_equal(made, np.stack([np.eye(3)] * 2))
    made[0, 0, 0] = 5
    assert made[1, 0, 0] == 1, "the copies share no memory"


def test_parts_change_their_slice_only() -> None:
    parts = {"shape": ["N", 2, "D"], "parts": {"axis": 1, "names": ["a", "b"]}}
    before = array(**parts)
    zeroed = array({"set": {"b": "zeros"}}, **parts)
    assert np.array_equal(zeroed[:, 0], before[:, 0])
    assert not zeroed[:, 1].any()
    doubled = array({"set": {"a": {"scale": 2}}}, **parts)
    assert np.array_equal(doubled[:, 0], before[:, 0] * 2)
    assert np.array_equal(doubled[:, 1], before[:, 1])


def test_changes_apply_in_the_order_values_parts_scale_edits() -> None:
    made = array(
        {
            "values": "ones",
            "set": {"a": 5},
            "scale": 2,
            "edits": [{"at": ["*", 1], "to": 7}, {"at": [0, 1], "to": 8}],
        },
        parts={"axis": 0, "names": ["a", "b", "c"]},
    )
    assert made.tolist() == [[10, 8, 10, 10], [2, 7, 2, 2], [2, 7, 2, 2]]


def test_the_dtype_of_a_change_beats_the_cases_and_integers_keep_theirs() -> None:
    assert array(case_dtype="float32").dtype == np.float32
    assert array({"dtype": "float64"}, case_dtype="float32").dtype == np.float64
    ids: dict[str, Any] = {"values": {"integers": {"below": 9}}, "dtype": "int64"}
    assert array(case_dtype="float32", **ids).dtype == np.int64
    assert array({"dtype": "uint8"}, **ids).dtype == np.uint8


def test_an_array_may_have_no_axes() -> None:
    for recipe in RECIPES[:-1]:
        made = array({"scale": 2, "edits": [{"at": [], "to": 3}]}, shape=[], values=recipe)
        assert type(made) is np.ndarray
        assert made.shape == ()
        assert made == 3


def test_a_case_may_give_another_shape() -> None:
    assert array({"shape": [1, "D + 1"]}).shape == (1, 5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shape": ["N - 5", "D"]}, "negative length"),
        ({"shape": [3000, 3000]}, f"has 9,000,000 elements; at most {MAX_ELEMENTS:,} are made"),
        ({"shape": [10**9, 0, 10**9], "values": "identity"}, ""),
        ({"values": "identity", "shape": [3]}, "identity needs at least two axes"),
        ({"values": {"integers": {"from": 3, "below": 3}}}, "from 3 below 3, which is an empty range"),
        ({"values": {"integers": {"below": "1e999"}}}, "needs a whole number, found inf"),
        ({"shape": ["1e999"]}, "needs a whole number, found inf"),
        ({"values": {"normal": {"same_along": 2}}}, "same_along is 2; the array has 2 axes"),
        ({"values": {"literal": [1, 2]}}, "literal has the shape (2,), expected (3, 4)"),
        ({"values": {"literal": [[1, 2], [3]]}}, "nested lists of equal length"),
        ({"values": {"literal": "abc"}}, "literal must be numbers"),
        ({"edits": [{"at": [9, 0], "to": 1}]}, "can't set [9, 0] of an array of shape (3, 4) to 1"),
        ({"edits": [{"at": [0], "to": [1, 2]}]}, "can't set [0]"),
        ({"edits": [{"at": [0, 0, 0], "to": 1}]}, "can't set [0, 0, 0]"),
        ({"edits": [{"at": [0, 0], "to": "x"}]}, "to 'x'"),
        ({"set": {"a": "zeros"}}, "has no part 'a'; its parts are not named"),
    ],
)
def test_a_recipe_that_does_not_fit_says_so(change: dict[str, Any], said: str) -> None:
    if not said:
        assert array(change).size == 0
        return
    with pytest.raises(RecipeError) as caught:
        array(change)
    assert said in str(caught.value)


@pytest.mark.parametrize(("axis", "names"), [(1, list("abcde")), (5, list("abc")), (-3, list("abc"))])
def test_a_part_that_the_array_does_not_have_is_told(axis: int, names: list[str]) -> None:
    with pytest.raises(RecipeError, match=r"has the shape \(3, 4\)"):
        array({"set": {names[-1]: "zeros"}}, parts={"axis": axis, "names": names})
    with pytest.raises(RecipeError, match="its parts are a, b"):
        array({"set": {"q": "zeros"}}, parts={"axis": 0, "names": ["a", "b"]})


def test_an_unknown_dim_in_a_recipe_is_told() -> None:
    with pytest.raises(ExpressionError, match="'Q' is unknown here; known are D, N, V"):
        array({"scale": "1/Q"})


# --- the second call of a relation ------------------------------------------------------------


def change(**keys: Any) -> Change:
    return Change.model_validate(keys)


def test_take_keeps_the_given_rows_in_order() -> None:
    first = array()
    second = apply_change(first, change(take={"axis": 0, "indices": [2, 0, 0]}), DIMS, 7, "x")
    assert np.array_equal(second, first[[2, 0, 0]])
    columns = apply_change(first, change(take={"axis": 1, "indices": [3]}), DIMS, 7, "x")
    assert np.array_equal(columns, first[:, [3]])


def test_edits_fill_and_values_leave_the_first_array_alone() -> None:
    first = array()
    kept = first.copy()
    edited = apply_change(first, change(edits=[{"at": [0, 0], "to": 0.1}]), DIMS, 7, "x")
    filled = apply_change(first, change(fill=2), DIMS, 7, "x")
    fresh = apply_change(first, change(values={"normal": {}}), DIMS, 7, "x")
    assert np.array_equal(first, kept)
    assert edited[0, 0] == np.float32(0.1)
    assert np.array_equal(edited.ravel()[1:], first.ravel()[1:])
    assert (filled == 2).all()
    assert not np.isclose(fresh, first).any()
    assert np.array_equal(fresh, fresh.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_a_change_keeps_the_dtype(dtype: str) -> None:
    first = np.arange(6).reshape(2, 3).astype(dtype)
    changes = [
        change(fill=1),
        change(edits=[{"at": [0, 0], "to": 2}]),
        change(values={"integers": {"below": 5}}),
        change(take={"indices": [1]}),
    ]
    for one in changes:
        assert apply_change(first, one, DIMS, 7, "x").dtype == dtype


@pytest.mark.parametrize(
    ("take", "instead"),
    [
        ({"axis": 0, "indices": [3]}, "this axis has the indices 0 to 2"),
        ({"axis": 2, "indices": [0]}, "name an axis from 0 to 1"),
    ],
)
def test_taking_what_is_not_there_is_told_with_what_is(take: dict[str, Any], instead: str) -> None:
    said = rf"can't take \[.\] along axis . of the shape \(3, 4\); {instead}"
    with pytest.raises(RecipeError, match=said):
        apply_change(array(), change(take=take), DIMS, 7, "x")
