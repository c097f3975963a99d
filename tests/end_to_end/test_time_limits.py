"""Limits that follow the reference, from ``exercise.yaml`` to what a student reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import grader
from support.small import MODEL, RIGHT, write_exercise

pytestmark = pytest.mark.slow

LIMITS = {"seconds_per_call": 5, "seconds": 60, "memory": "256 MiB", "output": "4 KiB"}
# Far too few seconds, so that the reference decides wherever this runs.
FOLLOWS = {**LIMITS, "seconds_per_call": 0.0001, "seconds": 0.001, "times_reference": 100}
LOOP = "    for _ in range(100_000 if len(x) == 3 else 1_000):\n        pass\n"


def with_loop(source: str) -> str:
    """The function works for a while before it does anything else."""
    head, name, body = source.partition("def row_scale(x, w, factor):\n")
    return head + name + LOOP + body


def frozen(root: Path) -> str:
    return (root / "cases" / "row_scale" / "frozen.json").read_text()


def test_a_quick_reference_leaves_the_stated_seconds_and_a_steady_file(tmp_path: Path) -> None:
    write_exercise(tmp_path, exercise={"limits": {**LIMITS, "times_reference": 10}})
    done = grader("validate", "row_scale", "--write", "--fast", "--json", cwd=tmp_path)
    limits = done.json["time_limits"]
    assert (limits["call"]["allowed_s"], limits["in_all"]["allowed_s"]) == (5, 60)
    assert limits["call"]["times"] == limits["in_all"]["times"] == 0
    text = frozen(tmp_path)
    assert json.loads(text)["reference_start"] >= 1
    assert all(case["reference_time"] > 0 for case in json.loads(text)["cases"].values())
    done = grader("validate", "row_scale", "--write", "--fast", cwd=tmp_path)
    assert "Time limit here of the longest call, in " in done.out
    assert frozen(tmp_path) == text


def test_a_slow_reference_gives_a_submission_its_time(tmp_path: Path) -> None:
    write_exercise(tmp_path, model=with_loop(MODEL), exercise={"limits": FOLLOWS})
    done = grader("validate", "row_scale", "--write", "--fast", "--json", cwd=tmp_path)
    assert done.json["time_limits"]["call"]["times"] == 100
    assert not any(w["code"] == "time_limit_tight" for w in done.json["weaknesses"])
    (tmp_path / "right.py").write_text(with_loop(RIGHT))
    endless = RIGHT.replace("    return", "    while x.size == 12:\n        pass\n    return")
    (tmp_path / "endless.py").write_text(endless)
    assert grader("check", "right.py", cwd=tmp_path).status == 0
    (result,) = grader("check", "endless.py", "--json", cwd=tmp_path).json
    (message,) = {c["message"] for c in result["cases"] if c["id"] == "large_rows"}
    assert message.startswith("The call took more than ")
    assert message.endswith(" s of processor time (100 times what the reference needs here).")
    digests = [grader("check", "right.py", "--json", cwd=tmp_path).json[0]["exercise"] for _ in range(2)]
    assert digests[0] == digests[1]


def test_a_key_that_is_added_later_asks_for_a_new_freeze(root: Path) -> None:
    write_exercise(root, exercise={"limits": {**LIMITS, "times_reference": 10}})
    (root / "right.py").write_text(RIGHT)
    done = grader("check", "right.py", cwd=root)
    assert done.status == 2 and "grader validate row_scale --write" in done.err
    assert grader("validate", "row_scale", "--write", "--fast", cwd=root).status == 0
    assert grader("check", "right.py", cwd=root).status == 0
