"""Made-up classes in the layout of each platform: all is found, and no layout is taken for another."""

from __future__ import annotations

import string
import unicodedata
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.lms import VARIANTS, MadeClass, Student, make, tree, write

from grader.intake.layouts.recognition import LAYOUTS, read, recognize
from grader.intake.tree import folder_tree
from tests.intake.layouts.found import assert_all_is_found

NO_OUTER = "no outer folder"


def source(student: Student) -> str:
    return f"def row_scale(x, w, factor):\n    return {student.sid!r}\n"


def certain(made: MadeClass, style: str) -> bool:
    """One repository without the folder that tells of GitHub is a folder like any other."""
    return len(made.expected) > 1 or style != NO_OUTER


@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize(("layout", "style"), VARIANTS)
def test_a_class_is_recognized_and_read(layout: str, style: str, count: int) -> None:
    made = make(layout, count, source, style)
    if not certain(made, style):
        return
    assert recognize(made.tree()) == layout
    reading = read(made.tree(), layout)
    assert_all_is_found(made, reading)
    assert reading.problems == ()
    root = f"/downloads/{made.name}/"
    assert [left.path.removeprefix(root) for left in reading.left_out] == list(made.left_out)


@pytest.mark.parametrize("folders", [("submissions",), ("a", "b"), ("x", "y", "z")])
@pytest.mark.parametrize(("layout", "style"), [v for v in VARIANTS if v[0] != "plain"])
def test_folders_around_a_class_are_looked_through(layout: str, style: str, folders: tuple[str, ...]) -> None:
    made = make(layout, 12, source, style)
    # GitHub's outer folder is part of the layout.
    wrapped = made.wrapped(*folders, *((made.name,) if layout == "classroom" else ()))
    assert recognize(wrapped.tree()) == layout
    assert_all_is_found(made, read(wrapped.tree(), layout))


@pytest.mark.parametrize(("layout", "style"), [v for v in VARIANTS if v[0] != "plain"])
def test_files_of_the_teacher_beside_a_class_are_left_out_and_told(layout: str, style: str) -> None:
    made = make(layout, 12, source, style)
    beside = {"grades.csv": "x", "notes.txt": "x"} | ({} if layout == "classroom" else {"ann.py": "x = 1\n"})
    made = replace(made, files=made.files | beside)
    assert recognize(made.tree()) == layout
    reading = read(made.tree(), layout)
    assert_all_is_found(made, reading)
    told = {left.path.rpartition("/")[2]: left.reason for left in reading.left_out}
    assert set(beside) <= set(told)
    outside = make(layout, 12, source, style).wrapped(
        "inner", *((made.name,) if layout == "classroom" else ())
    )
    outside = replace(outside, files=outside.files | {"reference.py": "x = 1\n"})
    assert recognize(outside.tree()) == layout
    reading = read(outside.tree(), layout)
    assert_all_is_found(made, reading)
    (reason,) = [left.reason for left in reading.left_out if left.path.endswith("/reference.py")]
    inner = made.name if layout == "classroom" else "inner"
    assert reason == f"it lies outside of {inner}, which holds what was handed in"


@pytest.mark.parametrize(("layout", "style"), VARIANTS)
def test_a_class_on_disk_with_litter_reads_as_in_memory(layout: str, style: str, tmp_path: Path) -> None:
    made = make(layout, 12, source, style)
    found = folder_tree(made.write(tmp_path))
    assert recognize(found) == layout
    assert_all_is_found(made, read(found, layout))


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "plain"])
def test_a_layout_that_is_forced_where_it_does_not_fit_says_what_it_expects(layout: str) -> None:
    made = make("plain", 5, source, "files")
    reading = read(made.tree(), layout)
    assert reading.attempts == ()
    expected = f"/downloads/{made.name} holds no submission; expected {LAYOUTS[layout].expected}"
    assert reading.problems[-1] == expected
    assert len(reading.left_out) == 5


def test_an_unknown_layout_is_a_fault_of_the_caller() -> None:
    with pytest.raises(KeyError):
        read(tree("x", {}), "sakai")


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_an_empty_folder_is_told(layout: str) -> None:
    assert recognize(tree("empty", {})) == "plain"
    reading = read(tree("empty", {}), layout)
    assert (reading.attempts, reading.left_out) == ((), ())
    assert reading.problems[-1].startswith("/downloads/empty holds no submission; expected ")


