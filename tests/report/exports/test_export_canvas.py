"""A Canvas gradebook is filled in as Canvas' importer reads it, and nothing else in it changes."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from people import handed_in, rows

from grader.errors import GraderError
from grader.people import Person
from grader.report.exports import ExportOptions, export
from grader.report.exports.table_files import read_table

HEAD = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Homework 1 (501),Homework 2 (502),"
    "Assignments Current Score,Final Score\r\n"
)
TEMPLATE = (
    HEAD
    + ",,,,,,Manual Posting,,,\r\n"
    + "    Points Possible,,,,,,10.00,20.00,(read only),(read only)\r\n"
    + '"Lovelace, Ada",101,007,ada@uni.example,"Group 1, morning",likes proofs,9.50,,95.00,88.10\r\n'
    + '"Müller, Jörg",102,008,jmueller,Group 2,,8.00,,80.00,70.00\r\n'
    + '"Smith, Sam",103,009,sam1,Group 2,,1.00,,10.00,7.00\r\n'
    + '"Smith, Sam",104,010,sam2,Group 2,,2.00,,20.00,7.00\r\n'
    + '"Noether, Emmy",105,011,emmy,Group 2,,3.00,EX,30.00,7.00\r\n'
    + '"Pascal, Blaise",106,012,blaise,Group 2,,3.00,,30.00,7.00\r\n'
    + '"=Byron, Ada",107,013,byron,Group 2,,3.00,4.00,30.00,7.00\r\n'
)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "grades.csv"
    path.write_bytes(TEMPLATE.encode())
    return path


def marks_of(path: Path) -> dict[str, str]:
    """Homework 2 by the student's number."""
    return {row[1]: row[7] for row in rows(path)[3:]}


def imported(text: str) -> dict[str, str]:
    """What Canvas' importer makes of a file: its rules, written down anew."""
    table = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    head = table[0]
    assert "Student" in head[0] and "ID" in head[1] and len(head) > 3
    assert re.search(r"SIS\s+User\s+ID", head[2]) and re.search(r"SIS\s+Login\s+ID", head[3])
    assert "Section" in head[4]
    found = {}
    for row in table[1:]:
        assert len(row) == len(head)
        if "Points Possible" in row[0] or all(
            re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", c) for c in row
        ):
            continue
        found[row[1] or row[2] or row[3] or row[0]] = row[-1]
    return found


def test_marks_go_to_the_number_then_the_login_then_a_unique_name(template: Path, tmp_path: Path) -> None:
    results = [
        handed_in("a", Person("lovelaceada", platform_id="101"), score=17.25, layout="canvas"),
        # The number is Moodle's, and somebody else's in Canvas.
        handed_in("b", Person("Jörg Mu\u0308ller", platform_id="101"), score=11, layout="moodle"),
        handed_in("c", Person("Somebody", id="SAM1"), score=3.0),
        handed_in("d", Person("Blaise Pascal"), score=1 / 3),
    ]
    done = export("canvas", results, tmp_path / "out", ExportOptions(template, "Homework 2"))
    found = marks_of(*done.paths)
    assert found == {
        "101": "17.25",
        "102": "11",
        "103": "3",
        "104": "",
        "105": "EX",
        "106": "0.3333",
        "107": "4.00",
    }
    assert done.warnings == ()


def test_all_that_is_not_the_assignment_stays_byte_by_byte(template: Path, tmp_path: Path) -> None:
    results = [handed_in("a", Person("Ada Lovelace", id="007"))]
    done = export("canvas", results, tmp_path / "out", ExportOptions(template, "502"))
    expected = TEMPLATE.replace("likes proofs,9.50,,95.00", "likes proofs,9.50,12.5,95.00")
    assert done.paths[0].read_bytes().decode() == expected


def test_who_is_not_found_or_not_certain_is_told(template: Path, tmp_path: Path) -> None:
    results = [
        handed_in("s1", Person("Sam Smith")),
        handed_in("s2", Person("Nobody Here")),
        handed_in("s3", Person("Ada Lovelace")),
        handed_in("s4", Person("Lovelace, Ada")),
        handed_in("s5", Person("anon_101", platform_id="101"), layout="canvas"),
    ]
    done = export("canvas", results, tmp_path / "out", ExportOptions(template, "Homework 2"))
    told = "\n".join(done.warnings)
    assert "Sam Smith (s1) fits several rows (6, 7)" in told
    assert "no row was found for Nobody Here (s2), anon_101 (s5)" in told
    assert "row 4 fits several submissions (Ada Lovelace (s3), Lovelace, Ada (s4))" in told
    assert set(marks_of(*done.paths).values()) == {"", "EX", "4.00"}


