"""What an expression of a check can name of a call, and what it counts there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.exercise.calls import GeneratorArgument
from grader.exercise.claims import ClaimError, parse
from grader.outcomes import ArrayValue, Container, PlainValue, Value

# Names under which all of an answer, and a second call with its answer, stand in a claim.
ANSWER, CHANGED = "answer", "changed"


def as_python(value: Value | None) -> Any:
    """An answer as arrays, numbers, texts, lists and dictionaries; what is none of these is None."""
    match value:
        case ArrayValue(kind="scalar") if value.data is not None:
            return value.array().item()
        case ArrayValue() if value.data is not None:
            return value.array()
        case Container(kind="dict"):
            return {_key(key): as_python(item) for key, item in value.items}
        case Container():
            return [as_python(item) for item in value.items]
        case PlainValue() if value.kind in ("bool", "int", "float", "str"):
            return value.value
    return None


def _key(key: Value) -> Any:
    item = as_python(key)
    return item if isinstance(item, str | int) else str(item)


def names_of(arguments: Sequence[tuple[str, Any]], answer: Any) -> dict[str, Any]:
    """What a claim can name of a call: its arguments, its answer, and the answer's items."""
    known = {name: value for name, value in arguments if not isinstance(value, GeneratorArgument)}
    items = answer if isinstance(answer, dict) else {}
    return {**{k: v for k, v in items.items() if isinstance(k, str)}, **known, ANSWER: answer}


def defined(names: dict[str, Any], let: Mapping[str, str] | Sequence[Sequence[str]]) -> dict[str, Any]:
    """The names with those that ``let`` defines, each of which may use those before it.

    Raises:
        ClaimError: One of them can't be computed.
    """
    pairs = let.items() if isinstance(let, Mapping) else let
    for name, text in pairs:
        names[name] = parse(text).evaluate(names)
    return names


def whole(text: str, names: Mapping[str, Any]) -> int:
    """The whole number that an expression gives.

    Raises:
        ClaimError: It gives another thing, or can't be computed.
    """
    array = np.asarray(parse(text).evaluate(names))
    if array.shape != () or array.dtype.kind not in "iub":
        raise ClaimError(f"{text} is no whole number")
    return int(array)


def counts_of(text: str, names: Mapping[str, Any]) -> list[int]:
    """The counts of each category that an expression gives.

    Raises:
        ClaimError: It gives another thing, or can't be computed.
    """
    counts = np.asarray(parse(text).evaluate(names))
    if counts.ndim != 1 or counts.dtype.kind not in "iub":
        raise ClaimError("counts are no list of whole numbers")
    if (counts < 0).any():
        raise ClaimError(f"a count is {counts.min()}, below 0")
    # Python's own whole numbers, which have no end.
    return [int(count) for count in counts]
