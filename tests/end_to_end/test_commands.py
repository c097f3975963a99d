"""The commands work from any folder, and write where and what they say."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from handed_in import HIDDEN_HINT, HIDDEN_ID, HIDDEN_TITLE, HIDDEN_VALUE, SUBMISSIONS
from support.commands import ROOT, Done, grader
from support.small import RIGHT, WRONG

import grader as package
from grader.sandbox.levels import probe

# --- where it runs ----------------------------------------------------------------------------


def test_it_works_from_below_the_root(home: Path) -> None:
    assert grader("check", "right.py", cwd=home / "class").status == 0


def test_it_works_from_elsewhere_with_a_root_or_a_pack(home: Path, tmp_path: Path) -> None:
    path = home / "class" / "wrong.py"
    from_root = grader("check", path, "--root", home, "--json", cwd=tmp_path)
    named = grader("check", path, "--exercise", "row_scale", "--json", cwd=tmp_path, GRADER_ROOT=str(home))
    packed = grader("check", path, "--exercise", home / "row_scale.pack", "--json", cwd=tmp_path)
    for done in (from_root, named, packed):
        assert done.status == 1
        for record in done.json:
            record.pop("timing")
    assert json.dumps(from_root.json[0]["cases"]) == json.dumps(packed.json[0]["cases"])
    assert from_root.json[0]["exercise"] == named.json[0]["exercise"]


def test_a_root_in_the_environment_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "ann.py").write_text(RIGHT)
    done = grader("check", "ann.py", cwd=tmp_path, GRADER_ROOT=str(tmp_path))
    assert done.status == 2 and "GRADER_ROOT" in done.err


def test_the_version_and_the_help_are_there(tmp_path: Path) -> None:
    assert grader("--version", cwd=tmp_path).out == f"grader {package.__version__}\n"
    shown = grader("--help", cwd=tmp_path)
    assert shown.status == 0
    for command in ("check", "grade", "validate", "pack", "report"):
        assert command in shown.out


# --- pack -------------------------------------------------------------------------------------


def test_packs_are_written_and_a_students_holds_nothing_hidden(home: Path, tmp_path: Path) -> None:
    full, student = tmp_path / "a" / "full.pack", tmp_path / "student.pack"
    assert grader("pack", "row_scale", "--out", full, cwd=home).status == 0
    said = grader("pack", "--student", "--out", student, cwd=home)
    assert said.status == 0 and "student pack of row_scale" in said.out
    for text in (HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT, "x_matters", "drawn_01"):
        assert text.encode() in full.read_bytes() or text == HIDDEN_TITLE
        assert text.encode() not in student.read_bytes()
    done = grader("check", home / "class" / "right.py", "--exercise", student, "--json", cwd=tmp_path)
    assert done.status == 0 and {c["visibility"] for c in done.json[0]["cases"]} == {"public"}
    assert "hidden checks were not run" in done.json[0]["message"]


# --- parts of an exercise ---------------------------------------------------------------------


def test_a_case_and_a_clause_can_be_run_alone(home: Path) -> None:
    one = grader("check", "class/wrong.py", "--case", "ones_row", "--json", cwd=home)
    assert one.status == 0 and [c["id"] for c in one.json[0]["cases"]] == ["ones_row"]
    some = grader("check", "class/wrong.py", "--clause", "scale", "--case", "ones_row", "--json", cwd=home)
    assert some.status == 1
    assert {c["clause"] for c in some.json[0]["cases"]} == {"scale", "product"}


@pytest.mark.parametrize("name", ["scale", "Scale", "SCALE", "separate ROWS"])
def test_a_clause_goes_by_its_name_or_title_in_any_case(home: Path, name: str) -> None:
    done = grader("check", "class/right.py", "--clause", name, "--json", cwd=home)
    assert done.status == 0
    assert {c["clause"] for c in done.json[0]["cases"]} == {name.split()[-1].lower()}


def test_unknown_names_are_told_with_a_near_one_that_is_not_hidden(home: Path) -> None:
    near = grader("check", "class/right.py", "--case", "one_row", cwd=home)
    assert near.status == 2 and "did you mean 'ones_row'" in near.err
    for name in (HIDDEN_ID[:-1], "x_matter", "drawn_1", "drawn", "hidden_01"):
        done = grader("check", "class/right.py", "--case", name, cwd=home)
        assert done.status == 2 and f"no case {name!r}" in done.err
        told = done.out + done.err.replace(repr(name), "")
        assert not any(hidden in told for hidden in (HIDDEN_ID, "x_matters", "drawn_0"))


def test_a_hidden_case_has_no_snippet(home: Path) -> None:
    done = grader("check", "class/right.py", "--case", HIDDEN_ID, "--snippet", cwd=home)
    assert done.status == 2 and done.out == "" and repr(HIDDEN_VALUE)[:9] not in done.err


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which a shell finds ``grader``."""
    command = tmp_path / "bin" / "grader"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m grader "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environment = {k: v for k, v in os.environ.items() if k != "GRADER_ROOT"}
    return environment | {"PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("kind", ["root", "pack", "both"])
def test_the_line_that_reproduces_a_check_works_when_it_is_run(
    home: Path, tmp_path: Path, on_path: dict[str, str], kind: str
) -> None:
    shutil.copy(home / "row_scale.pack", tmp_path / "a pack.pack")
    options: dict[str, list[str | Path]] = {
        "root": ["--root", home],
        "pack": ["--exercise", "a pack.pack"],
        "both": ["--exercise", "row_scale", "--root", home],
    }
    path = tmp_path / "my folder" / "it's mine.py"
    path.parent.mkdir()
    path.write_text(WRONG)
    command = ["check", path.relative_to(tmp_path), *options[kind]]
    shown = grader(*command, cwd=tmp_path, COLUMNS="40").out.splitlines()
    (line,) = [line for line in shown if line.startswith("reproduce it: ")]
    text = subprocess.run(
        ["sh", "-c", line.removeprefix("reproduce it: ")],
        cwd=tmp_path,
        env=on_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for source, last in ((WRONG, "holds: False"), (RIGHT, "holds: True")):
        path.write_text(source)
        ran = subprocess.run(
            [sys.executable, "-"], input=text, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert ran.stdout.splitlines()[-1] == last


def test_the_snippet_runs_and_shows_both_answers(home: Path, tmp_path: Path) -> None:
    done = grader("check", home / "class" / "wrong.py", "--case", "large_rows", "--snippet", cwd=home)
    assert done.status == 0
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "try.py").write_text(done.out)
    ran = subprocess.run([sys.executable, "try.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    obtained, expected = ran.stdout.partition("largest difference:")[0].split("expected:")
    assert ran.stdout.endswith("holds: False\n")
    record = grader("check", "class/wrong.py", "--case", "large_rows", "--json", cwd=home).json[0]["cases"][0]
    for shown, key in ((obtained, "obtained"), (expected, "expected")):
        numbers = [float(n) for n in shown.replace("[", " ").replace("]", " ").split()]
        flat = [v for row in record["details"][key] for v in row]
        assert numbers == pytest.approx(flat, rel=1e-6)


def test_the_snippet_of_a_folder_names_the_file_that_is_graded(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my work"
    folder.mkdir()
    (folder / "scaling.py").write_text(f"from helping import nothing\n\n{WRONG}")
    (folder / "helping.py").write_text("nothing = 0\n")
    done = grader("check", "my work", "--root", home, "--case", "large_rows", "--snippet", cwd=tmp_path)
    assert done.status == 0 and "'my work/scaling.py'" in done.out
    ran = subprocess.run(
        [sys.executable, "-"], input=done.out, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("holds: False\n")


def test_a_snippet_of_what_is_no_file_here_names_it_as_the_student_called_it(
    home: Path, tmp_path: Path
) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps({"task_id": "row_scale", "solution": WRONG}) + "\n")
    with zipfile.ZipFile(tmp_path / "work.zip", "w") as archive:
        archive.writestr("scaling.py", WRONG)
    for path, module in ((samples, "solution"), (tmp_path / "work.zip", "scaling")):
        shown = grader("check", path, "--root", home, cwd=tmp_path).out
        assert f"reproduce it: grader check {module}.py --root {home} --case" in shown
        done = grader("check", path, "--root", home, "--case", "large_rows", "--snippet", cwd=tmp_path)
        assert done.status == 0 and f"from {module} import row_scale" in done.out


def test_a_snippet_needs_a_single_submission(home: Path) -> None:
    several = grader("check", "class", "--case", "large_rows", "--snippet", cwd=home)
    assert several.status == 2 and "single submission" in several.err and several.out == ""
    none = grader("check", "nobody.py", "--case", "large_rows", "--snippet", cwd=home)
    assert none.status == 2 and "nobody.py does not exist" in none.err and none.out == ""


# --- what a student sees ----------------------------------------------------------------------

HIDDEN = (HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT, "x_matters", "drawn_0", "no student may see")


def hidden_texts() -> list[str]:
    """What stands for hidden cases: names, hints, and the values of their inputs as Python prints them."""
    return [*HIDDEN, repr(HIDDEN_VALUE)[:9]]


def test_a_check_shows_nothing_of_hidden_cases(home: Path, tmp_path: Path) -> None:
    names = ("leaks", "right", "returns_none", "segfault", "endless")
    paths = [f"class/{name}.py" for name in names]
    shown = grader("check", *paths, "--all", "--html", tmp_path / "pages", cwd=home)
    document = grader("check", *paths, "--json", cwd=home)
    pages = [(tmp_path / "pages" / f"{name}.html").read_text("utf-8") for name in names]
    for text in hidden_texts():
        for where in (shown.out, shown.err, document.out, *pages):
            assert text not in where
    for record in document.json:
        hidden = [c for c in record["cases"] if c["visibility"] == "hidden"]
        assert len(hidden) == 5
        for case in hidden:
            assert case["error"] is None and case["details"] == {} and case["hint"] == ""


def test_student_pages_show_nothing_of_hidden_cases_and_the_teachers_do(graded: tuple[Done, Path]) -> None:
    out = graded[1]
    for name in SUBMISSIONS:
        page = (out / "students" / f"{name}.html").read_text("utf-8")
        for text in hidden_texts():
            assert text not in page, name
    teacher = (out / "teacher" / "leaks.html").read_text("utf-8")
    assert HIDDEN_ID in teacher and repr(HIDDEN_VALUE)[:9] in teacher


# --- the terminal -----------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 60])
def test_no_line_is_longer_than_the_window(home: Path, columns: int) -> None:
    paths = [f"class/{name}.py" for name in ("wrong", "parameters", "misnamed", "leaks")]
    done = grader("check", *paths, "--all", cwd=home, NO_COLOR="1", COLUMNS=str(columns))
    lines = done.out.splitlines()
    copied = [line for line in lines if line.startswith("reproduce it: ")]
    assert copied and all(line.endswith(" --snippet") for line in copied)
    assert max(len(line) for line in lines if line not in copied) <= columns
    assert "\x1b" not in done.out


def test_no_line_ends_in_blanks(home: Path, tmp_path: Path) -> None:
    checked = grader(
        "check", *[f"class/{n}.py" for n in ("wrong", "right", "leaks", "empty")], "--all", cwd=home
    )
    graded = grader("grade", "class/right.py", "--out", tmp_path / "out", cwd=home)
    for line in (checked.out + graded.out).splitlines():
        assert line == line.rstrip()


def test_every_report_names_the_isolation(home: Path, graded: tuple[Done, Path]) -> None:
    names = ("right", "wrong", "empty")
    shown = grader("check", *[f"class/{name}.py" for name in names], cwd=home).out
    level, layers = probe()
    assert shown.count(f"isolation: {level} ({layers[0]}, {layers[1]}") == len(names)
    out = graded[1]
    for name in names:
        for folder in ("students", "teacher"):
            assert "Isolation" in (out / folder / f"{name}.html").read_text("utf-8")
    assert "Isolation" in (out / "index.html").read_text("utf-8")
    rows = list(csv.DictReader((out / "gradebook.csv").read_text("utf-8-sig").splitlines()))
    assert {row["isolation"] for row in rows} == {level}
    for line in (out / "results.jsonl").read_text("utf-8").splitlines():
        assert json.loads(line)["isolation"]["level"] == level


def test_no_colour_is_used_where_nobody_sees_it(home: Path) -> None:
    assert "\x1b" not in grader("check", "class/wrong.py", cwd=home).out
    assert "\x1b" in grader("check", "class/wrong.py", cwd=home, FORCE_COLOR="1").out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_shows_less_and_does_not_fail(home: Path, encoding: str) -> None:
    done = grader("check", "class/wrong.py", cwd=home, PYTHONIOENCODING=encoding)
    assert done.status == 1 and "Scale" in done.out
    document = grader("check", "class/wrong.py", "--json", cwd=home, PYTHONIOENCODING=encoding)
    assert document.status == 1 and document.json[0]["status"] == "failed"


# --- grade ------------------------------------------------------------------------------------


def test_the_paths_that_grade_names_exist(graded: tuple[Done, Path], home: Path) -> None:
    for name, path in graded[0].json["paths"].items():
        assert (home / path).exists(), name


def test_grading_again_grades_nothing_and_report_writes_the_pages_anew(home: Path, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name in ("right", "wrong"):
        (tmp_path / "class" / f"{name}.py").write_text(SUBMISSIONS[name])
    command = ["grade", "class", "--out", "out", "--json"]
    first = grader(*command, cwd=tmp_path, GRADER_ROOT=str(home))
    second = grader(*command, cwd=tmp_path, GRADER_ROOT=str(home))
    assert (first.json["graded"], second.json["graded"]) == (2, 0)
    assert first.json["counts"] == second.json["counts"]
    fresh = grader(*command, "--fresh", cwd=tmp_path, GRADER_ROOT=str(home))
    assert fresh.json["graded"] == 2
    index, page = tmp_path / "out" / "index.html", tmp_path / "out" / "students" / "wrong.html"
    written = page.read_text("utf-8")
    index.unlink()
    page.unlink()
    assert grader("report", "out", cwd=tmp_path, GRADER_ROOT=str(tmp_path)).status == 0
    assert index.is_file() and page.read_text("utf-8") == written


def test_a_folder_with_other_files_is_refused_and_left_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("ten years of work")
    for options in ([], ["--fresh"]):
        done = grader("grade", "class/right.py", "--out", tmp_path, "--json", *options, cwd=home)
        assert done.status == 2 and "thesis.txt" in done.err
        assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
    done = grader("grade", "class/right.py", "--out", tmp_path / "thesis.txt", cwd=home)
    assert done.status == 2 and "is no folder" in done.err


def test_grade_is_2_when_a_path_is_at_fault_and_grades_the_rest(home: Path, tmp_path: Path) -> None:
    done = grader("grade", "class/wrong.py", "nowhere", "--out", tmp_path / "out", "--json", cwd=home)
    assert done.status == 2 and done.json["counts"] == {"failed": 1}
    assert any("nowhere" in problem for problem in done.json["problems"])


@pytest.mark.slow
def test_an_interrupted_grade_says_so_and_goes_on(home: Path, tmp_path: Path) -> None:
    import signal

    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "ann.py").write_text(RIGHT)
    for n in range(8):
        (folder / f"bob{n}.py").write_text(SUBMISSIONS["endless"])
    (folder / "zoe.py").write_text(WRONG)
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--out", str(tmp_path / "out"), "--json"]
    environment = os.environ | {"GRADER_ROOT": str(home), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "out" / "teacher" / "ann.html").is_file() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert "Traceback" not in err
    document = json.loads(out)
    assert document["interrupted"] and process.returncode == 130 and document["graded"] < 10
    assert "goes on where it was" in err
    for n in range(8):
        (folder / f"bob{n}.py").unlink()
    done = grader("grade", folder, "--out", tmp_path / "out", "--json", cwd=home)
    assert done.status == 0 and done.json["counts"]["passed"] == 1 and done.json["counts"]["failed"] >= 1
