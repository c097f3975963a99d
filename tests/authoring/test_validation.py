"""Validation finds each kind of weakness in an exercise made weak in that way, and none in a sound one."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save
from support.small import (
    CASES,
    CROSSCHECK,
    EXERCISE,
    MODEL,
    MUTATES,
    RIGHT,
    WRONG,
    build,
    dump_yaml,
    freeze_exercise,
    load_source,
    right_answer,
    write_exercise,
)

from authoring import stepped
from grader.authoring.adequacy import Suite
from grader.authoring.secrecy import revealed
from grader.authoring.validation import Validator
from grader.errors import ExerciseError, GraderError
from grader.exercise.grading import Grading
from grader.exercise.misconceptions import load_misconceptions, load_model
from grader.validation import KillMatrix, Validation, Weakness

# Its tests together take long.
pytestmark = pytest.mark.slow

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


def line_of(root: Path, text: str, file: str = "exercise.yaml") -> int:
    """The number of the only line of a case file that begins with a text."""
    lines = (root / "cases" / "row_scale" / file).read_text().splitlines()
    (line,) = [number for number, found in enumerate(lines, start=1) if found.lstrip().startswith(text)]
    return line


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
    assert validation.library == 0
    mutants = validation.mutants
    assert mutants.count() > 20 and mutants.count("open_hole") == 0
    assert validation.public.mutants_killed >= 0.9 * validation.public.mutants > 0


def test_fast_leaves_mutants_and_worked_submissions_out(root: Path) -> None:
    worked(root, broken=("1 / 0\n", PASSED))
    validation = Validator(load_source(root)).run(fast=True)
    assert validation.sound
    assert validation.fast
    assert validation.matrix.mistakes == ()
    assert validation.mutants.count() == 0


def test_the_record_is_plain_data(root: Path) -> None:
    record = Validator(load_source(root)).run(fast=True).to_dict()
    assert record["schema"] == "grader.validation/1"
    assert record["sound"] is True
    assert record["weaknesses"] == []
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_the_full_record_is_plain_data_with_all_that_was_found(tmp_path: Path) -> None:
    worked(tmp_path, wrong=(WRONG, FAILED))
    record = stepped.validated(tmp_path, fast=False).to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["sound"], record["weaknesses"]
    assert record["misconceptions"] == {"total": len(stepped.MISTAKES), "small": 1}
    matrix = record["kill_matrix"]
    assert (
        matrix["mistakes"] == matrix["killed"] == len(stepped.MISTAKES)
    )  # less the small one, and a worked one
    assert (matrix["survivors"], matrix["cases_that_kill_nothing"]) == ([], [])
    assert matrix["kills"]["in_place"] == ["x_kept"]
    mutants = record["mutants"]
    fates = ("killed", "equivalent", "inside_rounding", "open_holes")
    assert mutants["total"] == sum(mutants[fate] for fate in fates) > 30
    assert len(record["survivors"]) == mutants["total"] - mutants["killed"]
    assert all(s["figures"] and s["line"] and s["file"].endswith("model.py") for s in record["survivors"])
    chosen = set(record["smallest_set"]["cases"])
    assert record["smallest_set"]["method"].startswith("greedy set cover")
    assert all(chosen.intersection(cases) for cases in matrix["kills"].values())
    public = record["public"]
    assert public["mistakes"] == matrix["mistakes"] and public["mutants"] == mutants["killed"]
    assert not set(public["smallest_set"]["cases"]) & {"x_matters", "drawn_01", "drawn_02", "drawn_03"}
    margins = {m["case"]: m for m in record["margins"]}
    assert margins["large_rows"]["nearest"] == "mean_of_batch"
    assert (
        margins["large_rows"]["noise"] < margins["large_rows"]["tolerance"] < margins["large_rows"]["error"]
    )


def test_progress_names_what_is_checked(root: Path) -> None:
    told: list[str] = []
    Validator(load_source(root), told.append).run(fast=True)
    assert told == ["pack", "reference and cross-check", "trivial answers"]


def test_progress_names_each_mistake_and_mutant(tmp_path: Path) -> None:
    stepped.write(tmp_path)
    freeze_exercise(tmp_path)
    told: list[str] = []
    Validator(load_source(tmp_path), told.append).run()
    assert "mistake running_mean" in told
    assert any(what.startswith("mutant 7 of ") and "model.py:" in what for what in told)
    assert told.index("pack") < told.index("mutants") < told.index("pack, built again")


# --- each weakness ----------------------------------------------------------------------------


def test_clause_without_case(tmp_path: Path) -> None:
    clauses = EXERCISE["clauses"] | {"shape": {"title": "Shape"}}
    weaknesses = validated(tmp_path, exercise={"clauses": clauses}).weaknesses
    assert [(w.code, w.message, w.line) for w in weaknesses] == [
        ("clause_without_case", "no case tests the clause shape", weaknesses[0].line)
    ]
    assert weaknesses[0].file.endswith("exercise.yaml")
    text = (tmp_path / "cases" / "row_scale" / "exercise.yaml").read_text().splitlines()
    assert text[weaknesses[0].line - 1] == "  shape:"


def test_clause_without_public_case(tmp_path: Path) -> None:
    weaknesses = validated(tmp_path, change={"x_kept": {"visibility": "hidden"}}).weaknesses
    assert [(w.code, w.message, w.line) for w in weaknesses] == [
        (
            "clause_without_public_case",
            "no public case tests the clause inputs",
            line_of(tmp_path, "inputs:"),
        )
    ]


DEMO = """
from grader.demonstration import Demonstration, Example, Metric

