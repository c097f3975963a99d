"""``grader new``."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from grader.authoring import scaffold
from grader.commands.shared import OK, console
from grader.errors import GraderError
from grader.exercise.roots import find_root, nearest_root
from grader.exercise.source import shown

HOLDS = {
    "cases": "what is asked: exercise, cases, policy, statement",
    "reference": "the right answer twice, its rounding, known mistakes",
    "submissions": "worked solutions, each with the result it must get",
}


def new(chosen: argparse.Namespace) -> int:
    """``grader new``."""
    scaffold.require_name(chosen.name)
    root, why = _root(chosen.root)
    errors = console(stderr=True)
    errors.quiet = chosen.quiet
    with errors.status("writing") as status:
        made = scaffold.make(root, chosen.name, chosen.title, lambda what: status.update(f"measuring {what}"))
    if not chosen.quiet:
        print("\n".join(_said(made, chosen.name, why)))
    return OK


def _root(given: Path | None) -> tuple[Path, str]:
    """The folder that the exercise goes into, and why that one."""
    if given is not None:
        return given.absolute(), "--root"
    if named := os.environ.get("GRADER_ROOT"):
        return Path(named).absolute(), "GRADER_ROOT"
    here = Path.cwd()
    found = nearest_root()
    if found is None:
        return here, "the current folder, as no exercises are around it"
    return found, "the current folder" if found == here else "the nearest folder around with exercises"


def _said(made: scaffold.Made, name: str, why: str) -> list[str]:
    """What was made, and the commands that come next."""
    width = max(len(folder) for folder in HOLDS) + len(name) + 2
    lines = [
        f"new exercise {name} in {made.root} ({why})",
        *(f"  {f'{folder}/{name}/':<{width}}  {holds}" for folder, holds in HOLDS.items()),
        "It is small and complete: it asks for weighted sums of rows that are scaled to",
        "length 1. Change it file by file into yours; comments say what is what.",
    ]
    at = _at_root(made.root)
    worked = shlex.quote(shown(made.root / "submissions" / name / "right_rows.py"))
    check = f"grader check {worked} --exercise {name}{at}"
    freeze = f"grader validate {name} --write{at}"
    if made.frozen:
        return [
            *lines,
            "Next:",
            f"  grader validate {name}{at}",
            f"  {check}",
            "After a change of cases or reference:",
            f"  {freeze}",
            "What students get:",
            f"  grader release {name} --out {name}.zip{at}",
        ]
    return [
        *lines,
        "Hypothesis is not installed (the author extra has it), so its random cases are not",
        "drawn and no tolerance is measured yet. Next:",
        "  pip install hypothesis",
        f"  {freeze}",
        f"  {check}",
    ]


def _at_root(root: Path) -> str:
    """The option that leads a command from here to the root; empty where it is found without."""
    try:
        found = find_root()
    except GraderError:
        found = None
    same = found is not None and found.resolve() == root.resolve()
    return "" if same else f" --root {shlex.quote(shown(root))}"
