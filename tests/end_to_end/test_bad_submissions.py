"""Whatever is handed in ends in a clear sentence, and the rest of the class is graded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from handed_in import SUBMISSIONS
from support.commands import Done, grader

# Status, verdict of the first case that counts, and what the message must say.
EXPECTED: dict[str, tuple[str, str, str]] = {
    "right": ("passed", "", "All checks passed"),
    "wrong": ("failed", "wrong_value", "values are off"),
    "mutates": ("failed", "input_mutated", "changed values of x"),
    "empty": ("not_loadable", "", "The file is empty"),
    "blank": ("not_loadable", "", "The file is empty"),
    "syntax": ("not_loadable", "", "Line 2 is not valid Python"),
    "import_error": ("not_loadable", "", "line 1: numpyy may not be used"),
    "missing": ("not_loadable", "", "defines no row_scale"),
    "misnamed": ("not_loadable", "", "did you mean to rename rowscale"),
    "no_function": ("not_loadable", "", "row_scale is an int"),
    "parameters": ("failed", "raised", "called with 3 arguments by position (x, w, factor)"),
    "returns_none": ("failed", "wrong_type", "returned None; expected an array of shape (1, 3)"),
    "returns_list": ("failed", "wrong_type", "returned a list of 1 item"),
    "returns_text": ("failed", "wrong_type", "returned a text"),
    "returns_objects": ("failed", "wrong_type", "dtype object"),
    "returns_generator": ("failed", "wrong_type", "generator object"),
    "raises": ("failed", "raised", "IndexError in line 3"),
    "endless": ("failed", "timed_out", "took more than 0.3 s"),
    "endless_import": ("not_loadable", "", "a loop or a slow self-test outside every function"),
    "exits": ("failed", "raised", "ended the program (sys.exit or exit) in line 2"),
    "exits_import": ("not_loadable", "", "ends the program (sys.exit or exit) in line 2"),
    "segfault": ("failed", "crashed", "SIGSEGV) in line 2"),
    "memory": ("failed", "out_of_memory", "the limit is 256 MiB"),
    "nul": ("not_loadable", "", "NUL byte in line 2"),
    "banned": ("failed", "", "numpy.einsum"),
    "leaks": ("failed", "raised", "ValueError in line 3"),
}


def read(out: Path) -> dict[str, Any]:
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    return {record["submission"]["id"]: record for record in map(json.loads, lines)}


def test_every_kind_of_bad_submission_is_expected() -> None:
    assert EXPECTED.keys() == SUBMISSIONS.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_submission_gets_its_verdict_and_a_sentence(graded: tuple[Done, Path], name: str) -> None:
    status, verdict, words = EXPECTED[name]
    record = read(graded[1])[name]
    failing = [c for c in record["cases"] if c["verdict"] not in ("passed", "skipped")]
    message = record["message"]
    if verdict:
        assert failing[0]["verdict"] == verdict
        message = failing[0]["message"]
    assert record["status"] == status
    assert words in message
    assert len(re.findall(r"[.?!](?:\s|$)", message)) <= 2, f"more than two sentences: {message}"
    assert not message.removeprefix("row_scale")[0].islower()
    assert message[-1] in ".?!)" and len(message) < 400
    assert (record["score"] == record["max_score"]) == (status == "passed")
    if status == "not_loadable":
        assert record["score"] == 0 and {c["verdict"] for c in record["cases"]} == {"skipped"}


def test_of_a_file_that_can_not_be_loaded_hidden_checks_tell_nothing_false(home: Path) -> None:
    record = grader("check", "class/syntax.py", "--json", cwd=home).json[0]
    hidden = [c for c in record["cases"] if c["visibility"] == "hidden"]
    assert hidden and {c["message"] for c in hidden} == {"Not counted."}


def test_where_nothing_works_it_is_told_where_to_begin(graded: tuple[Done, Path]) -> None:
    for name in ("returns_none", "parameters", "raises"):
        record = read(graded[1])[name]
        first = next(c for c in record["cases"] if c["visibility"] == "public" and c["verdict"] != "passed")
        # What went wrong is said at once, as a clause would say less.
        assert "nearly every check fails" in record["message"] and first["message"]
        assert record["message"].endswith(first["message"])


def test_the_whole_class_is_graded_with_status_0(graded: tuple[Done, Path]) -> None:
    done, out = graded
    assert done.status == 0
    assert done.json["submissions"] == done.json["graded"] == len(SUBMISSIONS)
    assert done.json["counts"] == {
        status: sum(e[0] == status for e in EXPECTED.values())
        for status in ("passed", "failed", "not_loadable")
    }
    assert done.json["faults"] == [] and not done.json["interrupted"]
    assert read(out).keys() == SUBMISSIONS.keys()


def test_one_gradebook_row_a_submission(graded: tuple[Done, Path]) -> None:
    import csv

    text = (graded[1] / "gradebook.csv").read_text("utf-8-sig")
    rows = {row["id"]: row for row in csv.DictReader(text.splitlines())}
    records = read(graded[1])
    assert rows.keys() == records.keys()
    for name, row in rows.items():
        assert float(row["score"]) == records[name]["score"] and row["status"] == records[name]["status"]


def test_check_tells_each_of_them_apart_in_one_run(home: Path) -> None:
    names = ["misnamed", "returns_none", "syntax", "exits", "right", "segfault"]
    done = grader("check", *[f"class/{n}.py" for n in names], cwd=home)
    assert done.status == 1
    for words in ("did you mean to rename rowscale?", "Line 2 is not valid", "SIGSEGV", "All checks passed"):
        assert words in done.out


@pytest.mark.parametrize("kind", ["folder", "fifo", "link_to_nowhere"])
def test_what_is_no_regular_file_is_told_and_the_rest_graded(home: Path, tmp_path: Path, kind: str) -> None:
    import os

    folder = tmp_path / "class"
    folder.mkdir()
    odd = folder / "odd.py"
    if kind == "folder":
        odd.mkdir()
    elif kind == "fifo":
        os.mkfifo(odd)
    else:
        odd.symlink_to(tmp_path / "nowhere")
    (folder / "ann.py").write_text(SUBMISSIONS["right"])
    done = grader("check", folder, "--json", cwd=tmp_path, GRADER_ROOT=str(home))
    records = {r["submission"]["id"]: r for r in done.json}
    assert records["ann"]["status"] == "passed"
    if kind != "folder":
        assert done.status == 1 and records["odd"]["status"] == "not_loadable"
