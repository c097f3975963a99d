"""What of an answer comes back from a child: how large one may be, and what a right one needs.

A child describes every value of an answer beside the bytes of its arrays, and leaves out what is beyond these
limits. An answer that is longer can't be told from a wrong one, so no right answer may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from grader.exercise.forms import Form
from grader.exercise.structure import Path, show_path
from grader.outcomes import (
    MOST_BITS,
    MOST_DEPTH,
    MOST_LETTERS,
    MOST_VALUES,
    ArrayValue,
    Container,
    PlainValue,
    Value,
)

# What a value takes in a description at most, and a letter of a text (half of a pair of escapes, doubled).
PER_VALUE = 96
PER_LETTER = 12
# An element of the largest dtype.
PER_ELEMENT = 16

# A value with its place, and how many values it is when it is written in lists.
_Part = tuple[Path, Value, int]


def unsendable(value: Value, form: Form | None) -> str:
    """Why an answer of this form never comes back whole; empty where it does.

    Args:
        value: A right answer.
        form: Its form, where it is known: an array that stands for a list may come as a list from others.
    """
    values = 0
    for path, one, size in _parts(value, form, ()):
        values += size
        where = f" at {show_path(path)}" if path else ""
        if len(path) > MOST_DEPTH:
            return f"containers in each other {len(path)} deep{where}; at most {MOST_DEPTH} are sent"
        if isinstance(one, PlainValue) and one.kind == "str" and len(one.value) > MOST_LETTERS:
            return f"a text of {len(one.value):,} letters{where}; at most {MOST_LETTERS:,} are sent"
        if isinstance(one, PlainValue) and one.kind == "int" and one.value.bit_length() > MOST_BITS:
            return f"a whole number of {one.value.bit_length():,} bits{where}; at most {MOST_BITS:,} are sent"
    if values > MOST_VALUES:
        return (
            f"{values:,} values in its containers, keys and containers among them; at most {MOST_VALUES:,} "
            "are sent, while an array counts as one"
        )
    return ""


def bytes_needed(value: Value, form: Form | None) -> int:
    """How many bytes the description of such an answer and its arrays take at most."""
    needed = 0
    for _, one, size in _parts(value, form, ()):
        needed += PER_VALUE * size
        if isinstance(one, PlainValue) and one.kind == "str":
            needed += PER_LETTER * len(one.value)
        elif isinstance(one, ArrayValue):
            needed += PER_ELEMENT * math.prod(one.shape)
    return needed


def _parts(value: Value, form: Form | None, path: Path) -> Iterator[_Part]:
    """An answer's values, keys and containers."""
    if isinstance(value, ArrayValue):
        listed = form is not None and form.container in ("list", "tuple")
        # As lists, each axis has containers for all that lie before it.
        size = 1 + sum(math.prod(value.shape[: n + 1]) for n in range(len(value.shape))) if listed else 1
        yield path, value, size
        return
    yield path, value, 1
    if not isinstance(value, Container):
        return
    for number, item in enumerate(value.items):
        if value.kind == "dict":
            key, inner = item
            name = key.value if isinstance(key, PlainValue) and isinstance(key.value, str | int) else number
            yield (*path, name), key, 1
            yield from _parts(inner, _of_key(form, name), (*path, name))
        else:
            yield from _parts(item, _of_number(form, number), (*path, number))


def _of_key(form: Form | None, key: str | int) -> Form | None:
    if form is None:
        return None
    return form.items.get(str(key)) if isinstance(form.items, dict) else form.values


def _of_number(form: Form | None, number: int) -> Form | None:
    if form is None:
        return None
    inner = form.items if isinstance(form.items, list) else None
    return inner[number] if inner is not None and number < len(inner) else form.of
