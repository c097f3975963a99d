"""``grader new``: one command gives an exercise that is sound, and all other commands work on it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.commands import Done, grader

# Its tests together take long.
pytestmark = pytest.mark.slow

NAME = "unit_rows"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> tuple[Done, Path]:
    """What the command left in a folder in which there was nothing."""
    home = tmp_path_factory.mktemp("teacher")
    return grader("new", NAME, "--title", "Rows of length 1", cwd=home, GRADER_CACHE=str(cache)), home


@pytest.fixture
def own(made: tuple[Done, Path], tmp_path: Path) -> Path:
    """The same in a folder of the test's own."""
    return Path(shutil.copytree(made[1], tmp_path / "own"))


def commands(said: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in re.findall(r"^  (grader .*)$", said, re.M)]


def test_it_says_what_was_made_and_leaves_nothing_else(made: tuple[Done, Path]) -> None:
    done, home = made
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"new exercise {NAME} in {home} (the current folder, ")
    files = [p for p in home.rglob("*") if p.is_file()]
    assert {p.relative_to(home).parts[:2] for p in files} == {
        (folder, NAME) for folder in ("cases", "reference", "submissions")
    }
    assert sorted(p.name for p in home.iterdir()) == ["cases", "reference", "submissions"]
    assert (home / "cases" / NAME / "frozen.json").is_file()


def test_every_file_says_what_it_is_for(made: tuple[Done, Path]) -> None:
    for path in made[1].rglob("*"):
        if path.suffix in (".yaml", ".py") and "submissions" not in path.parts:
            assert re.match(r'# [A-Z]|"""[A-Z]', path.read_text("utf-8")), path


def test_it_is_sound(own: Path) -> None:
    done = grader("validate", NAME, "--json", cwd=own)
    assert done.status == 0, done.out + done.err
    found = done.json
    assert found["sound"] and found["weaknesses"] == [] and not found["fast"]
    assert found["title"] == "Rows of length 1" and found["misconceptions"]["total"] >= 9
    mutants = found["mutants"]
    assert mutants["killed"] > 30 and mutants["open_holes"] == 0


def test_it_is_sound_when_measured_anew(own: Path) -> None:
    (own / "cases" / NAME / "frozen.json").unlink()
    done = grader("validate", NAME, "--write", "--json", cwd=own)
    assert done.status == 0 and done.json["sound"], done.out + done.err
    assert [p.name for p in own.iterdir() if p.name.startswith(".")] == []


def test_the_commands_that_it_names_work(own: Path, made: tuple[Done, Path]) -> None:
    named = commands(made[0].out)
    assert [words[0] for words in named] == ["validate", "check", "validate", "release"]
    for words in named:
        done = grader(*words, cwd=own)
        assert done.status == 0, f"{words}: {done.out}{done.err}"
    assert (own / f"{NAME}.zip").is_file()


def test_a_mistake_is_named(own: Path) -> None:
    done = grader("check", f"submissions/{NAME}", "--exercise", NAME, "--json", cwd=own)
    records = {record["submission"]["name"]: record for record in done.json}
    told = {name: [d["ids"] for d in record["diagnoses"]] for name, record in records.items()}
    assert told["wrong_columns"] == [["columns_scaled"]]
    assert told["wrong_in_place"] == [["scaled_in_place"]]
    assert records["right_loops"]["status"] == records["right_rows"]["status"] == "passed"
    (violation,) = records["banned_norm"]["policy"]["violations"]
    assert violation["rule"] == "length_helpers"


def test_its_pack_and_its_hand_out_work_alone(own: Path, tmp_path: Path) -> None:
    assert grader("pack", NAME, "--out", "full.pack", cwd=own).status == 0
    assert grader("release", NAME, "--out", tmp_path / "home", cwd=own).status == 0
    right = own / "submissions" / NAME / "right_loops.py"
    for pack in (own / "full.pack", tmp_path / "home" / f"{NAME}.pack"):
        (record,) = grader("check", right, "--exercise", pack, "--json", cwd=tmp_path).json
        assert record["status"] == "passed"


def test_another_one_goes_beside_it_from_a_folder_within(own: Path) -> None:
    within = own / "cases" / NAME
    before = {p: p.read_bytes() for p in own.rglob("*") if p.is_file()}
    done = grader("new", "another", cwd=within)
    assert done.status == 0 and f"in {own} (the nearest folder around with exercises)" in done.out
    assert {p: p.read_bytes() for p in before} == before
    for words in commands(done.out)[:2]:
        assert grader(*words, cwd=within).status == 0, words
    again = grader("new", "another", cwd=own)
    assert again.status == 2 and "cases/another and reference/another and submissions/another" in again.err


@pytest.mark.parametrize("how", ["--root", "GRADER_ROOT"])
def test_a_root_that_is_named_is_made(how: str, tmp_path: Path) -> None:
    home = tmp_path / "a course" / "exercises"
    if how == "--root":
        done = grader("new", NAME, "--root", "a course/exercises", cwd=tmp_path)
        environment = {}
    else:
        environment = {"GRADER_ROOT": str(home)}
        done = grader("new", NAME, cwd=tmp_path, **environment)
    assert done.status == 0 and f"in {home} ({how})" in done.out
    for words in commands(done.out)[:2]:
        assert grader(*words, cwd=tmp_path, **environment).status == 0, words


def test_without_hypothesis_it_says_what_is_left_to_do(tmp_path: Path) -> None:
    blind = tmp_path / "blind"
    blind.mkdir()
    (blind / "sitecustomize.py").write_text("import sys\nsys.modules['hypothesis'] = None\n")
    path = f"{blind}:{Path(__file__).resolve().parents[2]}"
    done = grader("new", NAME, cwd=tmp_path, PYTHONPATH=path)
    assert done.status == 0 and "Hypothesis is not installed" in done.out
    assert "\n  pip install hypothesis\n" in done.out
    assert not (tmp_path / "cases" / NAME / "frozen.json").exists()
    wanting = grader("validate", NAME, cwd=tmp_path, PYTHONPATH=path)
    assert wanting.status == 2 and f"grader validate {NAME} --write" in wanting.err
    for words in commands(done.out):
        assert grader(*words, cwd=tmp_path).status == 0, words


def test_quietly_it_says_nothing(tmp_path: Path) -> None:
    done = grader("new", NAME, "-q", cwd=tmp_path)
    assert (done.status, done.out, done.err) == (0, "", "")


def test_faults_end_with_status_2_and_leave_nothing(tmp_path: Path) -> None:
    for words in (["My-Exercise"], ["random"], [NAME, "--title", "a\tb\x07"], []):
        done = grader("new", *words, cwd=tmp_path)
        assert done.status == 2 and done.out == "" and done.err.startswith("grader: ")
    assert list(tmp_path.iterdir()) == []


def test_the_yaml_fits_the_schemas_that_editors_use(made: tuple[Done, Path], tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    import yaml

    kinds = {"exercise": "exercise", "policy": "policy", "basics": "cases", "drawn": "cases"}
    for file, kind in kinds.items():
        schema = json.loads(grader("schema", kind, cwd=tmp_path).out)
        path = made[1] / "cases" / NAME / f"{file}.yaml"
        jsonschema.validate(yaml.safe_load(path.read_text("utf-8")), schema)
