"""Moodle's worksheet and Brightspace's table are filled in, and pages go where both take them back."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from people import handed_in, rows
from samples import hostile

from grader.errors import GraderError
from grader.people import Person
from grader.report.exports import ExportOptions, export
from grader.result import Result

HEAD = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
)
REST = '20.00,Yes,"Tuesday, 6 October 2026, 11:59 PM",-'
WORKSHEET = (
    HEAD
    + f'"Participant 41","Ada Lovelace",ada@uni.example,"Submitted for grading",,{REST},\n'
    + f'"Participant 42","Jörg Müller",jm@uni.example,"Submitted for grading",,{REST},"<p>old</p>"\n'
    + '"Participant 43","Emmy Noether",emmy@uni.example,"No submission",,20.00,Yes,-,-,\n'
)


@pytest.fixture
def worksheet(tmp_path: Path) -> Path:
    path = tmp_path / "Grades.csv"
    path.write_bytes(b"\xef\xbb\xbf" + WORKSHEET.encode())
    return path


def test_grades_and_comments_are_filled_in_and_the_rest_stays(worksheet: Path, tmp_path: Path) -> None:
    results = [
        handed_in("a", Person("Another Name", platform_id="41"), layout="moodle", score=17.5),
        handed_in("b", Person("Jörg Müller"), score=None),
    ]
    done = export("moodle", results, tmp_path / "out", ExportOptions(worksheet))
    assert done.paths[0].read_bytes().startswith(b"\xef\xbb\xbf")
    before, after = rows(worksheet), rows(done.paths[0])
    assert after[1][4] == "17.5" and after[1][9].startswith("<p>Not full marks: 17.5 of ")
    # An empty comment would take the old one away.
    assert after[2] == before[2] and after[3] == before[3] and after[0] == before[0]
    after[1][4] = after[1][9] = ""
    assert after[1] == before[1]
    assert any("the grader failed there" in warning for warning in done.warnings)


def test_a_teacher_s_comment_stays_and_an_earlier_one_of_ours_is_replaced(
    worksheet: Path, tmp_path: Path
) -> None:
    def export_(template: Path, score: float, name: str) -> tuple[list[list[str]], str]:
        numbers = ("41", "42")
        results = [handed_in(n, Person("x", platform_id=n), layout="moodle", score=score) for n in numbers]
        done = export("moodle", results, tmp_path / name, ExportOptions(template))
        return rows(done.paths[0]), "\n".join(done.warnings)

    first, told = export_(worksheet, 17.5, "first")
    assert first[2][4] == "17.5" and first[2][9] == "<p>old</p>"
    assert "a comment that is not the grader's stays as it is: Participant 42" in told
    tidied = tmp_path / "tidied.csv"
    text = (tmp_path / "first" / "moodle.csv").read_text("utf-8")
    tidied.write_text(text.replace("<p>Not", "<div class='x'> <p>Not").replace("<br>", "<br />"), "utf-8")
    again, _ = export_(tidied, 3.0, "again")
    assert again[1][9].startswith("<p>Not full marks: 3 of ") and again[2][9] == "<p>old</p>"


FAILED = "Not full marks: 3 of 20 points"
NORM = "3 of 9 checks passed; what holds least: Softmax. Each row is normalized over the key positions."
NEARLY = "1 of 9 checks passed; nearly every check fails."


@pytest.mark.parametrize(
    "comment",
    [
        "Full marks, well done!",
        "<p>Full marks, well done!</p>",
        "Not full marks, because you used einsum. See me.",
        f"<p>{FAILED}, since you used einsum.</p>",
        f"<p>{FAILED}<br>See me.</p>",
        f"<p>{FAILED}<br>3 of 9 checks passed. See me.</p>",
        f"<p>{FAILED}<br>{NORM}</p><p>Please see me on Monday</p>",
        f"<p>{FAILED}<br>{NORM}<br>Please see me on Monday</p>",
        f"<p>{FAILED}<br>{NORM} Please see me on Monday.</p>",
        f'<p>{FAILED}<br>{NORM}</p><p><img src="@@PLUGINFILE@@/note.png"></p>',
        f"<p>{FAILED}<br>All checks passed, but not in time.</p>",
        "<p>Not loadable: 0 of 20 points<br>Line 3 is not valid Python: invalid syntax. See me.</p>",
        "<p>Not loadable: 0 of 20 points, see me.</p>",
        f"{FAILED}\n{NORM}\nSee me.",
    ],
)
def test_what_a_teacher_has_written_stays_though_it_begins_like_ours(tmp_path: Path, comment: str) -> None:
    before, after, told = regraded(tmp_path, comment)
    assert after == before == comment
    assert "a comment that is not the grader's stays as it is: Participant 42" in told


@pytest.mark.parametrize(
    "message",
    [
        "All checks passed, the hidden ones too.",
        "All checks passed. Points are taken: 2.5 hours late.",
        "All visible checks passed; hidden checks were not run here.",
        "Some checks were not run.",
        "A banned helper is used (torch.nn.functional.gelu, line 3); this costs points.",
        NORM,
        "Full marks, but 8 of 9 checks passed; what holds least: Softmax.",
        "8 of 9 checks passed. The mistake: Softmax over the wrong axis (dim=0).",
        "8 of 9 checks passed; the mistake: softmax over the wrong axis.",
        f"{NEARLY} It raised NameError in line 3: name 'np' is not defined. Did you mean: 'p'?.",
        f"{NEARLY[:-1]}, so look for something that all of them need, and begin with two_heads.",
        "Line 3 is not valid Python: invalid syntax. Perhaps you forgot a comma?.",
        "The file defines no mlm_forward; did you mean to rename forward?",
        'Loading the file raised ValueError in line 2: <b>"x" & y</b>.',
    ],
)
def test_a_comment_of_ours_is_replaced_after_a_regrade(tmp_path: Path, message: str) -> None:
    loading = message.startswith(("Line", "The file", "Loading"))
    one = handed_in("b", Person("x", platform_id="42"), layout="moodle")
    one = replace(one, message=message, status="not_loadable" if loading else "failed", score=-1.25)
    empty = tmp_path / "empty.csv"
    empty.write_text(WORKSHEET.replace("<p>old</p>", ""), "utf-8")
    comment = rows(export("moodle", [one], tmp_path / "first", ExportOptions(empty)).paths[0])[2][9]
    tidied = comment.replace("<p>", '<div dir="ltr">\n <p>').replace("<br>", "<br />\n") + "</div>\n"
    for text in (comment, tidied, tidied.replace("&#34;", '"').replace("&#39;", "'")):
        before, after, told = regraded(tmp_path, text)
        assert after != before == text
        assert after.startswith("<p>Not full marks: 17.5 of ") and "not the grader's" not in told


def test_words_of_another_form_are_ours_where_the_class_has_them(tmp_path: Path) -> None:
    said = "9 of 9 ways are right. They are told. All of them."
    before, after, _ = regraded(tmp_path, f"<p>{FAILED}<br>{said}</p>")
    assert after == before
    before, after, _ = regraded(tmp_path, f"<p>{FAILED}<br>{said}</p>", said.replace("9 of", "4 of"))
    assert after != before


def regraded(tmp_path: Path, comment: str, message: str = "Another verdict.") -> tuple[str, str, str]:
    """The comment of one with new marks before and after the export, and what is told."""
    template = tmp_path / "again.csv"
    table = list(csv.reader(io.StringIO(WORKSHEET)))
    table[2][9] = comment
    with template.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    one = handed_in("b", Person("x", platform_id="42"), layout="moodle", score=17.5)
    done = export("moodle", [replace(one, message=message)], tmp_path / "again", ExportOptions(template))
    return rows(template)[2][9], rows(done.paths[0])[2][9], "\n".join(done.warnings)


def test_missing_ones_get_a_0_when_it_is_asked_for(worksheet: Path, tmp_path: Path) -> None:
    results = [handed_in(str(n), Person("x", platform_id=str(n)), layout="moodle") for n in (41, 42)]
    options = ExportOptions(worksheet, zero_missing=True)
    assert [row[4] for row in rows(export("moodle", results, tmp_path, options).paths[0])[1:]] == [
        "12.5",
        "12.5",
        "0",
    ]


@pytest.mark.parametrize(("name", "at"), [("moodle", 4), ("brightspace", 2)])
def test_a_new_file_has_no_0_while_somebody_has_no_row(tmp_path: Path, name: str, at: int) -> None:
    one = handed_in("a", Person("Ada", id="007", platform_id="41"), layout="moodle")
    lost = handed_in("b", Person("Smith"))
    options = ExportOptions(missing=(Person("Ann Smith", id="008", platform_id="42"),), zero_missing=True)
    for results, mark in (([one], "0"), ([one, lost], "")):
        done = export(name, results, tmp_path, options)
        assert [row[at] for row in rows(done.paths[0])[1:]] == ["12.5", mark]
        told = "no row got a 0: 1 who handed in have no certain row" in "\n".join(done.warnings)
        assert told == (mark == "")


def test_a_comment_is_html_in_which_nothing_acts(worksheet: Path, tmp_path: Path) -> None:
    one = handed_in("a", Person("x", platform_id="41"), layout="moodle")
    nasty = hostile().message + " <script>alert(1)</script>"
    done = export("moodle", [replace(one, message=nasty)], tmp_path / "out", ExportOptions(worksheet))
    comment = rows(done.paths[0])[1][9]
    assert set(re.findall(r"<[^>]*>", comment)) == {"<p>", "</p>", "<br>"}


def test_decimals_and_titles_of_other_languages(tmp_path: Path) -> None:
    template = tmp_path / "Bewertungen.csv"
    text = "ID;Vollständiger Name;Bewertung;Zuletzt geändert (Bewertung)\r\nTeilnehmer/in41;Ada;7,50;-\r\n"
    template.write_bytes(text.encode())
    results = [handed_in("a", Person("x", platform_id="41"), layout="moodle")]
    with pytest.raises(GraderError, match=r"column 'Grade'; known here: .*--assignment"):
        export("moodle", results, tmp_path / "out", ExportOptions(template))
    options = ExportOptions(template, "Bewertung", decimal=",")
    done = export("moodle", results, tmp_path / "out", options)
    assert done.paths[0].read_bytes().decode() == text.replace("7,50", "12,5")
    assert any("Feedback comments" in warning for warning in done.warnings)
    beside = text.replace(";Zuletzt", ";Bewertung bis;Zuletzt").replace("7,50;", "8;100,00;")
    template.write_bytes(beside.encode())
    done = export("moodle", results, tmp_path / "out", ExportOptions(template, "Bewertung"))
    assert done.paths[0].read_bytes().decode() == beside.replace(";8;", ";12,5;")
    assert any("100" in warning for warning in done.warnings)
    worksheet = tmp_path / "w.csv"
    worksheet.write_text(WORKSHEET.replace("20.00", '"20,00"'))
    done = export("moodle", results, tmp_path / "out", ExportOptions(worksheet))
    assert rows(done.paths[0])[1][4] == "12,5"


def test_what_moodle_would_pass_over_is_told(worksheet: Path, tmp_path: Path) -> None:
    results = [
        handed_in("a", Person("x", platform_id="41"), layout="moodle", score=21),
        handed_in("b", Person("x", platform_id="42"), layout="moodle", score=-1),
    ]
    told = "\n".join(export("moodle", results, tmp_path / "out", ExportOptions(worksheet)).warnings)
    assert "grades above its maximum of 20: a" in told and "grades below 0: b" in told


def test_a_new_worksheet_has_the_columns_that_moodle_needs(tmp_path: Path) -> None:
    results = [
        handed_in("a", Person("=Ada", platform_id="41"), layout="moodle"),
        handed_in("b", Person("Zoe", platform_id="7"), layout="canvas"),
        handed_in("c", Person("Max", platform_id="42"), layout="moodle", score=None),
    ]
    done = export("moodle", results, tmp_path, ExportOptions(missing=(Person("Emmy", platform_id="43"),)))
    table = rows(done.paths[0])
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(table[0])
    assert [(row[0], row[1], row[4]) for row in table[1:]] == [
        ("Participant 41", "'=Ada", "12.5"),
        ("Participant 42", "Max", ""),
        ("Participant 43", "Emmy", ""),
    ]
    assert table[2][9] == "" and any("Zoe (b)" in warning for warning in done.warnings)


# --- Feedback -------------------------------------------------------------------------------------


def taken_back(name: str) -> tuple[str, str] | None:
    """Whose file Moodle takes a path for, and its name: the importer's rules, written down anew."""
    parts = name.split("/")
    if parts[-1].startswith((".", "~")):
        return None
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdigit():
            continue
        if (info[2], info[3]) not in (("assignsubmission", "file"), ("assignsubmission", "onlinetext")):
            continue
        return info[1], "/".join([info[4] if len(info) > 4 else "", *parts]).lstrip("/")
    return None