from .model import row_scale


def demonstrate():
    return Demonstration("Rows", "One row.", [Example("one", "One", "", metrics=[Metric("all", {figure})])])
"""


@pytest.mark.parametrize(
    ("figure", "line", "said"),
    [
        ("row_scale([[1.0]], [[2.0]], 1).sum()", 0, ""),
        ("row_scale([[1.0]])", 8, "demonstrate() fails: TypeError: row_scale() missing 2 required"),
        ("[1, 2]", 8, "expected a number or a text"),
        ("nothing", 8, "demonstrate() fails: NameError: name 'nothing' is not defined"),
        ("1 +", 8, "invalid syntax"),
    ],
)
def test_a_demonstration_that_fails_is_told_at_its_line(
    root: Path, figure: str, line: int, said: str
) -> None:
    path = root / "reference" / "row_scale" / "demo.py"
    path.write_text(DEMO.replace("{figure}", figure))
    weaknesses = Validator(load_source(root)).run(fast=True).weaknesses
    assert [w.code for w in weaknesses] == (["demo_fails"] if line else [])
    for weakness in weaknesses:
        assert (weakness.file.endswith("demo.py"), weakness.line) == (True, line)
        assert said in weakness.message


def test_too_much_work_in_a_case(tmp_path: Path) -> None:
    large = {"N": 11, "D": 10, "K": 10, "factor": 1}
    weaknesses = validated(tmp_path, more=[CASES[0] | {"id": "large", "dims": large}]).weaknesses
    assert [(w.code, w.message) for w in weaknesses] == [
        ("too_much_work", "large: needs 1,100 multiply-adds, 1,000 are allowed")
    ]
    text = (tmp_path / "cases" / "row_scale" / "checks.yaml").read_text().splitlines()
    assert text[weaknesses[0].line - 1] == "  dims:"
    assert weaknesses[0].line > text.index("- id: large")


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
    weaknesses = validated(tmp_path, change=change).weaknesses
    codes = [(w.code, w.message) for w in weaknesses]
    assert [(w.code, w.line) for w in weaknesses] == [
        ("reference_fails", line_of(tmp_path, "- id: large_rows", "checks.yaml")),
        ("tolerance_below_noise", line_of(tmp_path, "tolerance:", "checks.yaml")),
    ]
    assert codes[0][1].startswith("large_rows: the reference in float32: ")
    assert codes[1][1].startswith("large_rows: its tolerance 1e-12 is below twice the honest noise")


def test_a_relation_that_the_reference_does_not_show(tmp_path: Path) -> None:
    check = CASES[3]["check"] | {"other_rows": [0, 1]}
    codes = found(tmp_path, change={"row_alone": {"check": check}})
    assert [c for c, _ in codes] == ["reference_fails", "reference_fails"]
    assert "row_alone: the reference in float64: Rows that must be equal differ" in codes[1][1]


def test_relation_margin(tmp_path: Path) -> None:
    check = CASES[4]["check"] | {"at_least": 0.2}
    (weakness,) = validated(tmp_path, change={"x_matters": {"check": check}}).weaknesses
    assert (weakness.code, weakness.line) == (
        "relation_margin",
        line_of(tmp_path, "at_least:", "checks.yaml"),
    )
    assert weakness.message == "x_matters: the reference changes by less than 10 × at_least"


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


def test_a_trivial_answer_is_told_at_the_case_that_pays_it(tmp_path: Path) -> None:
    weaknesses = validated(tmp_path, change={"x_kept": {"requires": []}}).weaknesses
    assert {w.line for w in weaknesses} == {line_of(tmp_path, "- id: x_kept", "checks.yaml")}


def test_starter_scores(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A starter that gives everything away.
    monkeypatch.setattr("grader.authoring.validation.starter", lambda source: right_answer)
    (weakness,) = Validator(load_source(root)).run(fast=True).weaknesses
    assert weakness.code == "starter_scores"
    assert weakness.message.startswith(
        "a function that is not written yet gets 8.5 of 8.5 points, from ones_row"
    )
    assert weakness.line == line_of(root, "- id: ones_row", "checks.yaml")


def test_a_reference_that_changes_its_inputs_fails(tmp_path: Path) -> None:
    model = MODEL.replace("    return factor", "    y = x.copy()\n    x *= 1.5\n    x = y\n    return factor")
    assert ("reference_fails", "x_kept: the reference fails it when all calls are made in turn") in found(
        tmp_path, model=model
    )


def test_pack_not_reproducible(tmp_path: Path) -> None:
    # A reference that remembers earlier calls in the last bits of its answers.
    model = MODEL + (
        "\n\n_pure = row_scale\n_calls = []\n\n\n"
        "def row_scale(x, w, factor):\n"
        "    _calls.append(1)\n"
        "    return _pure(x, w, factor) * (1 + 2.0**-50 * (len(_calls) % 7))\n"
    )
    codes = found(tmp_path, fast=False, model=model)
    assert "pack_not_reproducible" in [c for c, _ in codes]


# --- what a student's pack gives away -----------------------------------------------------------


def revealing(root: Path, **overrides: Any) -> list[tuple[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        # Nothing here is about mutants.
        patch.setattr(Validator, "_mutants", lambda self, suite: [])
        weaknesses = validated(root, fast=False, **overrides).weaknesses
    return [(w.code, w.message) for w in weaknesses if w.code == "student_pack_reveals"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"title": "Like x_matters, but simpler"}, ["x_matters: its id is in the student's pack"]),
        ({"title": "Another x gives another row"}, []),
        ({"hint": "Remember: Another x gives another row!"}, []),
    ],
)
def test_a_hidden_id_in_a_public_text_is_told(
    tmp_path: Path, change: dict[str, str], said: list[str]
) -> None:
    # A text that a public case has too tells nothing.
    assert [m for _, m in revealing(tmp_path, change={"ones_row": change})] == said


def test_a_hidden_text_elsewhere_in_the_pack_is_told(tmp_path: Path) -> None:
    titles = EXERCISE["clauses"] | {"product": {"title": "Another x gives another row"}}
    assert revealing(tmp_path, exercise={"clauses": titles}) == [
        ("student_pack_reveals", "x_matters: its title is in the student's pack")
    ]
    hints = EXERCISE["clauses"] | {"product": {"title": "A", "text": "See: A hint that no student may see."}}
    assert revealing(tmp_path, exercise={"clauses": hints}) == [
        ("student_pack_reveals", "x_matters: its hint is in the student's pack")
    ]


def test_a_hidden_seed_is_told(tmp_path: Path) -> None:
    change = {"x_matters": {"seed": 123456789}, "ones_row": {"hint": "Try the seed 123456789."}}
    weaknesses = validated(tmp_path, fast=False, change=change).weaknesses
    said = [(w.message, w.line) for w in weaknesses if w.code == "student_pack_reveals"]
    line = line_of(tmp_path, "- id: x_matters", "checks.yaml")
    assert said == [("x_matters: its seed is in the student's pack", line)]
    change["ones_row"] = {"hint": "Try the seed 1123456789."}
    assert revealing(tmp_path, change=change) == []


@pytest.fixture(scope="module")
def packs_of_both(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Cases, full and student's pack of the exercise, and what its known mistakes answer."""
    root = tmp_path_factory.mktemp("packs")
    # Large enough that no bytes are alike by chance.
    change = {"x_matters": {"dims": {"N": 3, "D": 4, "K": 4, "factor": 2}}}
    stepped.write(root, change=change)
    frozen = freeze_exercise(root)
    source = load_source(root)
    placed = {p.case.id: p for p in source.cases(frozen.batches)}
    full, student = build(root), build(root, student=True)
    model = load_model(source.reference_folder)
    assert model is not None
    library = load_misconceptions(source.reference_folder, list(EXERCISE["clauses"]))
    answers = [Suite(full).outcomes(model.entry(one.make())) for one in library]
    return placed, full, student, answers


