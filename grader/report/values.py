"""Nested lists of numbers, as a record holds arrays: their shape, their matrices, where two differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from grader.report.figures import number

# Of the largest magnitude expected: what differs by less can't be seen in six digits.
SEEN = 1e-5

MAX_COMPARED = 1_000
# With more elements that are not 0 an array is better shown than told.
MOST_TOLD = 2


def shape_of(values: Any) -> tuple[int, ...] | None:
    """The shape of nested lists; None when they are ragged."""
    if not isinstance(values, list | tuple):
        return ()
    if not values:
        return (0,)
    if set(map(type, values)) <= {float, int, str}:
        return (len(values),)
    inner = {shape_of(v) for v in values}
    if len(inner) != 1 or None in inner:
        return None
    (only,) = inner
    return None if only is None else (len(values), *only)


def differing(obtained: Any, expected: Any, seen: float = SEEN) -> tuple[tuple[int, ...], ...]:
    """Indices at which two arrays of one shape differ; none for other shapes and for large arrays.

    Args:
        obtained, expected: Nested lists.
        seen: A share of the largest magnitude expected: what differs by no more counts as the same.
    """
    shape = shape_of(expected)
    if shape is None or shape_of(obtained) != shape or math.prod(shape) > MAX_COMPARED:
        return ()
    right = list(_elements(expected, ()))
    numbers = [finite(value) for _, value in right]
    allowed = seen * max((abs(n) for n in numbers if n is not None), default=0.0)
    found = []
    for (index, one), (_, other), exact in zip(_elements(obtained, ()), right, numbers, strict=True):
        own = finite(one)
        same = one == other if own is None or exact is None else abs(own - exact) <= allowed
        if not same:
            found.append(index)
    return tuple(found)


def _elements(values: Any, index: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    if isinstance(values, list | tuple):
        for at, value in enumerate(values):
            yield from _elements(value, (*index, at))
    else:
        yield index, values


def finite(value: Any) -> float | None:
    """A finite float; None for anything else, also for an integer that is too large."""
    if not isinstance(value, int | float):
        return None
    try:
        known = float(value)
    except OverflowError:
        return None
    return known if math.isfinite(known) else None


def literal(values: Any) -> str:
    """An array or a number on one line, in six digits."""
    if isinstance(values, list | tuple):
        return f"[{', '.join(map(literal, values))}]"
    return number(values)


def in_few_words(values: Any) -> str:
    """What an array is where nearly all of it is the same; empty for others, and for ragged lists.

    Example:
        >>> in_few_words([[2, 2], [2, 2]]), in_few_words([[0, 0, 0], [0, 1, 0]]), in_few_words([1, 2, 3])
        ('all 2', '0 but for [1, 1] = 1', '')
    """
    if shape_of(values) is None:
        return ""
    cells = list(_elements(values, ()))
    known = [finite(cell) for _, cell in cells]
    if len(known) < 2 or None in known:
        return ""
    if len(set(known)) == 1:
        return f"all {number(cells[0][1])}"
    others = [(index, cell) for (index, cell), size in zip(cells, known, strict=True) if size]
    if len(others) > MOST_TOLD or 2 * len(others) >= len(cells):
        return ""
    return f"0 but for {', '.join(f'{list(index)} = {number(cell)}' for index, cell in others)}"


class Slice(NamedTuple):
    """Matrices of an array that are equal.

    Attributes:
        places: Indices of the leading axes, as texts; empty texts for an array that is one matrix.
        rows: Their rows.
        words: ``all 0`` and the like, or ``the identity``; empty for others.
    """

    places: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    words: str


def slices(values: Any, axes: int) -> list[Slice]:
    """The matrices that an array of two or more axes consists of, equal ones together."""
    groups: dict[str, tuple[list[str], list[list[Any]]]] = {}
    for index, rows in matrices(values, axes):
        places, _ = groups.setdefault(repr([[number(cell) for cell in row] for row in rows]), ([], rows))
        places.append(f"[{', '.join(map(str, index))}]" if index else "")
    return [Slice(tuple(places), rows, _words(rows)) for places, rows in groups.values()]


def matrices(values: Any, axes: int, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Index and rows of each matrix of an array of two or more axes; ``index`` stands before all of them."""
    if axes > 2:
        for at, inner in enumerate(values):
            yield from matrices(inner, axes - 1, (*index, at))
    else:
        yield index, values


def _words(rows: Sequence[Sequence[Any]]) -> str:
    cells = [finite(cell) for row in rows for cell in row]
    first = cells[0] if len(cells) > 1 else None
    if first is None:
        return ""
    if all(cell == first for cell in cells):
        return f"all {first:.6g}"
    unit = [float(i == j) for i in range(len(rows)) for j in range(len(rows))]
    return "the identity" if cells == unit else ""
