"""GitHub Classroom: where an assignment's name ends and a login begins."""

from __future__ import annotations

import pytest
from support.lms import tree

from grader.intake.layouts.recognition import read, recognize
from tests.intake.layouts.found import keys, names

GIT = {".github/classroom/autograding.json": "{}"}


def repositories(*folders: str, extra: dict[str, str] | None = None) -> dict[str, str]:
    every = {"solution.py": "x = 1\n"} | (GIT if extra is None else extra)
    return {f"{folder}/{path}": text for folder in folders for path, text in every.items()}


def test_the_outer_folder_tells_where_a_login_begins() -> None:
    files = repositories("hw-1-ann-b", "hw-1-ann-c", extra={})
    found = tree("hw-1-submissions", files)
    assert recognize(found) == "classroom"
    reading = read(found, "classroom")
    assert keys(reading) == ["ann-b", "ann-c"]
    assert reading.attempts[0].people[0].id == "ann-b"
    assert (reading.attempts[0].identity, reading.attempts[0].feedback) == ("ann-b", "")
    assert names(reading.attempts[0]) == ["solution.py"]


@pytest.mark.parametrize("mark", [".github/workflows/classroom.yml", ".gitignore", ".gitattributes"])
def test_without_it_gits_own_files_tell_repositories_from_folders(mark: str) -> None:
    files = repositories("hw-1-ann", "hw-1-Bob-x", "hw-1-cid", extra={mark: "x"})
    assert recognize(tree("week 3", files)) == "classroom"
    assert keys(read(tree("week 3", files), "classroom")) == ["bob-x", "ann", "cid"]
    bare = repositories("hw-1-ann", "hw-1-bob", extra={})
    assert recognize(tree("week 3", bare)) == "plain"
    assert keys(read(tree("week 3", bare), "classroom")) == ["ann", "bob"]


def test_folders_that_are_no_repositories_are_told() -> None:
    files = repositories("hw-ann", "hw-bob") | {
        "tests/a.py": "x",
        "hw-/a.py": "x",
        "hw-a_b/a.py": "x",
        "x.md": "x",
    }
    reading = read(tree("hw-submissions", files), "classroom")
    assert keys(reading) == ["ann", "bob"]
    assert {
        left.path.removeprefix("/downloads/hw-submissions/"): left.reason for left in reading.left_out
    } == {
        "x.md": "it lies in no student's repository",
        "tests/a.py": "its folder's name is not hw-LOGIN, as repositories are called",
        "hw-/a.py": "its folder's name is not hw-LOGIN, as repositories are called",
        "hw-a_b/a.py": "its folder's name is not hw-LOGIN, as repositories are called",
    }


def test_an_empty_repository_is_an_attempt_without_files() -> None:
    found = tree("hw-submissions", repositories("hw-ann"), ["hw-bob"])
    assert [names(attempt) for attempt in read(found, "classroom").attempts][1] == []


@pytest.mark.parametrize("archive", ["hw-1-submissions", "hw-submissions", "class", "a-hw-1-submissions"])
def test_an_archive_may_be_called_like_the_folder_in_it(archive: str) -> None:
    inner = repositories("hw-1-ann", "hw-1-submissions", extra={})
    found = tree(archive, {f"hw-1-submissions/{path}": text for path, text in inner.items()})
    assert recognize(found) == "classroom"
    assert keys(read(found, "classroom")) == ["ann", "submissions"]
