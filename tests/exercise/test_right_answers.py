"""What an author's relation names of an answer has to be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.small import CASES, load_source, right_answer, write_exercise

from grader.errors import ExerciseError
from grader.exercise.assemble import assemble
from grader.exercise.right_answers import RightAnswer, call_reference
from grader.exercise.source import PlacedCase

TWO = {
    "container": "dict",
    "items": {"rows": {"shape": ["N", "K"]}, "total": {"container": "number"}},
}


def with_total(x: Any, w: Any, factor: Any) -> dict[str, Any]:
    rows = right_answer(x, w, factor)
    return {"rows": rows, "total": float(rows.sum())}


def answers(root: Path, *, array: bool = False, **check: Any) -> list[RightAnswer]:
    """What the reference gives to the case row_alone, with other keys of its check."""
    usual: dict[str, Any] = dict(CASES[3]["check"])
    keys = {"check": {k: v for k, v in (usual | check).items() if v is not None}}
    write_exercise(root, exercise={} if array else {"returns": TWO}, change={"row_alone": keys})
    source = load_source(root)
    entry = next(e for e in source.entries if e.spec.id == "row_alone")
    placed: PlacedCase = next(p for p in source.cases({"drawn": []}) if p.case.id == entry.spec.id)
    function = right_answer if array else with_total
    return call_reference({"": function}, assemble(source.exercise, placed), source.exercise)


def fault(root: Path, **check: Any) -> tuple[str, str]:
    with pytest.raises(ExerciseError) as caught:
        answers(root, **check)
    (problem,) = caught.value.problems
    assert problem.file.endswith("checks.yaml") and problem.line > 0
    return problem.key, problem.message


def test_rows_are_those_of_the_part_that_is_named(tmp_path: Path) -> None:
    first, second = answers(tmp_path, part="rows")
    assert [first.answer.parts["rows"].shape, second.answer.parts["rows"].shape] == [(3, 2), (2, 2)]
    assert first.answer.parts["total"].shape == ()
    assert answers(tmp_path, array=True)[0].answer.parts == {}


def test_a_part_that_there_is_not_is_told(tmp_path: Path) -> None:
    assert fault(tmp_path, part="rosw") == (
        "row_alone.check.part",
        "unknown part 'rosw'; did you mean 'rows'?",
    )
    assert fault(tmp_path, part="rows", array=True) == (
        "row_alone.check.part",
        "is of an answer that is one array",
    )


def test_rows_without_a_part_are_told(tmp_path: Path) -> None:
    assert fault(tmp_path) == (
        "row_alone.check.rows",
        "names rows of an answer that is no array; name one of its parts, too",
    )


@pytest.mark.parametrize("array", [True, False])
def test_rows_that_there_are_not_are_told(tmp_path: Path, array: bool) -> None:
    part = None if array else "rows"
    assert fault(tmp_path, part=part, array=array, rows=[0, 3]) == (
        "row_alone.check.rows",
        "names row 3 of an answer with 3 rows",
    )
    assert fault(tmp_path, part=part, array=array, rows=None, other_rows=None) == (
        "row_alone.check",
        "holds 3 rows against 2; name them with rows and other_rows",
    )


def test_an_answer_of_another_form_than_returns_says_is_told(tmp_path: Path) -> None:
    write_exercise(tmp_path, exercise={"returns": TWO})
    source = load_source(tmp_path)
    placed = source.cases({"drawn": []})[0]
    with pytest.raises(
        ExerciseError, match="the reference gives another answer than returns says: It returned"
    ):
        call_reference({"": right_answer}, assemble(source.exercise, placed), source.exercise)
