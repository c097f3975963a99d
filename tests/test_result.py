"""The Result record survives JSON, and its student's view holds nothing that is hidden."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.result import (
    BEGIN,
    HIDDEN_MESSAGES,
    SCHEMA,
    Adjustment,
    CaseError,
    CaseResult,
    Isolation,
    Output,
    PolicyResult,
    Result,
    Shared,
    SubmissionInfo,
    Timing,
    Verdict,
    Violation,
    rank_broken,
)
from grader.summary import FAILED, PASSED, Outline, Record, Summary

texts = st.text(max_size=20)
points = st.floats(0, 100).map(lambda x: round(x, 6))
numbers = st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
mappings = st.dictionaries(texts, plain, max_size=3)
errors = st.none() | st.builds(CaseError, st.none() | numbers, st.none() | numbers, numbers)
case_results = st.builds(
    CaseResult,
    id=texts,
    group=texts,
    title=texts,
    clause=texts,
    visibility=st.sampled_from(["public", "hidden"]),
    verdict=st.sampled_from(get_args(Verdict)),
    points=points,
    max_points=points,
    error=errors,
    message=texts,
    hint=texts,
    details=mappings,
)
violations = st.builds(Violation, texts, texts, st.integers(0), st.integers(0), texts, texts)
outputs = st.builds(Output, texts, texts, st.booleans())


def tuples(of: st.SearchStrategy[Any], size: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=size).map(tuple)


results = st.builds(
    Result,
    exercise=mappings,
    submission=st.builds(SubmissionInfo, texts, texts, tuples(texts), texts, texts),
    status=st.sampled_from(["passed", "failed", "not_loadable", "grader_fault"]),
    score=st.none() | points,
    max_score=points,
    message=texts,
    isolation=st.builds(Isolation, st.sampled_from(["full", "partial", "none"]), tuples(texts)),
    adjustments=tuples(st.builds(Adjustment, texts, numbers)),
    policy=st.builds(
        PolicyResult,
        st.sampled_from(["clean", "violated", "suspicious"]),
        tuples(violations),
        tuples(violations),
    ),
    cases=tuples(case_results, 4),
    diagnoses=tuples(mappings),
    notes=tuples(texts),
    counterexample=st.none() | mappings,
    output=outputs,
    hidden_output=outputs,
    timing=st.builds(Timing, numbers, numbers, numbers),
)


@given(results)
def test_a_record_survives_json(result: Result) -> None:
    text = result.to_json()
    assert "\n" not in text, "one line of results.jsonl"
    assert Result.from_dict(json.loads(text)) == result
    assert json.loads(text) == json.loads(json.dumps(result.to_dict()))


def plainly(result: Result) -> str:
    """The JSON of a record's plain data, made in one go."""
    text = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False)
    for sign in "\x85\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.encode("utf-8", "replace").decode()


@given(results)
def test_a_record_is_written_as_its_plain_data_is(result: Result) -> None:
    """Most of its text is put together from parts that are kept."""
    assert result.to_json() == plainly(result)
    assert result.to_json().startswith(BEGIN)


@given(st.lists(plain, max_size=3), mappings, mappings, st.booleans())
def test_what_many_records_share_is_written_as_it_is(
    inputs: list[Any], before: dict[str, Any], after: dict[str, Any], shared: bool
) -> None:
    details = {"inputs": Shared(inputs) if shared else inputs} | after if not before else {**before, **after}
    case = CaseResult("a", "g", "", "c", "public", "raised", 0.0, 1.0, details=details)
    record = Result.from_dict({**_small(), "cases": []})
    record = replace(record, cases=(case, case))
    for _ in range(2):
        assert record.to_json() == plainly(record)


@pytest.mark.parametrize("value", [0.0, -0.0, 1, 1.0, 1e-300, 1e22, 0.1, None])
def test_numbers_keep_their_form(value: Any) -> None:
    case = CaseResult("a", "g", "", "c", "public", "raised", value, value, CaseError(value, value, value))
    record = replace(Result.from_dict(_small()), cases=(case,))
    assert record.to_json() == json.dumps(record.to_dict())


