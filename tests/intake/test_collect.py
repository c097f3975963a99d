"""Submissions from whatever is named: files, folders, archives, downloads; odd names, links, devices."""

from __future__ import annotations

import json
import os
import re
import string
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import lms

from grader.errors import GraderError
from grader.intake import archives
from grader.intake.asked import Asked
from grader.intake.collect import Intake, collect, require_some
from grader.intake.ids import submission_id
from grader.intake.layouts import recognition
from grader.intake.search import MOST_LOOKED_AT
from grader.intake.submission import Submission
from grader.intake.text import MAX_BYTES
from grader.intake.tree import LINK, MAX_FOLDER_DEPTH
from grader.people import Person
from tests.intake.made import tarred, write_files, zipped

Packer = Callable[[Mapping[str, bytes]], bytes]

ENTRY = "row_scale"
ASKED = Asked(ENTRY, ("numpy",), ("x", "w", "factor"))
GOOD = "def row_scale(x, w, factor):\n    return x\n"
SAFE = set(string.ascii_letters + string.digits + "._-")


def write(path: Path, text: str = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def ids(intake: Intake) -> list[str]:
    return [s.id for s in intake.submissions]


def only(intake: Intake) -> Submission:
    (one,) = intake.submissions
    return one


# --- ids --------------------------------------------------------------------------------------


@given(st.text(max_size=150))
@example("../../etc/passwd")
@example("..")
@example("\u202eabc")
@example("Zoë Müller")
@example("名前")
@example("$(id); rm -rf *")
def test_an_id_is_safe_as_a_file_name(text: str) -> None:
    name = submission_id(text)
    assert name
    assert set(name) <= SAFE
    assert len(name) <= 107
    assert not name.startswith((".", "-"))
    assert name not in (".", "..")


FILE_NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=12
).filter(lambda name: not name.startswith("."))


@settings(max_examples=30)
@given(st.sets(FILE_NAMES | st.sampled_from(["ann", "Ann", "ANN", "a.", "a-", "a", "änn", "änn", "?", "李"])))
@example({"ann", "Ann", "ANN"})
@example({"a", "a.", "a-"})
def test_ids_are_unique_whatever_the_file_systems_case_rules(
    tmp_path_factory: pytest.TempPathFactory, names: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("class")
    for name in names:
        write(folder / f"{name}.py")
    found = ids(collect([folder], ASKED))
    assert len(found) == len(names)
    assert len({i.lower() for i in found}) == len(names)
    assert all(set(i) <= SAFE for i in found)
    assert ids(collect([folder], ASKED)) == found


@settings(max_examples=30)
@given(st.data(), st.sets(FILE_NAMES, min_size=1, max_size=6))
def test_an_id_is_the_same_whatever_else_is_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, names: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("class")
    paths = [write(folder / f"{name}.py") for name in sorted(names)]
    every = {s.path: s.id for s in collect(paths, ASKED).submissions}
    some = data.draw(st.lists(st.sampled_from(paths), min_size=1, unique=True))
    for one in collect(some, ASKED).submissions:
        # Where two names make one id, the one that comes second is told apart by digits.
        assert every[one.path] == one.id or re.fullmatch(re.escape(one.id) + "-[0-9a-f]{6}", every[one.path])
    plain = {submission_id(name).lower() for name in names}
    if len(plain) == len(names):
        assert all(every[s.path] == s.id for s in collect(some, ASKED).submissions)


DIGITS = "-[0-9a-f]{6}"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("Müller", "Muller"),
        ("Zoë Müller (week 3)", "Zoe-Muller-week-3"),
        ("李", "submission"),
        ("王", "submission"),
        ("a b", "a-b"),
        ("Jürgen Groß", "Jurgen-Gross"),
        ("Łukasz Øystein", "Lukasz-Oystein"),
        ("x" * 101, "x" * 100),
        ("..", "submission"),
    ],
)
def test_a_name_that_loses_something_gets_six_digits(name: str, base: str) -> None:
    assert re.fullmatch(base + DIGITS, submission_id(name))


@pytest.mark.parametrize("name", ["Muller", "ann", "s-1_2.b", "x" * 100, "ANN"])
def test_a_name_that_loses_nothing_is_its_own_id(name: str) -> None:
    assert submission_id(name) == name


def test_the_digits_are_the_same_on_every_machine() -> None:
    assert submission_id("Müller") == "Muller-a78429"
    assert submission_id("李") == "submission-c16667"


def test_names_that_differ_in_lost_letters_only_have_ids_of_their_own() -> None:
    names = ["李", "王", "Müller", "Muller", "Mueller", "Mûller", "a b", "a-b", "a  b", "x" * 101, "x" * 102]
    assert len({submission_id(name) for name in names}) == len(names)


