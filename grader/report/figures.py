"""Numbers as reports show them."""

from __future__ import annotations

import math
from typing import Any

from grader.report.texts import one_line

MAX_CELL = 24


def number(value: Any) -> str:
    """A value of an array or an error figure, in six digits.

    Example:
        >>> number(0.1234567), number(3), number("nan"), number(None)
        ('0.123457', '3', 'nan', 'not finite')
    """
    if value is None:
        return "not finite"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        # Python refuses to write very long integers.
        return str(value) if value.bit_length() < 64 else f"an integer of {value.bit_length()} bits"
    return one_line(value if isinstance(value, str) else type(value).__name__, MAX_CELL)


def points(value: float | None, *, signed: bool = False) -> str:
    """Points as one writes them: at most four decimals and no trailing zeros.

    Example:
        >>> points(17.5), points(2.0), points(-2.5), points(None), points(1.0, signed=True)
        ('17.5', '2', '−2.5', '–', '+1')
    """
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    text = f"{abs(value):.4f}".rstrip("0").rstrip(".")
    if text == "0":
        return text
    return ("−" if value < 0 else "+" if signed else "") + text


def plural(count: int, one: str, many: str = "") -> str:
    """A number with the word for it; without ``many`` an s is added."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def short_digest(digest: str) -> str:
    """The beginning of a digest, with its kind."""
    kind, colon, rest = digest.partition(":")
    return one_line(kind + colon + rest[:12] if colon else digest[:12], 24)
