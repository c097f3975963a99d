"""Exit statuses, JSON documents, and messages of commands that are given something wrong."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest
from support.commands import grader
from support.small import RIGHT, freeze_exercise, write_exercise


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder that a test may break."""
    write_exercise(tmp_path / "root")
    freeze_exercise(tmp_path / "root")
    (tmp_path / "root" / "ann.py").write_text(RIGHT)
    return tmp_path / "root"


# --- check ------------------------------------------------------------------------------------


def test_check_is_0_for_full_marks(home: Path) -> None:
    done = grader("check", "class/right.py", "--json", cwd=home)
    assert done.status == 0 and [r["status"] for r in done.json] == ["passed"]
    assert done.json[0]["schema"] == "grader.result/1" and done.json[0]["view"] == "student"


def test_check_is_1_for_less(home: Path) -> None:
    done = grader("check", "class/right.py", "class/wrong.py", "--json", cwd=home)
    assert done.status == 1 and [r["status"] for r in done.json] == ["passed", "failed"]


def test_check_is_2_for_a_missing_path_and_checks_the_rest(home: Path) -> None:
    done = grader("check", "class/wrong.py", "nowhere.py", "--json", cwd=home)
    assert done.status == 2 and [r["status"] for r in done.json] == ["failed"]
    assert "nowhere.py does not exist" in done.err


