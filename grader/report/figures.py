"""Numbers as reports show them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from grader.report.texts import one_line

MAX_CELL = 24
# An argument stands alone on its line.
MAX_ARGUMENT = 120
# Less would make small numbers among large ones look like zero.
LEAST_DECIMALS = 2


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


def exact(value: Any) -> str:
    """What an argument is: a number as `number` shows it where that is the number, else in all its digits.

    Example:
        >>> exact(0.25), exact(2.0), exact(0.999999999999), exact(None)
        ('0.25', '2', '0.999999999999', 'None')
    """
    if value is None:
        return "None"
    if isinstance(value, str):
        return one_line(value, MAX_ARGUMENT)
    text = number(value)
    return repr(value) if type(value) is float and math.isfinite(value) and float(text) != value else text


def alike(values: Iterable[Any], decimals: int) -> list[str]:
    """Values that stand together, with as many decimals each, so that they can be compared at a glance.

    Args:
        values: Numbers or texts.
        decimals: How many they have where all are below 10; with larger ones there are less. Where all are
            whole they have none, and where all are tiny or one is huge each is written on its own.

    Example:
        >>> alike([0.5, 0.0416, 12.0], 3)
        ['0.50', '0.04', '12.00']
        >>> alike([2.0, -0.0, "nan"], 3), alike([2e-9, 0.0], 3)
        (['2', '0', 'nan'], ['2e-09', '0'])
    """
    kept = list(values)
    known = [float(v) for v in kept if isinstance(v, int | float) and math.isfinite(v)]
    most = max(map(abs, known), default=0.0)
    if all(v.is_integer() for v in known) and most < 1e9:
        pattern = "{:.0f}"
    elif 10.0**-decimals <= most < 1e5:
        pattern = f"{{:.{max(decimals - math.floor(math.log10(max(most, 1.0))), LEAST_DECIMALS)}f}}"
    else:
        pattern = f"{{:.{decimals}g}}"
    # Adding 0 makes -0 a 0; what is rounded to 0 loses its sign too.
    return [
        _unsigned_zero(pattern.format(v + 0.0)) if isinstance(v, float) and math.isfinite(v) else number(v)
        for v in kept
    ]


def _unsigned_zero(text: str) -> str:
    return text.removeprefix("-") if not text.strip("-0.") else text


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