@given(st.text(max_size=30))
@example("Zoë Müller")
@example("각")
def test_both_unicode_forms_of_a_name_are_one_name(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert submission_id(composed) == submission_id(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_has_one_id_whatever_the_form_in_which_the_file_system_keeps_it(
    tmp_path: Path, form: str
) -> None:
    write(tmp_path / unicodedata.normalize(form, "Zoë.py"))
    assert ids(collect([tmp_path], ASKED)) == [submission_id("Zoë")]


def test_of_two_files_of_one_name_the_second_gets_digits_from_its_place(tmp_path: Path) -> None:
    for top in "abc":
        write(tmp_path / top / "alice" / "solution.py")
    a, b, c = (tmp_path / top for top in "abc")
    first, second, third = ids(collect([a, b, c], ASKED))
    assert first == "alice"
    assert re.fullmatch(f"alice{DIGITS}", second)
    assert re.fullmatch(f"alice{DIGITS}", third)
    assert second != third
    by_path = {s.path: s.id for s in collect([a, c], ASKED).submissions}
    assert by_path[str(c / "alice" / "solution.py")] in (second, third)


def test_a_name_that_looks_like_an_id_with_digits_takes_no_ones_row(tmp_path: Path) -> None:
    for top in "ab":
        write(tmp_path / top / "ann.py")
    (made,) = set(ids(collect([tmp_path / "a", tmp_path / "b"], ASKED))) - {"ann"}
    write(tmp_path / "0" / f"{made}.py")
    found = ids(collect([tmp_path / top for top in "0ab"], ASKED))
    assert len(set(found)) == 3


# --- files ------------------------------------------------------------------------------------


def test_a_file_is_one_submission_named_after_it(tmp_path: Path) -> None:
    path = write(tmp_path / "ann.py")
    one = only(collect([path], ASKED))
    assert (one.id, one.name, one.members, one.path, one.source) == ("ann", "ann", ("ann",), str(path), GOOD)
    assert one.digest.startswith("sha256:")
    assert (one.problem, one.notes, one.filename, one.module) == ("", (), "ann.py", "ann")


def test_the_digest_is_of_the_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "x = 1\n")
    (tmp_path / "b.py").write_bytes(b"x = 1\r\n")
    a, b = collect([tmp_path], ASKED).submissions
    assert a.source == b.source
    assert a.digest != b.digest


def test_a_file_need_not_end_in_py(tmp_path: Path) -> None:
    assert only(collect([write(tmp_path / "solution.txt")], ASKED)).source == GOOD


def test_several_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = [write(tmp_path / name / file) for name, file in (("ann", "solution.py"), ("bob", f"{ENTRY}.py"))]
    assert ids(collect(paths, ASKED)) == ["ann", "bob"]
    assert ids(collect(paths[:1], ASKED)) == ["solution"]


def test_several_files_of_one_folder_go_by_their_own_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("solution.py", f"{ENTRY}.py", "other.py"):
        write(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    paths = [Path("solution.py"), Path(f"./{ENTRY}.py"), tmp_path / "other.py", Path("gone.py")]
    assert sorted(ids(collect(paths, ASKED))) == sorted(["solution", ENTRY, "other"])
    write(tmp_path / "bob" / "work.py")
    assert "solution" not in ids(collect([paths[0], Path("bob")], ASKED))


def test_a_path_that_is_not_there_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    intake = collect([tmp_path / "gone.py", write(tmp_path / "ann.py")], ASKED)
    assert ids(intake) == ["ann"]
    assert intake.problems == (
        f"{tmp_path / 'gone.py'} does not exist; expected a file or a folder of submissions",
    )


@pytest.mark.parametrize(
    "name",
    [
        "a b.py",
        "o'neil.py",
        'qu"ote.py',
        "new\nline.py",
        "$(id).py",
        "=1+1.py",
        "-rf.py",
        "名前.py",
        "ünï.py",
        "a;b.py",
    ],
)
def test_odd_names_are_submissions_with_safe_ids(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    one = only(collect([tmp_path], ASKED))
    assert one.source == GOOD
    assert set(one.id) <= SAFE
    assert one.name == name[:-3]
    assert one.module.isidentifier()


def test_a_name_that_is_no_utf8_is_a_submission(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.py"
    with open(raw, "w") as file:
        file.write(GOOD)
    one = only(collect([tmp_path], ASKED))
    assert one.source == GOOD
    assert set(one.id) <= SAFE


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "The file is empty."),
        (b"\0\0", "The file holds a NUL byte in line 1; it is no Python text."),
        (b"\xff\xfea", "The file is neither UTF-8 nor UTF-16 text; save it as UTF-8."),
    ],
)
def test_what_can_not_be_read_is_a_submission_with_a_problem(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    (tmp_path / "ann.py").write_bytes(content)
    one = only(collect([tmp_path], ASKED))
    assert (one.source, one.problem) == (None, problem)
    assert one.digest


def test_a_guessed_encoding_is_noted(tmp_path: Path) -> None:
    (tmp_path / "ann.py").write_bytes(b"# caf\xe9\n")
    assert only(collect([tmp_path], ASKED)).notes == ("The file is not UTF-8; it was read as Windows-1252.",)


def test_a_huge_file_is_told_and_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "ann.py"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    one = only(collect([path], ASKED))
    assert one.source is None
    assert one.problem.startswith("The file has ")


def test_a_fifo_is_told_and_nothing_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ann.py")
    one = only(collect([tmp_path], ASKED))
    assert (one.source, one.problem, one.digest) == (None, "This is no regular file.", "")


def test_a_device_is_told_and_never_read(tmp_path: Path) -> None:
    link = tmp_path / "ann.py"
    link.symlink_to("/dev/zero")
    assert only(collect([link], ASKED)).problem == "This is no regular file."


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_dangling_link_is_told(tmp_path: Path, as_folder: bool) -> None:
    link = tmp_path / "ann.py"
    link.symlink_to(tmp_path / "gone.py")
    one = only(collect([tmp_path if as_folder else link], ASKED))
    told = LINK if as_folder else "The file can't be read: No such file or directory."
    assert (one.source, one.problem) == (None, told)


def test_a_loop_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "ann.py").symlink_to(tmp_path / "bob.py")
    (tmp_path / "bob.py").symlink_to(tmp_path / "ann.py")
    intake = collect([tmp_path], ASKED)
    assert ids(intake) == ["ann", "bob"]
    assert all(s.problem == LINK for s in intake.submissions)
    for name in ("ann.py", "bob.py"):
        assert only(collect([tmp_path / name], ASKED)).problem.startswith("The file can't be read: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "ann.py")
    path.chmod(0)
    assert only(collect([path], ASKED)).problem == "The file can't be read: Permission denied."


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_without_permission_is_left_out_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    write(tmp_path / "bob" / "solution.py")
    (tmp_path / "bob").chmod(0)
    try:
        intake = collect([tmp_path], ASKED)
    finally:
        (tmp_path / "bob").chmod(0o700)
    assert ids(intake) == ["ann"]
    assert intake.problems == (f"{tmp_path / 'bob'} can't be read: Permission denied",)


# --- folders ----------------------------------------------------------------------------------


def test_a_folder_of_files_and_a_folder_of_folders_give_the_same_ids(tmp_path: Path) -> None:
    for name in ("s001", "s002"):
        write(tmp_path / "flat" / f"{name}.py")
        write(tmp_path / "deep" / name / "solution.py")
    assert (
        ids(collect([tmp_path / "flat"], ASKED))
        == ids(collect([tmp_path / "deep"], ASKED))
        == ["s001", "s002"]
    )


def test_ids_come_from_the_path_below_the_class_folder(tmp_path: Path) -> None:
    write(tmp_path / "monday" / "ann" / "solution.py")
    write(tmp_path / "tuesday" / "ann" / "solution.py")
    intake = collect([tmp_path], ASKED)
    assert ids(intake) == ["monday-ann", "tuesday-ann"]
    assert [s.name for s in intake.submissions] == ["monday/ann", "tuesday/ann"]


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({"solution.py": GOOD, "helper.py": GOOD}, "solution.py"),
        ({f"{ENTRY}.py": GOOD, "helper.py": GOOD}, f"{ENTRY}.py"),
        ({"solution.py": GOOD, f"{ENTRY}.py": GOOD}, "solution.py"),
        ({"solution.py": "x = 1", f"{ENTRY}.py": GOOD}, f"{ENTRY}.py"),
        ({"a.py": "x = 1", "work.py": GOOD}, "work.py"),
        ({"a.py": "x = 1", "work.py": "class row_scale:\n    pass"}, "work.py"),
        ({"a.py": "x = 1", "work.py": "row_scale = print"}, "work.py"),
        ({"a.py": "# def row_scale here\nrow_scaled = 1", "work.py": GOOD}, "work.py"),
        ({"a.py": "print(row_scale == 1)", "work.py": GOOD}, "work.py"),
        ({"test_it.py": GOOD, "work.py": GOOD}, "work.py"),
        ({"a.py": "x = 1", "b.py": "y = 2"}, "a.py"),
        ({"only.py": "x = 1"}, "only.py"),
    ],
)
def test_of_several_files_in_a_students_folder_one_is_taken(
    tmp_path: Path, files: dict[str, str], chosen: str
) -> None:
    for name, text in files.items():
        write(tmp_path / "ann" / name, text)
    intake = collect([tmp_path], ASKED)
    one = only(intake)
    assert one.filename == chosen
    assert (one.id, one.name) == ("ann", "ann")
    others = sorted(set(files) - {chosen})
    assert one.rule
    assert list(intake.left_out) == [f"{tmp_path / 'ann' / o}: {chosen} is taken: {one.rule}" for o in others]