def test_a_fault_of_the_grader_is_no_mark_and_takes_none_away(template: Path, tmp_path: Path) -> None:
    results = [
        handed_in("a", Person("Ada", id="007"), score=None),
        handed_in("b", Person("Ada Byron", id="byron"), score=None),
        handed_in("c", Person("Emmy", id="emmy"), score=18),
    ]
    for zero in (False, True):
        options = ExportOptions(template, "Homework 2", zero_missing=zero)
        done = export("canvas", results, tmp_path / "out", options)
        found = marks_of(*done.paths)
        assert found["101"] == "" and found["107"] == "4.00" and found["105"] == "EX"
        told = "\n".join(done.warnings)
        assert "2 rows get no mark, since the grader failed there; 1 of them keep the mark" in told
        assert "kept as they are: row 8 (EX)" in told


def test_a_0_for_who_handed_in_nothing_is_asked_for_and_certain(template: Path, tmp_path: Path) -> None:
    ada = handed_in("a", Person("Ada", id="007"))
    done = export("canvas", [ada], tmp_path / "out", ExportOptions(template, "502", zero_missing=True))
    assert marks_of(*done.paths) == {
        "101": "12.5", "102": "0", "103": "0", "104": "0", "105": "EX", "106": "0", "107": "4.00",
    }  # fmt: skip
    lost = handed_in("x", Person("Nobody Here"))
    done = export("canvas", [ada, lost], tmp_path / "out", ExportOptions(template, "502", zero_missing=True))
    assert marks_of(*done.paths)["102"] == "" and "no row got a 0" in "\n".join(done.warnings)
    roster = (Person("Jörg Müller", id="008"), Person("Ada", id="007"))
    options = ExportOptions(template, "502", missing=roster, zero_missing=True)
    found = marks_of(*export("canvas", [ada], tmp_path / "out", options).paths)
    assert found["102"] == "0" and found["101"] == "12.5" and found["103"] == ""
    # Nobody Here may be anybody of the roster.
    done = export("canvas", [ada, lost], tmp_path / "out", options)
    assert marks_of(*done.paths)["102"] == ""
    assert "no row got a 0: 1 who handed in have no certain row" in "\n".join(done.warnings)


def test_an_anonymous_code_is_no_users_number(template: Path, tmp_path: Path) -> None:
    coded = handed_in("x", Person("anon 101", platform_id="101"), layout="canvas")
    done = export("canvas", [coded], tmp_path / "out", ExportOptions(template, "Homework 2"))
    assert marks_of(*done.paths)["101"] != "12.5"
    assert "no row was found for anon 101 (x)" in "\n".join(done.warnings)


def test_a_group_gets_a_row_a_member(template: Path, tmp_path: Path) -> None:
    group = handed_in("g", Person("Ada", id="007"), Person("Jörg", id="008"), score=7)
    done = export("canvas", [group], tmp_path / "out", ExportOptions(template, "502"))
    assert marks_of(*done.paths)["101"] == marks_of(*done.paths)["102"] == "7"


def test_two_members_who_fit_one_row_are_told(template: Path, tmp_path: Path) -> None:
    group = handed_in("g", Person("Blaise Pascal"), Person("Pascal, Blaise"), score=7)
    for people, told in ((group, True), (handed_in("g", *[Person("Blaise Pascal")] * 2, score=7), False)):
        options = ExportOptions(template, "502", zero_missing=True)
        done = export("canvas", [people], tmp_path / "out", options)
        found = marks_of(*done.paths)
        assert found["106"] == "7" and found["101"] == ("" if told else "0")
        assert ("row 9 fits several members of a group" in "\n".join(done.warnings)) == told


