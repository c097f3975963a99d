"""Brightspace: names with dashes, times in several languages and attempts."""

from __future__ import annotations

import pytest
from support.lms import tree

from grader.intake.layouts.recognition import recognize
from grader.people import Person
from tests.intake.layouts.found import keys, names, newest, only, reading_of, text

DATE = "Oct 5, 2026 1159 PM"


@pytest.mark.parametrize(
    ("path", "name", "file", "folder"),
    [
        (f"0099-55 - Jane Doe - {DATE}/a.py", "Jane Doe", "a.py", f"0099-55 - Jane Doe - {DATE}"),
        (
            f"0099-55 - N012 - Jane - {DATE}/a/b.py",
            "N012 - Jane",
            "a/b.py",
            f"0099-55 - N012 - Jane - {DATE}",
        ),
        (f"0099-55 - Jane Doe - {DATE} - a - b.py", "Jane Doe", "a - b.py", f"0099-55 - Jane Doe - {DATE}"),
        (f"0099 - Jane Doe - {DATE}/a.py", "Jane Doe", "a.py", f"0099 - Jane Doe - {DATE}"),
        (f"0099-55 - Gru\u0308n - {DATE}/a.py", "Grün", "a.py", f"0099-55 - Gru\u0308n - {DATE}"),
    ],
)
def test_a_name_tells_who_when_and_where_feedback_goes(path: str, name: str, file: str, folder: str) -> None:
    attempt = only(reading_of("brightspace", {path: "x"}))
    assert (attempt.key, attempt.name) == ("0099", name)
    assert attempt.people == (Person(name, platform_id="0099"),)
    assert (names(attempt), attempt.feedback) == ([file], folder)
    assert (attempt.submitted_at, attempt.label, attempt.late) == ("2026-10-05T23:59:00", DATE, None)


def test_attempts_sort_by_time_and_not_by_name() -> None:
    dates = ["Sep 30, 2026 1159 PM", "Oct 5, 2026 900 AM", "Oct 5, 2026 1000 AM", "Oct 10, 2025 100 PM"]
    reading = reading_of("brightspace", {f"9-5 - Jane Doe - {date}/a.py": date for date in dates})
    assert keys(reading) == ["9"] * 4
    assert text(newest(reading)["9"].files[0]) == "Oct 5, 2026 1000 AM"


def test_one_number_with_two_names_is_told_and_not_merged() -> None:
    files = {f"77-9 - Ann Ames - {DATE}/a.py": "x", f"77-9 - Team One - {DATE}/a.py": "y"}
    reading = reading_of("brightspace", files | {f"78-9 - Bob - {DATE}/a.py": "z"})
    assert keys(reading) == ["77 Ann Ames", "77 Team One", "78"]
    (problem,) = reading.problems
    assert problem.startswith("the number 77 comes with the names 'Ann Ames' and 'Team One'")


def test_a_time_that_is_not_understood_is_told() -> None:
    files = {"9-5 - Jane Doe - 05-10-26 11h/a.py": "x", "9-5 - Jane Doe - 06-10-26 11h/a.py": "x"}
    reading = reading_of("brightspace", files | {f"8-5 - Bob - {DATE}/a.py": "x"})
    assert [attempt.submitted_at for attempt in reading.attempts] == ["2026-10-05T23:59:00", "", ""]
    (problem,) = reading.problems
    assert problem == (
        "the time of submission of 2 of 3 attempts is not understood, the first is '05-10-26 11h'; "
        "expected a time like 'Oct 5, 2026 1159 PM'; "
        "which attempt is the newest goes by the files' own dates for Jane Doe"
    )


@pytest.mark.parametrize(
    "dates", [("05-10-2026 2359", "06-10-2026 0159"), ("2359 Oct 5, 2026", "0159 Oct 6, 2026")]
)
def test_a_download_is_known_also_by_times_that_are_not_understood(dates: tuple[str, str]) -> None:
    files = {f"9-5 - Jane Doe - {date}/a.py": "x" for date in dates} | {f"8-5 - Bob - {dates[0]}/a.py": "x"}
    assert recognize(tree("week", files | {"index.html": "x"})) == "brightspace"
    reading = reading_of("brightspace", files)
    assert keys(reading) == ["8", "9", "9"]
    assert "the newest goes by the files' own dates for Jane Doe" in reading.problems[0]
    assert (
        recognize(tree("week", {"9-5 - Jane - version 2/a.py": "x", "8-5 - Bob - 2026/a.py": "x"})) == "plain"
    )


def test_what_is_none_of_brightspaces_is_told() -> None:
    files = {"index.html": "x", "notes.txt": "x", "mine/a.py": "x", f"9-5 - Jane - {DATE}/a.py": "x"}
    reading = reading_of("brightspace", files)
    assert {left.path.rpartition("/submissions/")[2]: left.reason for left in reading.left_out} == {
        "index.html": "Brightspace's list of what was handed in",
        "notes.txt": "its name is none that Brightspace gives, so that nobody knows whose it is",
        "mine/a.py": "its folder's name is none that Brightspace gives, so that nobody knows whose it is",
    }
