"""The small exercise with everything that is looked at after a failure: known mistakes, examples, a map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from authoring.stepped import MISTAKES, Mistake, write

INFLUENCE: dict[str, Any] = {
    "argument": "x",
    "dims": {"N": 3, "D": 2, "K": 2, "factor": 2},
    "views": [{"change": {"w": {"fill": 1}}}],
}
MORE: list[dict[str, Any]] = [
    {
        "id": "again",
        "clause": "rows",
        "points": 1,
        "dims": {"N": 2, "D": 2, "K": 2, "factor": 1},
        "check": {"relation": "same_on_repeat"},
    },
    {
        "id": "own_memory",
        "clause": "inputs",
        "points": 1,
        "dims": {"N": 2, "D": 3, "K": 2, "factor": 1},
        "check": {"relation": "output_not_aliased"},
    },
    {
        "id": "locked",
        "clause": "inputs",
        "points": 1,
        "dims": {"N": 2, "D": 2, "K": 3, "factor": 2},
        "arrays": {"x": {"read_only": True}, "w": {"read_only": True}},
    },
]
# Mistakes that are told by chance, or by how coarse their numbers are.
ODD: dict[str, Mistake] = {
    "noise": (
        "rows",
        "stateful=True",
        "",
        (
            "chance = np.random.default_rng(0); "
            "return {'squares': lambda x: (x * x).mean(axis=1, keepdims=True) + chance.random()}"
        ),
    ),
    "half": ("scale", 'step="finish"', "rows", "return rows.astype(np.float16)"),
    # More than a constant that is rounded to single precision, and less than the tolerances.
    "last_digits": ("scale", 'step="finish", small=True', "rows", "return rows * (1 + 2e-7)"),
}


def write_stepped(root: Path, mistakes: dict[str, Mistake] | None = None, **overrides: Any) -> None:
    """Write the exercise; ``overrides`` as `write_exercise` takes them."""
    mistakes = MISTAKES | ODD if mistakes is None else mistakes
    write(root, mistakes, **({"exercise": {"influence": INFLUENCE}, "more": MORE} | overrides))


def row_scale(
    x: Any, w: Any, factor: Any, squares: Any = None
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The right answer, or that of another mean of squares."""
    x, w = np.array(x, np.float64), np.array(w, np.float64)
    mean = (x * x).mean(axis=1, keepdims=True) if squares is None else squares(x)
    answer: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = factor * (x @ w) / (1 + mean)
    return answer
