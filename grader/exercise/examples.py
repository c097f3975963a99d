"""Minimal counterexamples made ready: their right answers, and where the mistake parts from the model."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise.answers import answer_of
from grader.exercise.counterexamples import Counterexample, WrittenArray
from grader.exercise.fingerprints import fingerprint
from grader.exercise.follow_up import Example
from grader.exercise.misconceptions import Misconception, Misconceptions, StepModel
from grader.exercise.models import Exercise
from grader.exercise.rehearsal import as_value, call
from grader.exercise.written import written

# Larger outputs of a step are not followed on paper.
MOST_VALUES = 48
# By more than this share of the larger one, two outputs of a step are different.
PARTED = 1e-6


def make_example(
    entry: Callable[..., Any],
    model: StepModel | None,
    misconceptions: Misconceptions,
    found: Counterexample,
    exercise: Exercise,
) -> Example:
    """An input with its answers, right and wrong.

    Args:
        entry: The reference's function for the call.
        model: The reference as steps.
        misconceptions: The known mistakes.
        found: The input.
        exercise: The exercise with that call alone.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = as_value(entry(*found.call()))
    answer = answer_of(value, exercise.form)
    right = np.asarray(answer.array, np.float64)
    mistake = misconceptions[found.misconception] if found.misconception else None
    wrong, part = None, None
    if mistake is not None and model is not None:
        outcome = call(model.function(found.call_name, mistake.make()), found.call())
        wrong = fingerprint(outcome, form=exercise.form if exercise.form.lenient else None)
        part = _first_part(model, mistake, found)
    return Example(
        misconception=found.misconception,
        clause=mistake.clause if mistake is not None else "",
        title=mistake.title if mistake is not None else "",
        dims={name: found.dims[name] for name in exercise.dims},
        numbers=sum(
            math.prod(a.shape) if isinstance(a, WrittenArray) else 1 for a in found.arguments.values()
        ),
        shape=right.shape,
        expected=tuple(right.ravel().tolist()),
        wrong=wrong,
        part=part,
        call=found.call_name,
        leaves=tuple((leaf.path, leaf.shape, leaf.exact, leaf.group) for leaf in answer.leaves or ()),
        answer_text=written(value) if answer.leaves is not None else "",
    )


def _first_part(model: StepModel, mistake: Misconception, found: Counterexample) -> Mapping[str, Any] | None:
    """The first step whose output differs when the mistake is made."""
    right = _trace(model, {}, found)
    other = _trace(model, mistake.make(), found)
    times: dict[str, int] = {}
    for (name, expected), (other_name, obtained) in zip(right, other, strict=False):
        times[name] = times.get(name, 0) + 1
        if name != other_name:
            return None
        try:
            key, one, two = _differing(expected, obtained)
        except TypeError:
            # It can't be said whether this step is the first.
            return None
        if one is None:
            continue
        if max(np.size(one), np.size(two)) > MOST_VALUES:
            return None
        step = getattr(model.steps, name)
        # What follows the shape in a step's docstring.
        title = (inspect.getdoc(step) or "").partition("\n")[0]
        title = re.sub(r"^\([^)]*\)[^:]*: *", "", title).removesuffix(".")
        return {
            "step": f"{name}: {key}" if key else name,
            "title": title,
            "times": times[name],
            "expected": _plain(one),
            "obtained": _plain(two),
        }
    return None


def _differing(expected: Any, obtained: Any) -> tuple[str, Any, Any]:
    """Name, right and wrong value of what differs in two outputs of a step; None twice if nothing does.

    Raises:
        TypeError: They are neither numbers nor arrays of numbers, or the same things.
    """
    if isinstance(expected, dict) and isinstance(obtained, dict):
        for key, value in expected.items():
            _, one, two = _differing(value, obtained.get(key))
            if one is not None:
                return key, one, two
        return "", None, None
    one, two = np.asarray(expected), np.asarray(obtained)
    if one.dtype.kind not in "fiub" or two.dtype.kind not in "fiub":
        if isinstance(expected, type | str | np.dtype) and expected == obtained:
            return "", None, None
        raise TypeError("these can't be compared")
    if one.shape == two.shape:
        both = np.stack([one, two]).astype(np.float64)
        scale = float(np.max(np.abs(both[np.isfinite(both)]), initial=0.0))
        if np.allclose(both[0], both[1], rtol=0, atol=PARTED * scale, equal_nan=True):
            return "", None, None
    return "", one, two


def _trace(
    model: StepModel, changes: Mapping[str, Callable[..., Any]], found: Counterexample
) -> list[tuple[str, Any]]:
    """Name and output of every step, in the order in which they were run."""
    seen: list[tuple[str, Any]] = []

    def watched(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            output = step(*given)
            seen.append((name, output.copy() if isinstance(output, np.ndarray) else output))
            return output

        return run

    steps = {name: watched(name, changes.get(name, getattr(model.steps, name))) for name in model.names}
    call(model.function(found.call_name, steps), found.call())
    return seen


def _plain(value: Any) -> Any:
    """Nested lists of numbers, with NaN and infinity as text."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