def moodle(identifier: str, number: str, feedback: str = "", **more: Any) -> Result:
    person = Person("An_na/..", platform_id=number)
    return handed_in(identifier, person, layout="moodle", feedback=feedback, **more)


def test_feedback_goes_where_moodle_takes_it(tmp_path: Path) -> None:
    results = [
        moodle("a", "41", "Ada Lovelace_41_assignsubmission_file"),
        moodle("b", "42", "J_42_assignsubmission_onlinetext_"),
        moodle("c", "43"),
        moodle("d", "44", "M_44_assignsubmission_file", score=None),
        moodle("e", "45", "../x_45_assignsubmission_file/.."),
        moodle("f", "41", "Ada Lovelace_41_assignsubmission_file"),
        handed_in("g", Person("Zoe", platform_id="9"), layout="canvas"),
    ]
    done = export("moodle-feedback", results, tmp_path)
    with zipfile.ZipFile(done.paths[0]) as archive:
        names = archive.namelist()
        assert list(map(taken_back, names)) == [(who, "feedback.html") for who in ("41", "42", "43", "45")]
        assert all(".." not in Path(name).parts and not name.startswith("/") for name in names)
        assert archive.read(names[0]).startswith(b"<!doctype html>")
    told = "\n".join(done.warnings)
    assert "the grader failed; grade with --faults and export again: d" in told
    assert "did not come in this platform's download: g" in told and "the same folder: f" in told


