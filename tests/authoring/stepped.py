"""The small exercise built from steps, with a library of known mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.small import forget_reference, freeze_exercise, load_source, write_exercise

from grader.authoring.validation import Validator
from grader.validation import Validation

MODEL = '''\
"""The reference, built from steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def take(x):
    return np.asarray(x, np.float64)


def squares(x):
    return (x * x).mean(axis=1, keepdims=True)


def product(x, w, factor):
    return factor * (x @ w)


def finish(rows):
    return rows


@dataclass(frozen=True)
class Steps:
    take: Callable[..., Any] = take
    squares: Callable[..., Any] = squares
    product: Callable[..., Any] = product
    finish: Callable[..., Any] = finish


STEPS = Steps()


def run(steps, arguments, dtype):
    x, w, factor = arguments
    x = steps.take(x).astype(dtype)
    rows = steps.product(x, np.asarray(w, dtype), factor) / (1 + steps.squares(x))
    return steps.finish(rows)


def row_scale(x, w, factor):
    return run(STEPS, (x, w, factor), np.float64)
'''

# Id: clause, step (with further options), parameters, body.
Mistake = tuple[str, str, str, str]

MISTAKES: dict[str, Mistake] = {
    "mean_of_batch": ("scale", 'step="squares"', "x", "return (x * x).mean(keepdims=True)"),
    "no_factor": ("product", 'step="product"', "x, w, factor", "return x @ w"),
    "x_ignored": ("product", 'step="take"', "x", "return np.ones(np.shape(x))"),
    "crash_when_empty": ("product", 'step="finish"', "rows", "rows[0]; return rows"),
    "running_mean": ("rows", 'step="squares"', "x", "return np.cumsum((x * x).mean(1, keepdims=True), 0)"),
    "in_place": ("inputs", 'step="take"', "x", "y = np.array(x, np.float64); x *= 2; return y"),
    "last_digits": ("scale", 'step="finish", small=True', "rows", "return rows * (1 + 1e-8)"),
}


def module_text(mistakes: dict[str, Mistake]) -> str:
    """The module that defines these mistakes."""
    out = ["import numpy as np", "from grader.exercise.misconceptions import Misconceptions", ""]
    out.append("MISCONCEPTIONS = Misconceptions()")
    page = "What it does:\n a\nWhy it is wrong:\n b\nHow it looks:\n c\nWhat to write instead:\n d"
    for name, (clause, step, parameters, body) in mistakes.items():
        out += ["", "", f'@MISCONCEPTIONS.add(clause="{clause}", {step})', f"def {name}({parameters}):"]
        out += [f'    """{name}\n\n{page}\n    """', f"    {body}"]
    return "\n".join(out) + "\n"


def write(root: Path, mistakes: dict[str, Mistake] | None = None, **overrides: Any) -> None:
    """Write the exercise; ``overrides`` as `write_exercise` takes them."""
    write_exercise(root, **{"model": MODEL, **overrides})
    path = root / "reference" / "row_scale" / "misconceptions.py"
    path.write_text(module_text(MISTAKES if mistakes is None else mistakes))
    forget_reference(root)


def validated(
    root: Path, mistakes: dict[str, Mistake] | None = None, *, fast: bool = True, **overrides: Any
) -> Validation:
    """The exercise with these mistakes, written, frozen and validated."""
    write(root, mistakes, **overrides)
    freeze_exercise(root)
    return Validator(load_source(root)).run(fast=fast)