# --- what is no platform's ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paths",
    [
        ["ann_smith.py", "bob_jones_1.py", "cid_2_3.py"],
        # A teacher's numbers: of the lab and the part, or of the week.
        ["lab_3_1_ann.py", "lab_3_2_bob.py", "lab_3_3_cid.py"],
        ["hw_101_1001_ann.py", "hw_102_1001_bob.py"],
        ["ann_20261005_1159_hw.py", "bob_20261005_1203_hw.py"],
        ["ann_20261005_1159_hw.py"],
        # Canvas writes names in small letters only.
        ["Ann_48001_910001_solution.py", "Bob_48002_910002_solution.py"],
        ["ann smith_48001_910001_solution.py", "bob jones_48002_910002_solution.py"],
        ["ann_attempt_1.py", "ann_attempt_2.py", "hw_ann_attempt_2026-13-45-99-99-99_x.py"],
        ["Ann_1_submission/solution.py", "Bob_2_submission/solution.py"],
        ["1 - Ann - draft/solution.py", "2 - Bob - final/solution.py"],
        ["student-01/solution.py", "student-02/solution.py"],
        ["-ann/solution.py"],
        ["-ann/solution.py", "-bob/solution.py"],
        ["hw1-ann/solution.py", "hw1-bob/solution.py", "hw1-cid/.gitignore"],
        ["submission_1/solution.py", "submission_2/solution.py"],
        ["ann/submission_metadata.yml", "bob/solution.py"],
        ["ann/doe_48001_910001_solution.py", "bob/roe_48002_910002_solution.py"],
        ["ann.py", "bob.py", "cid/doe_48001_910001_solution.py"],
        ["solution.py"],
        ["ann.zip", "bob.tar.gz"],
    ],
)
def test_a_teachers_own_folder_is_no_platforms(paths: list[str]) -> None:
    assert recognize(tree("week_3", dict.fromkeys(paths, "x = 1\n"))) == "plain"


WORDS = st.text("abcxyzABC01239_- .é", min_size=1, max_size=14).filter(lambda w: w.strip(" .") == w)


@given(st.sets(WORDS, min_size=1, max_size=8), st.sampled_from([".py", "/solution.py", ".ipynb", "/a/b.py"]))
@settings(max_examples=80)
def test_names_with_blanks_digits_and_underscores_are_no_platforms(words: set[str], end: str) -> None:
    assert recognize(tree("week_3", {word + end: "x = 1\n" for word in words})) == "plain"


def test_a_download_beside_other_folders_is_told() -> None:
    made = make("canvas", 5, source).wrapped("submissions")
    files = made.files | {"reference/solution.py": "x = 1\n"}
    found = tree("week 3", files)
    assert recognize(found) == "plain"
    (problem,) = read(found, "plain").problems
    assert problem == (
        "/downloads/week 3/submissions looks like a download of Canvas, but is taken for one student's "
        "folder because of what lies beside it; name it by itself"
    )


# --- any name --------------------------------------------------------------------------------------

LETTERS = st.characters(
    codec="utf-8", categories=["L", "Mn", "Nd", "Pd", "Zs", "Po"], exclude_characters="/\\:*?\"<>|&`'"
)
# Moodle calls everyone "Participant" in blind marking, so that such a name gets its number.
PERSON = st.text(LETTERS, min_size=1, max_size=20).filter(
    lambda name: (
        any(c.isalpha() for c in name)
        and not name.startswith(".")
        and name == name.strip()
        and name.lower() != "participant"
    )
)
FILE = st.text(LETTERS | st.sampled_from("_-.() "), min_size=1, max_size=16).map(lambda stem: f"{stem}.py")
LOGIN = st.from_regex(r"[a-z][a-z0-9]{0,8}([-][a-z0-9]{1,5})?", fullmatch=True)
NUMBER = st.text(string.digits, min_size=3, max_size=9)


@st.composite
def classes(draw: st.DrawFn) -> list[Student]:
    numbers = draw(st.lists(NUMBER, min_size=2, max_size=5, unique=True))
    logins = draw(st.lists(LOGIN, min_size=len(numbers), max_size=len(numbers), unique=True))
    one_name = draw(PERSON)
    return [
        Student(
            first=draw(st.just(one_name) | PERSON),
            last=draw(st.just("") | PERSON),
            sid=draw(NUMBER) + str(i),
            login=login,
            user=number,
            file=draw(FILE),
            late=draw(st.booleans()),
            attempts=draw(st.integers(1, 3)),
            helper=draw(st.booleans()),
            time=draw(st.datetimes(datetime(2001, 1, 1), datetime(2098, 12, 31))).replace(microsecond=0),
            partner=draw(st.just("") | PERSON),
        )
        for i, (number, login) in enumerate(zip(numbers, logins, strict=True))
    ]


@pytest.mark.parametrize(("layout", "style"), VARIANTS)
@given(members=classes())
@settings(max_examples=15)
def test_any_names_ids_and_files_come_back(layout: str, style: str, members: list[Student]) -> None:
    # Where all have one name, Moodle's blind marking is at work.
    members = [replace(members[0], last="Zz"), *members[1:-1], replace(members[-1], last="Yy")]
    members = [_fitting(student, layout) for student in members]
    made = write(layout, members, source, style)
    # Two students of one name and minute in one flat folder would need two files of one name.
    assume(len(made.expected) == len(members))
    reading = read(made.tree(), layout)
    assert_all_is_found(made, reading)
    assert reading.problems == ()
    if layout != "canvas":
        assert recognize(made.tree()) == layout


def _fitting(student: Student, layout: str) -> Student:
    """The student as the platform would have it: some letters are refused, and no file is the helper."""
    names = {
        "first": unicodedata.normalize("NFC", student.first),
        "last": student.last,
        "file": student.file if student.file != "helpers.py" else "helper.py",
    }
    if layout == "canvas":
        # Numbers between underscores are taken from names, numbers at the end of files come from Canvas.
        names = {key: "".join(c for c in name if not c.isdigit()) for key, name in names.items()}
        names["file"] = f"f{names['file'].replace('-', '')}"
    if layout == "brightspace":
        names["file"] = names["file"].lstrip(" -")
    return replace(student, **names)
