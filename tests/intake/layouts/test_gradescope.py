"""Gradescope: the metadata as Ruby writes it, hostile or damaged metadata, groups and what is missing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.lms import tree

from grader.intake.layouts.attempts import Reading
from grader.intake.layouts.gradescope import METADATA
from grader.intake.layouts.recognition import read, recognize
from grader.people import Person
from tests.intake.layouts.found import keys, names, only, reading_of

ONE = """---
submission_11:
  :submitters:
  - :name: Jane Doe
    :sid: '00123'
    :email: Jane@School.example
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :score: 2.0
  :status: processed
"""


def export(metadata: str, *folders: str) -> Reading:
    files = {f"{folder}/solution.py": "x = 1\n" for folder in folders or ("submission_11",)}
    return reading_of("gradescope", files | {METADATA: metadata}, name="assignment_1_export")


def test_an_entry_tells_who_and_when() -> None:
    attempt = only(export(ONE))
    assert attempt.key == "jane@school.example"
    assert (attempt.name, attempt.identity) == ("Jane Doe", "Jane-Doe_00123")
    assert attempt.people == (Person("Jane Doe", "00123", "Jane@School.example", "11"),)
    assert attempt.submitted_at == "2026-04-26T17:34:00+00:00"
    assert (attempt.late, attempt.feedback) == (None, "")
    assert names(attempt) == ["solution.py"]


@pytest.mark.parametrize(
    ("sid", "told"),
    [
        ("'00123'", "00123"),
        ('"00123"', "00123"),
        ("00123", "00123"),
        ("0x1f", "0x1f"),
        ("1e5", "1e5"),
        ("on", "on"),
        ("2026-01-01", "2026-01-01"),
        ("", ""),
        ("''", ""),
        ("~", ""),
        ("null", ""),
        ("'null'", "null"),
        ("!ruby/object:Object 7", "7"),
        ("!!python/name:os.system x", "x"),
    ],
)
def test_ids_stay_the_text_that_they_are(sid: str, told: str) -> None:
    assert only(export(ONE.replace("'00123'", sid))).people[0].id == told


def test_keys_may_be_words() -> None:
    words = ONE.replace("  :", "  ").replace("- :", "- ")
    assert only(export(words)).people == only(export(ONE)).people


def test_a_groups_work_is_one_attempt_with_its_members() -> None:
    group = ONE.replace(
        "  :created", "  - :name: Bob Roe\n    :sid:\n    :email: bob@school.example\n  :created"
    )
    attempt = only(export(group))
    assert attempt.key == "bob@school.example+jane@school.example"
    assert attempt.name == "Jane Doe, Bob Roe"
    assert attempt.people[1] == Person("Bob Roe", "", "bob@school.example", "11")


def test_two_students_of_one_name_are_two_and_one_student_twice_is_one() -> None:
    second = ONE.replace("submission_11", "submission_9").replace("---\n", "").replace("00123", "00124")
    other = second.replace("Jane@", "jane2@")
    reading = export(ONE + other, "submission_11", "submission_9")
    assert keys(reading) == ["jane@school.example", "jane2@school.example"]
    later = second.replace("00124", "00123").replace("17:34", "18:34")
    reading = export(ONE + later, "submission_11", "submission_9")
    assert keys(reading) == ["jane@school.example"] * 2
    assert max(reading.attempts, key=lambda attempt: attempt.order).label == "submission_9"


def test_who_hands_in_twice_is_called_by_the_number_all_the_same() -> None:
    again = ONE.replace("submission_11", "submission_12").removeprefix("---\n")
    reading = export(ONE + again, "submission_11", "submission_12")
    assert [attempt.identity for attempt in reading.attempts] == ["Jane-Doe_00123"] * 2
    # One number for two accounts is none.
    reading = export(ONE + again.replace("Jane@", "jane2@"), "submission_11", "submission_12")
    assert [attempt.identity for attempt in reading.attempts] == ["Jane-Doe_11", "Jane-Doe_12"]


def test_an_id_that_two_names_share_makes_no_two_students_one() -> None:
    one = ONE.replace("    :email: Jane@School.example\n", "")
    other = one.replace("submission_11", "submission_12").replace("---\n", "").replace("Jane", "John")
    reading = export(one + other, "submission_11", "submission_12")
    assert keys(reading) == ["submission_11", "submission_12"]
    assert len({attempt.identity for attempt in reading.attempts}) == 2
    assert keys(export(one)) == ["00123"]


@pytest.mark.parametrize(
    ("more", "late"),
    [
        (":late: true", True),
        (":late: false", False),
        (":lateness: '00:00:00'", False),
        (":lateness: '01:12:00'", True),
        (":status: late", True),
        (":status: processed", None),
    ],
)
def test_a_late_mark_is_taken_where_there_is_one(more: str, late: bool | None) -> None:
    assert only(export(ONE.replace(":status: processed", more))).late is late


def test_an_entry_without_a_folder_and_a_folder_without_an_entry_are_told() -> None:
    two = ONE + ONE.replace("submission_11", "submission_12").replace("Jane", "Bob").removeprefix("---\n")
    reading = export(two, "submission_11", "submission_13", "other")
    assert keys(reading) == ["jane@school.example", "submission_13"]
    unknown = reading.attempts[1]
    assert (unknown.name, unknown.people) == ("submission_13", (Person("submission_13", platform_id="13"),))
    unknown_is_told, missing_is_told = reading.problems
    assert unknown_is_told == (
        f"{METADATA} doesn't tell who handed in submission_13; the folder's name stands for a name"
    )
    assert missing_is_told == (
        f"{METADATA} tells of submission_12 by Bob Doe, but there is no such folder; "
        "download the export again"
    )
    (left,) = reading.left_out
    assert left.path.endswith("/other/solution.py")
    assert left.reason == f"it has no entry in {METADATA}, so that nobody knows whose it is"


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (":\n  : :\n :::bad", "is damaged: "),
        ("- just\n- a list\n", "tells of no submission; expected one entry for each folder submission_ID"),
        ("", "tells of no submission"),
        ("submission_11: 3\n", "tells of no submission"),
        ("submission_11:\n  :score: 3\n", "tells of no submission"),
        (ONE + "x: 'never closed\n", "is damaged: "),
        (ONE + "\x01", "is damaged: "),
        (ONE.replace("'00123'", "{" * 5000), "is damaged: "),
    ],
)
def test_damaged_metadata_are_told_and_nobody_is_lost(metadata: str, problem: str) -> None:
    reading = export(metadata)
    assert keys(reading) == ["submission_11"]
    assert problem in reading.problems[0]


def test_metadata_that_are_too_long_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.intake.layouts.gradescope.MAX_BYTES", 100)
    reading = export(ONE)
    assert keys(reading) == ["submission_11"]
    assert "The file has more than 100 bytes" in reading.problems[0]


def test_aliases_are_the_values_that_they_name_and_never_a_bomb() -> None:
    named = ONE.replace("Jane Doe", "&1 Jane Doe").replace("'00123'", "*1")
    assert only(export(named)).people[0].id == "Jane Doe"
    hidden = ONE.replace("  :submitters:", "  :results:\n    out: &9 Jim\n  :submitters:").replace(
        "Jane Doe", "*9"
    )
    assert only(export(hidden)).name == "Jim"
    bomb = "a: &a [x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
    )
    assert only(export(ONE + bomb)).name == "Jane Doe"
    assert only(export(ONE + "loop: &l [*l]\nnone: *missing\n")).name == "Jane Doe"


def test_rubys_own_ways_are_read() -> None:
    ruby = (
        ONE
        + "  :results:\n    tests:\n    - output: 'Don''t worry about\n        this.\n\n'\n"
        + "    - output: |+\n        IndexError\n\n  :history:\n  - :id: 3\n    :score: 1\n...\n"
        + ONE.removeprefix("---\n").replace("_11", "_12").replace("Jane", "Bob")
        + "...\n---\n"
        + ONE.removeprefix("---\n").replace("_11", "_13").replace("Jane", "Cid")
    )
    reading = export(ruby, "submission_11", "submission_12", "submission_13")
    assert [attempt.name for attempt in reading.attempts] == ["Jane Doe", "Bob Doe", "Cid Doe"]
    assert reading.problems == ()


def test_a_loose_file_is_a_submission_where_the_metadata_say_so() -> None:
    files = {"11.pdf": "x", "README.md": "x", METADATA: ONE.replace("submission_11", "11.pdf")}
    reading = reading_of("gradescope", files)
    assert (keys(reading), names(only(reading))) == (["jane@school.example"], ["11.pdf"])
    assert [left.path.rpartition("/")[2] for left in reading.left_out] == ["README.md"]


def test_an_empty_folder_is_a_submission_without_files() -> None:
    found = tree("x", {METADATA: ONE}, ["submission_11"])
    assert names(only(read(found, "gradescope"))) == []


def test_without_metadata_the_outer_folders_name_has_to_tell() -> None:
    files = {"submission_11/a.py": "x = 1\n"}
    assert recognize(tree("assignment_99_export", files)) == "gradescope"
    assert recognize(tree("week 3", files)) == "plain"
    reading = read(tree("assignment_99_export", files), "gradescope")
    assert keys(reading) == ["submission_11"]
    (problem,) = reading.problems
    assert problem == (
        f"/downloads/assignment_99_export holds no {METADATA}, so that names are not known; "
        "download the export again"
    )


@given(st.text(max_size=200) | st.text("abc:-'\"&*!{}[]|>.\n ", max_size=200))
def test_no_text_makes_the_reading_fail(text: str) -> None:
    assert "submission_11" in {attempt.label for attempt in export(text).attempts}


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1, max_size=30
    )
)
def test_any_name_is_read_as_it_was_written(name: str) -> None:
    quoted = "'" + name.replace("'", "''") + "'"
    if name.strip() and "\u2028" not in name and "\u2029" not in name and "\ufeff" not in name:
        attempt = only(export(ONE.replace("Jane Doe", quoted)))
        assert attempt.name == unicodedata.normalize("NFC", name.strip())
