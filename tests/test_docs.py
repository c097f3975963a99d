"""What docs show works as it stands there: the exercise, commands, options, links and the names of files."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader import documents
from grader.arguments import build_parser
from grader.exercise.source import load
from grader.handout.patterns import read_pattern

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "cases" / "mlm_forward" / "README.md",
]
EVERY = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name if page.parent != ROOT else "top")
FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.M | re.S)
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


def test_the_demonstration_that_docs_show_is_one(tmp_path: Path) -> None:
    write_example(tmp_path)
    page = (ROOT / "docs" / "exercise.md").read_text("utf-8")
    (text,) = re.findall(r"^```python\n(from grader\.demonstration.*?)^```$", page, re.M | re.S)
    made_from_cases = json.loads(run(tmp_path, "demo", "row_mean", "--json").stdout)
    assert [e["id"] for e in made_from_cases["examples"]] == ["two_rows", "influence"]
    (tmp_path / "reference" / "row_mean" / "demo.py").write_text(text, "utf-8")
    shown = run(tmp_path, "demo", "row_mean", "--json")
    (example,) = json.loads(shown.stdout)["examples"]
    assert example["vectors"][0]["values"] == [3.0, 4.0] and shown.stderr == ""
    assert example["metrics"][0]["value"] == 0.0


def test_the_pattern_that_docs_show_is_one() -> None:
    page = (ROOT / "docs" / "exercise.md").read_text("utf-8")
    (text,) = re.findall(r"^```pattern\n(.*?)^```$", page, re.M | re.S)
    one = read_pattern(text)
    assert one.verdict == "not asked for" and [sum(row) for row in one.cells] == [1, 2, 3]


# --- Commands, links and names of files -----------------------------------------------------------


def options_of_commands() -> dict[str, set[str]]:
    (added,) = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return {name: set(parser._option_string_actions) for name, parser in added.choices.items()}


def spans(page: Path) -> list[str]:
    """What stands as code within sentences and tables."""
    found = re.findall(r"`([^`]+)`", FENCED.sub("", page.read_text("utf-8")))
    return [" ".join(span.split()) for span in found if span.strip()]


@EVERY
def test_every_command_line_is_understood(page: Path) -> None:
    for block in FENCED.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            shown = re.match(r"\s*(?:\$ |- run: |run: )?(grader .*)", line)
            if shown:
                words = shlex.split(shown[1].partition(" > ")[0], comments=True)
                # An error here names the page's line.
                build_parser().parse_args(words[1:])


@EVERY
def test_every_command_and_option_in_a_sentence_is_there(page: Path) -> None:
    known = options_of_commands()
    pytest_options = {"--doctest-modules", "--grader-exercise", "--grader-root", "--lf", "--co", "--junitxml"}
    every = set().union(*known.values(), pytest_options)
    for span in spans(page):
        words = span.split()
        if words[0] == "grader" and len(words) > 1:
            assert words[1] in known or words[1] == "--help", span
            used = {word.strip("[]").partition("=")[0] for word in words[2:] if word.startswith(("-", "[-"))}
            assert used <= known.get(words[1], set()), span
        elif words[0].startswith("--"):
            assert words[0].partition("=")[0] in every, span


@EVERY
def test_every_file_of_ours_in_a_sentence_is_there(page: Path) -> None:
    ours = re.compile(r"(?<![\w/.-])(?:grader|tests|scripts|docs|benchmarks|reports/sample|\.ci)/[\w./-]+")
    for span in spans(page):
        for name in ours.findall(span):
            assert (ROOT / name).exists(), span


@EVERY
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`]*`", "", FENCED.sub("", page.read_text("utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            heads = re.findall(r"^#+ (.*)$", FENCED.sub("", target.read_text("utf-8")), re.M)
            assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, link


def test_the_documents_that_docs_name_are_those_that_there_are() -> None:
    named = re.findall(r"`(grader\.\w+/\d+)`", (ROOT / "docs" / "json.md").read_text("utf-8"))
    assert sorted(named) == sorted(v for k, v in vars(documents).items() if k.isupper())