def test_folders_of_tools_and_hidden_mac_files_are_no_submissions(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    environment = "venv/lib/python3.11"
    for name in ("__pycache__", "__MACOSX", ".git", ".ipynb_checkpoints", environment, "site-packages"):
        write(tmp_path / name / "solution.py")
    write(tmp_path / "._ann.py")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.py").mkdir()
    assert ids(collect([tmp_path], ASKED)) == ["ann"]


@pytest.mark.parametrize("below", ["ann.py", "ann/solution.py"])
def test_a_link_in_a_class_folder_never_hands_in_a_file_from_elsewhere(tmp_path: Path, below: str) -> None:
    elsewhere = write(tmp_path / "elsewhere" / "secret.py")
    link = tmp_path / "class" / below
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    one = only(collect([tmp_path / "class"], ASKED))
    assert (one.id, one.source, one.problem) == ("ann", None, LINK)


def test_a_link_that_is_named_itself_is_read(tmp_path: Path) -> None:
    link = tmp_path / "ann.py"
    link.symlink_to(write(tmp_path / "elsewhere" / "mine.py"))
    assert only(collect([link], ASKED)).source


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "class" / "ann" / "solution.py")
    (tmp_path / "class" / "ann" / "up").symlink_to(tmp_path / "class")
    (tmp_path / "class" / "loop").symlink_to(tmp_path / "class")
    assert ids(collect([tmp_path / "class"], ASKED)) == ["ann"]


def test_nesting_beyond_the_limit_is_not_followed_and_told(tmp_path: Path) -> None:
    deep = "d" * MAX_FOLDER_DEPTH
    write(tmp_path.joinpath(*deep, "solution.py"))
    write(tmp_path.joinpath("z", *deep, "solution.py"))
    intake = collect([tmp_path], ASKED)
    assert ids(intake) == ["-".join(deep)]
    assert any("folders deep" in left for left in intake.left_out)


def test_a_folder_without_submissions_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    intake = collect([tmp_path], ASKED)
    assert intake.problems == (
        f"{tmp_path} holds no submission; expected .py or .ipynb files, archives, or folders with them",
    )
    with pytest.raises(GraderError, match="holds no submission"):
        require_some(intake)
    with pytest.raises(GraderError, match="no submissions were named"):
        require_some(collect([], ASKED))


def test_submissions_come_in_the_order_of_their_ids(tmp_path: Path) -> None:
    for name in ("cid", "Ann", "bob"):
        write(tmp_path / f"{name}.py")
    assert ids(collect([tmp_path], ASKED)) == sorted(["cid", "Ann", "bob"])


def test_several_folders_are_one_class_with_unique_ids(tmp_path: Path) -> None:
    write(tmp_path / "a" / "ann.py")
    write(tmp_path / "b" / "ann.py")
    first, second = ids(collect([tmp_path / "a", tmp_path / "b"], ASKED))
    assert first == "ann"
    assert re.fullmatch(f"ann{DIGITS}", second)


@pytest.mark.parametrize("file", ["solution.py", f"{ENTRY}.py", "Solution.py", "SOLUTION.PY"])
def test_students_folders_that_are_named_one_by_one_give_their_names(tmp_path: Path, file: str) -> None:
    for name in ("s1", "s2", "s3"):
        write(tmp_path / name / file)
    intake = collect(sorted(tmp_path.glob("s*/")), ASKED)
    assert ids(intake) == ids(collect([tmp_path], ASKED)) == ["s1", "s2", "s3"]
    assert (intake.problems, intake.left_out) == ((), ())


@pytest.mark.parametrize("file", ["solution.py", f"{ENTRY}.py", "Solution.py", "SOLUTION.PY"])
def test_a_students_folder_with_helpers_is_one_submission_with_a_note(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "ann"
    for name in (file, "helpers.py", "plots.py"):
        write(folder / name)
    for named in (folder, tmp_path):
        intake = collect([named], ASKED)
        one = only(intake)
        assert (one.id, one.name, one.filename) == ("ann", "ann", file)
        assert one.notes == tuple(
            f"{other} was handed in too and was not read; {file} is graded."
            for other in ("helpers.py", "plots.py")
        )
        assert len(intake.left_out) == 2


def test_the_current_folder_and_its_parent_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "ann" / "solution.py")
    below = tmp_path / "ann" / "notes"
    below.mkdir()
    write(tmp_path / "bob.py")
    monkeypatch.chdir(tmp_path / "ann")
    assert ids(collect([Path()], ASKED)) == ["ann"]
    monkeypatch.chdir(below)
    assert ids(collect([Path("..")], ASKED)) == ["ann"]
    assert ids(collect([Path("../solution.py"), Path("../../bob.py")], ASKED)) == ["ann", "bob"]


