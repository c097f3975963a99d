"""Canvas: names of files, resubmissions, late marks and typed texts."""

from __future__ import annotations

import pytest
from support.lms import tree

from grader.intake.layouts.attempts import Reading
from grader.intake.layouts.recognition import recognize
from grader.people import Person
from tests.intake.layouts.found import keys, names, newest, only, reading_of, text


def canvas(*files: str) -> Reading:
    return reading_of("canvas", dict.fromkeys(files, "x = 1\n"))


def test_a_files_name_tells_who_when_late_and_what_it_was_called() -> None:
    attempt = only(canvas("doejane_LATE_48001_910001_my solution (2).py"))
    assert (attempt.key, attempt.name, attempt.identity) == ("48001", "doejane", "doejane_48001")
    assert attempt.people == (Person("doejane", platform_id="48001"),)
    assert attempt.late is True
    assert names(attempt) == ["my solution (2).py"]
    assert (attempt.submitted_at, attempt.feedback, attempt.located) == ("", "", False)


@pytest.mark.parametrize(
    ("file", "key", "student", "name"),
    [
        ("doejane_48001_910001_a_1_2_b.py", "48001", "doejane", "a_1_2_b.py"),
        ("abu_bakr_48001_910001_x.py", "48001", "abu_bakr", "x.py"),
        ("doe12jane_48001_910001_x.py", "48001", "doe12jane", "x.py"),
        ("12345_48001_910001_x.py", "48001", "12345", "x.py"),
        ("_48001_910001_x.py", "48001", "48001", "x.py"),
        ("doe_00048_910001_x.py", "00048", "doe", "x.py"),
        ("李小龍_48001_910001_x.py", "48001", "李小龍", "x.py"),
        ("mu\u0308ller_48001_910001_x.py", "48001", "müller", "x.py"),
        ("anon_x7Gk2_910001_x.py", "anon_x7Gk2", "anon x7Gk2", "x.py"),
        ("LATE_anon_x7Gk2_910001_x.py", "anon_x7Gk2", "anon x7Gk2", "x.py"),
        ("doejane_48001_910001_text.html", "48001", "doejane", "text.html"),
        ("doejane_48001_text.html", "48001", "doejane", "text.html"),
    ],
)
def test_names_of_all_kinds_are_taken_apart(file: str, key: str, student: str, name: str) -> None:
    assert recognize(tree("submissions", {file: "x = 1\n"})) == "canvas"
    attempt = only(canvas(file))
    assert (attempt.key, attempt.name, names(attempt)) == (key, student, [name])


def test_the_number_of_a_resubmission_is_no_part_of_the_name() -> None:
    attempt = only(canvas("doe_48001_910001_solution-1.py", "doe_48001_910002_helpers-12.py"))
    assert names(attempt) == ["helpers.py", "solution.py"]


def test_numbers_that_a_student_gave_are_kept() -> None:
    attempt = only(canvas("doe_48001_910001_part-1.py", "doe_48001_910002_part-2.py"))
    assert names(attempt) == ["part-1.py", "part-2.py"]
    assert names(only(canvas("doe_48001_910001_hw-2026.py"))) == ["hw-2026.py"]


def test_of_two_downloads_in_one_folder_the_newest_upload_of_each_file_counts() -> None:
    reading = reading_of(
        "canvas",
        {
            "doe_48001_910009_solution-1.py": "new",
            "doe_LATE_48001_910001_solution.py": "old",
            "doe_48001_910002_helpers.py": "helper",
        },
    )
    assert keys(reading) == ["48001", "48001"]
    attempt = newest(reading)["48001"]
    assert [(file.name, text(file)) for file in attempt.files] == [
        ("helpers.py", "helper"),
        ("solution.py", "new"),
    ]
    assert attempt.late is False
    (older,) = [one for one in reading.attempts if one is not attempt]
    assert (older.label, older.late, [text(file) for file in older.files]) == ("upload 910001", True, ["old"])


def test_two_students_of_one_name_are_two() -> None:
    reading = canvas("doejane_48001_910001_a.py", "doejane_48002_910002_a.py")
    assert keys(reading) == ["48001", "48002"]
    assert len({attempt.identity for attempt in reading.attempts}) == 2


PAGE = (
    "<html><head><title>Homework: Jane Doe</title></head><body><h1>Homework: Jane Doe</h1>"
    "<div><p>def row_scale(x, w, factor):<br>&nbsp; &nbsp; return x &lt; w</p></div></body></html>"
)


def test_code_that_was_typed_is_taken_where_no_file_was_handed_in() -> None:
    attempt = only(reading_of("canvas", {"doejane_48001_text.html": PAGE}))
    assert names(attempt) == ["online_text.py", "text.html"]
    assert text(attempt.files[0]) == "def row_scale(x, w, factor):\n    return x < w\n"
    assert attempt.files[0].entry.size == len(attempt.files[0].entry.read(100))
    assert attempt.notes == (
        "No file was handed in; the code was taken from the text that was typed (doejane_48001_text.html).",
    )


