"""Which elements move which rows: the reading of answers, and the calls and right picture of an exercise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known import INFLUENCE, row_scale
from support.small import EXERCISE, load_source, write_exercise

from grader.errors import ExerciseError
from grader.exercise.assemble import plain_call
from grader.exercise.influence import MOVED, InfluenceMap, read_map
from grader.exercise.influence_calls import influence_calls, right_map
from grader.exercise.models import Exercise, Influence

THREE = InfluenceMap("x", (3,), ("N",), ((0, 1, 2),), ("100", "010", "001"))
IDS: dict[str, Any] = {"shape": ["N", "D"], "values": {"integers": {"from": 2, "below": 5}}, "dtype": "int64"}


def base() -> np.ndarray:
    return np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


# --- reading ----------------------------------------------------------------------------------


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=3, max_size=3))
def test_rows_that_changed_have_moved(moves: list[list[bool]]) -> None:
    answers = [base(), *(base() + 0.1 * np.array(line)[:, np.newaxis] for line in moves)]
    assert read_map(THREE, answers) == tuple("".join("01"[m] for m in line) for line in moves)


@given(st.floats(0, 2), st.floats(1e-9, 1e9))
def test_what_has_moved_is_relative_to_the_answers_magnitude(times: float, magnitude: float) -> None:
    one = base() * magnitude
    other = one.copy()
    other[0, 0] += times * MOVED * 6 * magnitude
    picture = read_map(THREE, [one, other, one, one])
    if abs(times - 1) > 1e-3:
        assert picture == ("100" if times > 1 else "000", "000", "000")


@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_a_missing_answer_leaves_its_line_open(missing: int) -> None:
    answers: list[Any] = [base()] * 4
    answers[missing] = None
    wanted = ["???"] * 3 if missing == 0 else ["000"] * 3
    if missing:
        wanted[missing - 1] = "???"
    assert read_map(THREE, answers) == tuple(wanted)


def test_an_answer_of_another_shape_leaves_its_line_open() -> None:
    assert read_map(THREE, [base(), base()[:2], base()[:, :1], base()]) == ("???", "???", "000")
    assert read_map(THREE, [base()[:2]] * 4) == ("???",) * 3


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_open_and_the_others_are_read(odd: float) -> None:
    other = base()
    other[1, 0], other[2] = odd, 9
    assert read_map(THREE, [base(), other, base(), base()]) == ("0?1", "000", "000")


def test_answers_with_one_axis_and_without_columns_are_read() -> None:
    flat = base()[:, 0]
    assert read_map(THREE, [flat, flat + np.array([1, 0, 0]), flat, flat]) == ("100", "000", "000")
    empty = np.zeros((3, 0))
    assert read_map(THREE, [empty] * 4) == ("000",) * 3
    zeros = np.zeros((3, 2))
    assert read_map(THREE, [zeros] * 4) == ("000",) * 3


def test_views_are_put_together() -> None:
    two = InfluenceMap("x", (3,), ("N",), ((2, 0), (1,)), ("???",) * 3)
    assert two.calls == 8
    first, second = np.array([[1.0], [2.0]]), np.array([[3.0]])
    moved = first + np.array([[1.0], [0.0]])
    picture = read_map(two, [first, moved, first, first, second, second, second + 1, second])
    assert picture == ("001", "010", "000")


# --- an exercise's map ------------------------------------------------------------------------


def exercise(root: Path, **changes: Any) -> tuple[Exercise, Influence]:
    """The small exercise with an influence map."""
    overrides = {"influence": INFLUENCE | changes.pop("influence", {})} | changes
    write_exercise(root, exercise=overrides)
    loaded = load_source(root).exercise
    assert loaded.influence is not None
    return loaded, loaded.influence


def test_every_element_is_changed_in_turn_in_every_view(tmp_path: Path) -> None:
    views = [{"change": {"w": {"fill": 1}}, "rows": [0, 1, 2]}, {"change": {"factor": {"scalar": 1}}}]
    made, spec = exercise(tmp_path, influence={"views": views})
    calls = [plain_call(call) for call in influence_calls(made, spec, "f.yaml", 1)]
    assert len(calls) == 2 * (1 + 6)
    for view, (first, *others) in enumerate((calls[:7], calls[7:])):
        assert first[2] == (2, 1)[view]
        assert bool((np.asarray(first[1]) == 1).all()) == (view == 0)
        for number, other in enumerate(others):
            moved = np.asarray(other[0]) - np.asarray(first[0])
            assert np.flatnonzero(moved).tolist() == [number] and moved.flat[number] == pytest.approx(1)
            assert np.array_equal(other[1], first[1]) and other[2] == first[2]
    assert np.array_equal(calls[0][0], calls[7][0]), "both views have the same argument"


@given(st.integers(2, 4))
def test_whole_numbers_go_to_the_next_of_their_range(
    tmp_path_factory: pytest.TempPathFactory, number: int
) -> None:
    parameters = {**EXERCISE["parameters"], "x": IDS}
    arrays = {"x": {"values": {"constant": number}}}
    made, spec = exercise(tmp_path_factory.mktemp("ids"), parameters=parameters, influence={"arrays": arrays})
    calls = [plain_call(call) for call in influence_calls(made, spec, "f.yaml", 1)]
    after = {2: 3, 3: 4, 4: 2}[number]
    assert [np.asarray(c[0]).flat[n] for n, c in enumerate(calls[1:])] == [after] * 6


def test_the_right_picture_is_the_references(tmp_path: Path) -> None:
    made, spec = exercise(tmp_path)
    calls = influence_calls(made, spec, "f.yaml", 1)
    found = right_map(row_scale, calls, made, spec, "f.yaml", 1)
    assert found == InfluenceMap(
        "x", (3, 2), ("N", "D"), ((0, 1, 2),), ("100", "100", "010", "010", "001", "001")
    )
    batch = right_map(
        lambda x, w, k: row_scale(x, w, k, lambda y: (y * y).mean()), calls, made, spec, "f.yaml", 1
    )
    assert batch.expected == ("111",) * 6


def faults(root: Path, spec: dict[str, Any], entry: Any = row_scale) -> str:
    made, found = exercise(root, influence=spec)
    with pytest.raises(ExerciseError) as caught:
        right_map(entry, influence_calls(made, found, "f.yaml", 7), made, found, "f.yaml", 7)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key) == ("f.yaml", 7, "influence")
    return problem.message


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"argument": "y"}, "'y' is no array argument"),
        ({"argument": "factor"}, "'factor' is no array argument"),
        ({"views": [{"change": {"y": {"fill": 1}}}]}, "unknown parameter 'y'"),
        ({"views": [{"change": {"factor": {"fill": 1}}}]}, "factor is a scalar; expected the key scalar"),
        ({"views": [{"rows": [0, 1]}]}, "a view names 2 rows, the answer has 3"),
        ({"views": [{"rows": [0, 1, 3]}]}, "the rows of all views together must be 0 to 2, each once"),
        ({"views": [{"rows": [0, 1, 1]}]}, "the rows of all views together must be 0 to 2, each once"),
        ({"views": [{}, {}]}, "the rows of all views together must be 0 to 5, each once"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(tmp_path: Path, spec: dict[str, Any], said: str) -> None:
    assert said in faults(tmp_path, spec)


@pytest.mark.parametrize("size", [1e-4, 1e-7])
def test_a_picture_that_hangs_on_the_bound_is_refused(tmp_path: Path, size: float) -> None:
    def hardly(x: Any, w: Any, factor: Any) -> Any:
        return 1 + size * x

    assert "a row moves by too little to be seen" in faults(tmp_path, {}, hardly)


def test_a_map_may_be_larger_than_the_argument(tmp_path: Path) -> None:
    made, spec = exercise(tmp_path, influence={"argument": "w", "views": [{}]})
    found = right_map(row_scale, influence_calls(made, spec, "f.yaml", 1), made, spec, "f.yaml", 1)
    assert found.shape == (2, 2) and found.axes == ("D", "K") and found.expected == ("111",) * 4
    assert replace(found, rows=()).calls == 0