def test_the_parts_of_a_project_import_each_other_from_its_top_and_from_beside(tmp_path: Path) -> None:
    write(tmp_path / "ann/src/solution.py", f"from src.helper import f\nimport scale\n{GOOD}")
    write(tmp_path / "ann/src/helper.py", "def f(): pass\n")
    write(tmp_path / "ann/src/scale.py", "y = 2\n")
    write(tmp_path / "ann/tests/test_a.py", "from src.solution import row_scale\n")
    write(tmp_path / "bob/x.py")
    ann, bob = collect([tmp_path], ASKED).submissions
    assert (ann.id, ann.name, bob.id) == ("ann", "ann", "bob")
    assert {part.module for part in ann.parts} >= {"src.helper", "scale"}


def test_a_class_folder_is_one_even_when_a_solution_lies_in_it(tmp_path: Path) -> None:
    write(tmp_path / "solution.py")
    write(tmp_path / "ann" / "solution.py")
    write(tmp_path / "bob" / "solution.py")
    assert ids(collect([tmp_path], ASKED)) == ["ann", "bob", "solution"]


@pytest.mark.parametrize("name", ["ann.PY", "ann.Py", "ann/SOLUTION.PY"])
def test_an_ending_in_capitals_is_an_ending(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    assert ids(collect([tmp_path], ASKED)) == ["ann"]


def test_what_is_no_submission_is_told_as_left_out(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    (tmp_path / "empty").mkdir()
    write(tmp_path / "java" / "Main.java")
    (tmp_path / "notes.txt").write_text("x")
    intake = collect([tmp_path], ASKED)
    assert ids(intake) == ["ann"]
    nothing = "no .py or .ipynb file and no archive"
    assert sorted(intake.left_out) == [
        *(f"{tmp_path / n}: holds {nothing}" for n in ("empty", "java")),
        f"{tmp_path / 'notes.txt'}: is {nothing}",
    ]


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "class" / "ann.py")
    (tmp_path / "way").symlink_to(tmp_path / "class")
    spellings = [
        path,
        path.parent,
        tmp_path / "class" / ".." / "class" / "ann.py",
        tmp_path / "way" / "ann.py",
    ]
    for again in spellings:
        intake = collect([path, again], ASKED)
        assert (ids(intake), intake.problems) == (["ann"], ())
        assert intake.left_out == (f"{again / 'ann.py' if again.is_dir() else again}: named twice",)


def test_two_files_of_equal_content_are_two_submissions(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    write(tmp_path / "bob.py")
    assert ids(collect([tmp_path], ASKED)) == ["ann", "bob"]


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + ".py", "/".join(["y" * 200] * 30)])
def test_a_path_that_no_file_system_takes_is_told_and_the_rest_goes_on(tmp_path: Path, name: str) -> None:
    intake = collect([tmp_path / name, write(tmp_path / "ann.py")], ASKED)
    assert ids(intake) == ["ann"]
    (problem,) = intake.problems
    assert problem.startswith(str(tmp_path / name))


@pytest.mark.parametrize("line", ["\n", " \n", "\t", " ", "def ", "\r"])
def test_the_look_for_the_entry_point_is_linear_in_the_files_length(tmp_path: Path, line: str) -> None:
    # A search that is quadratic would take days.
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "a.py").write_bytes((line.encode() * MAX_BYTES)[: MAX_BYTES - 9])
    write(tmp_path / "ann" / "b.py")
    assert only(collect([tmp_path], ASKED)).filename == "b.py"


# --- modules ----------------------------------------------------------------------------------


@given(
    st.text(min_size=1, max_size=20).filter(lambda t: "/" not in t and "\0" not in t and t not in (".", ".."))
)
def test_the_module_name_is_an_identifier_whatever_the_file_is_called(name: str) -> None:
    one = Submission("x", "x", f"folder/{name}.py", "", "")
    assert one.module.isidentifier()


def test_a_plain_file_name_is_the_modules_name() -> None:
    for name, module in (
        ("solution", "solution"),
        ("my solution", "my_solution"),
        ("3rd", "_3rd"),
        ("a-b.c", "a_b_c"),
    ):
        assert Submission("x", "x", f"f/{name}.py", "", "").module == module
    assert re.fullmatch(r"\w+", Submission("x", "x", "f/名.py", "", "").module)


# --- archives ---------------------------------------------------------------------------------


CLASS = {
    "ann/solution.py": GOOD.encode(),
    "bob.py": b"x = 1\n",
    "cid/row_scale.py": GOOD.encode(),
    "cid/tools.py": b"",
}
PACKED = [
    ("class.zip", zipped),
    ("class.tar", tarred),
    ("class.tar.gz", lambda files: tarred(files, "gz")),
    ("class.txz", lambda files: tarred(files, "xz")),
]


def plain_facts(intake: Intake) -> list[tuple[object, ...]]:
    return [
        (s.id, s.name, s.members, s.digest, s.source, s.rule, s.notes, s.layout, s.key)
        for s in intake.submissions
    ]


@pytest.mark.parametrize(("name", "pack"), PACKED)
def test_an_archive_is_read_as_the_folder_that_it_was(tmp_path: Path, name: str, pack: Packer) -> None:
    folder = collect([write_files(tmp_path / "class", CLASS)], ASKED)
    for files in (CLASS, {f"class/{path}": data for path, data in CLASS.items()}):
        (tmp_path / name).write_bytes(pack(files))
        intake = collect([tmp_path / name], ASKED)
        assert plain_facts(intake) == plain_facts(folder)
        assert intake.problems == ()
        assert [s.path.rpartition("/")[2] for s in intake.submissions] == [
            "solution.py",
            "bob.py",
            "row_scale.py",
        ]
        assert all(s.path.startswith(f"{tmp_path / name}/") for s in intake.submissions)


