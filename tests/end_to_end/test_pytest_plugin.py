"""Every check of a submission as a test of pytest's."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from handed_in import HIDDEN_HINT, HIDDEN_ID, HIDDEN_TITLE, HIDDEN_VALUE, SUBMISSIONS
from support.commands import ROOT, Done, grader
from support.small import RIGHT, WRONG

# Its tests together take long.
pytestmark = pytest.mark.slow

PUBLIC = ["ones_row", "large_rows", "no_rows", "row_alone", "x_kept"]
PRINTS = WRONG.replace("    return", "    print('seen by', len(x))\n    return")


def run_pytest(*arguments: str | Path, cwd: Path, **environment: str) -> Done:
    """pytest with the plugin and xdist, and with no other plugin that may be installed here."""
    env = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "PYTEST_ADDOPTS", "COLUMNS")}
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment
    command = [sys.executable, "-m", "pytest", "-p", "grader.pytest_plugin", "-p", "xdist", "-W", "error"]
    command += map(str, arguments)
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert "INTERNALERROR" not in done.stdout + done.stderr, done.stdout + done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def counts(done: Done) -> dict[str, int]:
    """The numbers of pytest's last line."""
    last = done.out.rstrip().splitlines()[-1]
    return {
        word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last) if word != "in"
    }


@pytest.fixture
def here(home: Path, tmp_path: Path) -> Path:
    """A folder of a student's with the student's pack."""
    (tmp_path / "student.pack").write_bytes((home / "student.pack").read_bytes())
    for name in ("right", "wrong"):
        (tmp_path / f"{name}.py").write_text(SUBMISSIONS[name])
    return tmp_path


STUDENT = "--grader-exercise=student.pack"


# --- what is collected ------------------------------------------------------------------------------


def test_every_check_is_a_test_with_its_id(here: Path) -> None:
    done = run_pytest(STUDENT, "right.py", "--collect-only", "-q", cwd=here)
    names = [line for line in done.out.splitlines() if "::" in line]
    assert names == [f"right.py::{name}" for name in ("loads", "policy", *PUBLIC)]


def test_collecting_runs_nothing(here: Path) -> None:
    (here / "evil.py").write_text("open('was_here', 'w')\nraise SystemExit\n")
    done = run_pytest(STUDENT, "evil.py", "--collect-only", cwd=here)
    assert done.status == 0 and not (here / "was_here").exists()
    ran = run_pytest(STUDENT, "evil.py", cwd=here)
    assert ran.status == 1 and not (here / "was_here").exists(), "it is confined"


@pytest.mark.parametrize("options", [["--doctest-modules"], ["--doctest-modules", "-n", "1"], ["-p", "runs"]])
def test_no_other_plugin_gets_at_a_submission(here: Path, options: list[str]) -> None:
    """Doctests are found by importing the file; a plugin for notebooks runs it."""
    (here / "runs.py").write_text(
        "import pytest\n\n\nclass Running(pytest.File):\n    def collect(self):\n"
        "        exec(self.path.read_text())\n        return []\n\n\n"
        "def pytest_collect_file(file_path, parent):\n"
        "    return Running.from_parent(parent, path=file_path)\n"
    )
    (here / "ann.py").write_text(f"open({str(here / 'was_here')!r}, 'w')\n{RIGHT}")
    done = run_pytest(STUDENT, "ann.py", *options, cwd=here, PYTHONPATH=f"{ROOT}:{here}")
    assert not (here / "was_here").exists()
    assert counts(done) == {"failed": 1, "skipped": 6}, done.out
    alone = run_pytest("ann.py", *options, cwd=here, PYTHONPATH=f"{ROOT}:{here}")
    assert (here / "was_here").exists(), f"without the exercise pytest does as always: {alone.out}"


def test_a_right_file_passes_and_a_wrong_one_fails_as_check_says(here: Path) -> None:
    right = run_pytest(STUDENT, "right.py", cwd=here)
    assert right.status == 0 and counts(right) == {"passed": 7}
    wrong = run_pytest(STUDENT, "wrong.py", cwd=here)
    record = grader("check", "wrong.py", "--exercise", "student.pack", "--json", cwd=here).json[0]
    failing = [case for case in record["cases"] if case["verdict"] != "passed"]
    assert wrong.status == 1 and counts(wrong)["failed"] == len(failing) > 0
    for case in failing:
        assert case["message"] in " ".join(wrong.out.split()), "the same words"
    shown = grader("check", "wrong.py", "--exercise", "student.pack", "--all", cwd=here).out
    begin = shown.index("✗ large_rows")
    first = shown[begin : shown.index("reproduce it", begin)]
    assert first in wrong.out, "hint, inputs and both answers as in the terminal"
    assert "grader check wrong.py --exercise student.pack --case large_rows --snippet" in wrong.out
    assert "Traceback" not in wrong.out and "pytest_plugin.py" not in wrong.out


