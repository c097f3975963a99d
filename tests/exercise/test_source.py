"""An exercise's files are checked against each other; every fault has file, line and key, all at once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.small import CASES, load_source, write_exercise

from grader.errors import ExerciseError, GraderError, Problem
from grader.exercise.arrays import RecipeError
from grader.exercise.assemble import change_argument
from grader.exercise.calls import GeneratorArgument, PlainArgument
from grader.exercise.checks import Change
from grader.exercise.frozen import Descriptor, Frozen
from grader.exercise.source import drawn_id, load

SMALL = {"N": 1, "D": 2, "K": 1, "factor": 1}


def case(name: str, **keys: Any) -> dict[str, Any]:
    return {"id": name, "clause": "product", "points": 1, "dims": SMALL} | keys


def faults(root: Path, **overrides: Any) -> list[Problem]:
    write_exercise(root, **overrides)
    with pytest.raises(ExerciseError) as caught:
        load_source(root)
    return list(caught.value.problems)


def fault(root: Path, **overrides: Any) -> Problem:
    found = faults(root, **overrides)
    assert len(found) == 1, found
    return found[0]


def line_of(root: Path, text: str, file: str = "checks.yaml", nth: int = 1) -> int:
    lines = (root / "cases" / "row_scale" / file).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line][nth - 1]


def test_a_sound_exercise_is_read_whole(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    source = load_source(tmp_path)
    assert source.name == "row_scale"
    assert [e.spec.id for e in source.entries] == [c["id"] for c in CASES]
    assert source.entries[0].group == "checks"
    assert source.entries[1].line == line_of(tmp_path, "id: large_rows")
    assert source.frozen is None
    assert source.reference_folder == tmp_path / "reference" / "row_scale"


def test_files_come_in_the_order_of_groups_and_then_by_name(tmp_path: Path) -> None:
    folder = write_exercise(tmp_path, exercise={"groups": ["zz", "checks"]}, cases=[case("c")])
    for group in ("zz", "bb", "aa"):
        (folder / f"{group}.yaml").write_text(
            f"- {{id: {group}, clause: rows, points: 1, dims: {SMALL}}}".replace("'", "")
        )
    assert [e.spec.id for e in load_source(tmp_path).entries] == ["zz", "c", "aa", "bb"]


def test_an_unknown_clause_is_named_with_the_near_one(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"large_rows": {"clause": "scael"}})
    assert problem.key == "[1].clause"
    assert problem.line == line_of(tmp_path, "clause: scael")
    assert problem.message == "unknown clause 'scael'; did you mean 'scale'?"


def test_an_unknown_dim_is_named(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"dims": {"N": 1, "D": 4, "K": 3, "fcator": 2}}})
    assert (problem.key, problem.message) == (
        "[0].dims.fcator",
        "unknown dim 'fcator'; did you mean 'factor'?",
    )
    assert problem.line == line_of(tmp_path, "fcator")


def test_missing_dims_are_named(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"dims": {"N": 1, "D": 4}}})
    assert (problem.key, problem.message) == ("[0].dims", "lacks K, factor")


def test_a_dim_below_its_bound_is_told(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"dims": {"N": -1, "D": 4, "K": 3, "factor": 2}}})
    assert (problem.key, problem.message) == ("[0].dims.N", "is -1; expected >= 0")


def test_a_broken_constraint_is_told(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"dims": {"N": 1, "D": 4, "K": 3, "factor": 3}}})
    assert (problem.key, problem.message) == ("[0].dims", "breaks the constraint D % factor == 0")


def test_a_constraint_that_can_not_be_computed_is_told_at_each_case(tmp_path: Path) -> None:
    found = faults(tmp_path, exercise={"constraints": ["1 / (K - 1) >= 0"]}, cases=[case("c")])
    told = "the constraint '1 / (K - 1) >= 0' can't be computed: division by zero"
    assert [(one.key, one.message) for one in found] == [("[0].dims", told)]


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ({"N": {"from": 3, "to": 1}}, "goes from 3 to 1, which is empty"),
        ({"Q": {"from": 1, "to": 1}}, "unknown dim 'Q'"),
        ({"N": None}, "lacks N"),
    ],
)
def test_the_dims_of_a_batch_are_checked(tmp_path: Path, dims: dict[str, Any], said: str) -> None:
    random = CASES[6]["random"]
    merged = {k: v for k, v in (random["dims"] | dims).items() if v}
    problem = fault(tmp_path, change={"drawn": {"random": random | {"dims": merged}}})
    assert problem.key.startswith("[6].random.dims")
    assert problem.message.startswith(said)


def test_an_unknown_array_is_named(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"arrays": {"y": {"values": "ones"}}}})
    assert problem.key == "[0].arrays.y"
    assert problem.message == "unknown array 'y'; known here: x, w, factor"


@pytest.mark.parametrize("key", ["values", "layout", "scale"])
def test_what_is_no_array_has_a_value(tmp_path: Path, key: str) -> None:
    change = {"values": "ones", "layout": "fortran", "scale": 2}[key]
    problem = fault(tmp_path, change={"ones_row": {"arrays": {"factor": {key: change}}}})
    assert problem.key == f"[0].arrays.factor.{key}"
    assert problem.message == "is for an array, which this argument is not; it has a value"
    assert problem.line == line_of(tmp_path, f"{key}: {change}")


def test_an_array_has_values(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"arrays": {"x": {"value": 3}}}})
    assert problem.key == "[0].arrays.x.value"
    assert problem.message == "is for an argument that is no array; an array has values"


def test_a_scalar_may_have_another_value_in_a_case(tmp_path: Path) -> None:
    write_exercise(tmp_path, change={"ones_row": {"arrays": {"factor": {"value": 7}}}})
    assert load_source(tmp_path).entries[0].spec.arrays["factor"].value == 7


def test_a_call_that_the_exercise_has_not_is_told(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"ones_row": {"call": "row_scale"}})
    assert (problem.key, problem.line) == ("[0].call", line_of(tmp_path, "call: row_scale"))
    assert problem.message == "is for an exercise with several calls, which this one is not"


def test_unknown_parameters_of_relations_are_named(tmp_path: Path) -> None:
    check = {"relation": "differs", "change": {"xx": {"fill": 1}}}
    problem = fault(tmp_path, change={"x_matters": {"check": check}})
    assert (problem.key, problem.message[:28]) == ("[4].check.change.xx", "unknown parameter 'xx'; did ")
    problem = fault(
        tmp_path, change={"x_kept": {"check": {"relation": "inputs_unchanged", "argument": "facto"}}}
    )
    assert (problem.key, problem.message) == (
        "[5].check.argument",
        "unknown parameter 'facto'; did you mean 'factor'?",
    )


def test_an_unknown_requirement_is_named(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"x_kept": {"requires": ["one_row"]}})
    assert problem.message == "x_kept: unknown case 'one_row'; did you mean 'ones_row'?"
    assert (problem.key, problem.line) == ("requires", line_of(tmp_path, "- one_row"))


def test_a_batch_can_not_be_required(tmp_path: Path) -> None:
    assert "unknown case 'drawn'" in fault(tmp_path, change={"x_matters": {"requires": ["drawn"]}}).message


def test_a_public_case_can_not_require_a_hidden_one(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"x_kept": {"requires": ["x_matters"]}})
    assert (
        problem.message == "x_kept: is public and requires the hidden case 'x_matters'; require a public one"
    )


def test_a_public_batch_can_not_require_a_hidden_case(tmp_path: Path) -> None:
    problem = fault(tmp_path, change={"drawn": {"requires": ["x_matters"], "visibility": "public"}})
    assert problem.message.startswith("drawn: is public and requires the hidden case")


@pytest.mark.parametrize(
    ("requires", "cycle"),
    [({"a": ["a"]}, "a → a"), ({"a": ["b"], "b": ["c"], "c": ["a"]}, "→")],
)
def test_requirements_that_go_round_are_told(tmp_path: Path, requires: Any, cycle: str) -> None:
    problem = fault(tmp_path, cases=[case(n, requires=requires.get(n, [])) for n in "abc"])
    assert problem.message.startswith("goes round: ")
    assert cycle in problem.message
    # The place is what the first of the round requires.
    assert problem.line == line_of(tmp_path, f"- {problem.message.split(' → ')[-2].split()[-1]}")


def test_an_id_that_is_used_twice_names_both_places(tmp_path: Path) -> None:
    problem = fault(tmp_path, more=[case("ones_row")])
    assert problem.line == line_of(tmp_path, "id: ones_row", nth=2)
    assert problem.message.startswith("'ones_row' is used twice; first in ")
    assert problem.message.endswith("checks.yaml:1")


def test_an_id_that_a_batch_will_give_to_a_member_is_taken(tmp_path: Path) -> None:
    problem = fault(tmp_path, more=[case("drawn_03")])
    assert problem.message.startswith("'drawn_03' is used twice; first in ")
    write_exercise(tmp_path, more=[case("drawn_04")])
    load_source(tmp_path)


def test_ids_are_unique_over_all_files(tmp_path: Path) -> None:
    folder = write_exercise(tmp_path)
    (folder / "more.yaml").write_text(
        f"- {{id: ones_row, clause: rows, points: 1, dims: {SMALL}}}".replace("'", "")
    )
    with pytest.raises(
        ExerciseError, match=r"more\.yaml:1: id: 'ones_row' is used twice; first in .*checks\.yaml:1"
    ):
        load_source(tmp_path)


def test_the_folders_name_is_the_exercises(tmp_path: Path) -> None:
    problem = fault(tmp_path, exercise={"exercise": "other"})
    assert (problem.key, problem.message) == (
        "exercise",
        "is 'other'; expected 'row_scale', the folder's name",
    )


def test_a_group_without_a_file_is_told(tmp_path: Path) -> None:
    problem = fault(tmp_path, exercise={"groups": ["check"]})
    assert problem.message == "'check' is no case file; did you mean 'checks'?"
    assert problem.line == line_of(tmp_path, "groups:", "exercise.yaml")


@pytest.mark.parametrize("text", ["", "a: 1\n", "just text\n"])
def test_a_case_file_is_a_list(tmp_path: Path, text: str) -> None:
    folder = write_exercise(tmp_path)
    (folder / "checks.yaml").write_text(text)
    with pytest.raises(
        ExerciseError, match=r"checks\.yaml:1: expected a list of cases, each beginning with '- id:'"
    ):
        load_source(tmp_path)


def test_an_item_that_is_no_mapping_is_told_the_keys(tmp_path: Path) -> None:
    folder = write_exercise(tmp_path)
    (folder / "checks.yaml").write_text("- x\n")
    with pytest.raises(
        ExerciseError, match=r"checks\.yaml:1: \[0\]: expected a mapping with the keys id, call, title"
    ):
        load_source(tmp_path)


def test_all_faults_of_all_files_are_told_at_once_in_order(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        exercise={"exercise": "other", "groups": ["nothing"]},
        change={
            "ones_row": {"clause": "no"},
            "large_rows": {"points": -1},
            "row_alone": {"dims": {"N": 1}},
            "x_kept": {"requires": ["nobody"]},
        },
    )
    assert sorted(p.key for p in found) == [
        "[0].clause",
        "[1].points",
        "[3].dims",
        "exercise",
        "groups",
        "requires",
    ]
    assert found == sorted(found)


def test_a_slip_in_one_case_brings_no_complaint_about_those_that_require_it(tmp_path: Path) -> None:
    assert fault(tmp_path, change={"ones_row": {"points": "two"}}).key == "[0].points"


def test_slips_in_exercise_and_policy_are_told_together(tmp_path: Path) -> None:
    found = faults(tmp_path, exercise={"titel": "x"}, policy={"efect": {}})
    assert [Path(p.file).name for p in found] == ["exercise.yaml", "policy.yaml"]


def test_a_missing_exercise_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExerciseError, match=r"exercise\.yaml: can't be read: No such file"):
        load(tmp_path / "cases" / "nothing")


def test_paths_below_the_current_folder_are_shown_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fault(tmp_path, more=[case("ones_row")]).file == "cases/row_scale/checks.yaml"


# --- frozen.json ------------------------------------------------------------------------------


def test_without_frozen_json_the_command_that_makes_it_is_told(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    with pytest.raises(
        GraderError, match=r"no frozen\.json yet; make it with: grader validate row_scale --write"
    ):
        load_source(tmp_path).require_fresh_frozen()


CORRECTIONS: list[dict[str, Any]] = [
    {"change": {"ones_row": {"hint": "Another hint."}}},
    {"change": {"ones_row": {"title": "Another title"}}},
    {"change": {"ones_row": {"points": 3}}},
    {"change": {"ones_row": {"visibility": "public", "clause": "scale"}}},
    {"change": {"x_kept": {"visibility": "hidden"}}},
    {"change": {"x_kept": {"requires": []}}},
    {"policy": {"effect": {"note": True}}},
    {"exercise": {"title": "Another"}},
    {"exercise": {"limits": {"seconds": 3}}},
]
CHANGES: list[dict[str, Any]] = [
    {"change": {"ones_row": {"dims": {"N": 2, "D": 4, "K": 3, "factor": 2}}}},
    {"change": {"ones_row": {"arrays": {"x": {"values": "zeros"}}}}},
    {"change": {"ones_row": {"seed": 3}}},
    {"change": {"ones_row": {"tolerance": 1e-5}}},
    {"change": {"ones_row": {"check": "finite"}}},
    {"change": {"x_matters": {"check": {"relation": "differs", "change": {"x": {"fill": 1}}, "rows": [0]}}}},
    {"change": {"drawn": {"random": CASES[6]["random"] | {"seed": 2}}}},
    {"change": {"no_rows": None}},
    {"more": [case("another")]},
    {"exercise": {"dims": {"N": ">= 0", "D": ">= 1", "K": ">= 1", "factor": ">= 0"}}},
    {"exercise": {"constraints": []}},
    {"exercise": {"returns": {"shape": ["N", "K"], "dtype": ["float64"]}}},
    {"model": "# corrected\nfrom .crosscheck import row_scale\n"},
    {"rounding": "# corrected\nRUNS = {}\n"},
]


@pytest.mark.parametrize("overrides", CORRECTIONS, ids=str)
def test_corrections_of_words_points_and_visibility_leave_frozen_json_fresh(
    root: Path, frozen: Frozen, overrides: Any
) -> None:
    write_exercise(root, **overrides)
    assert load_source(root).require_fresh_frozen() == frozen


@pytest.mark.parametrize("overrides", CHANGES, ids=lambda o: str(o)[:60])
def test_changes_of_inputs_checks_or_reference_make_it_stale(root: Path, overrides: Any) -> None:
    load_source(root).require_fresh_frozen()
    write_exercise(root, **overrides)
    with pytest.raises(
        GraderError, match=r"is older than the cases or the reference; refresh it with: grader validate"
    ):
        load_source(root).require_fresh_frozen()


def test_a_drawn_case_has_the_batchs_words_and_the_descriptors_inputs(tmp_path: Path) -> None:
    write_exercise(tmp_path, change={"drawn": {"arrays": {"x": {"scale": 3}}, "requires": ["ones_row"]}})
    source = load_source(tmp_path)
    descriptor = Descriptor(
        {"N": 2, "D": 4, "K": 1, "factor": 2}, 11, "float32", {"x": "fortran", "w": "c"}, True
    )
    placed = source.cases({"drawn": [descriptor]})[-1]
    made = placed.case
    assert made.id == "drawn_01"
    assert (made.dims, made.seed, placed.dtype) == (descriptor.dims, 11, "float32")
    assert (made.clause, made.points, made.visibility, made.requires) == (
        "scale",
        0.5,
        "hidden",
        ["ones_row"],
    )
    assert made.arrays["x"].scale == 3
    assert (made.arrays["x"].layout, made.arrays["x"].read_only) == ("fortran", True)
    assert made.arrays["w"].layout == "c"
    assert placed.line == line_of(tmp_path, "id: drawn")


def test_ids_of_drawn_cases_sort_by_number(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    spec: Any = load_source(tmp_path).entries[-1].spec
    names = [drawn_id(spec, n) for n in range(1, 12)]
    assert names == sorted(names)
    assert names[0] == "drawn_01"


def test_a_case_file_that_ends_in_yml_is_told_and_not_ignored(root: Path) -> None:
    (root / "cases" / "row_scale" / "more.yml").write_text("- id: x\n")
    with pytest.raises(ExerciseError, match=r"more.yml: is not read; let its name end in .yaml"):
        load(root / "cases" / "row_scale")


# --- several calls ------------------------------------------------------------------------------

URN = Path(__file__).resolve().parents[1] / "exercises" / "root"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("count >= 1", "rng >= 1", "uses 'rng'"),
        ("count: sum(chosen)", "rate: sum(chosen)", "'rate' is the name of something else already"),
        ("count: sum(chosen)", "chosen: sum(chosen)", "'chosen' is the name of something else already"),
        ("count: sum(chosen)", "answer: sum(chosen)", "'answer' is the name of something else already"),
    ],
)
def test_a_claim_names_values_and_each_by_one_name(tmp_path: Path, old: str, new: str, said: str) -> None:
    shutil.copytree(URN, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "cases" / "urn" / "basics.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ExerciseError) as caught:
        load(path.parent)
    assert said in caught.value.problems[0].message


def test_a_generator_takes_a_seed_in_a_second_call() -> None:
    with pytest.raises(RecipeError, match="is a generator; expected the key value with a whole number"):
        change_argument("rng", GeneratorArgument(3), Change(fill=1), {}, 1)
    with pytest.raises(RecipeError, match="is no array; expected the key value"):
        change_argument("label", PlainArgument("a"), Change(fill=1), {}, 1)