def told(packs_of_both: Any, more: bytes) -> list[tuple[str | None, str]]:
    """What is revealed by a student's pack with further bytes in it."""
    placed, full, student, answers = packs_of_both
    tensors = {"phase.public": np.frombuffer(student.blocks["public"], np.uint8)}
    tensors |= {"more": np.frombuffer(more + bytes(-len(more) % 8), np.uint8)}
    length = int.from_bytes(student.data[:8], "little")
    meta = json.loads(student.data[8 : 8 + length])["__metadata__"]
    return list(revealed(placed, full, replace(student, data=save(tensors, meta)), answers))


def test_a_student_pack_as_it_is_tells_nothing(packs_of_both: Any) -> None:
    assert list(revealed(*packs_of_both)) == []
    assert told(packs_of_both, b"") == []


def test_inputs_and_answers_of_hidden_cases_are_told(packs_of_both: Any) -> None:
    _, full, _, answers = packs_of_both
    case = next(c for c in full.cases if c.id == "x_matters")
    x = dict(full.arguments(case))["x"]
    inputs = [("x_matters", "an array of it is in the student's pack")]
    assert told(packs_of_both, b"abc" + x.tobytes()) == inputs
    assert told(packs_of_both, zlib.compress(x.tobytes())) == inputs
    drawn = next(c for c in full.cases if c.id == "drawn_01")
    expected = full.expected(drawn)
    assert expected.size >= 8
    known = [("drawn_01", "its expected answer is in the student's pack")]
    assert told(packs_of_both, expected.tobytes())[:1] == known
    wrong = answers[0]["hidden"][drawn.steps[0]].value.array()
    assert not np.allclose(wrong, expected)
    known = [("drawn_01", "the answer that a known mistake gives to it is in the student's pack")]
    assert told(packs_of_both, wrong.tobytes()) == known


