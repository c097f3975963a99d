"""The grader from Python gives the records of the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.commands import ROOT, grader
from support.small import RIGHT, WRONG

import grader as package
from grader.errors import GraderError
from grader.result import Result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A class of two and a notebook."""
    cells = [
        {"cell_type": "code", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
        for s in ("import numpy as np", RIGHT)
    ]
    book = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}
    path = tmp_path / "class"
    path.mkdir()
    (path / "ann.py").write_text(RIGHT)
    (path / "bob.py").write_text(WRONG)
    (path / "cleo.ipynb").write_text(json.dumps(book))
    return path


def untimed(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "timing"}


def wrong(x: Any, w: Any, factor: Any) -> Any:
    return factor * (x @ w) / (1 + (x * x).mean())


# --- check ------------------------------------------------------------------------------------


def test_a_file_gets_the_record_of_the_command(root: Path, folder: Path) -> None:
    checked = package.check(folder / "bob.py", root=root)
    (record,) = grader("check", folder / "bob.py", "--root", root, "--json", cwd=folder).json
    assert untimed(json.loads(json.dumps(checked.to_dict()))) == untimed(record)
    assert checked.status == "failed" and not checked.passed
    assert (checked.score, checked.max_score) == (record["score"], record["max_score"])
    assert checked.result.view == "student"


