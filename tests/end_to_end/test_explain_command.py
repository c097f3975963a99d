"""``grader explain`` from a teacher's root and from a student's pack alone."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from handed_in import HIDDEN_HINT, HIDDEN_ID, HIDDEN_TITLE
from support.commands import ROOT, grader
from support.small import RIGHT


def test_without_a_name_it_lists_what_can_be_explained(home: Path) -> None:
    done = grader("explain", cwd=home)
    assert done.status == 0 and done.err == ""
    for word in ("row_scale", "product", "Separate rows", "product_helpers", "wrong_value"):
        assert word in done.out


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (["ones_row"], "With x all ones the divisor is 2."),
        (["A", "row", "of", "equal", "numbers"], "grader check solution.py --case ones_row"),
        (["scale"], "Each row is divided by 1 plus the mean of its squares."),
        (["product_helpers"], "Write the product with @."),
        (["input_mutated"], "x = x.copy()"),
        (["wrong", "value"], "The answer has other values"),
        (["policy"], "product_helpers  Matrix product helpers"),
        (["influence", "map"], "These have pages too\n  counterexample"),
    ],
)
def test_every_kind_of_name_is_explained(home: Path, name: list[str], part: str) -> None:
    done = grader("explain", *name, cwd=home)
    assert done.status == 0 and part in done.out and done.err == ""


def test_a_hidden_case_is_explained_to_a_teacher_and_unknown_to_a_student(home: Path, tmp_path: Path) -> None:
    teacher = grader("explain", HIDDEN_ID, cwd=home)
    assert teacher.status == 0 and HIDDEN_HINT in teacher.out and "hidden check" in teacher.out
    pack = home / "student.pack"
    student = grader("explain", HIDDEN_ID, "--exercise", pack, cwd=tmp_path)
    assert student.status == 2 and student.out == ""
    assert f"nothing is called {HIDDEN_ID!r}" in student.err
    listed = grader("explain", "--exercise", pack, "--json", cwd=tmp_path).json["topics"]
    told = "".join(
        grader("explain", name, "--exercise", pack, cwd=tmp_path).out
        for name in {topic["id"] for topic in listed if topic["kind"] in ("clause", "case")}
    )
    # Hidden is a word of the reports too.
    named = [topic for topic in listed if topic["kind"] != "term"]
    for text in (HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT, "x_matters", "drawn", "hidden"):
        assert text not in told and text not in str(named)
    for text in (HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT, "x_matters", "drawn"):
        assert text not in str(listed)


def test_the_command_that_runs_a_case_works_as_it_is_printed(home: Path, tmp_path: Path) -> None:
    done = grader("explain", "ones_row", "--exercise", home / "student.pack", cwd=tmp_path)
    (line,) = [line for line in done.out.splitlines() if line.startswith("run it: ")]
    command = shlex.split(line.removeprefix("run it: "))
    assert command[0] == "grader"
    (tmp_path / "solution.py").write_text(RIGHT)
    ran = grader(*command[1:], "--json", cwd=tmp_path)
    assert ran.status == 0 and [case["id"] for case in ran.json[0]["cases"]] == ["ones_row"]


def test_json_is_one_document_with_every_topic_of_the_name(home: Path) -> None:
    document = grader("explain", "scale", "--json", cwd=home).json
    assert document["schema"] == "grader.explanation/1" and document["exercise"] == "row_scale"
    (clause,) = document["topics"]
    assert clause["kind"] == "clause" and clause["cases"][0]["id"] == "large_rows"
    missing = grader("explain", "scal", "--json", cwd=home)
    assert missing.status == 2 and "did you mean 'scale'" in missing.err
    assert missing.json["topics"] == [] and "scal" in missing.json["error"]


@pytest.mark.parametrize("name", ["causal_mask", "Later positions are hidden", "softmax", "gelu_around_zero"])
def test_the_first_exercise_is_explained(name: str) -> None:
    done = grader("explain", name, cwd=ROOT)
    assert done.status == 0
    if name == "softmax":
        assert "clause of the statement" in done.out and "rule of the policy" in done.out
        assert "torch.softmax(scores, dim=-1)" in done.out
    else:
        assert "Traceback" not in done.out and len(done.out.splitlines()) > 10
