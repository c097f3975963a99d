"""A run's folder: what may be written into, what is kept, what is taken away."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from folders import write_class
from samples import class_of
from terminals import case, failing, result

from grader.errors import GraderError
from grader.report import files
from grader.report.class_page.view import class_rows
from grader.report.downloads import downloads
from grader.report.html import page_of_rows
from grader.report.tables import gradebook_csv, jsonl
from grader.result import Result
from grader.summary import Summary


@pytest.mark.parametrize("present", [[], ["students/", "teacher/"], ["gradebook.sqlite", "notes.txt"]])
def test_a_new_an_empty_and_a_graded_folder_are_taken(tmp_path: Path, present: list[str]) -> None:
    out = tmp_path / "a" / "b" if not present else tmp_path
    for name in present:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_text("x")
    files.prepare_folder(out, fresh=False)
    assert (out / "students").is_dir() and (out / "teacher").is_dir()
    for name in present:
        assert (tmp_path / name).exists()


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("present", [["thesis.txt"], ["index.html"], ["students/ann.html"], [".hidden"]])
def test_a_folder_with_anything_else_is_refused_and_left_alone(
    tmp_path: Path, present: list[str], fresh: bool
) -> None:
    for name in present:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    with pytest.raises(GraderError, match="holds other files"):
        files.prepare_folder(tmp_path, fresh=fresh)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()) == present


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(GraderError, match="is no folder"):
        files.prepare_folder(tmp_path / "out", fresh=True)
    with pytest.raises(GraderError, match="can't be written"):
        files.prepare_folder(tmp_path / "out" / "deeper", fresh=False)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(GraderError, match="can't be written"):
        files.prepare_folder(tmp_path / "out", fresh=False)


def test_fresh_takes_away_what_a_run_wrote_and_nothing_else(tmp_path: Path) -> None:
    files.prepare_folder(tmp_path, fresh=False)
    files.write_pages(tmp_path, result(case()))
    write_class(tmp_path, [result(case())])
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "students" / "photo.png").write_text("mine")
    files.prepare_folder(tmp_path, fresh=True)
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert left == ["notes.txt", "students/photo.png"]


def test_pages_are_missing_until_both_are_there(tmp_path: Path) -> None:
    files.prepare_folder(tmp_path, fresh=False)
    assert files.pages_missing(tmp_path, "ann")
    files.write_pages(tmp_path, result(case()))
    assert not files.pages_missing(tmp_path, "ann")
    (tmp_path / "teacher" / "ann.html").unlink()
    assert files.pages_missing(tmp_path, "ann")


def test_the_files_of_a_class_are_replaced_whole(tmp_path: Path) -> None:
    write_class(tmp_path, [result(case())])
    write_class(tmp_path, [result(failing(message="two\nlines\u2028here"))])
    (line,) = (tmp_path / "results.jsonl").read_bytes().splitlines()
    assert Result.from_dict(json.loads(line)) == result(failing(message="two\nlines\u2028here"))
    assert (tmp_path / "gradebook.csv").read_bytes().startswith(b"\xef\xbb\xbfid,")
    ours = ["gradebook.csv", "gradebook.sqlite", "index.html", "results.jsonl"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ours


def test_a_gradebook_gives_the_files_that_its_records_give(tmp_path: Path) -> None:
    records = sorted(class_of(60), key=lambda r: r.submission.id)
    told = write_class(tmp_path, reversed(records))
    assert told == (tuple([Summary.of(r) for r in records]), ())
    assert (tmp_path / "results.jsonl").read_text("utf-8") == "".join(jsonl(records))
    assert (tmp_path / "gradebook.csv").read_bytes().decode("utf-8-sig") == gradebook_csv(records)
    page = page_of_rows(class_rows(records), version="1.0", formats=downloads(tmp_path))
    assert (tmp_path / "index.html").read_text("utf-8") == page


def test_a_class_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    with pytest.raises(GraderError, match="the gradebook is kept"):
        write_class(tmp_path, [result(case())])


def test_pages_made_elsewhere_are_those_of_that_submission_alone(tmp_path: Path) -> None:
    files.prepare_folder(tmp_path, fresh=False)
    student, teacher = files.page_paths("s1")
    made = {student: b"student", teacher: b"teacher", "students/s2.html": b"x", "../out.html": b"x"}
    files.write_made_pages(tmp_path, "s1", made)
    assert (tmp_path / student).read_bytes() == b"student" and (tmp_path / teacher).read_bytes() == b"teacher"
    files.write_made_pages(tmp_path, "s2", {})
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.html")) == [student, teacher]
    assert not (tmp_path.parent / "out.html").exists()
