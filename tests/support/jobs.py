"""What GitHub would make of a job: an action's steps run in bash, and what they leave read back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTIONS = ROOT / ".github" / "actions"

_COMMAND = re.compile(r"::([\w-]+)(?: ([^:\n]*))?::(.*)")
_OLD_COMMAND = re.compile(r"##\[([\w-]+)[^\]]*\]")
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass(frozen=True)
class Annotation:
    """A workflow command that shows in a pull request."""

    kind: str
    message: str
    file: str = ""
    line: int = 0
    col: int = 0
    title: str = ""


def annotations(log: str) -> list[Annotation]:
    """The annotations that the runner would find in a step's log.

    As in its ``ActionCommandManager`` a command stands at the start of a line after blanks, or in its old
    form anywhere; between ``stop-commands`` and its token there is none. Any other command is refused here.
    """
    found: list[Annotation] = []
    token = ""
    for line in log.split("\n"):
        told = _COMMAND.fullmatch(line.lstrip())
        if token:
            if told and told[1] == token and not told[2] and not told[3]:
                token = ""
            continue
        if told is None:
            assert not _OLD_COMMAND.search(line), line
            continue
        kind, properties, message = told[1], told[2] or "", told[3]
        if kind == "stop-commands":
            token = message
            continue
        assert kind in ("error", "warning", "notice"), line
        pairs = dict(pair.split("=", 1) for pair in properties.split(",")) if properties else {}
        known = {key: unescaped(value, ":,") for key, value in pairs.items()}
        assert set(known) <= {"file", "line", "col", "title"}
        place = {key: int(known.pop(key)) for key in ("line", "col") if key in known}
        found.append(Annotation(kind, unescaped(message), **known, **place))
    assert not token, "commands are never read again"
    return found


def unescaped(text: str, more: str = "") -> str:
    """A value as the runner takes it."""
    for sign in "\r\n" + more:
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text.replace("%25", "%")


def outputs_of(text: str) -> dict[str, str]:
    """A file of outputs: ``name=value``, or ``name<<END``, lines, ``END``."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, sign, ending = line.partition("<<")
        if sign:
            value = []
            for inside in lines:
                if inside == ending:
                    break
                value.append(inside)
            else:
                raise AssertionError(f"{name} does not end")
            found[name] = "\n".join(value)
        else:
            name, sign, value_text = line.partition("=")
            assert sign, line
            found[name] = value_text
    return found


@dataclass(frozen=True)
class Ran:
    """What the steps of an action left."""

    status: int
    log: str
    errors: str
    summary: str
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def annotations(self) -> list[Annotation]:
        return annotations(self.log)


def action(name: str) -> dict[str, Any]:
    """An action's file."""
    found: dict[str, Any] = yaml.safe_load((ACTIONS / name / "action.yml").read_text("utf-8"))
    return found


def run_action(name: str, workspace: Path, scratch: Path, **inputs: str) -> Ran:
    """Run the scripts of an action as a runner does, but for the one that installs; the actions that it uses
    are left out. ``workspace`` is the checkout; underscores in names of inputs stand for dashes."""
    spec = action(name)
    values = {key: str(one.get("default", "")) for key, one in spec["inputs"].items()}
    given = {key.replace("_", "-"): value for key, value in inputs.items()}
    assert given.keys() <= values.keys(), f"no inputs {given.keys() - values.keys()}"
    required = {key for key, one in spec["inputs"].items() if one.get("required")}
    assert required <= given.keys()
    context = {f"inputs.{key}": value for key, value in (values | given).items()}
    scratch.mkdir(parents=True, exist_ok=True)
    installed = scratch / "grader" / "bin"
    installed.mkdir(parents=True, exist_ok=True)
    (installed / "grader").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grader "$@"\n')
    (installed / "grader").chmod(0o755)
    summary = scratch / "summary"
    summary.write_text("")
    log, errors, status = "", "", 0
    for number, step in enumerate(spec["runs"]["steps"]):
        if "run" not in step or "install.sh" in step["run"] or status:
            continue
        # What stands in a script is never filled in, so that no input can add to it.
        assert "${{" not in step["run"]
        outputs = scratch / f"outputs{number}"
        outputs.write_text("")
        script = scratch / f"step{number}.sh"
        script.write_text(step["run"])
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("GITHUB_") and key not in ("GRADER_ROOT", "NO_COLOR", "COLUMNS")
        }
        environment |= {key: expanded(value, context) for key, value in step.get("env", {}).items()}
        environment |= {
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(scratch),
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ACTIONS / name),
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        log += done.stdout.decode("utf-8")
        errors += done.stderr.decode("utf-8")
        status = done.returncode
        for key, value in outputs_of(outputs.read_text("utf-8")).items():
            context[f"steps.{step['id']}.outputs.{key}"] = value
    assert "Traceback" not in errors, errors
    told = {key: expanded(one["value"], context) for key, one in spec["outputs"].items()}
    return Ran(status, log, errors, summary.read_text("utf-8"), told)


def expanded(text: str, context: Mapping[str, str]) -> str:
    """A text with the expressions in it filled in; an output that was not set is empty."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        assert re.fullmatch(r"(inputs|steps\.[\w-]+\.outputs)\.[\w-]+", name), name
        if name.startswith("inputs."):
            return context[name]
        return context.get(name, "")

    return _EXPRESSION.sub(value, text)
