"""A class of 1,000 in each platform's layout: every row is right, whoever handed in what."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support import lms
from support.commands import grader
from support.small import MUTATES, RIGHT, WRONG

SIZE = 1_000
KINDS = (RIGHT, WRONG, MUTATES, "def row_scale(x: \n")


def source(student: lms.Student) -> str:
    """One of a few solutions, and different from everybody else's."""
    return f"{KINDS[sum(student.sid.encode()) % len(KINDS)]}# {student.sid} {student.login}\n"


@pytest.fixture(scope="module")
def marks(home: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """What each kind of solution gets, from the command on a file of its own."""
    folder = tmp_path_factory.mktemp("kinds")
    found = {}
    for number, text in enumerate(KINDS):
        path = folder / f"kind_{number}.py"
        path.write_text(text, "utf-8")
        done = grader("check", path, "--json", cwd=home, GRADER_CACHE=str(cache))
        found[text] = done.json[0]["score"]
    assert len(set(found.values())) == len(KINDS)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("layout", lms.STYLES)
def test_a_thousand_submissions_get_their_own_marks(
    layout: str, home: Path, marks: dict[str, float], tmp_path: Path
) -> None:
    made = lms.make(layout, SIZE, source)
    archive = made.zip(tmp_path)
    done = grader("grade", archive, "--out", tmp_path / "out", "--no-pages", "--json", cwd=home)
    assert done.status == 0, done.err
    assert done.json["layouts"] == [layout] and done.json["ran"] == SIZE == len(made.expected)
    wanted = {f"sha256:{hashlib.sha256(e.text.encode()).hexdigest()}": e for e in made.expected.values()}
    assert len(wanted) == SIZE
    rows = 0
    for line in (tmp_path / "out" / "results.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        expected = wanted.pop(record["submission"]["digest"])
        check(record["submission"], expected)
        (kind,) = [text for text in KINDS if expected.text.startswith(text)]
        assert record["score"] == marks[kind], expected
        rows += len(expected.people)
    assert not wanted
    text = (tmp_path / "out" / "gradebook.csv").read_text("utf-8-sig")
    assert len(list(csv.DictReader(text.splitlines()))) == rows


def check(found: dict[str, Any], expected: lms.Expected) -> None:
    assert found["name"] == expected.name
    people = [(p["name"], p["id"], p["email"], p["platform_id"]) for p in found["people"]]
    assert people == [(p.name, p.id, p.email, p.platform_id) for p in expected.people]
    assert found["members"] == [p.name for p in expected.people]
    assert (found["late"], found["submitted_at"]) == (expected.late, expected.submitted_at)
    assert (found["attempts"], found["feedback"]) == (expected.attempts, expected.feedback)
    assert (found["file"] or Path(found["path"]).name) == expected.file