def test_fingerprints_phases_and_seeds_of_hidden_calls_are_told(packs_of_both: Any) -> None:
    placed, full, student, answers = packs_of_both
    rows = full.known.phases["hidden"].rows
    row = next(r for r in rows if len(set(r.tolist())) == 8)
    assert told(packs_of_both, row.tobytes()) == [(None, "it holds fingerprints of answers to hidden calls")]
    blocks = {"public": student.blocks["public"], "hidden": b""}
    assert list(revealed(placed, full, replace(student, blocks=blocks), answers)) == [
        (None, "it holds the phase hidden")
    ]
    length = int.from_bytes(student.data[:8], "little")
    header = json.loads(student.data[8 : 8 + length])
    meta = json.loads(header["__metadata__"]["grader"])
    meta["cases"][0]["seed"] = 1
    tensors = {"phase.public": np.frombuffer(student.blocks["public"], np.uint8)}
    seeded = replace(student, data=save(tensors, {"grader": json.dumps(meta)}))
    assert list(revealed(placed, full, seeded, answers)) == [(None, "it names a seed")]


def test_hidden_names_in_a_students_grading_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = [{"case": "single", "cost": 2}, {"group": "secret", "cost": 1}, {"group": "checks", "cost": 1}]
    extra = ["drawn_01", "drawn", "ones_row", "secret"]
    weights = {"checks": 10, "secret": 5, "concealed": 5}
    grading = {"gates": gates, "extra_credit": extra, "weights": weights}
    folder = write_exercise(tmp_path, exercise={"grading": grading})
    for group, name in (("secret", "single"), ("concealed", "another")):
        hidden = CASES[1] | {"id": name, "title": "", "visibility": "hidden"}
        (folder / f"{group}.yaml").write_text(dump_yaml([hidden]))
    frozen = freeze_exercise(tmp_path)
    placed = {p.case.id: p for p in load_source(tmp_path).cases(frozen.batches)}
    full = build(tmp_path)
    assert list(revealed(placed, full, build(tmp_path, student=True), [])) == []
    monkeypatch.setattr(Grading, "naming_only", lambda self, groups, cases: self)
    under = "is in the student's pack, under grading"
    assert sorted(revealed(placed, full, build(tmp_path, student=True), [])) == [
        ("another", f"the name of its group {under}"),
        ("drawn_01", "its id is in the student's pack"),
        ("drawn_01", f"the name of its random batch {under}"),
        ("single", "its id is in the student's pack"),
        ("single", f"the name of its group {under}"),
    ]


