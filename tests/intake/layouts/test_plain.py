"""Files and folders without a platform."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.lms import tree

from grader.intake.layouts.attempts import Reading
from grader.intake.layouts.recognition import read, recognize
from grader.people import Person
from tests.intake.layouts.found import keys, names, only


def plain(
    *paths: str, entry: str = "row_scale", name: str = "week", folders: tuple[str, ...] = ()
) -> Reading:
    found = tree(name, dict.fromkeys(paths, "x = 1\n"), folders)
    assert recognize(found) == "plain"
    return read(found, "plain", entry)


def shape(reading: Reading) -> dict[str, list[str]]:
    return {attempt.identity: names(attempt) for attempt in reading.attempts}


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["ann.py", "bob.ipynb"], {"ann": ["ann.py"], "bob": ["bob.ipynb"]}),
        (["ann.zip", "bob.tar.gz"], {"ann": ["ann.zip"], "bob": ["bob.tar.gz"]}),
        (["ann.py", "ann.ipynb"], {"ann": ["ann.ipynb", "ann.py"]}),
        (["ann.py.txt", "bob.PY"], {"ann": ["ann.py.txt"], "bob": ["bob.PY"]}),
        (["ann/solution.py", "bob/x.ipynb"], {"ann": ["solution.py"], "bob": ["x.ipynb"]}),
        (["ann/hw.zip", "bob/hw.zip"], {"ann": ["hw.zip"], "bob": ["hw.zip"]}),
        (["a/b/ann/x.py", "a/c/bob/x.py", "d.py"], {"a/b/ann": ["x.py"], "a/c/bob": ["x.py"], "d": ["d.py"]}),
        (["ann/x.py", "ann/lib/y.py", "bob.py"], {"ann": ["lib/y.py", "x.py"], "bob": ["bob.py"]}),
        # A root with a solution is one student's, unless other students' folders lie in it.
        (["solution.py", "helpers.py"], {"week": ["helpers.py", "solution.py"]}),
        (["row_scale.py", "notes.txt"], {"week": ["notes.txt", "row_scale.py"]}),
        (["Solution.ipynb", "x.py"], {"week": ["Solution.ipynb", "x.py"]}),
        (
            ["solution.py", "lib/__init__.py", "lib/a.py"],
            {"week": ["lib/__init__.py", "lib/a.py", "solution.py"]},
        ),
        (["solution.py", "tests/test_a.py"], {"week": ["solution.py", "tests/test_a.py"]}),
        (["solution.py", "ann/solution.py"], {"solution": ["solution.py"], "ann": ["solution.py"]}),
        (["other.py", "ann/solution.py"], {"other": ["other.py"], "ann": ["solution.py"]}),
    ],
)
def test_what_is_a_submission(paths: list[str], found: dict[str, list[str]]) -> None:
    reading = plain(*paths)
    assert shape(reading) == found
    assert reading.problems == ()
    assert all(attempt.located for attempt in reading.attempts)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["ann/src/solution.py", "ann/tests/test_a.py"], {"ann": ["src/solution.py", "tests/test_a.py"]}),
        (["ann/code/main.py", "ann/lib/util.py"], {"ann": ["code/main.py", "lib/util.py"]}),
        (["ann/src/row_scale/x.py", "ann/README.md"], {"ann": ["README.md", "src/row_scale/x.py"]}),
        (["ann/row_scale/x.py", "ann/Notebooks/y.ipynb"], {"ann": ["Notebooks/y.ipynb", "row_scale/x.py"]}),
        (["ann/ann/x.py", "ann/tests/t.py"], {"ann": ["ann/x.py", "tests/t.py"]}),
        (
            ["a/ann/src/x.py", "a/ann/lib/y.py", "a/bob/z.py"],
            {"a/ann": ["lib/y.py", "src/x.py"], "a/bob": ["z.py"]},
        ),
        # Folders of students are no parts, whatever lies around them.
        (["a/alice/x.py", "b/bob/x.py"], {"a/alice": ["x.py"], "b/bob": ["x.py"]}),
        (["w/code/ann/x.py", "w/code/bob/x.py"], {"w/code/ann": ["x.py"], "w/code/bob": ["x.py"]}),
        (["w/solution/x.py", "w/ann/x.py"], {"w/solution": ["x.py"], "w/ann": ["x.py"]}),
        (["w/w/x.py", "w/row_scale/x.py"], {"w/w": ["x.py"], "w/row_scale": ["x.py"]}),
    ],
)
def test_the_parts_of_a_project_are_one_students(paths: list[str], found: dict[str, list[str]]) -> None:
    assert shape(plain(*paths, "zed.py")) == found | {"zed": ["zed.py"]}


def test_a_root_with_the_parts_of_a_project_is_one_students() -> None:
    assert shape(plain("src/solution.py", "tests/t.py")) == {"week": ["src/solution.py", "tests/t.py"]}
    assert shape(plain("solution.py", "src/x.py")) == {"week": ["solution.py", "src/x.py"]}
    assert shape(plain("src/ann.py")) == {"src": ["ann.py"]}
    assert shape(plain("src/a.py", "ann/a.py")) == {"src": ["a.py"], "ann": ["a.py"]}
    assert shape(plain("solution.py", "solutions/x.py")) == {
        "solution": ["solution.py"],
        "solutions": ["x.py"],
    }


def test_the_entry_point_names_a_students_file() -> None:
    assert shape(plain("attention.py", "x.py", entry="attention")) == {"week": ["attention.py", "x.py"]}
    assert shape(plain("attention.py", "x.py")) == {"attention": ["attention.py"], "x": ["x.py"]}


def test_an_attempt_is_known_by_where_it_lies() -> None:
    reading = plain("monday/ann/x.py", "bob.py")
    assert keys(reading) == ["bob.py", "monday/ann"]
    assert reading.attempts[1].people == (Person("monday/ann"),)
    assert (reading.attempts[1].name, reading.attempts[1].feedback) == ("monday/ann", "")
    assert keys(plain("solution.py")) == ["."]


def test_what_is_left_out_is_told_with_the_reason() -> None:
    reading = plain("ann.py", "notes.txt", "a/readme.md", "a/bob/x.py", "java/Main.java", folders=("empty",))
    assert {left.path.removeprefix("/downloads/week/"): left.reason for left in reading.left_out} == {
        "notes.txt": "is no .py or .ipynb file and no archive",
        "a/readme.md": "is no .py or .ipynb file and no archive",
        "java": "holds no .py or .ipynb file and no archive",
        "empty": "holds no .py or .ipynb file and no archive",
    }


def test_a_folder_that_packing_put_around_a_class_is_looked_through() -> None:
    files = {"week/ann.py": "x", "week/bob.py": "x"}
    packed = tree("week", files)
    assert shape(read(packed, "plain")) == {"week": ["ann.py", "bob.py"]}
    assert shape(read(replace(packed, shown="/downloads/week.zip"), "plain")) == {
        "ann": ["ann.py"],
        "bob": ["bob.py"],
    }
    assert shape(plain("submissions/ann.py", "submissions/bob.py")) == {"ann": ["ann.py"], "bob": ["bob.py"]}
    assert shape(plain("ann/main.py", "ann/tools.py")) == {"ann": ["main.py", "tools.py"]}


def test_a_deep_chain_of_folders_is_no_burden() -> None:
    path = "/".join("d" * 2000)
    assert keys(plain(f"{path}/x.py", "y.py")) == [path, "y.py"]


def test_one_file_is_one_attempt() -> None:
    assert only(plain("ann.py")).identity == "ann"
