"""Values as people read them: Python's own notation, laid out on lines, cut where they are long."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.outcomes import ArrayValue, Container, PlainValue, Value, describe_value

WIDTH = 88
MOST_LETTERS = 4000
# Arrays of more elements are shown by their corners.
MOST_ELEMENTS = 120
DIGITS = 8


def written(value: Value | None) -> str:
    """A value on one line, or on several where one is too short."""
    text = _lines(value, 0)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _lines(value: Value | None, indent: int) -> str:
    short = _short(value)
    if "\n" not in short and len(short) + indent <= WIDTH:
        return short
    if not isinstance(value, Container) or not value.items:
        return short.replace("\n", "\n" + " " * indent)
    inner = " " * (indent + 4)
    parts = []
    for item in value.items:
        if value.kind == "dict":
            key, content = item
            name = f"{_short(key)}: "
            parts.append(f"{inner}{name}{_lines(content, indent + 4 + len(name))},")
        else:
            parts.append(f"{inner}{_lines(item, indent + 4)},")
    opening, closing = _brackets(value.kind)
    return "\n".join([opening, *parts, " " * indent + closing])


def _brackets(kind: str) -> tuple[str, str]:
    return {"list": ("[", "]"), "tuple": ("(", ")")}.get(kind, ("{", "}"))


def _short(value: Value | None) -> str:
    match value:
        case ArrayValue(kind="scalar", shape=()) if value.data is not None:
            return _number(value.array().item())
        case ArrayValue():
            return _array(value)
        case Container(kind="dict"):
            return "{" + ", ".join(f"{_short(k)}: {_short(v)}" for k, v in value.items) + "}"
        case Container():
            opening, closing = _brackets(value.kind)
            only = "," if value.kind == "tuple" and len(value.items) == 1 else ""
            return opening + ", ".join(_short(item) for item in value.items) + only + closing
        case PlainValue(kind="none"):
            return "None"
        case PlainValue(kind="object"):
            return f"<{value.value}>"
        case PlainValue():
            return _number(value.value)
    return "nothing"


def _number(value: Any) -> str:
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return repr(float(f"{value:.{DIGITS}g}"))
    return repr(value)


def _array(value: ArrayValue) -> str:
    try:
        array = value.array()
    except ValueError:
        return f"<{describe_value(value)}>"
    text = np.array2string(
        array,
        max_line_width=WIDTH - 8,
        precision=DIGITS,
        separator=", ",
        threshold=MOST_ELEMENTS,
        floatmode="maxprec",
    )
    return f"array({text}, dtype={value.dtype})".replace("\n", "\n      ")