# --- known mistakes -----------------------------------------------------------------------------


def weak(root: Path, code: str, mistakes: dict[str, Any], **overrides: Any) -> list[Weakness]:
    """Weaknesses of one code of the exercise with these mistakes beside its own."""
    all_of_them = stepped.MISTAKES | mistakes
    chosen = {name: one for name, one in all_of_them.items() if one is not None}
    weaknesses = stepped.validated(root, chosen, **overrides).weaknesses
    return [w for w in weaknesses if w.code == code]


def scaled(by: float, clause: str = "scale", options: str = "") -> tuple[str, str, str, str]:
    return (clause, f'step="finish"{options}', "rows", f"return rows * {by!r}")


def test_a_known_mistake_that_survives_is_told_with_its_place(tmp_path: Path) -> None:
    (weakness,) = weak(tmp_path, "mistake_survives", {"nothing": scaled(1.0)})
    assert weakness.message == "nothing: no case catches this mistake"
    assert weakness.file.endswith("reference/row_scale/misconceptions.py")
    text = Path(weakness.file).read_text().splitlines()
    assert "def nothing(rows):" in "\n".join(text[weakness.line - 1 : weakness.line + 2])


def test_survivors_have_a_reason(tmp_path: Path) -> None:
    mistakes = {"nothing": scaled(1.0), "tiny": scaled(1 + 1e-8)}
    beyond = ("rows", 'step="finish"', "rows", "return rows * (1 + (len(rows) > 20))")
    validation = stepped.validated(tmp_path, stepped.MISTAKES | mistakes | {"beyond": beyond})
    fates = {s.name: s for s in validation.survivors}
    assert {name: s.fate for name, s in fates.items()} == {
        "nothing": "equivalent",
        "tiny": "inside_rounding",
        "beyond": "open_hole",
    }
    assert fates["nothing"].figures == "agrees on 1,000 generated inputs exactly"
    assert "× the tolerance on" in fates["tiny"].figures
    assert "(N=2" in fates["beyond"].figures
    assert {s.kind for s in fates.values()} == {"misconception"}
    assert fates["beyond"].change == "beyond" and fates["beyond"].line > 0