def test_students_archives_in_a_folder_are_opened(tmp_path: Path) -> None:
    files = {"hw/solution.py": GOOD.encode(), "hw/tools.py": b"y = 1\n", "../evil.py": b"1"}
    write_files(
        tmp_path,
        {
            "ann.zip": zipped(files),
            "bob/hw.tar.gz": tarred({"solution.py": GOOD.encode()}, "gz"),
            "bob/readme.txt": b"r",
            "cid.zip": b"no archive",
            "dan.zip": zipped({}),
            "eve.zip": zipped({"inner.zip": zipped({"solution.py": GOOD.encode()})}),
            "fay.rar": b"Rar!\x1a\x07\x00",
            "gil.py": GOOD.encode(),
        },
    )
    intake = collect([tmp_path], ASKED)
    found = {s.id: s for s in intake.submissions}
    assert found.keys() >= {"ann", "bob", "cid", "dan", "eve", "gil"}
    assert found["ann"].source == found["bob"].source == found["eve"].source == GOOD
    assert found["ann"].path == str(tmp_path / "ann.zip" / "hw" / "solution.py")
    assert (
        "../evil.py in ann.zip was not read: its name holds .., which leads out of the archive."
        in found["ann"].notes
    )
    assert any(f"{tmp_path}/ann.zip/../evil.py" in left for left in intake.left_out)
    assert found["cid"].problem.startswith("cid.zip is no archive that can be read")
    assert found["dan"].problem == "dan.zip holds no files."
    assert intake.problems == ()


def test_a_broken_archive_beside_the_solution_is_a_note(tmp_path: Path) -> None:
    write_files(tmp_path, {"ann/solution.py": GOOD.encode(), "ann/data.zip": b"broken"})
    intake = collect([tmp_path], ASKED)
    one = only(intake)
    assert (one.source, one.problem) == (GOOD, "")
    assert any("data.zip is no archive" in note for note in one.notes)
    (left,) = intake.left_out
    assert left.startswith(f"{tmp_path / 'ann' / 'data.zip'}: data.zip is no archive")


def test_an_archive_without_an_ending_is_found_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(zipped({"solution.py": GOOD.encode(), "data": b"d" * 100_000}))
    assert only(collect([path], ASKED)).source == GOOD


