"""A small exercise, complete and sound, written into a folder of the test's own.

``row_scale(x, w, factor)`` is ``factor * (x @ w)`` with each row divided by 1 plus the mean of its squares.
Only numpy is needed. Import it as ``from support.small import write_exercise``.
"""

from __future__ import annotations

import copy
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from grader.authoring.freeze import freeze
from grader.exercise import pack as packs
from grader.exercise.build import build_pack
from grader.exercise.frozen import Frozen
from grader.exercise.pack import Pack
from grader.exercise.source import ExerciseSource, load

RIGHT = '''\
import numpy as np


def row_scale(x, w, factor):
    """Rows of x @ w, scaled."""
    return factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))
'''

# Divides by the mean over the whole batch: one clause wrong, shape and type right.
WRONG = """\
import numpy as np


def row_scale(x, w, factor):
    return factor * (x @ w) / (1 + (x * x).mean())
"""

# Right values, but x is scaled in place.
MUTATES = """\
import numpy as np


def row_scale(x, w, factor):
    answer = factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))
    x *= 2
    return answer
"""

MODEL = '''\
"""The reference."""

import numpy as np


def row_scale(x, w, factor):
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    return factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))
'''

CROSSCHECK = '''\
"""The same, one number at a time."""

import numpy as np


def row_scale(x, w, factor):
    answer = np.zeros((x.shape[0], w.shape[1]))
    for n in range(x.shape[0]):
        squares = sum(float(v) ** 2 for v in x[n]) / x.shape[1]
        for k in range(w.shape[1]):
            terms = (float(x[n, d]) * float(w[d, k]) for d in range(x.shape[1]))
            answer[n, k] = factor * sum(terms) / (1 + squares)
    return answer
'''

ROUNDING = '''\
"""Honest orders of the arithmetic."""

import numpy as np


def plain(arguments, dtype):
    x, w, factor = arguments
    x, w = np.asarray(x, dtype), np.asarray(w, dtype)
    return x.dtype.type(factor) * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))


def scaled_first(arguments, dtype):
    x, w, factor = arguments
    x, w = np.asarray(x, dtype), np.asarray(w, dtype)
    return (x / (1 + np.square(x).mean(axis=1, keepdims=True))) @ (w * w.dtype.type(factor))


RUNS = {"plain": plain, "scaled_first": scaled_first}
'''

EXERCISE: dict[str, Any] = {
    "exercise": "row_scale",
    "title": "Scaled rows",
    "entry": "row_scale",
    "packages": ["numpy"],
    "dims": {"N": ">= 0", "D": ">= 1", "K": ">= 1", "factor": ">= 1"},
    "constraints": ["D % factor == 0"],
    "parameters": {
        "x": {"shape": ["N", "D"], "values": {"normal": {"scale": 1}}},
        "w": {
            "shape": ["D", "K"],
            "values": {"normal": {"scale": "1/sqrt(D)"}},
        },
        "factor": {"scalar": "factor"},
    },
    "returns": {"container": "array", "shape": ["N", "K"], "dtype": ["float32", "float64"]},
    "limits": {"seconds_per_call": 5, "seconds": 60, "memory": "1 GiB", "output": "64 KiB"},
    "work": {"expression": "N * D * K", "per_case": 1000, "in_all": 5000},
    "groups": ["checks"],
    "clauses": {
        "product": {"title": "Product", "text": "x times w, times factor."},
        "scale": {"title": "Scale", "text": "Each row is divided by 1 plus the mean of its squares."},
        "rows": {"title": "Separate rows", "text": "Rows do not see each other."},
        "inputs": {"title": "Inputs stay as they are", "text": "No argument is changed."},
    },
}

POLICY: dict[str, Any] = {
    "effect": {"no_points": True},
    "rules": [
        {
            "id": "product_helpers",
            "title": "Matrix product helpers",
            "why": "The product is what the exercise asks for.",
            "instead": "Write the product with @.",
            "names": ["numpy.einsum"],
        }
    ],
}

