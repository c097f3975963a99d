"""Calls that are recorded in the test's own process, under the rules of the first exercise."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from grader.policy.rules import Rules
from grader.sandbox.inside.recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
SUBMISSIONS = ROOT / "submissions" / "mlm_forward"


@functools.cache
def rules() -> Rules:
    text = (ROOT / "cases" / "mlm_forward" / "policy.yaml").read_text("utf-8")
    return Rules.from_dict(yaml.safe_load(text))


@functools.cache
def recorder() -> Recorder:
    """One for all tests of a process: it stays in the libraries that it watches."""
    made = Recorder(rules())
    assert made.failed == ""
    return made


def record(call: Callable[[], Any], filename: str = "") -> Any:
    """What a recorded call gives; without a file name, the caller's file is the student's."""
    filename = filename or sys._getframe(1).f_code.co_filename
    watching = recorder()
    watching.clear()
    with watching.during(filename):
        return call()


def helpers() -> list[tuple[str, str]]:
    """Rule and helper of each finding since the last `record`."""
    assert recorder().failed == ""
    return [(found["rule"], found["helper"]) for found in recorder().findings()]


def signs() -> list[str]:
    """What the last `record` found tampered with."""
    return [found["helper"] for found in recorder().tampered()]
