"""The exercise that docs/exercise.md shows works as it stands there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from grader.exercise.source import load
from grader.handout.patterns import read_pattern

ROOT = Path(__file__).resolve().parents[1]
FILE = re.compile(
    r"^`((?:cases|reference|submissions)/[\w./]+)`[^\n]*\n(?:[^`\n][^\n]*\n|`\"[^\n]*\n)*\n```\w+\n(.*?)^```$",
    re.M | re.S,
)


def write_example(folder: Path) -> list[str]:
    """The files of the page's example, written below ``folder``."""
    page = (ROOT / "docs" / "exercise.md").read_text("utf-8")
    names = []
    for name, text in FILE.findall(page):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        names.append(name)
    return names


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "GRADER_ROOT"}
    command = [sys.executable, "-m", "grader", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_the_example_is_sound_and_grades(tmp_path: Path) -> None:
    assert len(write_example(tmp_path)) == 10
    written = run(tmp_path, "validate", "row_mean", "--write", "--json")
    found = json.loads(written.stdout)
    assert found["weaknesses"] == [], written.stdout + written.stderr
    assert written.returncode == 0 and found["sound"]
    (tmp_path / "mine.py").write_text("def row_mean(x):\n    return [sum(r) / len(r) for r in x]\n")
    checked = run(tmp_path, "check", "mine.py")
    assert checked.returncode == 1
    assert "It returned a list of" in checked.stdout and checked.stderr == ""
    (tmp_path / "mine.py").write_text("def row_mean(x):\n    return x.mean(axis=1)\n")
    assert run(tmp_path, "check", "mine.py").returncode == 0


def test_the_policies_of_a_course_that_docs_show_fit_the_exercise(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"^```yaml\n(grading:.*?)^```$", (ROOT / "docs" / "grading.md").read_text("utf-8"), re.M | re.S
    )
    shutil.copytree(ROOT / "cases" / "mlm_forward", tmp_path / "cases" / "mlm_forward")
    path = tmp_path / "cases" / "mlm_forward" / "exercise.yaml"
    path.write_text(path.read_text("utf-8") + text, "utf-8")
    source = load(path.parent)
    assert source.exercise.grading is not None and source.exercise.grading.late is not None
    assert source.digest  # nothing of it is a fault


def test_the_policy_that_docs_show_bans_what_it_says(tmp_path: Path) -> None:
    write_example(tmp_path)
    page = (ROOT / "docs" / "exercise.md").read_text("utf-8")
    (text,) = re.findall(r"^```yaml\n(effect:.*?)^```$", page, re.M | re.S)
    (tmp_path / "cases" / "row_mean" / "policy.yaml").write_text(text, "utf-8")
    written = run(tmp_path, "validate", "row_mean", "--write", "--fast", "--json")
    assert json.loads(written.stdout).get("error") is None, written.stdout
    (tmp_path / "mine.py").write_text("def row_mean(x):\n    return x.mean(axis=1)\n")
    (record,) = json.loads(run(tmp_path, "check", "mine.py", "--json").stdout)
    (violation,) = record["policy"]["violations"]
    assert (violation["rule"], violation["line"], record["score"]) == ("mean", 2, 0.0)


def test_the_pattern_that_docs_show_is_one() -> None:
    page = (ROOT / "docs" / "exercise.md").read_text("utf-8")
    (text,) = re.findall(r"^```pattern\n(.*?)^```$", page, re.M | re.S)
    one = read_pattern(text)
    assert one.verdict == "not asked for" and [sum(row) for row in one.cells] == [1, 2, 3]