@given(st.text(st.sampled_from("A_/\\ .~\x00\n\ud800\u00e9"), max_size=12))
def test_a_folder_is_found_again_whatever_the_student_is_called(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = tmp_path_factory.mktemp("feedback")
    done = export(
        "moodle-feedback", [handed_in("a", Person(name, platform_id="41"), layout="moodle")], folder
    )
    with zipfile.ZipFile(done.paths[0]) as archive:
        assert list(map(taken_back, archive.namelist())) == [("41", "feedback.html")]
    assert not done.warnings


def test_the_same_records_make_the_same_archive(tmp_path: Path) -> None:
    results = [handed_in("a", Person("Ada", platform_id="41"), layout="moodle")]
    first, second = (export("moodle-feedback", results, tmp_path / name).paths[0] for name in "xy")
    assert first.read_bytes() == second.read_bytes()


def test_feedback_for_brightspace(tmp_path: Path) -> None:
    folder = "123-456 - Ada Lovelace - Oct 5, 2026 1159 PM"
    results = [
        handed_in("a", Person("Ada"), layout="brightspace", feedback=folder),
        handed_in("b", Person("Eve"), layout="brightspace", feedback="../outside"),
        handed_in("c", Person("Max"), layout="moodle", feedback="x"),
    ]
    done = export("brightspace-feedback", results, tmp_path)
    with zipfile.ZipFile(done.paths[0]) as archive:
        assert archive.namelist() == ["index.html", f"{folder}/feedback.html"]
    assert "b, c" in "\n".join(done.warnings)
    (tmp_path / "index.html").write_text("<html>theirs</html>")
    done = export("brightspace-feedback", results, tmp_path, ExportOptions(tmp_path / "index.html"))
    with zipfile.ZipFile(done.paths[0]) as archive:
        assert archive.read("index.html") == b"<html>theirs</html>"


# --- Brightspace's marks --------------------------------------------------------------------------

KEYS = ("OrgDefinedId", "Username")
GRADES = (
    "OrgDefinedId,Username,Last Name,First Name,Email,"
    "Homework 2 Points Grade <Numeric MaxPoints:20 Weight:5>,"
    "Quiz Points Grade <Numeric MaxPoints:3>,Calculated Final Grade Numerator,End-of-Line Indicator\n"
    "#007,#ada,Lovelace,Ada,ada@uni.example,,2,50,#\n"
    "#008,#jm,Müller,Jörg,jm@uni.example,4,1,40,#\n"
)


def test_brightspace_gets_keys_the_item_and_the_end_only(tmp_path: Path) -> None:
    template = tmp_path / "grades.csv"
    template.write_text(GRADES, "utf-8")
    results = [handed_in("a", Person("x", id="007")), handed_in("b", Person("Jörg Müller"), score=None)]
    done = export("brightspace", results, tmp_path / "out", ExportOptions(template, "homework 2"))
    assert rows(done.paths[0]) == [
        [*KEYS, "Homework 2 Points Grade <Numeric MaxPoints:20 Weight:5>", "End-of-Line Indicator"],
        ["#007", "#ada", "12.5", "#"],
        ["#008", "#jm", "4", "#"],
    ]
    with pytest.raises(GraderError, match="no grade item 'Homwork'; did you mean 'Homework 2'"):
        export("brightspace", results, tmp_path / "out", ExportOptions(template, "Homwork"))
    with pytest.raises(GraderError, match="2 grade items; name one with --assignment: 'Homework 2', 'Quiz'"):
        export("brightspace", results, tmp_path / "out", ExportOptions(template))


def test_a_new_brightspace_file_keeps_leading_zeros(tmp_path: Path) -> None:
    results = [
        handed_in("a", Person("Ada", id="007")),
        handed_in("b", Person("J", id="jm")),
        handed_in("c", Person("?")),
    ]
    done = export("brightspace", results, tmp_path, ExportOptions(assignment="Homework 2"))
    assert rows(done.paths[0]) == [
        [*KEYS, "Homework 2 Points Grade", "End-of-Line Indicator"],
        ["#007", "", "12.5", "#"],
        ["", "#jm", "12.5", "#"],
    ]
    assert "is known of ?" in "\n".join(done.warnings)
