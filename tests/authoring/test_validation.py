"""Validation finds each kind of weakness in an exercise made weak in that way, and none in a sound one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.small import (
    CASES,
    CROSSCHECK,
    EXERCISE,
    MODEL,
    MUTATES,
    RIGHT,
    WRONG,
    freeze_exercise,
    load_source,
    write_exercise,
)

from grader.authoring.validation import Validator
from grader.errors import ExerciseError, GraderError
from grader.validation import KillMatrix, Validation, Weakness

DOUBLED = RIGHT.replace("return factor", "return 2 * factor")
CONSTANT = (
    "import numpy as np\n\n\ndef row_scale(x, w, factor):\n    return factor * (np.ones_like(x) @ w) / 2\n"
)
RAISES_ON_NOTHING = RIGHT.replace("    return", "    x[0]\n    return")


def validated(root: Path, *, fast: bool = True, **overrides: Any) -> Validation:
    write_exercise(root, **overrides)
    freeze_exercise(root)
    return Validator(load_source(root)).run(fast=fast)


def found(root: Path, *, fast: bool = True, **overrides: Any) -> list[tuple[str, str]]:
    """Code and message of each weakness."""
    return [(w.code, w.message) for w in validated(root, fast=fast, **overrides).weaknesses]


def worked(root: Path, **submissions: tuple[str, str]) -> None:
    folder = root / "submissions" / "row_scale"
    folder.mkdir(parents=True)
    for name, (text, expected) in submissions.items():
        (folder / f"{name}.py").write_text(text)
        (folder / f"{name}.expected.yaml").write_text(expected)


PASSED = "status: passed\nscore: full\n"
FAILED = "status: failed\nscore: below_full\n"


def test_a_sound_exercise_is_sound(tmp_path: Path) -> None:
    worked(
        tmp_path,
        right=(RIGHT, PASSED),
        wrong=(WRONG, FAILED + "loses: [scale, rows]\nkeeps: [inputs]\n"),
        mutates=(MUTATES, FAILED + "loses: [inputs]\nkeeps: [product, scale, rows]\n"),
        doubled=(DOUBLED, FAILED + "loses: [product]\n"),
        constant=(CONSTANT, FAILED + "loses: [scale]\n"),
        crashes=(RAISES_ON_NOTHING, FAILED + "loses: [product]\n"),
    )
    validation = validated(tmp_path, fast=False)
    assert [str(w) for w in validation.weaknesses] == []
    assert validation.sound
    assert validation.cases == {"total": 9, "public": 5, "hidden": 4, "points": 8.5, "public_points": 6.5}
    assert validation.matrix.summary()["killed"] == 5


def test_fast_leaves_the_worked_submissions_out(root: Path) -> None:
    worked(root, broken=("1 / 0\n", PASSED))
    validation = Validator(load_source(root)).run(fast=True)
    assert validation.sound
    assert validation.fast
    assert validation.matrix.mistakes == ()


def test_the_record_is_plain_data(root: Path) -> None:
    record = Validator(load_source(root)).run(fast=True).to_dict()
    assert record["schema"] == "grader.validation/1"
    assert record["sound"] is True
    assert record["weaknesses"] == []
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_progress_names_what_is_checked(root: Path) -> None:
    told: list[str] = []
    Validator(load_source(root), told.append).run(fast=True)
    assert told == ["pack", "reference and cross-check", "trivial answers"]


# --- each weakness ----------------------------------------------------------------------------


def test_clause_without_case(tmp_path: Path) -> None:
    clauses = EXERCISE["clauses"] | {"shape": {"title": "Shape"}}
    weaknesses = validated(tmp_path, exercise={"clauses": clauses}).weaknesses
    assert [(w.code, w.message, w.line) for w in weaknesses] == [
        ("clause_without_case", "no case tests the clause shape", 1)
    ]
    assert weaknesses[0].file.endswith("exercise.yaml")


def test_clause_without_public_case(tmp_path: Path) -> None:
    assert found(tmp_path, change={"x_kept": {"visibility": "hidden"}}) == [
        ("clause_without_public_case", "no public case tests the clause inputs")
    ]


def test_too_much_work_in_a_case(tmp_path: Path) -> None:
    large = {"N": 11, "D": 10, "K": 10, "factor": 1}
    weaknesses = validated(tmp_path, more=[CASES[0] | {"id": "large", "dims": large}]).weaknesses
    assert [(w.code, w.message) for w in weaknesses] == [
        ("too_much_work", "large: needs 1,100 multiply-adds, 1,000 are allowed")
    ]
    text = (tmp_path / "cases" / "row_scale" / "checks.yaml").read_text().splitlines()
    assert text[weaknesses[0].line - 1] == "- id: large"


def test_too_much_work_in_all_counts_every_call(tmp_path: Path) -> None:
    work = {"expression": "N * D * K", "per_case": 100, "in_all": 100}
    ((code, message),) = found(tmp_path, exercise={"work": work})
    assert code == "too_much_work"
    assert message.startswith("all calls need ")
    # A repeated call counts twice, a second look at an answer not.
    dims = {"N": 1, "D": 10, "K": 4, "factor": 1}
    repeat = CASES[0] | {"id": "again", "dims": dims, "check": {"relation": "same_on_repeat"}}
    kept = CASES[0] | {
        "id": "kept",
        "dims": dims,
        "check": {"relation": "earlier_answer_kept", "change": {"x": {"fill": 2}}},
    }
    clauses = {"clauses": {"product": {"title": "Product"}}, "work": work | {"in_all": 159}}
    ((_, message),) = [
        w for w in found(tmp_path / "b", cases=[repeat, kept], exercise=clauses) if w[0] == "too_much_work"
    ]
    assert message == "all calls need 160 multiply-adds, 159 are allowed"


def test_reference_fails_and_tolerance_below_noise(tmp_path: Path) -> None:
    change = {"large_rows": {"tolerance": 1e-12}}
    codes = found(tmp_path, change=change)
    assert [c for c, _ in codes] == ["reference_fails", "tolerance_below_noise"]
    assert codes[0][1].startswith("large_rows: the reference in float32: ")
    assert codes[1][1].startswith("large_rows: its tolerance 1e-12 is below twice the honest noise")


def test_a_relation_that_the_reference_does_not_show(tmp_path: Path) -> None:
    check = CASES[3]["check"] | {"other_rows": [0, 1]}
    codes = found(tmp_path, change={"row_alone": {"check": check}})
    assert [c for c, _ in codes] == ["reference_fails", "reference_fails"]
    assert "row_alone: the reference in float64: Rows that must be equal differ" in codes[1][1]


def test_relation_margin(tmp_path: Path) -> None:
    check = CASES[4]["check"] | {"at_least": 0.2}
    assert found(tmp_path, change={"x_matters": {"check": check}}) == [
        ("relation_margin", "x_matters: the reference changes by less than 10 × at_least")
    ]


@pytest.mark.parametrize(
    ("crosscheck", "said"),
    [
        (
            CROSSCHECK.replace("return answer", "return answer * (1 + 1e-9)"),
            "cross-check and reference differ by 1e-09",
        ),
        (CROSSCHECK.replace("return answer", "return answer.T"), "shape (3, 1), expected (1, 3)"),
        (
            CROSSCHECK.replace("return answer", "return answer * np.nan"),
            "cross-check and reference differ by nan",
        ),
        (
            CROSSCHECK.replace("return answer", "raise ValueError('no')"),
            "the cross-check fails on it: ValueError: no",
        ),
    ],
)
def test_crosscheck_disagrees(tmp_path: Path, crosscheck: str, said: str) -> None:
    codes = found(tmp_path, crosscheck=crosscheck)
    assert {c for c, _ in codes} == {"crosscheck_disagrees"}
    assert any(m.startswith(f"ones_row: {said}") for _, m in codes)


def test_trivial_answer_scores(tmp_path: Path) -> None:
    codes = found(tmp_path, change={"x_kept": {"requires": []}})
    assert {c for c, _ in codes} == {"trivial_answer_scores"}
    said = "an answer of zeros gets 1 of 8.5 points, from x_kept; let them require a value case"
    assert ("trivial_answer_scores", said) in codes


def test_pack_not_reproducible(tmp_path: Path) -> None:
    # A reference that remembers earlier calls in the last bits of its answers.
    model = MODEL + (
        "\n\n_pure = row_scale\n_calls = []\n\n\n"
        "def row_scale(x, w, factor):\n"
        "    _calls.append(1)\n"
        "    return _pure(x, w, factor) * (1 + 2.0**-50 * (len(_calls) % 7))\n"
    )
    assert [c for c, _ in found(tmp_path, model=model)] == ["pack_not_reproducible"]


def test_student_pack_reveals(tmp_path: Path) -> None:
    # The title of a public case names a hidden one.
    codes = found(tmp_path, change={"ones_row": {"title": "Like x_matters, but simpler"}})
    assert codes == [("student_pack_reveals", "x_matters: its id is in the student's pack")]


@pytest.fixture
def graded(root: Path) -> Any:
    """Validates with worked submissions; only weaknesses of the named codes."""

    def run(code: str, **submissions: tuple[str, str]) -> list[Weakness]:
        worked(root, **submissions)
        weaknesses = Validator(load_source(root)).run().weaknesses
        return [w for w in weaknesses if w.code == code]

    return run


def test_worked_submission_that_gets_another_result(graded: Any) -> None:
    weaknesses = graded("worked_submission", right=(RIGHT, PASSED), wrong=(WRONG, PASSED))
    assert {Path(w.file).name for w in weaknesses} == {"wrong.expected.yaml"}
    assert any(w.message.startswith("status failed, expected passed") for w in weaknesses)


def test_mistake_survives(graded: Any) -> None:
    (weakness,) = graded("mistake_survives", missed=(RIGHT, FAILED))
    assert Path(weakness.file).name == "missed.py"
    assert weakness.message == "no case catches this mistake"


def test_mistake_without_margin(graded: Any) -> None:
    near = RIGHT.replace("return factor", "return (1 + 3e-6) * factor")
    (weakness,) = graded("mistake_without_margin", near=(near, FAILED))
    assert Path(weakness.file).name == "near.py"
    assert weakness.message == "no case catches this mistake at 10 × its tolerance"


def test_case_kills_nothing(graded: Any) -> None:
    weaknesses = graded("case_kills_nothing", wrong=(WRONG, FAILED))
    assert sorted(w.message.partition(":")[0] for w in weaknesses) == [
        "no_rows",
        "ones_row",
        "x_kept",
        "x_matters",
    ]


def test_a_banned_submission_is_no_mistake_of_the_suite(graded: Any) -> None:
    banned = RIGHT.replace("(x @ w)", 'np.einsum("nd,dk->nk", x, w)')
    expected = (
        "status: failed\nscore: zero\npolicy: {status: violated, rules: [product_helpers], lines: [6]}\n"
    )
    assert graded("mistake_survives", banned=(banned, expected)) == []


def test_expectations_with_faults_are_told_before_anything_runs(root: Path) -> None:
    worked(root, right=(RIGHT, "status: passed\n"), wrong=(WRONG, FAILED + "looses: []\n"))
    with pytest.raises(ExerciseError) as caught:
        Validator(load_source(root)).run()
    assert [p.key for p in caught.value.problems] == ["score", "looses"]


def test_no_worked_mistake(graded: Any) -> None:
    (weakness,) = graded("no_worked_mistake", right=(RIGHT, PASSED))
    assert weakness.message.endswith("holds no worked wrong submission to catch")


def test_no_worked_submission_at_all_is_no_sound_exercise(root: Path) -> None:
    assert {w.code for w in Validator(load_source(root)).run().weaknesses} >= {"no_worked_mistake"}


def test_an_expectation_that_names_an_unknown_clause_or_rule_is_told(graded: Any) -> None:
    expected = (
        FAILED + "loses: [prodct]\nkeeps: [nothing]\npolicy: {status: clean, rules: [product_helper]}\n"
    )
    said = [w.message for w in graded("worked_submission", wrong=(WRONG, expected))]
    assert any("unknown clause 'prodct'; did you mean" in m for m in said)
    assert any("unknown clause 'nothing'; known here" in m for m in said)
    assert any("unknown rule 'product_helper'; did you mean 'product_helpers'?" in m for m in said)


def test_an_expectation_without_its_submission_is_told(root: Path) -> None:
    worked(root, wrong=(WRONG, FAILED))
    (root / "submissions" / "row_scale" / "orphan.expected.yaml").write_text(FAILED)
    with pytest.raises(ExerciseError, match=r"orphan.expected.yaml: has no .py file beside it"):
        Validator(load_source(root)).run()


def test_a_stale_frozen_json_is_refused(root: Path) -> None:
    write_exercise(root, change={"ones_row": {"seed": 3}})
    with pytest.raises(GraderError, match="is older than the cases or the reference"):
        Validator(load_source(root))


def test_the_kill_matrix_sums_up_survivors_and_idle_cases() -> None:
    matrix = KillMatrix(("a", "b"), ("x", "y"), {"a": ("x",), "b": ()}, {"a": (), "b": ()})
    assert matrix.summary() == {
        "mistakes": 2,
        "killed": 1,
        "killed_with_margin": 0,
        "survivors": ["b"],
        "cases_that_kill_nothing": ["y"],
    }
    assert KillMatrix().summary()["cases_that_kill_nothing"] == []


def test_a_weakness_is_shown_with_its_place() -> None:
    assert str(Weakness("a.yaml", 3, "code", "m")) == "a.yaml:3: code: m"
