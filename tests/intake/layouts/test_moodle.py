"""Moodle: folders, flat downloads, teams, blind marking and typed texts."""

from __future__ import annotations

import pytest

from grader.people import Person
from tests.intake.layouts.found import keys, names, only, reading_of, text

FILE = "assignsubmission_file"
ONLINE = "assignsubmission_onlinetext"


@pytest.mark.parametrize(
    ("path", "name", "feedback"),
    [
        (f"Jane Doe_0123_{FILE}/solution.py", "solution.py", f"Jane Doe_0123_{FILE}"),
        (f"Jane Doe_0123_{FILE}_/solution.py", "solution.py", f"Jane Doe_0123_{FILE}_"),
        (f"Jane Doe_0123_{FILE}/a/b.py", "a/b.py", f"Jane Doe_0123_{FILE}"),
        (f"Jane Doe_0123_{FILE}_my_1_x.py", "my_1_x.py", f"Jane Doe_0123_{FILE}"),
        (f"Jane Doe_0123_{FILE}_code/x.py", "code/x.py", f"Jane Doe_0123_{FILE}"),
        (f"Jane Doe_0123_{FILE}_9_{FILE}_x.py", f"9_{FILE}_x.py", f"Jane Doe_0123_{FILE}"),
    ],
)
def test_a_name_tells_who_and_where_feedback_goes(path: str, name: str, feedback: str) -> None:
    attempt = only(reading_of("moodle", {path: "x = 1\n"}))
    assert (attempt.key, attempt.name, attempt.identity) == ("0123", "Jane Doe", "Jane-Doe_0123")
    assert attempt.people == (Person("Jane Doe", platform_id="0123"),)
    assert (names(attempt), attempt.feedback) == ([name], feedback)
    assert (attempt.late, attempt.submitted_at) == (None, "")


def test_a_login_that_comes_first_is_no_part_of_the_name_nor_of_what_moodle_takes_back() -> None:
    attempt = only(reading_of("moodle", {f"j_doe.1_Jane Doe_77_{FILE}/a.py": "x"}))
    assert attempt.people == (Person("Jane Doe", id="j_doe.1", platform_id="77"),)
    assert (attempt.key, attempt.feedback) == ("77", f"Jane Doe_77_{FILE}")


def test_files_and_typed_text_are_one_attempt() -> None:
    files = {
        f"Jane Doe_77_{FILE}/solution.py": "x = 1\n",
        f"Jane Doe_77_{ONLINE}/onlinetext.html": "<pre>def f():\n    pass\n</pre>",
    }
    attempt = only(reading_of("moodle", files))
    assert (names(attempt), attempt.notes) == (["onlinetext.html", "solution.py"], ())


@pytest.mark.parametrize(
    "path", [f"{ONLINE}/onlinetext.html", f"{ONLINE}_/x.html", f"{ONLINE}_onlinetext.html"]
)
def test_typed_code_alone_is_taken(path: str) -> None:
    page = "<html><body><pre>def f(x):\n    return x\n</pre><p>Bye</p></body></html>"
    attempt = only(reading_of("moodle", {f"Jane Doe_77_{path}": page}))
    assert attempt.files[-2].name == "online_text.py" or attempt.files[0].name == "online_text.py"
    (typed,) = [file for file in attempt.files if file.name == "online_text.py"]
    assert text(typed) == "def f(x):\n    return x\n"


def test_a_page_that_was_handed_in_as_a_file_is_not_taken_for_typed_code() -> None:
    attempt = only(reading_of("moodle", {f"Jane Doe_77_{FILE}/a.html": "<pre>def f(x):\n  pass</pre>"}))
    assert names(attempt) == ["a.html"]


def test_blind_marking_numbers_its_students() -> None:
    files = {f"Participant_{i}_{FILE}/a.py": "x" for i in (7, 8)}
    reading = reading_of("moodle", files)
    assert [attempt.name for attempt in reading.attempts] == ["Participant 7", "Participant 8"]
    assert reading.attempts[0].feedback == f"Participant_7_{FILE}"
    german = reading_of("moodle", {f"Teilnehmer-in_{i}_{FILE}/a.py": "x" for i in (7, 8)})
    assert [attempt.name for attempt in german.attempts] == ["Teilnehmer-in 7", "Teilnehmer-in 8"]
    assert only(reading_of("moodle", {f"Participant_7_{FILE}/a.py": "x"})).name == "Participant 7"


def test_a_team_without_a_number_is_known_by_its_name_and_gets_no_folder_back() -> None:
    files = {f"Default group_{FILE}/a.py": "x", f"Team A_12_{FILE}/a.py": "x", f"Team A_13_{FILE}/a.py": "x"}
    reading = reading_of("moodle", files)
    assert keys(reading) == ["12", "13", "Default group"]
    assert [attempt.feedback for attempt in reading.attempts] == [
        f"Team A_12_{FILE}",
        f"Team A_13_{FILE}",
        "",
    ]
    assert reading.attempts[2].identity == "Default-group_team"


def test_one_number_with_two_names_is_told_and_not_merged() -> None:
    files = {
        f"Team A_12_{FILE}/a.py": "x",
        f"Bob Bell_12_{FILE}/a.py": "y",
        f"Bob Bell_12_{ONLINE}/x.html": "z",
    }
    reading = reading_of("moodle", files | {f"Eva X_13_{FILE}/a.py": "x", f"Eva X_14_{FILE}/a.py": "x"})
    assert keys(reading) == ["12 Bob Bell", "12 Team A", "13", "14"]
    assert [attempt.identity for attempt in reading.attempts[:2]] == ["Bob-Bell_12", "Team-A_12"]
    assert names(reading.attempts[0]) == ["a.py", "x.html"]
    (problem,) = reading.problems
    assert problem.startswith("the number 12 comes with the names 'Bob Bell' and 'Team A'")


def test_a_team_without_a_number_is_one_whether_there_is_place_for_it_or_not() -> None:
    files = {
        "Default group__assignsubmission_file/a.py": "x",
        "Default group_assignsubmission_file/b.py": "x",
    }
    attempt = only(reading_of("moodle", files))
    assert (attempt.name, names(attempt)) == ("Default group", ["a.py", "b.py"])
    assert attempt.people[0].id == ""


def test_both_unicode_forms_of_a_team_are_one() -> None:
    files = {f"Gru\u0308n_{FILE}/a.py": "x", f"Gr\u00fcn_{FILE}/b.py": "x"}
    assert names(only(reading_of("moodle", files))) == ["a.py", "b.py"]


def test_a_file_that_comes_in_both_endings_of_a_folder_is_not_lost() -> None:
    files = {f"A B_7_{FILE}/a.py": "x", f"A B_7_{FILE}_/a.py": "y"}
    assert names(only(reading_of("moodle", files))) == ["a (2).py", "a.py"]