def test_a_known_mistake_without_margin_is_told(tmp_path: Path) -> None:
    (weakness,) = weak(tmp_path, "mistake_without_margin", {"near": scaled(1 + 3e-6)})
    assert weakness.message.startswith("near: no case catches this mistake at 10 × its tolerance; ")
    assert " does at " in weakness.message


def test_small_mistakes_need_not_be_caught(tmp_path: Path) -> None:
    small = scaled(1 + 1e-8, options=", small=True")
    caught = scaled(1.5, options=", small=True")
    validation = stepped.validated(tmp_path, stepped.MISTAKES | {"small": small, "caught": caught})
    assert validation.sound
    assert (validation.library, validation.small) == (len(stepped.MISTAKES) + 2, 3)
    assert {"small", "caught"}.isdisjoint(validation.matrix.mistakes)


def test_a_known_mistake_that_keeps_full_marks_is_told(tmp_path: Path) -> None:
    (weakness,) = weak(tmp_path, "mistake_keeps_full_marks", {}, change={"x_kept": {"points": 0}})
    said = "as a right submission does, since nothing is lost by failing x_kept"
    assert weakness.message == f"in_place: it gets 7.5 points, {said}"


@pytest.mark.parametrize(
    ("worth", "grading"),
    [
        (0, {"gates": [{"case": "x_kept", "cost": 1}]}),
        (0, {"gates": [{"clause": "inputs", "cap": "90 %"}]}),
        (1, {"extra_credit": ["x_kept"]}),
        (0, {"extra_credit": ["no_rows"], "gates": [{"clause": "inputs", "cost": 0.25}]}),
    ],
)
def test_a_known_mistake_that_costs_a_gate_or_extra_credit_keeps_nothing(
    tmp_path: Path, worth: float, grading: Any
) -> None:
    change = {"x_kept": {"points": worth}}
    assert weak(tmp_path, "mistake_keeps_full_marks", {}, change=change, exercise={"grading": grading}) == []


def test_a_known_mistake_to_which_rounding_gives_its_points_back_is_told(tmp_path: Path) -> None:
    exercise = {"grading": {"extra_credit": ["no_rows"], "rounding": {"to": 5}}}
    change = {"x_kept": {"points": 0.25}}
    (weakness,) = weak(tmp_path, "mistake_keeps_full_marks", {}, change=change, exercise=exercise)
    said = "as a right submission does, since rounding gives back what it loses in x_kept"
    assert weakness.message == f"in_place: it gets 7.75 points, {said}"


def test_public_points_are_counted_as_all_points_are(tmp_path: Path) -> None:
    grading = {"extra_credit": ["x_kept", "drawn_01"]}
    cases = validated(tmp_path, exercise={"grading": grading}).cases
    # Of 8.5 points 1.5 are extra credit; of 6.5 public ones, 1.
    assert (cases["points"], cases["public_points"]) == (7.0, 5.5)


def test_a_clause_without_a_known_mistake_is_told(tmp_path: Path) -> None:
    (weakness,) = weak(tmp_path, "clause_without_mistake", {"in_place": None})
    assert weakness.message == "no known mistake breaks the clause inputs"
    assert weakness.line == line_of(tmp_path, "inputs:")