def test_archives_that_are_named_one_by_one_are_students(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.zip").write_bytes(zipped({"work.py": GOOD.encode(), "plots.py": b"x = 1\n"}))
    (tmp_path / "cid.tgz").write_bytes(tarred({"hw/solution.py": GOOD.encode()}, "gz"))
    intake = collect(sorted(tmp_path.iterdir()), ASKED)
    assert ids(intake) == ["ann", "bob", "cid"]
    assert all(s.source == GOOD for s in intake.submissions)
    for name in ("monday", "tuesday"):
        (tmp_path / f"{name}.zip").write_bytes(
            zipped({f"{name[0]}{i}/solution.py": GOOD.encode() for i in range(3)})
        )
    intake = collect([tmp_path / "monday.zip", tmp_path / "tuesday.zip"], ASKED)
    assert ids(intake) == ["m0", "m1", "m2", "t0", "t1", "t2"]


def test_an_archive_that_may_as_well_be_a_class_is_noted(tmp_path: Path) -> None:
    for name, files in (("monday", ["ann.py", "bob.py"]), ("tuesday", ["ann.py", "tools.py"])):
        packed = {file: b"x = 1\n" if file == "tools.py" else GOOD.encode() for file in files}
        (tmp_path / f"{name}.zip").write_bytes(zipped(packed))
    intake = collect([tmp_path / "monday.zip", tmp_path / "tuesday.zip"], ASKED)
    assert ids(intake) == ["monday", "tuesday"]
    (note,) = intake.notes
    assert note.startswith(f"{tmp_path / 'monday.zip'} is taken for what one student handed in, though 2 of")
    write(tmp_path / "class" / "solution.py")
    assert collect([tmp_path / "class"], ASKED).notes == ()
    write(tmp_path / "class" / "ann.py")
    assert len(collect([tmp_path / "class"], ASKED).notes) == 1


def test_a_damaged_archive_is_a_problem_and_the_rest_goes_on(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    (tmp_path / "class.zip").write_bytes(zipped(CLASS)[:-30])
    intake = collect([tmp_path / "class.zip", tmp_path / "ann.py"], ASKED)
    assert ids(intake) == ["ann"]
    (problem,) = intake.problems
    assert problem.startswith(f"{tmp_path / 'class.zip'}: The archive")


def test_each_member_of_an_archive_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    real = archives._read_zip

    def counting(source: object, info: zipfile.ZipInfo, *rest: object) -> bytes:
        reads.append(info.filename)
        return real(source, info, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(archives, "_read_zip", counting)
    (tmp_path / "class.zip").write_bytes(zipped(CLASS))
    collect([tmp_path / "class.zip"], ASKED)
    assert sorted(reads) == sorted(set(reads))


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for name, pack in PACKED:
        (tmp_path / name).write_bytes(pack(CLASS))
        collect([tmp_path / name], ASKED)
    assert os.listdir("/proc/self/fd") == before


# --- downloads of platforms -------------------------------------------------------------------


def source(student: lms.Student) -> str:
    return f"def row_scale(x, w, factor):\n    return {student.user}\n"


@pytest.mark.parametrize(("layout", "style"), lms.VARIANTS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_download_gives_everyone_their_newest_attempt(
    tmp_path: Path, layout: str, style: str, packed: bool
) -> None:
    made = lms.make(layout, 60, source, style)
    where = made.zip(tmp_path) if packed else made.write(tmp_path)
    for forced in (None, layout):
        intake = collect([where], ASKED, layout=forced)
        assert intake.layouts == (layout,)
        assert intake.problems == ()
        keys = {s.key.removeprefix(f"{layout}:") if s.key else s.path for s in intake.submissions}
        assert len(keys) == len(intake.submissions) == len(made.expected)
        assert len({s.id.lower() for s in intake.submissions}) == len(made.expected)
        assert all(set(s.id) <= SAFE for s in intake.submissions)
        assert sorted(map(facts, intake.submissions)) == sorted(
            (
                wanted.name,
                repr(wanted.people),
                wanted.text,
                wanted.file,
                repr(wanted.late),
                wanted.submitted_at,
                wanted.attempts,
                wanted.feedback,
                layout,
            )
            for wanted in made.expected.values()
        )
        if layout != "plain":
            assert keys == made.expected.keys()


def facts(s: Submission) -> tuple[object, ...]:
    assert s.members == tuple(person.name for person in s.people)
    assert s.problem == ""
    told = (s.name, repr(s.people), s.source, s.filename, repr(s.late))
    return (*told, s.submitted_at, s.attempts, s.feedback, s.layout)


def test_the_newest_attempt_counts_over_several_downloads(tmp_path: Path) -> None:
    name = "doejane_{user}_{attachment}_solution.py"
    for week, attachment, text in (("first", 900001, "x = 1\n"), ("second", 900009, "x = 2\n")):
        for user in (101, 202, 303):
            path = tmp_path / week / name.format(user=user, attachment=attachment + user)
            write(path, text)
    write(tmp_path / "second" / name.format(user=404, attachment=910000), "x = 3\n")
    for order in (["first", "second"], ["second", "first"]):
        intake = collect([tmp_path / week for week in order], ASKED)
        assert [s.source for s in intake.submissions] == ["x = 2\n"] * 3 + ["x = 3\n"]
        assert [s.attempts for s in intake.submissions] == [2, 2, 2, 1]
        assert sum("an earlier attempt of doejane" in left for left in intake.left_out) == 3
    again = collect([tmp_path / "first", tmp_path / "first"], ASKED)
    assert [s.attempts for s in again.submissions] == [1, 1, 1]
    assert sum(left.endswith(": named twice") for left in again.left_out) == 3


@pytest.mark.parametrize(
    ("layout", "style"), [v for v in lms.VARIANTS if v[0] != "plain" and v != ("canvas", "anonymous")]
)
def test_two_downloads_with_students_in_both_give_everyone_once(
    tmp_path: Path, layout: str, style: str
) -> None:
    members = lms.students(30)
    whole = lms.write(layout, members, source, style)
    first = lms.write(layout, members[:20], source, style).zip(tmp_path)
    second = lms.write(layout, members[10:], source, style).write(tmp_path / "two")
    for order in ([first, second], [second, first], [first, second, first]):
        intake = collect(order, ASKED)
        assert intake.layouts == (layout,)
        found = {s.key.removeprefix(f"{layout}:"): s for s in intake.submissions}
        assert len(found) == len(intake.submissions)
        assert found.keys() == whole.expected.keys()
        for key, expected in whole.expected.items():
            one = found[key]
            assert (one.name, one.filename, one.late) == (expected.name, expected.file, expected.late)
            assert (one.source or "").startswith(expected.text)
            assert [(p.name, p.id, p.email) for p in one.people] == [
                (p.name, p.id, p.email) for p in expected.people
            ]
        assert intake.problems == ()


MOODLE = "{who}_assignsubmission_file/solution.py"


def zipped_at(path: Path, files: Mapping[str, str], day: int) -> Path:
    """An archive whose members were changed on a day of January."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, day, 0, 0, 0)), text)
    return path


@pytest.mark.parametrize(("layout", "name"), [("moodle", MOODLE), ("classroom", "hw-{who}/solution.py")])
@pytest.mark.parametrize("day", [1, 2])
def test_of_downloads_that_tell_no_time_the_files_dates_tell_and_it_is_a_problem(
    tmp_path: Path, layout: str, name: str, day: int
) -> None:
    texts = {"ann_1": "x = 1\n", "bob_2": "x = 5\n"} if layout == "moodle" else {"ann": "x = 1\n", "bob": ""}
    ann, _ = texts
    first, second = tmp_path / "hw-submissions.zip", tmp_path / "two" / "hw-submissions.zip"
    second.parent.mkdir()
    zipped_at(first, {name.format(who=who): text for who, text in texts.items()}, 1)
    later = texts | {ann: "x = 2\n"}
    zipped_at(second, {name.format(who=who): text for who, text in later.items()}, day)
    for order in ([first, second], [second, first]):
        intake = collect(order, ASKED)
        assert intake.layouts == (layout,)
        # Of equal dates the last one counts that is named.
        wanted = "x = 2\n" if day == 2 or order[-1] == second else "x = 1\n"
        assert (intake.submissions[0].source, intake.submissions[0].attempts) == (wanted, 2)
        assert intake.submissions[1].attempts == 1
        (problem,) = intake.problems
        assert problem.startswith("which of several attempts of ann is the newest is not told")
        assert ("files were changed last counts" if day == 2 else "was named last counts") in problem
        assert sum("another attempt of ann" in left for left in intake.left_out) == 1
        assert sum(left.endswith(": named twice") for left in intake.left_out) == 1
    again = collect([first, first], ASKED)
    assert [s.attempts for s in again.submissions] == [1, 1]
    assert again.problems == ()


def test_whether_a_typed_text_is_newer_than_an_upload_is_not_told(tmp_path: Path) -> None:
    upload, text = "doe_4810_90010_solution.py", "doe_4810_text.html"
    other = "roe_4820_90020_solution.py"
    first = zipped_at(tmp_path / "first.zip", {upload: GOOD, other: GOOD}, 1)
    second = zipped_at(tmp_path / "second.zip", {text: f"<pre>{GOOD}# typed</pre>", other: GOOD}, 2)
    for order in ([first, second], [second, first]):
        intake = collect(order, ASKED)
        assert [s.filename for s in intake.submissions] == ["online_text.py", "solution.py"]
        assert len(intake.problems) == 1


def gradescope(path: Path, *submissions: tuple[int, str, str]) -> Path:
    """An export with each submission's number, members, such as ``ab``, and the hour at which it came."""
    lines = ["---"]
    files = {}
    for number, members, hour in submissions:
        lines += [f"submission_{number}:", "  :submitters:"]
        for one in members:
            lines += [f"  - :name: {one.upper()} Doe", f"    :sid: '0{ord(one)}'", f"    :email: {one}@x.org"]
        lines.append(f"  :created_at: 2026-01-01 {hour}:00:00 Z")
        files[f"submission_{number}/solution.py"] = f"x = {number}\n"
    files["submission_metadata.yml"] = "\n".join((*lines, ""))
    return zipped_at(path, files, 1)


@pytest.mark.parametrize(
    ("downloads", "found", "attempts"),
    [
        # Somebody leaves a group, and the others stay.
        ([[(1, "ab", "10")], [(2, "a", "11")]], {"b": 1, "a": 2}, {"b": 1, "a": 2}),
        ([[(1, "ab", "10"), (2, "b", "11")]], {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        # Two who handed in alone become a group.
        ([[(1, "a", "10"), (2, "b", "11")], [(3, "ab", "12")]], {"ab": 3}, {"ab": 2}),
        # The same group, in another order.
        ([[(1, "ab", "10")], [(2, "ba", "11")]], {"ba": 2}, {"ba": 2}),
        # A chain: a leaves b for c, and b is left alone with the work of both.
        (
            [[(1, "ab", "10"), (2, "c", "10")], [(3, "ac", "11"), (4, "d", "11")]],
            {"b": 1, "ac": 3, "d": 4},
            {"b": 1, "ac": 2, "d": 1},
        ),
        # A member more, a member less.
        ([[(1, "abc", "10")], [(2, "ab", "11")]], {"c": 1, "ab": 2}, {"c": 1, "ab": 2}),
        ([[(1, "ab", "10")], [(2, "abc", "11")]], {"abc": 2}, {"abc": 2}),
    ],
)
def test_everyone_in_changing_groups_has_the_newest_work_and_only_that(
    tmp_path: Path,
    downloads: list[list[tuple[int, str, str]]],
    found: dict[str, int],
    attempts: dict[str, int],
) -> None:
    paths = [gradescope(tmp_path / f"{n}.zip", *some) for n, some in enumerate(downloads)]
    total = sum(map(len, downloads))
    for order in (paths, paths[::-1], [*paths, paths[0]]):
        intake = collect(order, ASKED)
        members = {"".join(p.email[0] for p in s.people): s for s in intake.submissions}
        assert {who: s.source for who, s in members.items()} == {w: f"x = {n}\n" for w, n in found.items()}
        assert {who: s.attempts for who, s in members.items()} == attempts
        assert {who: s.name for who, s in members.items()} == {
            who: ", ".join(f"{one.upper()} Doe" for one in who) for who in found
        }
        assert all(s.id.startswith(f"{who[0].upper()}-Doe") for who, s in members.items())
        earlier = {left for left in intake.left_out if "an earlier attempt of" in left}
        assert len(earlier) == total - len(found)
        assert intake.problems == ()


def test_files_of_a_download_that_are_named_one_by_one_are_of_the_download(tmp_path: Path) -> None:
    for user in (101, 202, 303):
        write(tmp_path / f"doejane_{user}_{900000 + user}_solution.py")
    intake = collect(sorted(tmp_path.iterdir()), ASKED)
    assert intake.layouts == ("canvas",)
    assert [s.key for s in intake.submissions] == ["canvas:101", "canvas:202", "canvas:303"]
    one = only(collect([tmp_path / "doejane_101_900101_solution.py"], ASKED))
    assert (one.layout, one.id) == ("plain", "doejane_101_900101_solution")
    assert (
        only(collect([tmp_path / "doejane_101_900101_solution.py"], ASKED, layout="canvas")).key
        == "canvas:101"
    )
    plain = collect(sorted(tmp_path.iterdir()), ASKED, layout="plain")
    assert plain.layouts == ("plain",)
    assert len(plain.submissions) == 3


def test_a_folder_that_holds_nothing_but_a_download_is_the_download(tmp_path: Path) -> None:
    made = lms.make("canvas", 10, source)
    (tmp_path / "week3").mkdir()
    made.zip(tmp_path / "week3")
    intake = collect([tmp_path / "week3"], ASKED)
    assert intake.layouts == ("canvas",)
    assert len(intake.submissions) == len(made.expected)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", ["zips", "folders"])
def test_a_folder_or_an_archive_of_downloads_is_all_of_them(tmp_path: Path, kind: str, packed: bool) -> None:
    whole = {
        "monday": {MOODLE.format(who="Ann_11"): "x = 1\n", MOODLE.format(who="Bob_12"): "x = 2\n"},
        "tuesday": {MOODLE.format(who="Cid_13"): "x = 3\n"},
    }
    files: dict[str, bytes] = {"notes.txt": b""}
    for day, some in whole.items():
        raw = {name: text.encode() for name, text in some.items()}
        files |= {f"{day}.zip": zipped(raw)} if kind == "zips" else {f"{day}/{n}": d for n, d in raw.items()}
    place = tmp_path / "week.zip" if packed else write_files(tmp_path / "week", files)
    if packed:
        place.write_bytes(zipped(files))
    intake = collect([place], ASKED)
    assert [(s.key, s.source) for s in intake.submissions] == [
        ("moodle:11", "x = 1\n"), ("moodle:12", "x = 2\n"), ("moodle:13", "x = 3\n"),
    ]  # fmt: skip
    assert intake.left_out == (f"{place}/notes.txt: is no platform's download, as what lies beside it is",)
    assert intake.problems == ()


def test_a_download_among_the_archives_of_students_is_a_problem(tmp_path: Path) -> None:
    download = {MOODLE.format(who=who): b"x = 1\n" for who in ("Ann_11", "Bob_12")}
    files = {"cid.zip": zipped({"solution.py": GOOD.encode()}), "monday.zip": zipped(download)}
    intake = collect([write_files(tmp_path / "week", files)], ASKED)
    assert ids(intake) == ["cid", "monday"]
    (problem,) = intake.problems
    assert problem.startswith(f"{tmp_path / 'week' / 'monday.zip'} looks like a platform's download, but is")
    # What one student's archive looks like makes nobody else's work anything but that.
    files = {f"s{n}.zip": zipped({"solution.py": GOOD.encode()}) for n in range(25)} | files
    assert len(collect([write_files(tmp_path / "more", files)], ASKED).submissions) == 27


def moodle_zip(number: int) -> bytes:
    return zipped({MOODLE.format(who=f"{who}_{2 * number + who}"): b"x = 1\n" for who in (0, 1)})


def test_any_number_of_downloads_gives_everyone(tmp_path: Path) -> None:
    files = {f"d{n:02}.zip": moodle_zip(n) for n in range(MOST_LOOKED_AT + 5)}
    intake = collect([write_files(tmp_path / "term", files)], ASKED)
    assert len(intake.submissions) == 2 * len(files)
    assert (intake.layouts, intake.problems) == (("moodle",), ())
    # What is none, or can't be read, among them is told of with every one of them.
    for name, odd in (("x.zip", zipped({"a.py": b"x = 1\n"})), ("a.zip", b"PK\3\4"), ("x.py", b"x = 1\n")):
        mixed = collect([write_files(tmp_path / f"with {name}", files | {name: odd})], ASKED)
        assert len(mixed.submissions) == len(files) + 1
        assert sum("looks like a platform's download" in told for told in mixed.problems) == len(files)


@pytest.mark.parametrize("kind", ["zips", "folders"])
def test_a_class_is_not_looked_through_for_downloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    looked: list[str] = []
    whole = recognition.LAYOUTS["gradescope"].recognizes
    monkeypatch.setattr(
        recognition.LAYOUTS["gradescope"], "recognizes", lambda tree: looked.append(tree.shown) or whole(tree)
    )
    source = {"solution.py": GOOD.encode()}
    files = {f"s{n}.zip": zipped(source) for n in range(100)}
    if kind == "folders":
        files = {f"s{n}/solution.py": GOOD.encode() for n in range(100)}
    assert len(collect([write_files(tmp_path / "class", files)], ASKED).submissions) == 100
    assert len(looked) <= 2 * (MOST_LOOKED_AT + 1) + 5


def test_an_unknown_layout_is_refused_with_the_ones_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        GraderError, match=r"no layout 'canvass'; did you mean 'canvas'\? known layouts: .*samples"
    ):
        collect([tmp_path], ASKED, layout="canvass")
    with pytest.raises(GraderError, match=r"no layout 'x'; known layouts: gradescope, "):
        collect([tmp_path], ASKED, layout="x")


def test_a_forced_layout_that_does_not_fit_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    intake = collect([tmp_path], ASKED, layout="moodle")
    assert intake.submissions == ()
    assert "holds no submission; expected" in intake.problems[0]


# --- samples ----------------------------------------------------------------------------------


def test_samples_are_submissions_each(tmp_path: Path) -> None:
    lines = [{"task_id": f"t/{n % 2}", "solution": f"row_scale = {n}\n"} for n in range(4)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    write(tmp_path / "out" / "samples.jsonl", text + "odd\n")
    (tmp_path / "out" / "notes.txt").write_text("x")
    for path in (tmp_path / "out" / "samples.jsonl", tmp_path / "out"):
        intake = collect([path], ASKED)
        assert intake.layouts == ("samples",)
        assert ids(intake) == ["t-0-0001", "t-0-0002", "t-1-0001", "t-1-0002"]
        assert [s.task for s in intake.submissions] == ["t/0", "t/0", "t/1", "t/1"]
        assert [s.source for s in intake.submissions] == [f"row_scale = {n}\n" for n in (0, 2, 1, 3)]
        assert [s.key for s in intake.submissions] == [f"samples:t/{n}#{i}" for n in (0, 1) for i in (1, 2)]
        assert {s.filename for s in intake.submissions} == {"solution.py"}
        assert "line 5: it is no JSON" in intake.left_out[0]
    (tmp_path / "runs.zip").write_bytes(zipped({"a.jsonl": text.encode()}))
    assert len(collect([tmp_path / "runs.zip"], ASKED).submissions) == 4
    (tmp_path / "x.txt").write_text(text)
    assert len(collect([tmp_path / "x.txt"], ASKED, layout="samples").submissions) == 4
    twice = collect([tmp_path / "out", tmp_path / "x.txt"], ASKED, layout="samples")
    assert ids(twice)[:4] == ["t-0-0001", "t-0-0002", "t-0-0003", "t-0-0004"]


def test_a_file_of_samples_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", json.dumps({"task_id": "t", "solution": GOOD}) + "\n")
    (tmp_path / "b.jsonl").symlink_to(path)
    intake = collect([path, tmp_path / "b.jsonl", path], ASKED)
    assert ids(intake) == ["t-0001"]
    assert sum(left.endswith(": named twice") for left in intake.left_out) == 2


def test_what_lies_beside_samples_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", json.dumps({"task_id": "t", "solution": GOOD}) + "\n")
    write(tmp_path / "readme.txt", "x")
    intake = collect([tmp_path], ASKED)
    assert ids(intake) == ["t-0001"]
    assert intake.left_out == (f"{tmp_path / 'readme.txt'}: is no file of samples (.jsonl)",)


def test_a_folder_with_python_files_is_no_folder_of_samples(tmp_path: Path) -> None:
    write(tmp_path / "ann.py")
    write(tmp_path / "log.jsonl", "{}\n")
    assert ids(collect([tmp_path], ASKED)) == ["ann"]
    assert (
        "holds no file of samples"
        in collect([write(tmp_path / "b" / "a.py").parent], ASKED, layout="samples").problems[0]
    )


# --- rosters ----------------------------------------------------------------------------------


def test_a_roster_completes_names_and_tells_who_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "class" / "s001.py")
    write(tmp_path / "class" / "s009.py")
    write(tmp_path / "roster.csv", "name,id,email\nAnn Ash,s001,ann@x.org\nBob Birch,s002,bob@x.org\n")
    intake = collect([tmp_path / "class"], ASKED, roster=tmp_path / "roster.csv")
    ann, stranger = intake.submissions
    assert (ann.id, ann.name, ann.members) == ("s001", "Ann Ash", ("Ann Ash",))
    assert ann.people == (Person("Ann Ash", "s001", "ann@x.org"),)
    assert stranger.members == ("s009",)
    assert intake.missing == (Person("Bob Birch", "s002", "bob@x.org"),)
    assert len(intake.roster) == 2
    assert intake.notes == (f"not on the roster {tmp_path / 'roster.csv'}: s009",)
    with pytest.raises(GraderError, match="can't be read"):
        collect([tmp_path / "class"], ASKED, roster=tmp_path / "gone.csv")