@given(results)
def test_a_record_in_short_is_what_the_record_says(result: Result) -> None:
    made = Summary.of(result)
    assert made.submission == result.submission and made.policy == result.policy
    assert made.adjustments == result.adjustments
    assert (made.status, made.score, made.max_score, made.message) == (
        result.status,
        result.score,
        result.max_score,
        result.message,
    )
    assert made.broken == result.broken_clauses()
    assert [mark == FAILED for mark in made.marks] == [c.failed for c in result.cases]
    assert [mark == PASSED for mark in made.marks] == [c.verdict == "passed" for c in result.cases]
    assert [c.id for c in Outline.of(result).cases] == [c.id for c in result.cases]
    assert made.outline == Outline.of(result).digest


@given(results)
def test_a_record_as_text_survives_its_way_from_a_worker(result: Result) -> None:
    sent = Record.of(result).to_bytes()
    # A reader that knows records only can read it too.
    assert Result.from_dict(json.loads(sent)) == Result.from_dict(json.loads(result.to_json()))
    read = Record.from_bytes(sent)
    assert read.text == result.to_json()
    again = Result.from_dict(json.loads(read.text))
    assert read.result == again
    assert (read.submission, read.status, read.score, read.message) == (
        again.submission,
        again.status,
        again.score,
        again.message,
    )
    assert replace(read.summary, outline="") == replace(Summary.of(again), outline="")


def test_no_text_of_a_record_is_taken_for_its_summary() -> None:
    text = ', "summary": {"status": "passed"}}'
    record = replace(Result.from_dict(_small()), message=text, notes=(text,), counterexample={"summary": 1})
    read = Record.from_bytes(Record.of(record).to_bytes())
    assert read.result == record and read.summary == Summary.of(record)


@pytest.mark.parametrize("bad", [b"", b"{}", b'{"schema": 1}', b'{"a": 1, "summary": []}', b"\xff", b"[]"])
def test_bytes_that_are_no_record_are_refused(bad: bytes) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Record.from_bytes(bad)


@given(results, results)
def test_outlines_that_differ_have_different_digests(one: Result, other: Result) -> None:
    same = json.dumps([one.exercise, Outline.of(one).cases]) == json.dumps(
        [other.exercise, Outline.of(other).cases]
    )
    assert (Outline.of(one).digest == Outline.of(other).digest) == same


@given(results)
def test_the_students_view_survives_json_too_and_is_made_once(result: Result) -> None:
    seen = result.for_student()
    assert Result.from_dict(json.loads(seen.to_json())) == seen
    assert seen.for_student() == seen


@given(results)
def test_what_differs_in_hidden_matter_only_looks_the_same_to_a_student(result: Result) -> None:
    """Two records that differ in nothing but what is hidden give one and the same view."""
    other = Result.from_dict(json.loads(result.to_json()))
    data = other.to_dict()
    for case in data["cases"]:
        if case["visibility"] == "hidden":
            case |= {"id": "Q", "group": "Q", "title": "Q", "message": "Q", "hint": "Q", "details": {"Q": 1}}
            case["error"] = {"max_abs": 7.0, "max_rel": 7.0, "tolerance": 7.0}
    data["hidden_output"] = {"stdout": "Q", "stderr": "Q", "truncated": True}
    data["policy"]["suspicions"] = []
    # How long hidden calls take is hidden too.
    data["timing"] |= {"wall_s": 7.0, "cpu_s": 7.0, "calls_s": 7.0}
    assert Result.from_dict(data).for_student() == result.for_student()


@given(results)
def test_public_cases_status_and_score_are_untouched_in_the_students_view(result: Result) -> None:
    seen = result.for_student()
    assert [c for c in seen.cases if c.visibility == "public"] == [
        c for c in result.cases if c.visibility == "public"
    ]
    assert (seen.status, seen.score, seen.max_score, seen.output) == (
        result.status,
        result.score,
        result.max_score,
        result.output,
    )
    assert [(c.clause, c.verdict, c.points, c.max_points) for c in seen.cases] == [
        (c.clause, c.verdict, c.points, c.max_points) for c in result.cases
    ]
    ids = [c.id for c in seen.cases if c.visibility == "hidden"]
    assert ids == [f"hidden_{n:02d}" for n in range(1, len(ids) + 1)]


def test_of_a_hidden_check_that_was_skipped_no_reason_is_told() -> None:
    """It may have been required, not run after time-outs, or the file could not be loaded."""
    assert HIDDEN_MESSAGES["skipped"] == "Not counted."


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_case_failed_where_it_was_judged_and_did_not_pass(verdict: Verdict) -> None:
    case = CaseResult("a", "g", "", "c", "public", verdict, 0.0, 1.0)
    assert case.failed == (verdict not in ("passed", "skipped", "grader_fault"))