def test_a_clause_whose_cases_do_not_fail_when_it_is_broken_is_told(tmp_path: Path) -> None:
    (weakness,) = weak(tmp_path, "clause_not_caught", {"in_place": scaled(2.0, clause="inputs")})
    assert weakness.message == "no case of the clause inputs fails when that clause alone is broken"
    assert weakness.line == line_of(tmp_path, "inputs:")


def test_a_known_mistake_that_can_not_be_run_is_none(tmp_path: Path) -> None:
    slip = ("product", 'step="product"', "x, w, factor", "return missing_name(x)")
    found = stepped.validated(tmp_path, stepped.MISTAKES | {"slip": slip}).weaknesses
    (weakness,) = (one for one in found if one.code == "mistake_fails")
    assert "slip: every call of it raises NameError" in weakness.message and weakness.line > 0


def test_no_library_is_no_weakness(root: Path) -> None:
    validation = Validator(load_source(root)).run(fast=True)
    assert (validation.library, validation.sound) == (0, True)


def test_mistakes_that_no_case_tells_apart_are_named_and_no_weakness(tmp_path: Path) -> None:
    twin = ("product", 'step="product"', "x, w, factor", "return 1.0 * (x @ w)")
    validation = stepped.validated(tmp_path, stepped.MISTAKES | {"twin": twin})
    assert validation.indistinguishable == (("no_factor", "twin"),)
    assert validation.sound


def test_a_mistake_of_the_name_of_a_worked_one_is_kept_beside_it(tmp_path: Path) -> None:
    worked(tmp_path, no_factor=(WRONG, FAILED))
    matrix = stepped.validated(tmp_path, fast=False).matrix
    assert {"no_factor", "no_factor.py"} <= set(matrix.mistakes)


# --- mutants, and the public cases alone ----------------------------------------------------------


def test_a_mutant_that_survives_is_a_hole_told_at_its_line(tmp_path: Path) -> None:
    # No case has more than four columns in w.
    model = MODEL.replace(
        "    return factor", "    if w.shape[1] > 4:\n        factor = factor + 0\n    return factor"
    )
    weaknesses = validated(tmp_path, fast=False, model=model).weaknesses
    holes = [w for w in weaknesses if w.code == "mutant_survives"]
    assert any("no case catches the mutant 0 -> 1: off by " in w.message for w in holes)
    assert {Path(w.file).name for w in holes} == {"model.py"}
    lines = (tmp_path / "reference" / "row_scale" / "model.py").read_text().splitlines()
    assert {lines[w.line - 1].strip() for w in holes} <= {"if w.shape[1] > 4:", "factor = factor + 0"}


def test_public_cases_that_kill_too_few_are_told(tmp_path: Path) -> None:
    # Only the case without rows is public.
    names = ("ones_row", "large_rows", "row_alone", "x_kept")
    change: dict[str, Any] = {name: {"visibility": "hidden"} for name in names}
    change["no_rows"] = {"requires": []}
    validation = stepped.validated(tmp_path, fast=False, change=change)
    told = [w for w in validation.weaknesses if w.code == "public_cases_kill_too_few"]
    mistakes, mutants = sorted((w.message for w in told), key=lambda m: "mutants" in m)
    assert mistakes == "the public cases alone kill 1 of 6 known mistakes, at least 90% is wanted"
    public = validation.public
    killed = f"{public.mutants_killed} of {public.mutants} mutants"
    assert mutants == f"the public cases alone kill {killed}, at least 90% is wanted"
    assert {w.line for w in told} == {line_of(tmp_path, "groups:")}
    alive = set(public.matrix.summary()["survivors"])
    assert alive == set(stepped.MISTAKES) - {"crash_when_empty", "last_digits"}
    assert 0 < public.mutants_killed < 0.9 * public.mutants
    assert len(public.mutant_survivors) == public.mutants - public.mutants_killed


# --- margins ------------------------------------------------------------------------------------