CASES: list[dict[str, Any]] = [
    {
        "id": "ones_row",
        "title": "A row of equal numbers",
        "clause": "product",
        "points": 2,
        "dims": {"N": 1, "D": 4, "K": 3, "factor": 2},
        "arrays": {"x": {"values": "ones"}},
        "hint": "With x all ones the divisor is 2.",
    },
    {
        "id": "large_rows",
        "title": "Rows of unlike sizes",
        "clause": "scale",
        "points": 2,
        "dims": {"N": 3, "D": 4, "K": 2, "factor": 1},
        "arrays": {
            "x": {"scale": 3, "edits": [{"at": [0, "*"], "to": 0.25}], "layout": "fortran"},
            "w": {"layout": "strided"},
        },
    },
    {
        "id": "no_rows",
        "title": "Nothing to scale",
        "clause": "product",
        "points": 0.5,
        "requires": ["ones_row"],
        "dims": {"N": 0, "D": 2, "K": 3, "factor": 1},
    },
    {
        "id": "row_alone",
        "title": "A row alone gives the same row",
        "clause": "rows",
        "points": 1,
        "requires": ["ones_row"],
        "dims": {"N": 3, "D": 4, "K": 2, "factor": 2},
        "check": {
            "relation": "equals",
            "change": {"x": {"take": {"axis": 0, "indices": [2, 0]}}},
            "rows": [0, 2],
            "other_rows": [1, 0],
        },
    },
    {
        "id": "x_matters",
        "title": "Another x gives another row",
        "clause": "product",
        "points": 0.5,
        "visibility": "hidden",
        "requires": ["ones_row"],
        "dims": {"N": 2, "D": 4, "K": 3, "factor": 2},
        "check": {
            "relation": "differs",
            "change": {"x": {"edits": [{"at": [1, 0], "to": 3}]}},
            "rows": [1],
            "other_rows": [1],
        },
        "hint": "A hint that no student may see.",
    },
    {
        "id": "x_kept",
        "title": "x stays as it is",
        "clause": "inputs",
        "points": 1,
        "requires": ["ones_row"],
        "dims": {"N": 2, "D": 2, "K": 2, "factor": 1},
        "check": {"relation": "inputs_unchanged", "argument": "x"},
    },
    {
        "id": "drawn",
        "title": "Drawn at random",
        "clause": "scale",
        "points": 0.5,
        "visibility": "hidden",
        "random": {
            "count": 3,
            "seed": 1,
            "dims": {
                "N": {"from": 2, "to": 4},
                "D": {"from": 2, "to": 6},
                "K": {"from": 1, "to": 3},
                "factor": {"from": 1, "to": 3},
            },
            "dtypes": ["float64", "float32"],
            "layouts": ["c", "fortran", "strided"],
        },
    },
]


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump_yaml(data: Any) -> str:
    """YAML text without anchors."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def write_exercise(root: Path, name: str = "row_scale", **overrides: Any) -> Path:
    """Write ``cases/NAME`` and ``reference/NAME`` below ``root``; returns ``cases/NAME``.

    Keyword-only, each optional:
        exercise: Keys of ``exercise.yaml`` to replace; None takes a key out.
        policy: Keys of ``policy.yaml`` to replace.
        cases: The case file as a list, instead of the usual one.
        change: For a case's id the keys to replace (None takes a key out), or None to take the case out.
        more: Cases to append.
        model, crosscheck, rounding: Source texts of the reference's modules; None leaves the file out.
    """
    known = {"exercise", "policy", "cases", "change", "more", "model", "crosscheck", "rounding"}
    assert overrides.keys() <= known, f"unknown overrides: {sorted(overrides.keys() - known)}"
    exercise = _replaced(EXERCISE, {"exercise": name} | overrides.get("exercise", {}))
    policy = _replaced(POLICY, overrides.get("policy", {}))
    cases: list[dict[str, Any]] = []
    change = overrides.get("change", {})
    assert change.keys() <= {c["id"] for c in CASES}, "change names an unknown case"
    for case in overrides.get("cases", CASES):
        changed = change.get(case["id"], {})
        if changed is not None:
            cases.append(_replaced(case, changed))
    cases += overrides.get("more", [])
    folder = root / "cases" / name
    reference = root / "reference" / name
    folder.mkdir(parents=True, exist_ok=True)
    reference.mkdir(parents=True, exist_ok=True)
    (folder / "exercise.yaml").write_text(dump_yaml(exercise), "utf-8")
    (folder / "policy.yaml").write_text(dump_yaml(policy), "utf-8")
    (folder / "checks.yaml").write_text(dump_yaml(cases), "utf-8")
    texts = {"model": MODEL, "crosscheck": CROSSCHECK, "rounding": ROUNDING}
    for module, text in texts.items():
        new = overrides.get(module, text)
        if new is not None:
            (reference / f"{module}.py").write_text(new, "utf-8")
    forget_reference(root, name)
    return folder


def _replaced(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in (copy.deepcopy(data) | changes).items() if v is not None}


def forget_reference(root: Path, name: str = "row_scale") -> None:
    """Make the next use of the reference read its files anew, even when they were just written."""
    package = f"grader_reference_{name}"
    for module in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
        del sys.modules[module]
    shutil.rmtree(root / "reference" / name / "__pycache__", ignore_errors=True)


def load_source(root: Path, name: str = "row_scale") -> ExerciseSource:
    """The exercise as its author's commands read it."""
    return load(root / "cases" / name)


def freeze_exercise(root: Path, name: str = "row_scale") -> Frozen:
    """Write ``frozen.json`` in this process; returns what it holds."""
    source = load_source(root, name)
    frozen = freeze(source)
    source.frozen_path.write_text(frozen.dumps(), "utf-8")
    return frozen


def build(root: Path, name: str = "row_scale", student: bool = False) -> Pack:
    """The pack of an exercise that was frozen, made in this process without any cache."""
    source = load_source(root, name)
    return packs.loads(build_pack(source, source.require_fresh_frozen(), student=student))


def small_pack(root: Path, name: str = "row_scale", student: bool = False, **overrides: Any) -> Pack:
    """Written, frozen and built in one go."""
    write_exercise(root, name, **overrides)
    freeze_exercise(root, name)
    return build(root, name, student)


def right_answer(x: Any, w: Any, factor: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What `RIGHT` returns, for tests that judge without running a child."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    answer: np.ndarray[Any, np.dtype[np.float64]] = (
        factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))
    )
    return answer