def test_a_name_does_not_overrule_a_number(template: Path, tmp_path: Path) -> None:
    # The table has one of the two who are called so: another section's, say.
    template.write_text(TEMPLATE.replace('"Smith, Sam",104,010,sam2', '"Byrd, Bo",104,010,bo'))
    ada, sam = handed_in("a", Person("Ada", id="007")), handed_in("s", Person("Sam Smith", id="090"))
    options = ExportOptions(template, "502", missing=(Person("Emmy Noether", id="091"),), zero_missing=True)
    done = export("canvas", [ada, sam], tmp_path / "out", options)
    assert marks_of(*done.paths)["103"] == "" and "no row was found for Sam Smith (s)" in done.warnings
    done = export("canvas", [ada], tmp_path / "out", options)
    assert marks_of(*done.paths)["105"] == "EX"
    # Numbers of another kind say nothing, so that names decide.
    done = export("canvas", [sam], tmp_path / "out", options)
    assert marks_of(*done.paths)["103"] == "12.5"


def test_zeros_that_a_spreadsheet_took_from_a_number_are_no_other_number(
    template: Path, tmp_path: Path
) -> None:
    def exported(*people: Person, **options: Any) -> tuple[dict[str, str], str]:
        results = [handed_in(f"s{at}", person) for at, person in enumerate(people)]
        done = export("canvas", results, tmp_path / "out", ExportOptions(template, "502", **options))
        return marks_of(*done.paths), "\n".join(done.warnings)

    jm = Person("Jörg Müller", id="008")
    missing = (Person("Blaise Pascal", id="12"),)
    found, told = exported(jm, Person("Ada Lovelace", id="7"), missing=missing, zero_missing=True)
    assert (found["101"], found["102"], found["106"]) == ("12.5", "12.5", "0") and "no row" not in told
    # The name alone is two students'; with the number it is one's.
    found, told = exported(Person("Sam Smith", id="9"))
    assert (found["103"], found["104"]) == ("12.5", "") and "no row" not in told
    # Somebody else's number in another section may be the same without its zeros.
    found, told = exported(jm, Person("Blaise Pascal", id="7"))
    assert found["101"] == found["106"] == "" and "no row was found for Blaise Pascal" in told
    # So may the numbers of two of the class ...
    found, told = exported(jm, Person("Ada Lovelace", id="7"), Person("Ada Byron", id="07"))
    assert found["101"] == "" and "Ada Lovelace (s1), Ada Byron (s2)" in told
    # ... and of the table.
    template.write_text(TEMPLATE.replace("107,013", "107,0007"), "utf-8")
    found, told = exported(jm, Person("Ada Lovelace", id="7"))
    assert found["101"] == "" and found["107"] == "4.00" and "no row was found for Ada Lovelace" in told
    # The number as it stands is Jörg's, and without its zeros Blaise's.
    template.write_text(TEMPLATE.replace("106,012", "106,0008").replace("102,008", "102,8"), "utf-8")
    found, told = exported(Person("Blaise Pascal", id="8"))
    assert found["102"] == found["106"] == "" and "Blaise Pascal (s0) fits several rows (5, 9)" in told


def test_a_new_file_gives_nobody_what_is_anonymous(tmp_path: Path) -> None:
    coded = handed_in("x", Person("anon 101", platform_id="101"), layout="canvas")
    named = handed_in("y", Person("ada", platform_id="102"), layout="canvas")
    options = ExportOptions(missing=(Person("Emmy", id="011"),), zero_missing=True)
    for results, zero in (([named], "0"), ([named, coded], "")):
        done = export("canvas", results, tmp_path, options)
        found = imported(done.paths[0].read_text("utf-8"))
        assert "101" not in found and found["102"] == "12.5" and found["011"] == zero
        assert ("1 rows are of an anonymous assignment" in "\n".join(done.warnings)) == (zero == "")


