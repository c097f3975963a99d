"""Blackboard: the login between the assignment's name and the time, and the text of each attempt."""

from __future__ import annotations

import pytest

from grader.people import Person
from tests.intake.layouts.found import keys, names, newest, only, reading_of, text

TIME = "2026-10-05-23-59-00"


def start(login: str, time: str = TIME, assignment: str = "HW_1 forward") -> str:
    return f"{assignment}_{login}_attempt_{time}"


def page(login: str, name: str = "Jane Doe", typed: str = "", listed: str = "", **labels: str) -> str:
    who, field = labels.get("who", "Name"), labels.get("field", "Submission Field")
    return (
        f"{who}: {name} ({login})\nAssignment: HW 1\nDate Submitted: Monday, October 5, 2026 11:59 PM EDT\n"
        f"Current Grade: Needs Grading\n\n{field}:\n{typed}\n\nComments:\nThere are no student comments.\n\n"
        f"Files:\n{listed}"
    )


def test_the_text_of_an_attempt_tells_the_login_the_name_and_the_files() -> None:
    stored = f"{start('j_doe.1')}_my20solution.py"
    listed = f"\tOriginal filename: my solution.py\n\tFilename: {stored}\n\n"
    attempt = only(
        reading_of(
            "blackboard", {stored: "x = 1\n", f"{start('j_doe.1')}.txt": page("j_doe.1", listed=listed)}
        )
    )
    assert (attempt.key, attempt.name, attempt.identity) == ("j_doe.1", "Jane Doe", "Jane-Doe_j_doe.1")
    assert attempt.people == (Person("Jane Doe", id="j_doe.1"),)
    assert names(attempt) == ["my solution.py"]
    assert (attempt.submitted_at, attempt.late) == ("2026-10-05T23:59:00", None)
    assert attempt.label == "2026-10-05 23:59:00"


def test_the_labels_may_be_in_another_language() -> None:
    stored = f"{start('jdoe')}_a.py"
    listed = f"\tOriginaldateiname: lösung.py\n\tDateiname: {stored}\n"
    files = {stored: "x", f"{start('jdoe')}.txt": page("jdoe", listed=listed, who="Name des Teilnehmers")}
    attempt = only(reading_of("blackboard", files))
    assert (attempt.name, names(attempt)) == ("Jane Doe", ["lösung.py"])


def test_the_newest_of_several_attempts_sorts_last() -> None:
    files = {}
    for time in ("2026-10-05-23-59-00", "2026-10-04-08-00-00", "2026-10-06-00-01-00"):
        files[f"{start('jdoe', time)}_a.py"] = time
        files[f"{start('jdoe', time)}_b.py"] = time
        files[f"{start('jdoe', time)}.txt"] = page("jdoe")
    reading = reading_of("blackboard", files)
    assert keys(reading) == ["jdoe"] * 3
    attempt = newest(reading)["jdoe"]
    assert (names(attempt), text(attempt.files[0])) == (["a.py", "b.py"], "2026-10-06-00-01-00")


def test_one_text_tells_the_assignment_for_all() -> None:
    files = {f"{start(login)}_a.py": "x" for login in ("a_x", "a_y")}
    reading = reading_of("blackboard", files | {f"{start('b')}.txt": page("b")})
    assert keys(reading) == ["a_x", "a_y", "b"]
    assert reading.problems == ()


def test_without_texts_the_names_tell_what_they_can_and_doubt_is_told() -> None:
    sure = reading_of("blackboard", {f"{start(login)}_a.py": "x" for login in ("ann", "bob", "anna")})
    assert (keys(sure), sure.problems) == (["ann", "anna", "bob"], ())
    unsure = reading_of("blackboard", {f"{start(login)}_a.py": "x" for login in ("x_ann", "bob")})
    assert keys(unsure) == ["bob", "x_ann"]
    (problem,) = unsure.problems
    assert problem == (
        "of 1 students the login is not certain, as the texts that come with the attempts are missing; "
        "the first is 'HW_1 forward_x_ann'; download all files again"
    )
    one = reading_of("blackboard", {f"{start('ann')}_a.py": "x"})
    assert keys(one) == ["ann"]
    assert "the login is not certain" in one.problems[0]


@pytest.mark.parametrize(
    "typed",
    ["def f(x):\n    return x<3 and x>1", "<p>def f(x):<br>&nbsp; &nbsp; return x&lt;3 and x&gt;1</p>"],
)
def test_code_that_was_typed_is_taken_where_no_file_was_handed_in(typed: str) -> None:
    attempt = only(reading_of("blackboard", {f"{start('jdoe')}.txt": page("jdoe", typed=typed)}))
    assert names(attempt) == ["online_text.py"]
    assert text(attempt.files[0]) == "def f(x):\n    return x<3 and x>1\n"
    assert attempt.notes[0].startswith("No file was handed in; the code was taken from the text")


def test_an_attempt_without_files_or_code_is_still_an_attempt() -> None:
    typed = "There is no student submission text data for this assignment."
    attempt = only(reading_of("blackboard", {f"{start('jdoe')}.txt": page("jdoe", typed=typed)}))
    assert (attempt.key, attempt.files, attempt.notes) == ("jdoe", (), ())


def test_a_file_that_was_downloaded_and_handed_in_again_keeps_its_name() -> None:
    again = "HW_1 forward_jdoe_attempt_2025-01-01-00-00-00_a.py"
    files = {f"{start('jdoe')}_{again}": "x", f"{start('jdoe')}.txt": page("jdoe")}
    attempt = only(reading_of("blackboard", files))
    assert (attempt.submitted_at[:4], names(attempt)) == ("2026", [again])


@pytest.mark.parametrize("content", ["", "no name here", "Name: nobody", "\x00\xff" * 50])
def test_a_text_that_is_damaged_is_no_obstacle(content: str) -> None:
    files = {f"{start(login)}_a.py": "x" for login in ("ann", "bob")} | {f"{start('ann')}.txt": content}
    assert keys(reading_of("blackboard", files)) == ["ann", "bob"]


def test_files_that_are_none_of_blackboards_are_told() -> None:
    files = {f"{start('ann')}.txt": page("ann"), "notes.py": "x", "more/x.py": "x"}
    reading = reading_of("blackboard", files)
    assert [left.path.rpartition("/submissions/")[2] for left in reading.left_out] == [
        "notes.py",
        "more/x.py",
    ]


def test_files_of_two_assignments_are_told() -> None:
    files = {}
    for assignment, user in (("HW_1", "ann"), ("HW_2", "ann"), ("HW_1", "bob_1")):
        start = f"{assignment}_{user}_attempt_2026-10-05-23-59-00"
        files |= {f"{start}_x.py": "x = 1\n", f"{start}.txt": f"Name: Someone ({user})\n"}
    (problem,) = reading_of("blackboard", files).problems
    assert problem.startswith("there are files of 2 assignments, such as 'HW_1' and 'HW_2'; of each student")
    one = {name: text for name, text in files.items() if name.startswith("HW_1")}
    assert reading_of("blackboard", one).problems == ()
