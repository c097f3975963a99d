"""Cases and outcomes made up for the judge, as if they had come from a pack and a child."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise.calls import ArrayArgument, PhaseBuilder
from grader.exercise.pack import Pack, PackCall, PackCase, PackExercise
from grader.outcomes import ArrayValue, Execution, LoadOutcome, StepOutcome

EXERCISE = PackExercise(
    name="row_scale",
    title="Scaled rows",
    entry="row_scale",
    packages=("numpy",),
    calls={"": PackCall(("x", "w", "factor"), {"shape": ["N", "K"]})},
    entries=("row_scale",),
    limits={"memory": 1 << 30, "seconds": 60, "seconds_per_call": 5, "output": 65536},
    clauses={"rows": {"title": "Separate rows", "text": ""}},
    policy={},
)


def case(check: str = "compare", **keys: Any) -> PackCase:
    """A case; only what matters to a test is named."""
    usual: dict[str, Any] = {
        "id": "one",
        "group": "g",
        "title": "",
        "clause": "rows",
        "points": 1.0,
        "visibility": "public",
        "requires": (),
        "hint": "",
        "check": check,
        "options": {},
        "steps": (0,),
        "shapes": ((2, 3),),
        "tolerance": 1e-6,
        "scale": 1.0,
        "dims": {},
    }
    return PackCase(**(usual | keys))


def pack_of(*cases: PackCase, expected: Mapping[str, Any] | None = None) -> Pack:
    """A pack in which every step is a call with the same small arguments."""
    blocks = {}
    for name in ("public", "hidden"):
        steps = [step for c in cases if c.visibility == name for step in c.steps]
        builder = PhaseBuilder()
        for _ in range(max(steps, default=-1) + 1):
            builder.add_call([ArrayArgument(np.ones((2, 2))), ArrayArgument(np.ones((2, 3))), 1])
        if steps:
            blocks[name] = builder.finish()
    return Pack(
        id="sha256:0", exercise=EXERCISE, cases=cases, blocks=blocks, tensors=dict(expected or {}), data=b""
    )


def value(array: Any, kind: str = "array") -> ArrayValue:
    """An array as it came back from a child."""
    array = np.asarray(array)
    return ArrayValue(kind, array.dtype.name, array.shape, np.ascontiguousarray(array).tobytes())


def returned(array: Any, **keys: Any) -> StepOutcome:
    """A step that gave an array."""
    return StepOutcome("returned", value=value(array), **keys)


def execution(pack: Pack, function: Callable[..., Any], **keys: Any) -> Execution:
    """What running ``function`` on every call of a pack would give, without a child."""
    steps: dict[str, list[StepOutcome]] = {}
    for name, plan in pack.plans.items():
        block = pack.blocks[name]
        outcomes: list[StepOutcome] = []
        for step in plan:
            if isinstance(step, int):
                outcomes.append(outcomes[step])
                continue
            arguments = [a if isinstance(a, int | float) else a.read(block).copy() for a in step]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = function(*arguments)
            outcomes.append(made if isinstance(made, StepOutcome) else returned(made))
        steps[name] = outcomes
    loaded = LoadOutcome("returned", found=True, callable=True, type="function")
    return Execution(**({"report": {}, "load": loaded, "steps": steps} | keys))
