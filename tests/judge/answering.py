"""Functions with known and unknown mistakes, and what they leave of a pack's calls without a child."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from support.known import row_scale

from grader.exercise.pack import Pack
from grader.exercise.rehearsal import rehearse
from grader.judge.submission import Context, judge
from grader.outcomes import Execution, LoadOutcome, StepOutcome
from grader.result import Isolation, Result, SubmissionInfo

Function = Callable[..., Any]
LOADED = LoadOutcome("returned", found=True, callable=True, type="function")


def batch(x: Any) -> Any:
    return (x * x).mean()


def running(x: Any) -> Any:
    return np.cumsum((x * x).mean(axis=1, keepdims=True), axis=0)


def in_place(x: Any, w: Any, factor: Any) -> Any:
    answer = row_scale(x, w, factor)
    x *= 2
    return answer


def crash_when_empty(x: Any, w: Any, factor: Any) -> Any:
    if len(x) == 0:
        raise IndexError("index 0 is out of bounds")
    return row_scale(x, w, factor)


def noise() -> Function:
    chance = np.random.default_rng(7)
    return lambda x, w, k: row_scale(x, w, k, lambda y: (y * y).mean(1, keepdims=True) + chance.random())


KNOWN: Mapping[str, Function] = {
    "mean_of_batch": lambda x, w, k: row_scale(x, w, k, batch),
    "no_factor": lambda x, w, k: row_scale(x, w, 1),
    "x_ignored": lambda x, w, k: row_scale(np.ones(np.shape(x)), w, k),
    "crash_when_empty": crash_when_empty,
    "running_mean": lambda x, w, k: row_scale(x, w, k, running),
    "in_place": in_place,
    "noise": noise(),
    "half": lambda x, w, k: row_scale(x, w, k).astype(np.float16),
}
PAIRS: Mapping[tuple[str, str], Function] = {
    ("mean_of_batch", "no_factor"): lambda x, w, k: row_scale(x, w, 1, batch),
    ("no_factor", "running_mean"): lambda x, w, k: row_scale(x, w, 1, running),
    ("no_factor", "crash_when_empty"): lambda x, w, k: crash_when_empty(x, w, 1),
    ("x_ignored", "no_factor"): lambda x, w, k: row_scale(np.ones(np.shape(x)), w, 1),
}
UNKNOWN: Mapping[str, Function] = {
    "other_root": lambda x, w, k: row_scale(x, w, k, lambda y: np.abs(y).mean(1, keepdims=True)),
    "less": lambda x, w, k: 0.9 * row_scale(x, w, k),
    "zeros": lambda x, w, k: np.zeros((len(x), w.shape[1])),
    "transposed": lambda x, w, k: row_scale(x, w, k).T,
    "flipped": lambda x, w, k: row_scale(x, w, k)[::-1],
    "nan": lambda x, w, k: row_scale(x, w, k) * np.nan,
    "first_row_only": lambda x, w, k: row_scale(x, w, k) * (np.arange(len(x)) == 0)[:, np.newaxis],
    "drops_a_row": lambda x, w, k: row_scale(x, w, k)[1:],
}


def outcomes_of(pack: Pack, function: Function) -> dict[str, list[StepOutcome]]:
    """What a function leaves of a pack's calls."""
    return {name: rehearse(function, block, pack.plans[name]) for name, block in pack.blocks.items()}


def judged(pack: Pack, function: Function | Mapping[str, list[StepOutcome]]) -> Result:
    """The record of a function, or of outcomes."""
    steps = outcomes_of(pack, function) if callable(function) else function
    info = SubmissionInfo("ann", "Ann", ("ann",), "ann.py", "sha256:1")
    context = Context(pack, info, Isolation("none", ("process",)))
    return judge(context, Execution(report={}, load=LOADED, steps=steps))