def test_what_holds_of_the_file_is_said_once(here: Path) -> None:
    done = run_pytest(STUDENT, "wrong.py", "right.py", cwd=here)
    assert len(re.findall(r"^=+ wrong\.py =+$", done.out, re.M)) == 1
    assert re.search(r"^wrong  ✗ failed  [0-9.]+ of 6\.5 points$", done.out, re.M)
    assert re.search(r"^right  ✓ passed  6\.5 of 6\.5 points$", done.out, re.M)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["-k", "row_alone"], ["row_alone"]),
        (["-k", "product"], ["ones_row", "no_rows"]),
        (["-m", "clause_scale"], ["large_rows"]),
        (["-k", "loads or policy"], ["loads", "policy"]),
    ],
)
def test_tests_are_chosen_by_id_and_by_clause(here: Path, options: list[str], names: list[str]) -> None:
    done = run_pytest(STUDENT, "right.py", "--strict-markers", "-v", *options, cwd=here)
    assert done.status == 0
    assert re.findall(r"^right\.py::(\w+) PASSED", done.out, re.M) == names


def test_a_test_is_named_by_its_node_id(here: Path) -> None:
    done = run_pytest(STUDENT, "wrong.py::large_rows", cwd=here)
    assert counts(done) == {"failed": 1}


def test_it_stops_at_the_first_failure_and_runs_the_last_failed(here: Path) -> None:
    assert counts(run_pytest(STUDENT, "wrong.py", "-x", cwd=here))["failed"] == 1
    first = counts(run_pytest(STUDENT, "wrong.py", cwd=here))
    again = counts(run_pytest(STUDENT, "wrong.py", "--lf", cwd=here))
    assert again == {"failed": first["failed"]} or again == {
        "failed": first["failed"],
        "deselected": first["passed"],
    }


# --- which files ------------------------------------------------------------------------------------


def test_tests_stay_tests_beside_a_submission(here: Path) -> None:
    (here / "test_mine.py").write_text("def test_of_my_own():\n    pass\n")
    done = run_pytest(STUDENT, "right.py", "test_mine.py", "-v", cwd=here)
    assert "test_mine.py::test_of_my_own PASSED" in done.out and counts(done) == {"passed": 8}


def test_files_of_a_folder_are_no_submissions(here: Path) -> None:
    (here / "lessons").mkdir()
    (here / "lessons" / "test_mine.py").write_text("def test_of_my_own():\n    pass\n")
    (here / "lessons" / "other.py").write_text(RIGHT)
    done = run_pytest(STUDENT, "right.py", "lessons", cwd=here)
    assert counts(done) == {"passed": 8}


@pytest.mark.parametrize("plugin", ["python", "doctest", "cacheprovider", "terminal", "skipping", "xdist"])
def test_plugins_of_pytest_may_be_switched_off(here: Path, plugin: str) -> None:
    done = run_pytest(STUDENT, "right.py", "wrong.py", "-p", f"no:{plugin}", cwd=here)
    assert done.status == 1
    if plugin != "terminal":
        assert counts(done)["passed"] > 7


def test_a_notebook_is_a_submission(here: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "source": RIGHT, "outputs": [], "execution_count": None}
    (here / "work.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]})
    )
    done = run_pytest(STUDENT, "work.ipynb", cwd=here)
    assert done.status == 0 and counts(done) == {"passed": 7}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--grader-exercise=gone", "right.py"], "no exercise"),
        (["--grader-exercise=gone.pack", "right.py"], "gone.pack can't be read"),
        ([STUDENT], "needs a submission"),
        ([STUDENT, "test_mine.py"], "needs a submission"),
        (["--grader-root=.", "right.py"], "needs --grader-exercise"),
    ],
)
def test_what_is_asked_wrongly_is_a_usage_error(here: Path, arguments: list[str], said: str) -> None:
    (here / "test_mine.py").write_text("def test_of_my_own():\n    pass\n")
    done = run_pytest(*arguments, cwd=here)
    assert done.status == pytest.ExitCode.USAGE_ERROR and said in done.out + done.err


def test_without_the_option_nothing_of_the_grader_is_loaded(here: Path) -> None:
    (here / "test_mine.py").write_text(
        "import sys\n\n\ndef test_of_my_own():\n"
        "    loaded = {n for n in sys.modules if n.partition('.')[0] in ('grader', 'numpy', 'rich')}\n"
        "    assert loaded == {'grader', 'grader.pytest_plugin'}\n"
    )
    for more in ([], ["-n", "2"]):
        done = run_pytest(*more, "--strict-markers", cwd=here)
        assert done.status == 0 and counts(done)["passed"] == 1, done.out


# --- what students may see --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_hidden_cases_show_their_clause_and_nothing_else(
    home: Path, workers: list[str], tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    where = ["--grader-exercise=row_scale", "--rootdir", str(home), f"--junitxml={report}"]
    (tmp_path / "leaks.py").write_text(SUBMISSIONS["leaks"])
    done = run_pytest(*where, f"--grader-root={home}", *workers, "-vv", "-rA", "leaks.py", cwd=tmp_path)
    assert done.status == 1
    assert "hidden_01" in done.out and "Scale: In a hidden check of this clause" in done.out
    for text in (HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT, repr(HIDDEN_VALUE)[:9], "x_matters", "drawn_0"):
        assert text not in done.out + done.err + report.read_text("utf-8")
    assert re.search(r"\[+1\.0, 1\.0", done.out), "what a public call prints is shown"


