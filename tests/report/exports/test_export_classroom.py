"""The results for Classroom's reporter: what it adds up is the score, and no text is a line of its own."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import failing, grader_fault, hostile, not_loadable, passing, violated

from grader.report.exports import classroom
from grader.result import Adjustment, Result

KINDS = [passing(), failing(), not_loadable(), violated(), hostile()]


def reported(encoded: str) -> tuple[float, float, str, list[dict[str, Any]]]:
    """Points, the most there are, status and tests, as the reporter takes them."""
    found = json.loads(base64.b64decode(encoded, validate=True))
    total = 0.0
    for test in found["tests"]:
        total += test["score"]
    return total, found["max_score"], found["status"], found["tests"]


@pytest.mark.parametrize("record", KINDS, ids=lambda r: r.status)
def test_points_are_those_of_the_record(record: Result) -> None:
    total, most, status, tests = reported(classroom.encoded(classroom.document(record)))
    assert (total, most) == (record.score, record.max_score)
    assert status == ("pass" if record.status == "passed" else "fail")
    assert tests[-1]["status"] == status
    for test in tests:
        # The reporter prints names and messages as they are, and a line could be a command.
        assert not any(len(test[key].splitlines()) > 1 for key in ("name", "message"))
        assert not test["name"].startswith("::")


@given(st.integers(-10_000, 10_000).map(lambda n: n / 100))
def test_the_sum_is_the_score_to_the_last_digit(points: float) -> None:
    record = failing()
    score = (record.score or 0.0) + points
    record = replace(record, score=score, adjustments=(Adjustment("late", points),))
    total, _, _, tests = reported(classroom.encoded(classroom.document(record)))
    assert total == score and len(tests) > 2


def test_clauses_are_told_by_their_own_checks() -> None:
    _, _, _, tests = reported(classroom.encoded(classroom.document(failing())))
    told = {test["name"].partition(":")[0]: test["status"] for test in tests}
    assert "pass" in told.values() and "fail" in told.values()
    hidden = [c for c in failing().cases if c.visibility == "hidden"]
    assert hidden and not any(
        c.id in json.dumps(tests) or (c.hint and c.hint in json.dumps(tests)) for c in hidden
    )


def test_a_fault_of_the_grader_is_no_mark() -> None:
    assert classroom.document(grader_fault()) is None
    assert classroom.encoded(None) == ""


def test_many_clauses_fit_into_a_variable() -> None:
    record = failing()
    one = next(case for case in record.cases if case.failed)
    cases = tuple(replace(one, clause=f"clause_{n}", message="é" * 4_000) for n in range(2_000))
    encoded = classroom.encoded(classroom.document(replace(record, cases=cases)))
    assert len(encoded) < 128 << 10
    # No more is left out than has to be.
    assert len(base64.b64decode(encoded)) > classroom.MAX_BYTES - 3_000
    assert reported(encoded)[0] == record.score


def test_nothing_handed_in_is_worth_nothing() -> None:
    found = classroom.nothing_handed_in("Means", 5.0, "a.py does not exist\nx")
    total, most, status, tests = reported(classroom.encoded(found))
    assert (total, most, status) == (0, 5.0, "error")
    assert tests[0]["message"] == "a.py does not exist x"