@given(
    st.lists(
        st.lists(st.text(st.sampled_from('a,;\t"\r\n =é'), max_size=4), min_size=2, max_size=4), max_size=4
    ),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_table_is_written_as_it_was_read(
    tmp_path_factory: pytest.TempPathFactory,
    cells: list[list[str]],
    delimiter: str,
    newline: str,
    mark: bool,
) -> None:
    path = tmp_path_factory.mktemp("table") / "x.csv"
    whole = [["Student", "ID", "Section"], *cells]
    lines = (delimiter.join('"' + c.replace('"', '""') + '"' for c in row) + newline for row in whole)
    path.write_bytes(("\ufeff" * mark + "".join(lines)).encode())
    table = read_table(path, "table")
    assert (table.rows, table.delimiter, table.newline, table.mark) == (whole, delimiter, newline, mark)
    path.write_bytes(table.text().encode())
    assert read_table(path, "table") == table


@pytest.mark.parametrize("asked", ["502", "Homework 2", "homework 2", "Homework 2 (502)"])
def test_the_assignment_is_named_by_title_or_number(template: Path, tmp_path: Path, asked: str) -> None:
    export(
        "canvas", [handed_in("a", Person("A", id="007"))], tmp_path / "out", ExportOptions(template, asked)
    )


def test_an_assignment_that_is_not_there_or_not_named_is_told(template: Path, tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"no assignment 'Homwork 2'; did you mean 'Homework 2 \(502\)'\?"):
        export("canvas", [], tmp_path / "out", ExportOptions(template, "Homwork 2"))
    with pytest.raises(GraderError, match=r"--assignment TITLE or NUMBER: 'Homework 1 \(501\)', 'Homework 2"):
        export("canvas", [], tmp_path / "out", ExportOptions(template))
    template.write_text(TEMPLATE.replace("Homework 1 (501)", "Homework 2 (777)"))
    with pytest.raises(GraderError, match=r"several assignments are called 'Homework 2'.*\(777\)"):
        export("canvas", [], tmp_path / "out", ExportOptions(template, "Homework 2"))
    # A total is no assignment.
    with pytest.raises(GraderError, match="no assignment 'Final Score'"):
        export("canvas", [], tmp_path / "out", ExportOptions(template, "Final Score"))


def test_other_totals_are_told_and_nothing_is_scaled(template: Path, tmp_path: Path) -> None:
    results = [handed_in("a", Person("Ada", id="007"), score=12.5)]
    done = export("canvas", results, tmp_path / "out", ExportOptions(template, "501"))
    assert any("Canvas counts 'Homework 1 (501)' out of 10 points" in warning for warning in done.warnings)
    assert rows(done.paths[0])[3][6] == "12.5"


def test_semicolons_decimal_commas_and_byte_order_marks_stay(tmp_path: Path) -> None:
    template = tmp_path / "noten.csv"
    text = (
        "\ufeffLastName;FirstName;ID;SIS User ID;SIS Login ID;Section;Übung (9)\n"
        "    Points Possible;;;;;;20,00\n"
        "Müller;Jörg;102;008;jm;A;\n"
    )
    template.write_bytes(text.encode())
    done = export("canvas", [handed_in("a", Person("Jörg Müller"))], tmp_path / "o", ExportOptions(template))
    assert done.paths[0].read_bytes().decode() == text.replace("jm;A;", "jm;A;12,5")
    template.write_bytes(text.removeprefix("\ufeff").encode("cp1252"))
    done = export("canvas", [handed_in("a", Person("Jörg Müller"))], tmp_path / "o", ExportOptions(template))
    assert rows(done.paths[0], ";")[2][-1] == "12,5"


@pytest.mark.parametrize(
    "data", [b"", b"\0\0", b"a,b\n1,2\n", b"PK\x03\x04\0\0", b'Student,ID,Section,X\n"a']
)
def test_what_is_no_gradebook_is_told(tmp_path: Path, data: bytes) -> None:
    template = tmp_path / "x.csv"
    template.write_bytes(data)
    with pytest.raises(GraderError, match="is no Canvas gradebook"):
        export("canvas", [], tmp_path / "out", ExportOptions(template))
    with pytest.raises(GraderError, match=r"can't be read: .*--template"):
        export("canvas", [], tmp_path / "out", ExportOptions(tmp_path / "none.csv"))


def test_without_a_template_the_file_is_one_that_canvas_takes(tmp_path: Path) -> None:
    results = [
        handed_in("b", Person("=cmd|' /C calc'!A0", id="007", platform_id="102"), layout="canvas"),
        handed_in("a", Person("Ada Lovelace", email="ada@uni.example", platform_id="5"), layout="moodle"),
        handed_in("c", Person("Zoe"), score=None),
    ]
    options = ExportOptions(assignment="Homework 2", missing=(Person("Emmy", id="011"),), zero_missing=True)
    done = export("canvas", results, tmp_path, options)
    text = done.paths[0].read_text("utf-8")
    assert imported(text) == {"102": "12.5", "ada@uni.example": "12.5", "Zoe": "", "011": "0"}
    assert "\"'=cmd" in text or "'=cmd" in text
    assert any("1 rows have no mark" in warning for warning in done.warnings)