@pytest.mark.parametrize("page", ["<p>See my mail.</p>", "<p>import this</p>", ""])
def test_a_typed_text_that_is_no_code_stays_a_page(page: str) -> None:
    attempt = only(reading_of("canvas", {"doejane_48001_text.html": page}))
    assert (names(attempt), attempt.notes) == (["text.html"], ())


def test_a_typed_text_beside_a_file_is_not_taken() -> None:
    files = {"doejane_48001_text.html": PAGE, "doejane_48001_910001_solution.py": "x = 1\n"}
    attempt = only(reading_of("canvas", files))
    assert (names(attempt), attempt.notes) == (["solution.py", "text.html"], ())


def test_a_link_is_no_code() -> None:
    attempt = only(reading_of("canvas", {"doejane_48001_link.html": PAGE}))
    assert (names(attempt), attempt.notes) == (["link.html"], ())


OTHERS = ("coecy_4830_90030_s.py", "dayd_4840_90040_s.py", "elmeve_4850_90050_s.py")


@pytest.mark.parametrize(
    ("file", "key", "student", "name", "late"),
    [
        # The name is "Doe_2".
        ("doe_2_4810_90010_x.py", "4810", "doe_2", "x.py", False),
        ("doe_2_LATE_4810_90010_x.py", "4810", "doe_2", "x.py", True),
        ("doe_4810_90010_1_2_x.py", "4810", "doe", "1_2_x.py", False),
        # Somebody is called so.
        ("anon_4810_90010_x.py", "4810", "anon", "x.py", False),
        ("anon_LATE_4810_90010_x.py", "4810", "anon", "x.py", True),
        ("late_4810_90010_LATE_x.py", "4810", "late", "LATE_x.py", False),
    ],
)
def test_the_other_names_tell_what_is_part_of_a_name(
    file: str, key: str, student: str, name: str, late: bool
) -> None:
    assert recognize(tree("submissions", dict.fromkeys((file, *OTHERS), "x"))) == "canvas"
    reading = canvas(file, *OTHERS)
    (attempt,) = [one for one in reading.attempts if one.key == key]
    assert (attempt.name, names(attempt), attempt.late) == (student, [name], late)
    assert len(reading.attempts) == 4


@pytest.mark.parametrize(
    ("file", "others", "user"),
    [
        # The user 45 has called a file 2024_x.py.
        ("lee_45_1201_2024_x.py", ("ray_123_1202_x.py", "oz_145_1203_x.py"), "45"),
        ("lee_45_1201_2024_x.py", ("ray_123_1202_x.py", "oz_145_1203_x.py", "po_1201_1204_x.py"), "45"),
        ("lee_45_1201_2024_x.py", ("ray_1150_1202_x.py", "oz_1250_1203_x.py"), "45"),
        ("lee_45_150_2024_x.py", ("ray_123_148_x.py", "oz_151_157_x.py"), "45"),
        # The name is "Lee_45".
        ("lee_45_5123_9001_x.py", ("ray_5124_9002_x.py", "oz_5125_9003_x.py"), "5123"),
        ("lee_45_5123_text.html", ("ray_5124_9002_x.py", "oz_5125_9003_x.py"), "5123"),
        ("lee_45_5123_9001_2024_x.py", ("ray_5124_text.html", "oz_5125_text.html"), "5123"),
    ],
)
def test_a_small_number_is_an_id_unless_the_others_tell_that_it_is_none(
    file: str, others: tuple[str, ...], user: str
) -> None:
    students = {attempt.name: attempt.key for attempt in canvas(file, *others).attempts}
    assert students.pop("lee" if user == "45" else "lee_45") == user
    assert sorted(students) == sorted(other.partition("_")[0] for other in others)


def test_two_names_that_end_in_one_number_are_two_students() -> None:
    files = ("doe_5_4810_90010_x.py", "roe_5_4811_90011_x.py", *OTHERS)
    assert recognize(tree("submissions", dict.fromkeys(files, "x"))) == "canvas"
    assert keys(canvas(*files)) == ["4810", "4811", "4830", "4840", "4850"]


def test_small_ids_of_all_are_ids() -> None:
    assert keys(canvas("doe_2_110_x.py", "roe_3_111_x.py")) == ["2", "3"]


def test_one_number_with_two_names_is_told_and_not_merged() -> None:
    reading = canvas("ann_4810_90010_x.py", "bob_4810_90011_x.py", *OTHERS)
    assert keys(reading)[:2] == ["4810 ann", "4810 bob"]
    (problem,) = reading.problems
    assert "the number 4810 comes with the names 'ann' and 'bob'" in problem


def test_files_that_are_none_of_canvas_are_told() -> None:
    reading = canvas("doejane_48001_910001_a.py", "ann.py", "more/doejane_48001_910002_a.py")
    assert keys(reading) == ["48001"]
    assert {left.path.rpartition("/submissions/")[2]: left.reason for left in reading.left_out} == {
        "ann.py": "its name is none that Canvas gives, so that nobody knows whose it is",
        "more/doejane_48001_910002_a.py": (
            "Canvas' downloads hold no folders, so that nobody knows whose it is"
        ),
    }
