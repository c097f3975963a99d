"""What a page shows of a failing public case: inputs, both answers, the largest errors, a snippet."""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import PlacedArray
from grader.exercise.pack import Pack, PackCase
from grader.judge.relations import Judgement
from grader.outcomes import StepOutcome

Array = NDArray[Any]

MAX_SHOWN = 240
MAX_SNIPPET = 1_200


def plain(array: Array) -> Any:
    """Nested lists of numbers; what JSON can't hold (NaN, infinity) as text."""
    if array.dtype.kind != "f":
        return array.tolist()
    if np.isfinite(array).all():
        return array.astype(np.float64).tolist()

    def clean(value: Any) -> Any:
        if isinstance(value, list):
            return [clean(v) for v in value]
        return value if math.isfinite(value) else str(value)

    return clean(array.astype(np.float64).tolist())


def case_details(
    pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome], judgement: Judgement, filename: str
) -> dict[str, Any]:
    """Plain data about a failing public case.

    Keys, each only where it applies: ``inputs`` (name, dtype, shape, and values when the array is small),
    ``obtained``, ``expected``, ``worst`` (index, obtained, expected), ``traceback`` (line and function of
    the student's frames), ``exception``, ``stdout``, ``stderr``, ``snippet``.
    """
    details: dict[str, Any] = {}
    details["inputs"] = [_input(name, value) for name, value in pack.arguments(case)]
    obtained, expected = judgement.obtained, judgement.expected
    if obtained is not None and obtained.size <= MAX_SHOWN:
        details["obtained"] = plain(obtained)
    if expected is not None and expected.size <= MAX_SHOWN:
        details["expected"] = plain(expected)
    if judgement.comparison is not None and obtained is not None and expected is not None:
        details["worst"] = [
            {"index": list(i), "obtained": plain(obtained[i]), "expected": plain(expected[i])}
            for i in judgement.comparison.worst
        ]
    failed = next((o for o in outcomes if o.failure is not None), None)
    if failed is not None and failed.failure is not None:
        details["exception"] = f"{failed.failure.type}: {failed.failure.message}".removesuffix(": ")
        details["traceback"] = [list(frame) for frame in failed.failure.frames]
    for name in ("stdout", "stderr"):
        text = "".join(getattr(o, name) for o in outcomes)
        if text:
            details[name] = text[-4_000:]
    text = snippet(pack, case, filename)
    if text:
        details["snippet"] = text
    return details


def _input(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        return {"name": name, "value": value}
    shown: dict[str, Any] = {"name": name, "dtype": value.dtype.name, "shape": list(value.shape)}
    if value.size <= MAX_SHOWN:
        shown["values"] = plain(value)
    return shown


def _literal(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    dtype = f"np.{value.dtype.name}" if value.dtype.name != "bool" else "bool"
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        # As text: nan and inf are no names of Python.
        return f"np.array({value.astype(str).tolist()!r}, dtype={dtype})"
    if value.size and (value == value.flat[0]).all():
        return f"np.full({value.shape}, {value.flat[0].item()!r}, dtype={dtype})"
    if not value.size:
        return f"np.zeros({value.shape}, dtype={dtype})"
    return f"np.array({value.tolist()!r}, dtype={dtype})"


def snippet(pack: Pack, case: PackCase, filename: str) -> str:
    """Python text that makes the case's calls when pasted beside the submission; empty when too long.

    Args:
        pack: The pack.
        case: A public case.
        filename: The submission's file name, or its path when the text is not to stand beside it.
    """
    arguments = pack.arguments(case)
    calls = [s for s in case.steps if not isinstance(pack.plans[case.visibility][s], int)]
    if sum(v.size for _, v in arguments if isinstance(v, np.ndarray)) > MAX_SNIPPET:
        return ""
    entry = pack.exercise.entry
    names = ", ".join(name for name, _ in arguments)
    stem = PurePath(filename).stem
    if stem.isidentifier() and not keyword.iskeyword(stem) and PurePath(filename).name == filename:
        lines = ["import numpy as np", f"from {stem} import {entry}", ""]
    else:
        lines = ["import runpy", "", "import numpy as np", ""]
        lines += [f"{entry} = runpy.run_path({filename!r})[{entry!r}]", ""]
    lines += [f"{name} = {_literal(value)}" for name, value in arguments]
    lines += [f"{name}.flags.writeable = False" for name in _read_only(pack, case)]
    watched = case.options.get("argument") if case.check == "inputs_unchanged" else None
    if watched is not None:
        lines.append(f"before = np.copy({watched})")
    lines.append(f"answer = {entry}({names})")
    lines.append("print(answer)")
    if watched is not None:
        lines.append(f"print('unchanged:', np.array_equal(before, {watched}))")
    if case.check == "finite":
        lines.append("print('all finite:', np.isfinite(np.asarray(answer)).all())")
    if case.check == "output_not_aliased":
        arrays = ", ".join(name for name, value in arguments if isinstance(value, np.ndarray))
        lines.append(f"print('shares memory:', any(np.shares_memory(answer, a) for a in ({arrays},)))")
    if case.check == "compare" and (expected := pack.expected(case)).size <= MAX_SHOWN:
        lines.append(f"print('expected:', {_literal(expected)})")
    if len(calls) > 1:
        changed = [
            f"{name} = {_literal(after)}"
            for (name, before), (_, after) in zip(arguments, pack.arguments(case, 1), strict=True)
            if np.shape(before) != np.shape(after) or not np.array_equal(before, after)
        ]
        lines += ["", "kept = np.copy(answer)", *changed, f"other = {entry}({names})", "print(other)"]
        lines += _second_call_words(case)
    if case.check == "same_on_repeat":
        first = [f"{name} = {_literal(value)}" for name, value in arguments] if len(calls) > 2 else []
        lines += [
            "",
            *first,
            f"again = {entry}({names})",
            "print('largest difference:', np.abs(again - answer).max())",
        ]
    return "\n".join(lines) + "\n"


def _second_call_words(case: PackCase) -> list[str]:
    """What must hold between the two answers of a relation, as text that prints it."""
    first, second = (
        f"{name}[{case.options[key]}]" if case.options.get(key) is not None else name
        for name, key in (("answer", "rows"), ("other", "other_rows"))
    )
    pair = f"{first} - {second}"
    if case.check == "equals":
        return [f"print('must be 0 but for rounding:', np.abs({pair}).max())"]
    if case.check == "differs":
        return [f"print('must not be 0:', np.abs({pair}).max(axis=-1))"]
    if case.check == "earlier_answer_kept":
        return ["print('first answer kept:', np.array_equal(kept, answer))"]
    return []


def _read_only(pack: Pack, case: PackCase) -> list[str]:
    step = pack.plans[case.visibility][case.steps[0]]
    placed = step if not isinstance(step, int) else []
    pairs = zip(pack.exercise.parameters, placed, strict=True)
    return [name for name, argument in pairs if isinstance(argument, PlacedArray) and argument.read_only]
