"""Workflows and actions, and those that docs show, are what GitHub takes, and no input acts in them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.jobs import ACTIONS, ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATE = ROOT / "docs" / "classroom.yml"
ACTION_FILES = sorted(ACTIONS.glob("*/action.yml"))
PAGE = ROOT / "docs" / "ci.md"
SNIPPET = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Each of these runs a program of JavaScript; the version of Node that older ones need is gone from runners.
USED = {
    "actions/checkout@v5",
    "actions/setup-python@v6",
    "actions/upload-artifact@v6",
    "classroom-resources/autograding-grading-reporter@v1",
    "OWNER/mlm-grader/.github/actions/check@v1",
    "OWNER/mlm-grader/.github/actions/validate@v1",
    "./.github/actions/validate",
}


def schema_says(kind: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """What GitHub's own schema says, from the copy that the tool carries."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{kind}"]
    return subprocess.run([*command, *map(str, paths)], capture_output=True, text=True)


def audited(*paths: Path) -> subprocess.CompletedProcess[str]:
    """What zizmor finds that could be made to act."""
    (program,) = [f for f in metadata.files("zizmor") or () if f.name == "zizmor"]
    config = ROOT / ".github" / "zizmor.yml"
    command = [program.locate(), "--offline", "--no-progress", "--config", config, *paths]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The workflows that docs/ci.md shows, as files."""
    folder = tmp_path_factory.mktemp("repository") / ".github" / "workflows"
    folder.mkdir(parents=True)
    paths = []
    for number, text in enumerate(SNIPPET.findall(PAGE.read_text("utf-8"))):
        if "\njobs:\n" in text:
            paths.append(folder / f"shown{number}.yml")
            paths[-1].write_text(text)
    assert paths
    return paths


def test_workflows_fit_the_schema(shown: list[Path]) -> None:
    done = schema_says("workflows", *WORKFLOWS, TEMPLATE, *shown)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_fit_the_schema() -> None:
    assert [path.parent.name for path in ACTION_FILES] == ["check", "validate"]
    done = schema_says("actions", *ACTION_FILES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_is_strict_enough_to_find_a_slip(tmp_path: Path) -> None:
    slip = tmp_path / "slip.yml"
    slip.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    assert schema_says("workflows", slip).returncode != 0


def test_nothing_in_them_is_unsafe(shown: list[Path], tmp_path: Path) -> None:
    done = audited(*WORKFLOWS, TEMPLATE, *ACTION_FILES, *shown)
    assert done.returncode == 0, done.stdout + done.stderr
    slip = tmp_path / "action.yml"
    text = ACTION_FILES[0].read_text()
    slip.write_text(text.replace('-- "$FILE"', '-- "${{ inputs.path }}"'))
    assert slip.read_text() != text
    done = audited(slip)
    assert done.returncode != 0 and "template-injection" in done.stdout


def files() -> list[tuple[str, Any]]:
    return [
        (path.name if path.name != "action.yml" else path.parent.name, yaml.safe_load(path.read_text()))
        for path in (*WORKFLOWS, TEMPLATE, *ACTION_FILES)
    ]


def steps_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    if "runs" in spec:
        return list(spec["runs"]["steps"])
    return [step for job in spec["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize(("name", "spec"), files(), ids=[name for name, _ in files()])
def test_inputs_reach_scripts_as_variables_only(name: str, spec: dict[str, Any]) -> None:
    for step in steps_of(spec):
        assert "${{" not in step.get("run", "")
        assert step.get("uses", "./.github/actions/validate") in USED
    if "jobs" in spec:
        assert spec["permissions"] == {"contents": "read"}
        # YAML 1.1 takes the key for a truth value.
        assert "pull_request_target" not in spec[True]


def test_what_an_action_is_given_is_what_it_takes(shown: list[Path]) -> None:
    known = {path.parent.name: yaml.safe_load(path.read_text())["inputs"] for path in ACTION_FILES}
    used = 0
    for path in (*WORKFLOWS, TEMPLATE, *shown):
        for step in steps_of(yaml.safe_load(path.read_text())):
            found = re.search(r"\.github/actions/(\w+)", step.get("uses", ""))
            if found:
                used += 1
                given, inputs = step.get("with", {}), known[found[1]]
                assert given.keys() <= inputs.keys()
                assert {key for key, one in inputs.items() if one.get("required")} <= given.keys()
    assert used >= 3


def test_classroom_finds_its_names() -> None:
    spec = yaml.safe_load(TEMPLATE.read_text())
    assert spec["name"] == "Autograding Tests" and list(spec["jobs"]) == ["run-autograding-tests"]
    *_, check, reporter = spec["jobs"]["run-autograding-tests"]["steps"]
    assert reporter["with"]["runners"] == check["id"]
    assert list(reporter["env"]) == [f"{check['id'].upper()}_RESULTS"]


def test_the_workflow_of_all_exercises_lists_them(tmp_path: Path) -> None:
    spec = yaml.safe_load((ROOT / ".github" / "workflows" / "validate.yml").read_text())
    script = next(step["run"] for step in steps_of(spec) if step.get("id") == "list")
    for name in ("b_one", "a_one"):
        (tmp_path / "cases" / name).mkdir(parents=True)
        (tmp_path / "cases" / name / "exercise.yaml").write_text("")
    (tmp_path / "cases" / "notes").mkdir()
    output = tmp_path / "output"
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={"GITHUB_OUTPUT": str(output), "PATH": "/usr/local/bin:/usr/bin:/bin"},
        check=True,
    )
    assert output.read_text() == 'exercises=["a_one", "b_one"]\n'


NAMED = re.compile(r"\b(?:steps\.([\w-]+)\.outputs|(inputs))\.([\w-]+)")


def unknown(spec: dict[str, Any], actions: dict[str, Any]) -> list[str]:
    """Inputs and outputs of steps that an expression names though there are none."""
    scopes = [spec] if "runs" in spec else list(spec["jobs"].values())
    missing = []
    for scope in scopes:
        steps = scope["runs"]["steps"] if "runs" in scope else scope["steps"]
        by_id = {step["id"]: step for step in steps if "id" in step}
        for step, inputs, name in NAMED.findall(yaml.safe_dump(scope)):
            if inputs:
                found = name in scope.get("inputs", {})
            elif step not in by_id:
                found = False
            elif used := re.search(r"\.github/actions/(\w+)", by_id[step].get("uses", "")):
                found = name in actions[used[1]]["outputs"]
            else:
                # A script sets it, or the grader for it.
                run = by_id[step]["run"]
                found = f"{name}=" in run or f"{name}<<" in run or ("grader" in run and name in GRADERS)
            if not found:
                missing.append(f"{step or 'inputs'}.{name}")
    return missing


# What `grader check --format github` sets.
GRADERS = ("passed", "score", "max-score", "result")


def test_expressions_name_what_there_is(shown: list[Path]) -> None:
    actions = {path.parent.name: yaml.safe_load(path.read_text()) for path in ACTION_FILES}
    for path in (*WORKFLOWS, TEMPLATE, *ACTION_FILES, *shown):
        assert unknown(yaml.safe_load(path.read_text()), actions) == [], path
    for text, name in (("outputs.result", "grader.reslut"), ("steps.grader.", "checker.result")):
        slip = {"outputs.result": "outputs.reslut", "steps.grader.": "steps.checker."}[text]
        assert name in unknown(yaml.safe_load(TEMPLATE.read_text().replace(text, slip)), actions)