def test_check_is_2_for_a_folder_without_submissions(home: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("none")
    done = grader("check", tmp_path, "--json", cwd=home)
    assert done.status == 2 and done.json == []
    assert "holds no submission" in done.err


@pytest.mark.slow
def test_a_fault_of_the_grader_is_3_above_all_others(home: Path, tmp_path: Path) -> None:
    # The fork server can't start: it is told to preload what does not exist.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hook:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'grader.sandbox.execution':\n"
        "            import grader.sandbox.server as server\n"
        "            server.SERVER_KINDS = {'numpy': ('no_such_package_here',)}\n"
        "sys.meta_path.insert(0, Hook())\n"
    )
    from support.commands import ROOT

    path = f"{tmp_path}:{ROOT}"
    for command in (
        ["check", "class/wrong.py", "nowhere.py", "--json"],
        ["grade", "class/wrong.py", "nowhere.py", "--json", "--out", str(tmp_path / "out")],
    ):
        done = grader(*command, cwd=home, PYTHONPATH=path)
        assert done.status == 3, done.err
        if command[0] == "check":
            assert [(r["status"], r["score"]) for r in done.json] == [("grader_fault", None)]
        else:
            assert done.json["counts"] == {"grader_fault": 1} and done.json["faults"] == ["wrong"]
            with (tmp_path / "out" / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
                assert [row["score"] for row in csv.DictReader(file)] == [""]


USAGE = {
    "unknown_option": ["check", "class/right.py", "--no-such-option"],
    "no_path": ["check"],
    "unknown_command": ["chek", "class/right.py"],
    "no_out": ["grade", "class"],
    "no_workers": ["grade", "class", "--out", "o", "--workers", "0"],
    "unknown_exercise": ["check", "class/right.py", "--exercise", "row_scael"],
    "missing_pack": ["check", "class/right.py", "--exercise", "none.pack"],
    "no_pack": ["check", "class/right.py", "--exercise", "class/right.py"],
    "unknown_case": ["check", "class/right.py", "--case", "one_row"],
    "unknown_clause": ["check", "class/right.py", "--clause", "prodct"],
    "snippet_without_case": ["check", "class/right.py", "--snippet"],
    "hidden_snippet": ["check", "class/right.py", "--snippet", "--case", "x_matters"],
    "missing_root": ["check", "class/right.py", "--root", "class"],
    "unknown_to_validate": ["validate", "row_scael"],
    "no_report": ["report", "class"],
    "pack_to_nowhere": ["pack", "row_scale", "--out", "class/right.py/x.pack"],
}
SAID = {
    "unknown_exercise": "did you mean",
    "missing_pack": "none.pack can't be read",
    "no_pack": "is no pack",
    "unknown_case": "did you mean",
    "unknown_clause": "did you mean",
    "snippet_without_case": "--case",
    "hidden_snippet": "hidden",
    "missing_root": "no folder cases/",
    "unknown_to_validate": "did you mean",
    "no_report": "gradebook.sqlite",
    "pack_to_nowhere": "can't be written",
}


@pytest.mark.parametrize("name", USAGE)
def test_a_command_at_fault_is_2_with_a_message_on_standard_error(home: Path, name: str) -> None:
    done = grader(*USAGE[name], cwd=home)
    assert done.status == 2 and done.out == "" and done.err
    assert SAID.get(name, "") in done.err
    assert len(done.err.splitlines()) <= 6


@pytest.mark.parametrize("name", ["unknown_option", "unknown_case"])
def test_a_command_at_fault_writes_its_document_all_the_same(home: Path, name: str) -> None:
    done = grader(*USAGE[name], "--json", cwd=home)
    assert done.status == 2 and done.json == []


def test_grade_and_validate_at_fault_write_their_documents(home: Path) -> None:
    done = grader("grade", "nowhere", "--out", "o", "--json", cwd=home)
    assert done.status == 2 and done.json["schema"] == "grader.batch/1" and done.json["submissions"] == 0
    assert not (home / "o").exists()
    done = grader("validate", "row_scael", "--json", cwd=home)
    assert done.status == 2 and done.json["schema"] == "grader.validation/1" and done.json["sound"] is False
    assert done.json["weaknesses"]


# --- a broken exercise ------------------------------------------------------------------------

BROKEN = {
    "unknown_key": ("checks.yaml", "points: 2", "pionts: 2", r"pionts", "did you mean"),
    "bad_value": ("checks.yaml", "points: 2", "points: many", "points", "many"),
    "no_yaml": ("checks.yaml", "points: 2", "points: [2", "", "is not valid YAML"),
    "unknown_clause": ("checks.yaml", "clause: product", "clause: produkt", "clause", "produkt"),
    "exercise": ("exercise.yaml", "entry: row_scale", "entry: 7x", "entry", "7x"),
    "policy": ("policy.yaml", "no_points: true", "no_points: yes", "no_points", "write true"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_fault_in_the_yaml_names_file_line_and_key(root: Path, name: str) -> None:
    file, old, new, key, words = BROKEN[name]
    path = root / "cases" / "row_scale" / file
    text = path.read_text()
    line = text[: text.index(old)].count("\n") + 1
    path.write_text(text.replace(old, new, 1))
    done = grader("check", "ann.py", "--json", cwd=root)
    assert done.status == 2 and done.json == []
    (first, *_) = done.err.splitlines()
    assert first.startswith(f"grader: cases/row_scale/{file}:")
    if name != "no_yaml":
        assert first.startswith(f"grader: cases/row_scale/{file}:{line}:") and key in first
    assert words in done.err


@pytest.mark.slow
def test_a_stale_exercise_says_how_to_refresh_it(root: Path) -> None:
    path = root / "cases" / "row_scale" / "checks.yaml"
    path.write_text(path.read_text().replace("N: 1", "N: 2", 1))
    done = grader("grade", "ann.py", "--out", "out", "--json", cwd=root)
    assert done.status == 2 and "grader validate row_scale --write" in done.err
    assert done.json["schema"] == "grader.batch/1"
    refreshed = grader("validate", "row_scale", "--write", "--fast", cwd=root)
    assert refreshed.status == 0, refreshed.out + refreshed.err
    assert grader("check", "ann.py", cwd=root).status == 0


@pytest.mark.slow
def test_validate_ends_with_1_and_a_line_for_each_weakness(root: Path) -> None:
    path = root / "cases" / "row_scale" / "checks.yaml"
    text = path.read_text()
    weakened = text.replace("  requires:\n  - ones_row\n", "")
    assert weakened != text
    path.write_text(weakened)
    done = grader("validate", "row_scale", "--fast", "--json", cwd=root)
    assert done.status == 1 and done.json["sound"] is False
    assert {w["code"] for w in done.json["weaknesses"]} == {"trivial_answer_scores"}
    shown = grader("validate", "row_scale", "--fast", cwd=root)
    assert shown.status == 1
    told = [line for line in shown.out.splitlines() if "trivial_answer_scores" in line]
    assert len(told) == len(done.json["weaknesses"])
    assert all(re.match(r"cases/row_scale/checks\.yaml:[1-9]\d*: ", line) for line in told), told


def test_a_missing_reference_is_told(root: Path) -> None:
    shutil.rmtree(root / "reference" / "row_scale")
    done = grader("check", "ann.py", cwd=root)
    assert done.status == 2 and done.out == ""


def test_a_reference_that_fails_is_told(root: Path) -> None:
    path = root / "reference" / "row_scale" / "model.py"
    path.write_text("import no_such_module_here\n" + path.read_text())
    done = grader("validate", "row_scale", "--write", "--fast", "--json", cwd=root)
    assert done.status == 2 and done.json["sound"] is False and "no_such_module_here" in done.err
