"""Cases become calls with arrays; a relation's second call differs in what its change says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small import load_source, write_exercise

from grader.errors import ExerciseError
from grader.exercise.assemble import AssembledCase, assemble, case_seed, changed_dims, plain_call
from grader.exercise.calls import ArrayArgument

DIMS = {"N": 3, "D": 4, "K": 2, "factor": 2}


def assembled(root: Path, **case: Any) -> AssembledCase:
    whole = {"id": "one", "clause": "rows", "points": 1, "dims": DIMS} | case
    write_exercise(root, cases=[whole])
    source = load_source(root)
    return assemble(source.exercise, source.cases({})[0])


def relation(**keys: Any) -> dict[str, Any]:
    return {"relation": "equals"} | keys


def test_a_call_has_an_argument_for_each_parameter_in_order(tmp_path: Path) -> None:
    made = assembled(tmp_path)
    (call,) = made.calls
    x, w, factor = call
    assert isinstance(x, ArrayArgument)
    assert isinstance(w, ArrayArgument)
    assert (x.array.shape, w.array.shape, factor) == ((3, 4), (4, 2), 2)
    assert (x.layout, x.read_only) == ("c", False)
    assert type(factor) is int


def test_layout_and_read_only_reach_the_argument(tmp_path: Path) -> None:
    made = assembled(
        tmp_path, arrays={"x": {"layout": "strided", "read_only": True}, "w": {"layout": "fortran"}}
    )
    x, w, _ = made.calls[0]
    assert isinstance(x, ArrayArgument)
    assert isinstance(w, ArrayArgument)
    assert (x.layout, x.read_only, w.layout, w.read_only) == ("strided", True, "fortran", False)


@pytest.mark.parametrize(
    "change",
    [
        {"x": {"take": {"indices": [2, 1]}}},
        {"x": {"edits": [{"at": [0, 0], "to": 9}]}},
        {"x": {"fill": 1}},
        {"x": {"values": {"normal": {}}}},
        {"w": {"fill": 0}},
        {"factor": {"scalar": 4}},
        {"x": {"fill": 1}, "factor": {"scalar": 4}},
    ],
)
def test_the_second_call_differs_in_what_the_change_names_and_in_nothing_else(
    tmp_path: Path, change: Any
) -> None:
    made = assembled(tmp_path, check=relation(change=change), arrays={"x": {"layout": "fortran"}})
    first, second = made.calls
    for name, before, after in zip(("x", "w", "factor"), first, second, strict=True):
        if isinstance(before, ArrayArgument):
            assert isinstance(after, ArrayArgument)
            assert (after.layout, after.read_only) == (before.layout, before.read_only)
            assert np.array_equal(before.array, after.array) == (name not in change)
        else:
            assert (before == after) == (name not in change)


@pytest.mark.parametrize("name", ["same_on_repeat", "output_not_aliased"])
def test_a_relation_without_a_change_makes_one_call(tmp_path: Path, name: str) -> None:
    assert len(assembled(tmp_path, check={"relation": name}).calls) == 1


def test_a_case_without_a_seed_has_one_made_of_its_id_alone(tmp_path: Path) -> None:
    first = assembled(tmp_path / "a").inputs_digest
    assert assembled(tmp_path / "b", hint="x", points=2).inputs_digest == first
    assert assembled(tmp_path / "c", id="other").inputs_digest != first
    assert assembled(tmp_path / "d", seed=1).inputs_digest != first
    write_exercise(tmp_path, cases=[{"id": "one", "clause": "rows", "points": 1, "dims": DIMS, "seed": 12}])
    assert case_seed(load_source(tmp_path).cases({})[0].case) == 12


@pytest.mark.parametrize(
    "other",
    [
        {"arrays": {"x": {"edits": [{"at": [0, 0], "to": 0.5}]}}},
        {"arrays": {"x": {"dtype": "float32"}}},
        {"dims": DIMS | {"factor": 4}},
        {"check": relation(change={"x": {"fill": 1}})},
    ],
)
def test_the_inputs_digest_tells_any_other_input(tmp_path: Path, other: Any) -> None:
    assert assembled(tmp_path / "a").inputs_digest != assembled(tmp_path / "b", **other).inputs_digest


def test_a_plain_call_is_a_copy_that_may_be_written(tmp_path: Path) -> None:
    made = assembled(tmp_path, arrays={"x": {"read_only": True, "layout": "fortran"}})
    x, _, factor = plain_call(made.calls[0])
    assert isinstance(x, np.ndarray)
    x[:] = 0
    assert factor == 2
    again = made.calls[0][0]
    assert isinstance(again, ArrayArgument)
    assert again.array.any()


@pytest.mark.parametrize(
    ("case", "key", "said"),
    [
        ({"arrays": {"x": {"scale": "1/Q"}}}, "one.arrays.x", "'Q' is unknown here"),
        ({"arrays": {"x": {"shape": ["N - 9", "D"]}}}, "one.arrays.x", "negative length"),
        ({"arrays": {"w": {"set": {"a": "ones"}}}}, "one.arrays.w", "has no part 'a'"),
        ({"arrays": {"x": {"edits": [{"at": [3], "to": 1}]}}}, "one.arrays.x", "can't set [3]"),
        ({"check": relation(change={"x": {"scalar": 1}})}, "one.check.change.x", "is an array"),
        (
            {"check": relation(change={"factor": {"fill": 1}})},
            "one.check.change.factor",
            "expected the key scalar, as fill is for arrays",
        ),
        (
            {"check": relation(change={"x": {"take": {"indices": [7]}}})},
            "one.check.change.x",
            "can't take [7]",
        ),
    ],
)
def test_a_fault_names_the_case_its_line_and_its_key(tmp_path: Path, case: Any, key: str, said: str) -> None:
    with pytest.raises(ExerciseError) as caught:
        assembled(tmp_path, **case)
    (problem,) = caught.value.problems
    assert problem.file.endswith("checks.yaml")
    assert problem.key == key
    name = key.rpartition(".")[2]
    lines = (tmp_path / "cases" / "row_scale" / "checks.yaml").read_text().splitlines()
    assert lines[problem.line - 1].strip() == f"{name}:"
    assert said in problem.message


@pytest.mark.parametrize(
    ("change", "other"),
    [
        ({"x": {"fill": 1}}, {}),
        ({"x": {"take": {"indices": [2, 1]}}}, {"N": 2}),
        ({"x": {"take": {"indices": [2, 1, 0]}}}, {}),
        ({"w": {"take": {"axis": 1, "indices": [0, 1, 1]}}}, {"K": 3}),
        ({"factor": {"scalar": 5}}, {"factor": 5}),
        # x has one length and w another: which of them an answer has can't be told.
        ({"x": {"take": {"axis": 1, "indices": [0, 1]}}}, {"D": None}),
        (
            {"x": {"take": {"axis": 1, "indices": [0]}}, "w": {"take": {"axis": 0, "indices": [0]}}},
            {"D": 1},
        ),
    ],
)
def test_what_is_taken_changes_dims_of_the_second_call(tmp_path: Path, change: Any, other: Any) -> None:
    made = assembled(tmp_path, check=relation(change=change))
    exercise = load_source(tmp_path).exercise.view("")
    wanted = {name: length for name, length in (DIMS | other).items() if length is not None}
    assert changed_dims(exercise, made) == wanted
