"""Plain files hold every record, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from terminals import case, failing, result

from grader.people import Person
from grader.report.tables import gradebook_csv, jsonl
from grader.result import Adjustment, Isolation, Result, SubmissionInfo
from grader.summary import Summary


def rows(*records: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gradebook_csv(records), newline="")))


def named(*members: str, **changes: Any) -> Result:
    return replace(result(case(), **changes), submission=SubmissionInfo("ann", "Team", members, "a.py", ""))


def test_every_member_gets_a_row() -> None:
    found = rows(named("Ann", "Bob, the second"), named())
    assert [row["name"] for row in found] == ["Ann", "Bob, the second", "Team"]
    assert {row["score"] for row in found} == {"1.0"} and {row["status"] for row in found} == {"passed"}


def test_a_fault_of_the_grader_has_no_score_and_never_a_0() -> None:
    (row,) = rows(result(failing(), status="grader_fault", score=None))
    assert row["score"] == "" and row["max_score"] == "1.0"


def test_columns_of_before_stay_where_they_were() -> None:
    found = rows(named("Ann", "Bob"), replace(named("Zoe"), isolation=Isolation("none", ("process",))))
    assert [row["isolation"] for row in found] == ["full", "full", "none"]
    assert list(found[0]) == [
        *("id", "name", "status", "score", "max_score", "policy", "message", "diagnosis", "isolation"),
        *("student_id", "email", "late", "submitted_at", "attempts", "file", "adjustments"),
    ]


def test_every_member_gets_the_own_number_and_address() -> None:
    group = SubmissionInfo(
        "team",
        "Team",
        ("Ann", "Bob"),
        "class.zip/team/work.ipynb",
        "",
        people=(Person("Ann", "007", "ann@example.org"), Person("Bob", "=1+2")),
        file="my work.ipynb",
        submitted_at="2026-03-01T10:00:00+01:00",
        late=True,
        attempts=3,
    )
    found = rows(replace(result(case()), submission=group))
    assert [row["student_id"] for row in found] == ["007", "'=1+2"]
    assert [row["email"] for row in found] == ["ann@example.org", ""]
    for row in found:
        assert (row["late"], row["attempts"], row["file"]) == ("yes", "3", "my work.ipynb")
        assert row["submitted_at"] == "2026-03-01T10:00:00+01:00"


def test_what_is_known_of_a_few_members_goes_to_these() -> None:
    group = SubmissionInfo(
        "team", "Team", ("Ann", "Bob"), "a.py", "", people=(Person("Bob", "9"),), late=False
    )
    found = rows(replace(result(case()), submission=group))
    assert [(row["name"], row["student_id"], row["late"]) for row in found] == [
        ("Ann", "", "no"),
        ("Bob", "9", "no"),
    ]


def test_who_handed_in_nothing_has_a_row_without_a_score() -> None:
    text = gradebook_csv([result(case())], [Person("Zoe", "0042", "zoe@example.org"), Person("@Al")])
    *_, zoe, al = csv.DictReader(io.StringIO(text, newline=""))
    assert (zoe["name"], zoe["student_id"], zoe["email"]) == ("Zoe", "0042", "zoe@example.org")
    assert al["name"] == "'@Al"
    for row in (zoe, al):
        assert (row["id"], row["status"], row["score"], row["attempts"]) == ("", "not_submitted", "", "0")
        assert row["max_score"] == "1.0"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_name_is_one_cell_and_no_formula(name: str) -> None:
    found = rows(named(name, message=name))
    assert len(found) == 1
    for key in ("name", "message"):
        cell = found[0][key] or ""
        assert not cell.startswith(("=", "@", "\t", "\r"))
        if cell.startswith(("+", "-")):
            float(cell)


def test_formulas_are_defused() -> None:
    for text in ("=1+2", "+cmd|' /C calc'!A0", "@SUM(A1)", "-1+1", '=HYPERLINK("http://x")'):
        assert rows(named(text))[0]["name"] == f"'{text}"


def test_what_was_taken_or_given_stands_with_its_reason() -> None:
    (row,) = rows(result(case(), adjustments=(Adjustment("=late by 2 days", -4.0), Adjustment("neat", 0.5))))
    assert row["adjustments"] == "'=late by 2 days (-4); neat (+0.5)"
    assert rows(result(case()))[0]["adjustments"] == ""


def diagnosed(*diagnoses: dict[str, Any]) -> str:
    (row,) = rows(result(failing(), diagnoses=diagnoses))
    return row["diagnosis"]


def test_mistakes_that_come_together_have_a_plus_and_alternatives_a_bar_between_them() -> None:
    one, other, kept = {"ids": ["a"], "of": 3}, {"ids": ["b", "c"], "of": 3}, {"ids": ["k"], "of": 0}
    assert diagnosed() == ""
    assert diagnosed(one) == "a"
    assert diagnosed(other) == "b+c"
    assert diagnosed(one, other) == "a|b+c"
    assert diagnosed(kept) == "k"
    assert diagnosed(one, other, kept) == "a+k|b+c+k"
    assert diagnosed({"ids": ["=1+2"], "of": 1}) == "'=1+2"


def test_a_record_and_its_summary_give_the_same_row() -> None:
    record = result(failing(), diagnoses=({"ids": ["a", "b"], "of": 3},))
    assert gradebook_csv([record]) == gradebook_csv([Summary.of(record)])


def test_one_line_a_record_that_reads_back() -> None:
    records = [result(case()), named("Ann"), result(failing(message="two\nlines\u2028here"))]
    lines = list(jsonl(records))
    assert len(lines) == 3
    for line, record in zip(lines, records, strict=True):
        assert line.endswith("\n") and line.count("\n") == 1
        assert Result.from_dict(json.loads(line)) == record
