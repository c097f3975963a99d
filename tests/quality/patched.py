"""Right submissions with a mistake put into them, and what they answer without a child."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from grader.exercise.pack import Pack
from grader.exercise.rehearsal import rehearse
from grader.intake.submission import Submission
from grader.outcomes import ArrayValue, StepOutcome

HERE = Path(__file__).resolve().parent
SUBMISSIONS = HERE.parents[1] / "submissions" / "mlm_forward"
STYLES = ("einsum", "torch", "loops")
ENTRY = "mlm_forward"

Replacements = Sequence[Mapping[str, str]]
Outcomes = dict[str, list[StepOutcome]]


@cache
def patches(style: str) -> dict[str, Replacements]:
    """The known mistakes in one style, by name."""
    found: dict[str, Replacements] = yaml.safe_load((HERE / "patches" / f"{style}.yaml").read_text("utf-8"))
    return found


def right(style: str) -> str:
    """The text of a right submission."""
    return (SUBMISSIONS / f"right_{style}.py").read_text("utf-8")


def patched(style: str, replacements: Replacements) -> str:
    """The right submission of a style with some of its text replaced."""
    text = right(style)
    for one in replacements:
        assert text.count(one["old"]) == 1, one["old"]
        text = text.replace(one["old"], one["new"])
    return text


def submission(source: str) -> Submission:
    return Submission("ann", "ann", "ann.py", "sha256:1", source, "", ("ann",))


def entry_of(source: str) -> Callable[..., Any]:
    """The entry point of a submission, loaded into this process; only for texts of this repository."""
    module = types.ModuleType("patched_submission")
    sys.modules["patched_submission"] = module
    exec(compile(source, "ann.py", "exec"), module.__dict__)
    entry: Callable[..., Any] = getattr(module, ENTRY)
    return entry


def outcomes_of(pack: Pack, entry: Callable[..., Any]) -> Outcomes:
    """What an entry point answers to all calls of a pack."""
    return {name: rehearse(entry, block, pack.plans[name]) for name, block in pack.blocks.items()}


def differing(pack: Pack, one: Outcomes, other: Outcomes, within: float = 1e-5) -> list[str]:
    """Ids of the cases on which two answers differ, by more than a share of the larger one's magnitude."""
    return [
        case.id
        for case in pack.cases
        if not all(_equal(one[case.visibility][s], other[case.visibility][s], within) for s in case.steps)
    ]


def _equal(one: StepOutcome, other: StepOutcome, within: float) -> bool:
    if one.state != other.state or one.overwritten != other.overwritten:
        return False
    if not isinstance(one.value, ArrayValue) or not isinstance(other.value, ArrayValue):
        return one.value == other.value
    a, b = one.value.array(), other.value.array()
    if a.shape != b.shape:
        return False
    finite = [np.abs(x[np.isfinite(x)]) for x in (a, b)]
    scale = max(float(np.max(x, initial=0.0)) for x in finite) or 1.0
    return np.allclose(a.astype(float), b.astype(float), rtol=0, atol=within * scale, equal_nan=True)