# --- what else may come -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["syntax", "import_error", "missing", "empty", "exits_import"])
def test_a_file_that_does_not_load_fails_once_and_says_why(here: Path, name: str) -> None:
    (here / "ann.py").write_text(SUBMISSIONS[name])
    done = run_pytest(STUDENT, "ann.py", cwd=here)
    record = grader("check", "ann.py", "--exercise", "student.pack", "--json", cwd=here).json[0]
    assert counts(done) == {"failed": 1, "skipped": 6}
    assert " ".join(record["message"].split()) in " ".join(done.out.split())


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_a_terminal_without_unicode_shows_plainer_signs(here: Path, workers: list[str]) -> None:
    done = run_pytest(STUDENT, "wrong.py", *workers, cwd=here, PYTHONIOENCODING="ascii")
    assert done.status == 1 and done.out.isascii()
    assert re.search(r"^x large_rows .*\n.* values are off", done.out, re.M), "lines stay lines"
    assert re.search(r"^wrong  x failed  [0-9.]+ of 6\.5 points$", done.out, re.M)
    assert "\\u" not in done.out


def test_a_banned_helper_fails_the_policy(here: Path) -> None:
    (here / "ann.py").write_text(SUBMISSIONS["banned"])
    done = run_pytest(STUDENT, "ann.py", cwd=here)
    assert counts(done) == {"failed": 1, "passed": 6}
    assert "_ policy _" in done.out and "numpy.einsum" in done.out


def test_checks_that_are_not_counted_are_skipped_with_the_reason(here: Path) -> None:
    (here / "ann.py").write_text("def row_scale(x, w, factor):\n    raise ValueError('no')\n")
    done = run_pytest(STUDENT, "ann.py", "-rs", cwd=here)
    assert counts(done)["skipped"] == 3
    assert "] ann.py:1: Not counted, since ones_row did not pass.\n" in done.out


def test_what_a_call_printed_is_shown_as_captured_output(here: Path) -> None:
    (here / "ann.py").write_text(PRINTS)
    done = run_pytest(STUDENT, "ann.py", cwd=here)
    assert re.search(r"-+ Captured stdout call -+\nseen by 3\n", done.out)


def test_a_path_that_leads_nowhere_is_a_usage_error(here: Path) -> None:
    (here / "far.py").symlink_to(here / "gone.py")
    done = run_pytest(STUDENT, "far.py", cwd=here)
    assert done.status == pytest.ExitCode.USAGE_ERROR


def test_a_fault_of_the_grader_is_an_error_and_no_failure(here: Path) -> None:
    (here / "conftest.py").write_text(
        "from grader.batch.runner import Runner\n\n\ndef grade(self, submission, adjustments=()):\n"
        "    return self.fault(submission, 'the machine is on fire')\n\n\nRunner.grade = grade\n"
    )
    done = run_pytest(STUDENT, "right.py", cwd=here)
    assert counts(done) == {"error": 7} and "the machine is on fire" in done.out
    assert "Traceback" not in done.out


def test_points_are_properties_in_junit_xml(here: Path) -> None:
    run_pytest(STUDENT, "wrong.py", "--junitxml=report.xml", cwd=here)
    cases = {case.get("name"): case for case in ET.parse(here / "report.xml").iter("testcase")}
    assert set(cases) == {"loads", "policy", *PUBLIC}
    found: dict[str, Any] = {p.get("name", ""): p.get("value") for p in cases["large_rows"].iter("property")}
    assert found == {"clause": "scale", "verdict": "wrong_value", "points": "0.0", "max_points": "2.0"}


def test_workers_collect_the_same_tests_and_report_the_same(here: Path) -> None:
    alone = run_pytest(STUDENT, "wrong.py", "right.py", "-v", cwd=here)
    shared = run_pytest(STUDENT, "wrong.py", "right.py", "-v", "-n", "2", cwd=here)
    assert counts(alone) == counts(shared) and alone.status == shared.status == 1
    summary = re.compile(r"^=+ (?:wrong|right)\.py =+\n.*?(?=^=)", re.M | re.S)
    assert summary.findall(alone.out) == summary.findall(shared.out) != []


def test_no_process_is_left_when_it_ends(here: Path) -> None:
    """The processes in which submissions run hold the ends of their output; the run ends, so they have."""
    (here / "ann.py").write_text("def row_scale(x, w, factor):\n    while True:\n        pass\n")
    done = run_pytest(STUDENT, "ann.py", cwd=here)
    assert done.status == 1 and "too long" in done.out


def test_the_plugin_is_found_where_the_grader_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert callable(importlib.import_module(module).pytest_addoption)