def test_margins_hold_noise_tolerance_and_the_nearest_mistake_of_the_clause(tmp_path: Path) -> None:
    near = scaled(1.01)
    validation = stepped.validated(tmp_path, stepped.MISTAKES | {"near": near})
    margins = {m.case: m for m in validation.margins}
    assert set(margins) == {"ones_row", "large_rows", "no_rows", "drawn_01", "drawn_02", "drawn_03"}
    large = margins["large_rows"]
    assert (large.nearest, large.advice) == ("near", "")
    assert large.error == pytest.approx(0.01, rel=1e-3)
    assert large.noise < large.tolerance < 0.01
    # Nothing of the clause product is off by a finite error on an empty answer.
    assert (margins["no_rows"].nearest, margins["no_rows"].error) == ("", None)


def test_a_poor_margin_comes_with_what_would_help(tmp_path: Path) -> None:
    # With rows of ordinary size the 1 in the divisor hides what is added to the mean of squares.
    added = ("scale", 'step="squares"', "x", "return (x * x).mean(1, keepdims=True) + 1e-5")
    validation = stepped.validated(tmp_path, {"added": added}, fast=False)
    drawn = {m.case: m for m in validation.margins}["drawn_01"]
    assert drawn.error is not None and drawn.tolerance < drawn.error < 10 * drawn.tolerance
    assert drawn.advice.startswith("with x multiplied by 0.25, added stands at ")
    assert drawn.advice.endswith(f" × the tolerance (now {drawn.error / drawn.tolerance:.1f} ×)")


def test_a_poor_margin_that_no_scale_mends_is_told(tmp_path: Path) -> None:
    validation = stepped.validated(tmp_path, {"near": scaled(1 + 3e-6)}, fast=False)
    advice = {m.case: m.advice for m in validation.margins}["large_rows"]
    assert advice == "no scaling of an array tells near clearly enough; a case of its own may"


# --- worked submissions -------------------------------------------------------------------------


@pytest.fixture
def graded(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Validates with worked submissions; only weaknesses of the named codes."""

    # Nothing here is about mutants.
    monkeypatch.setattr(Validator, "_mutants", lambda self, suite: [])

    def run(code: str, **submissions: tuple[str, str]) -> list[Weakness]:
        worked(root, **submissions)
        weaknesses = Validator(load_source(root)).run().weaknesses
        return [w for w in weaknesses if w.code == code]

    return run


def test_worked_submission_that_gets_another_result(graded: Any) -> None:
    weaknesses = graded("worked_submission", right=(RIGHT, PASSED), wrong=(WRONG, PASSED))
    assert {Path(w.file).name for w in weaknesses} == {"wrong.expected.yaml"}
    assert any(w.message.startswith("status failed, expected passed") for w in weaknesses)


def test_a_right_submission_with_extra_credit_has_full_marks(root: Path, graded: Any) -> None:
    write_exercise(root, exercise={"grading": {"extra_credit": ["x_kept"], "max_score": 20}})
    submissions = {"right": (RIGHT, PASSED), "mutates": (MUTATES, PASSED), "wrong": (WRONG, PASSED)}
    weaknesses = graded("worked_submission", **submissions)
    # What is lost of extra credit alone leaves full marks.
    assert {Path(w.file).name for w in weaknesses} == {"wrong.expected.yaml"}
    assert any(w.message.endswith("of 20, expected full (20 or more)") for w in weaknesses)


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
    assert all(w.file.endswith("checks.yaml") for w in weaknesses)
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
    expected = FAILED + "loses: [prodct]\nkeeps: [nothing]\nnames: [causal]\n"
    expected += "policy: {status: clean, rules: [product_helper]}\n"
    said = [w.message for w in graded("worked_submission", wrong=(WRONG, expected))]
    assert any("unknown clause 'prodct'; did you mean" in m for m in said)
    assert any("unknown clause 'nothing'; known here" in m for m in said)
    assert any("unknown mistake 'causal'" in m for m in said)
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