def test_there_are_general_words_for_every_verdict() -> None:
    assert set(HIDDEN_MESSAGES) == set(get_args(Verdict))


@given(results, st.dictionaries(texts.map(lambda t: f"new_{t}"), plain, min_size=1, max_size=2))
def test_keys_of_newer_records_are_left_out_at_every_level(result: Result, more: dict[str, Any]) -> None:
    data = json.loads(result.to_json())
    policy = data["policy"]
    parts = [data["submission"], data["isolation"], policy, data["output"], data["hidden_output"]]
    parts += [data["timing"], *data["adjustments"], *policy["violations"], *policy["suspicions"]]
    parts += [*data["cases"], *[case["error"] for case in data["cases"] if case["error"]]]
    for part in [data, *parts]:
        part.update(more)
    assert Result.from_dict(data) == result


@given(results)
def test_reading_a_record_leaves_the_data_as_it_is(result: Result) -> None:
    data = json.loads(result.to_json())
    Result.from_dict(data)
    assert data == json.loads(result.to_json())


def _named(*verdicts: tuple[str, Any, bool]) -> list[CaseResult]:
    return [
        CaseResult(str(n), "g", "", clause, "public", verdict, 0.0, 1.0, drawn=drawn)
        for n, (clause, verdict, drawn) in enumerate(verdicts)
    ]


def test_drawn_cases_say_little_about_their_clause() -> None:
    cases = _named(
        ("a", "passed", False),
        ("a", "wrong_value", False),
        ("b", "wrong_value", True),
        ("b", "wrong_value", True),
        ("b", "passed", False),
    )
    assert rank_broken(cases, ["b", "a"]) == ("a", "b")


def test_where_only_drawn_cases_fail_they_decide() -> None:
    cases = _named(("a", "passed", False), ("a", "wrong_value", True), ("b", "wrong_value", True))
    assert rank_broken(cases, ["a", "b"]) == ("b", "a")


def test_what_was_not_judged_breaks_no_clause() -> None:
    assert rank_broken(_named(("a", "skipped", False), ("b", "grader_fault", False)), ["a", "b"]) == ()


@given(results)
def test_the_schema_comes_first(result: Result) -> None:
    assert next(iter(result.to_dict().items())) == ("schema", SCHEMA)
    assert result.to_json().startswith('{"schema": "grader.result/1"')


@pytest.mark.parametrize("bad", [{}, {"schema": SCHEMA}, {"schema": "grader.result/2"}, {"schema": None}])
def test_what_is_no_record_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Result.from_dict(bad)


@given(results, st.data())
def test_a_record_that_lacks_a_needed_key_is_refused(result: Result, data: st.DataObject) -> None:
    record = json.loads(result.to_json())
    key = data.draw(
        st.sampled_from(["schema", "exercise", "submission", "status", "score", "policy", "cases", "message"])
    )
    del record[key]
    with pytest.raises((KeyError, TypeError, ValueError)):
        Result.from_dict(record)


def test_nan_never_gets_into_a_record() -> None:
    result = Result.from_dict(
        {
            **_small(),
            "timing": {"wall_s": float("nan"), "cpu_s": 0.0, "calls_s": 0.0},
        }
    )
    with pytest.raises(ValueError, match=r"Out of range float values"):
        result.to_json()


def _small() -> dict[str, Any]:
    return Result(
        exercise={"name": "x"},
        submission=SubmissionInfo("a", "a", ("a",), "a.py", ""),
        status="passed",
        score=1.0,
        max_score=1.0,
        message="",
        isolation=Isolation("none", ()),
    ).to_dict()


@pytest.mark.parametrize("sign", ["\x85", "\u2028", "\u2029", "\x0b", "\x1c", "\r\n", "\udc80"])
@given(results)
@settings(max_examples=5)
def test_a_record_is_one_line_for_every_reader(sign: str, result: Result) -> None:
    record = replace(result, message=f"a{sign}b")
    for text in (record.to_json(), Summary.of(record).to_json()):
        assert text.splitlines() == [text]
        assert json.loads(text)["message"] == f"a{sign}b".replace("\udc80", "?")
