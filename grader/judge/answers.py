"""Whether an answer is what the exercise's ``returns`` asks for: kind, shape, dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from grader.outcomes import ArrayValue, Container, PlainValue, StepOutcome, describe_value
from grader.result import Verdict


@dataclass(frozen=True)
class Refusal:
    """An answer that can't be compared: the verdict and why."""

    verdict: Verdict
    message: str


def show_shape(shape: Sequence[int]) -> str:
    """``(2, 3)``, ``(2,)`` or ``()``."""
    return str(tuple(shape))


def read_answer(
    outcome: StepOutcome, shape: tuple[int, ...], dtypes: Sequence[str]
) -> NDArray[Any] | Refusal:
    """The answer as an array of the expected shape, or why it is none.

    Args:
        outcome: A step that returned.
        shape: The expected shape; compared exactly, nothing is broadcast.
        dtypes: The dtypes that may be returned.
    """
    value = outcome.value
    if value is None or not isinstance(value, ArrayValue) or value.kind == "scalar":
        wanted = _wanted(shape, dtypes)
        found = describe_value(value) if value is not None else "nothing"
        advice = " Return one numpy array." if isinstance(value, Container) else ""
        if isinstance(value, PlainValue) and value.kind == "none":
            advice = " Is a return statement missing?"
        return Refusal("wrong_type", f"It returned {found}; expected {wanted}.{advice}")
    if value.shape != shape:
        return Refusal("wrong_shape", _shape_message(value.shape, shape))
    if value.dtype not in dtypes:
        said = f"It returned {describe_value(value)}; expected {_wanted(shape, dtypes)}."
        if value.dtype in ("float16", "bfloat16"):
            said += f" {value.dtype} keeps about three digits, too few for this exercise."
        return Refusal("wrong_type", said)
    if value.data is None:
        return Refusal("wrong_type", f"It returned {describe_value(value)}, whose values can't be read.")
    return value.array()


def _wanted(shape: tuple[int, ...], dtypes: Sequence[str]) -> str:
    return f"an array of shape {show_shape(shape)} and dtype {' or '.join(dtypes)}"


def _shape_message(found: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    said = f"The answer has the shape {show_shape(found)}; expected {show_shape(wanted)}."
    squeezed = tuple(n for n in wanted if n != 1)
    if found == wanted[::-1] and len(found) > 1:
        return said + " It looks transposed."
    if found == squeezed and found != wanted:
        return said + " An axis of length 1 was dropped."
    if len(found) == len(wanted) + 1:
        return said + " It has one axis too many."
    if len(wanted) == 2 and len(found) == 1 and found[0] == wanted[0] * wanted[1]:
        return said + " It was flattened."
    return said
