"""A live function gets the visible checks, in this process, and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.small import right_answer

from grader.batch.live import NOTE, check_function, visible
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.result import Result


def wrong(x: Any, w: Any, factor: Any) -> Any:
    return factor * (x @ w) / (1 + (x * x).mean())


def test_a_right_function_passes_and_is_told_what_was_left_out(pack: Pack) -> None:
    result = check_function(pack, right_answer)
    assert result.status == "passed" and result.score == result.max_score
    assert result.notes == (NOTE,) and result.isolation.level == "none"
    assert result.isolation.warning and result.submission.name == "right_answer"
    assert {c.visibility for c in result.cases} == {"public"}
    assert "hidden checks were not run" in result.message


def test_a_function_never_meets_a_hidden_input(pack: Pack) -> None:
    seen: list[bytes] = []

    def spy(x: Any, w: Any, factor: Any) -> Any:
        seen.append(np.asarray(x).tobytes())
        return right_answer(x, w, factor)

    check_function(pack, spy)
    hidden = [dict(pack.arguments(c))["x"] for c in pack.cases if c.visibility == "hidden"]
    assert hidden and seen and not {np.asarray(x).tobytes() for x in hidden} & set(seen)


def verdicts(result: Result) -> dict[str, str]:
    return {c.id: c.verdict for c in result.cases}


def test_a_wrong_function_fails_where_its_file_does(pack: Pack) -> None:
    found = verdicts(check_function(pack, wrong))
    assert found["large_rows"] == "wrong_value" and found["ones_row"] == "passed"


def test_what_a_case_requires_still_counts(pack: Pack) -> None:
    found = verdicts(check_function(pack, lambda x, w, factor: np.zeros((len(x), w.shape[1]))))
    assert found["ones_row"] == "wrong_value" and found["no_rows"] == "skipped"


def test_changed_arguments_exceptions_and_exits_are_told(pack: Pack) -> None:
    def scales(x: Any, w: Any, factor: Any) -> Any:
        answer = right_answer(x, w, factor)
        x *= 2
        return answer

    def raises(x: Any, w: Any, factor: Any) -> Any:
        raise KeyError("no such row")

    def leaves(x: Any, w: Any, factor: Any) -> Any:
        raise SystemExit

    assert verdicts(check_function(pack, scales))["x_kept"] == "input_mutated"
    first = check_function(pack, raises).cases[0]
    assert first.verdict == "raised" and "KeyError in line" in first.message
    assert "return the answer instead" in check_function(pack, leaves).cases[0].message


def test_a_function_of_other_arguments_is_told_how_it_is_called(pack: Pack) -> None:
    first = check_function(pack, lambda x: x).cases[0]
    assert "called with 3 arguments by position (x, w, factor)" in first.message


def test_what_can_t_be_called_is_refused(pack: Pack) -> None:
    with pytest.raises(GraderError, match=r"list can't be called; give the function row_scale"):
        check_function(pack, [1])  # type: ignore[arg-type]


def test_known_mistakes_are_named_and_shown_small(stepped: Pack) -> None:
    result = check_function(stepped, wrong)
    assert result.diagnoses and result.counterexample is not None and result.influence is not None


def test_the_visible_part_of_a_students_pack_is_all_of_it(pack: Pack) -> None:
    part = visible(pack)
    assert visible(part) is part and part.student