def test_in_jupyter_the_text_is_the_text_and_nothing_else_is_shown(
    root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = package.check(folder / "bob.py", root=root)
    plain = str(checked)
    # There, rich would show what it writes by itself, and leave the text empty.
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(checked) == plain != ""
    assert capsys.readouterr().out == ""


def test_it_prints_the_report_of_the_command(root: Path, folder: Path) -> None:
    checked = package.check(folder / "bob.py", root=root)
    shown = grader("check", folder / "bob.py", "--root", root, cwd=folder, COLUMNS="100").out
    first = shown.splitlines()[:3]
    assert str(checked).splitlines()[:3] == first and repr(checked) == str(checked)
    assert "✗" in str(checked) and "x_matters" not in str(checked)


def test_a_notebook_and_a_folder_of_one_are_checked_too(root: Path, folder: Path) -> None:
    assert package.check(str(folder / "cleo.ipynb"), root=root).passed
    one = folder.parent / "one"
    one.mkdir()
    (one / "solution.py").write_text(RIGHT)
    assert package.check(one, exercise="row_scale", root=root).passed


def test_parts_of_an_exercise_can_be_checked(root: Path, folder: Path) -> None:
    checked = package.check(folder / "bob.py", root=root, cases=["ones_row"])
    assert checked.passed and [c.id for c in checked.result.cases] == ["ones_row"]
    clause = package.check(folder / "bob.py", root=root, clauses=["Scale"])
    assert {c.clause for c in clause.result.cases} == {"scale"}


def test_several_submissions_or_none_are_refused_with_a_way_out(root: Path, folder: Path) -> None:
    with pytest.raises(GraderError, match=r"holds 3 submissions; grade them with grader\.grade"):
        package.check(folder, root=root)
    with pytest.raises(GraderError, match="does not exist"):
        package.check(folder / "nowhere.py", root=root)
    with pytest.raises(GraderError, match="did you mean 'row_scale'"):
        package.check(folder / "ann.py", exercise="row_scales", root=root)


def test_a_live_function_gets_the_visible_checks_and_says_so(root: Path) -> None:
    checked = package.check(wrong, root=root)
    assert checked.status == "failed" and checked.result.isolation.level == "none"
    assert {c.visibility for c in checked.result.cases} == {"public"}
    assert any("live function" in note for note in checked.result.notes)
    assert "without the sandbox" in str(checked)
    with pytest.raises(GraderError, match="can't be called"):
        package.check([1], root=root)  # type: ignore[arg-type]


def test_a_notebook_shows_the_students_page_in_one_frame_that_can_do_nothing(
    root: Path, folder: Path
) -> None:
    (folder / "eve.py").write_text("raise ValueError('</iframe><script>alert(1)</script>\"')\n")
    for name in ("bob.py", "eve.py"):
        checked = package.check(folder / name, root=root)
        shown = checked._repr_html_()
        assert shown.startswith("<iframe ") and shown.endswith("</iframe>")
        assert shown.count("<") == 2, "the page is in the attribute and nowhere else"
        (sandbox,) = re.findall(r' sandbox="([^"]*)"', shown)
        assert "allow-same-origin" not in sandbox and "allow-top-navigation" not in sandbox
        (source,) = re.findall(r' srcdoc="([^"]*)"', shown)
        assert unescape(source) == checked.html()
        assert "A hint that no student may see." not in source and "x_matters" not in source


# --- grade ------------------------------------------------------------------------------------


def test_a_class_gets_the_records_of_the_command_with_and_without_a_folder(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    command = ["grade", folder, "--root", root, "--out", "shown", "--workers", "1"]
    assert grader(*command, cwd=tmp_path).status == 0
    lines = (tmp_path / "shown" / "results.jsonl").read_text("utf-8").splitlines()
    expected = [untimed(json.loads(line)) for line in lines]
    assert len(expected) == 3
    before = sorted(tmp_path.rglob("*"))
    for out in (None, tmp_path / "out"):
        run = package.grade(folder, root=root, out=out, workers=1)
        assert [untimed(json.loads(result.to_json())) for result in run] == expected
        assert (run.ran, run.rejudged, run.kept, run.folder) == (3, 0, 0, out)
        assert (
            len(run) == 3
            and isinstance(run[0], Result)
            and [r.status for r in run[1:]] == ["failed", "passed"]
        )
        assert run.left_out == () and run.missing == ()
        assert (sorted(tmp_path.rglob("*")) == before) == (out is None)
    assert (tmp_path / "out" / "students" / "bob.html").is_file()
    again = package.grade(folder, root=root, out=tmp_path / "out", workers=1)
    assert (again.ran, again.kept) == (0, 3)
    assert [untimed(json.loads(result.to_json())) for result in again] == expected


def test_the_options_are_those_of_the_command(root: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("Name,Student ID\nann,0000001\nZoe Absent,0000099\n")
    out = tmp_path / "out"
    run = package.grade(
        folder / "ann.py", folder / "bob.py", root=root, out=out, roster=tmp_path / "roster.csv", pages=False,
        workers=1,
    )  # fmt: skip
    assert [person.id for person in run.missing] == ["0000099"] and [p.name for p in out.rglob("*.html")] == [
        "index.html"
    ]
    assert run[0].submission.people[0].id == "0000001"
    forced = package.grade(folder, root=root, out=out, only="bob", force=True, workers=1, pages=False)
    assert (forced.ran, forced.kept, len(forced)) == (1, 0, 2)
    assert "2" in str(forced) and "failed" in str(forced)
    with pytest.raises(GraderError, match="did you mean 'bob'"):
        package.grade(folder, root=root, out=out, only=["bobb"])
    with pytest.raises(GraderError, match="layout 'canvass'"):
        package.grade(folder, root=root, layout="canvass")
    partly = package.grade(folder / "ann.py", folder / "nowhere", root=root, workers=1)
    assert len(partly) == 1 and any("nowhere" in warning for warning in partly.warnings)


# --- the import -------------------------------------------------------------------------------


def test_the_import_stays_light_and_lists_what_there_is() -> None:
    code = (
        "import sys, grader\n"
        "heavy = {'numpy', 'yaml', 'pydantic', 'rich', 'sqlite3', 'nbformat', 'multiprocessing'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert callable(grader.check) and callable(grader.grade)\n"
        "assert not hasattr(grader, 'no_such_name')\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_can_be_called_is_listed() -> None:
    assert {"check", "grade"} <= set(dir(package))
