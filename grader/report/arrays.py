"""Values of arrays as pages show them: a table, a text, or only what they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from grader.report.figures import number
from grader.report.room import Room
from grader.report.safe import safe
from grader.report.texts import one_line
from grader.report.values import shape_of

MAX_TABLE_CELLS = 240
MAX_TABLE_COLUMNS = 40


@dataclass(frozen=True)
class ShownArray:
    """What is shown of a value: a table, a text, or only what it is.

    Attributes:
        about: dtype and shape in words.
        inline: A value that fits into a line.
        columns: The numbers of the columns of a table.
        rows: Its cells, escaped.
        slices: For three dimensions and more: which slice, and its values as text.
    """

    name: str
    about: str
    inline: str = ""
    columns: int = 0
    rows: Sequence[Markup] = ()
    slices: Sequence[tuple[str, str]] = ()


_CELL, _MARKED_CELL = "<td>%.6g</td>", "<td><mark>%.6g</mark></td>"


def _cells(row: Iterable[Any], marked: frozenset[int]) -> Markup:
    values = list(row)
    if set(map(type, values)) == {float}:
        # As `number` writes them, a row at a time.
        kinds = [_CELL] * len(values)
        for at in marked:
            if 0 <= at < len(values):
                kinds[at] = _MARKED_CELL
        return Markup("".join(kinds) % tuple(values))
    cells = []
    for at, value in enumerate(values):
        shown = number(value) if isinstance(value, int | float) else safe(number(value))
        cells.append(f"<td><mark>{shown}</mark></td>" if at in marked else f"<td>{shown}</td>")
    return Markup("".join(cells))


def shown_array(
    room: Room,
    name: str,
    values: Any,
    *,
    dtype: str = "",
    shape: Sequence[Any] | None = None,
    worst: Sequence[Sequence[int]] = (),
    table: bool = True,
) -> ShownArray:
    """Values of nested lists as they are shown; ``worst`` are the indices to mark in a table."""
    found = shape_of(values)
    # Nested lists don't tell (0, 7) from (0,).
    told = tuple(shape) if shape is not None else found if found != (0,) else None
    words = shape_words(told) if told is not None else "" if found else "nested lists of unequal length"
    about = one_line(" ".join(filter(None, (dtype, words))), 120)
    if found is None or 0 in found:
        return ShownArray(name, about, inline="no elements" if found is not None else "")
    if not found:
        return ShownArray(name, about, inline=number(values))
    size = math.prod(found)
    if size > 4 * MAX_TABLE_CELLS or not room.take(
        24 * size + 45 * (size // found[-1]) + 30 * found[-1] + 300
    ):
        return ShownArray(name, about)
    if len(found) == 1:
        if size <= 6:
            return ShownArray(name, about, inline="[" + ", ".join(map(number, values)) + "]")
        values, found = [values], (1, size)
        worst = [(0, *index) for index in worst]
    if table and len(found) == 2 and size <= MAX_TABLE_CELLS and found[1] <= MAX_TABLE_COLUMNS:
        marked: dict[int, set[int]] = {}
        for index in worst:
            if len(index) == 2:
                marked.setdefault(index[0], set()).add(index[1])
        rows = [_cells(row, frozenset(marked.get(at, ()))) for at, row in enumerate(values)]
        return ShownArray(name, about, columns=found[1], rows=rows)
    return ShownArray(name, about, slices=list(_slices(values, len(found), ())))


def shape_words(shape: tuple[Any, ...]) -> str:
    if not shape:
        return ""
    return f"({', '.join(str(n) for n in shape)}{',' if len(shape) == 1 else ''})"


def _slices(values: Any, dimensions: int, index: tuple[int, ...]) -> Iterable[tuple[str, str]]:
    if dimensions > 2:
        for at, inner in enumerate(values):
            yield from _slices(inner, dimensions - 1, (*index, at))
        return
    rows = values if dimensions == 2 else [values]
    cells = [[number(v) for v in row] for row in rows]
    width = max((len(c) for row in cells for c in row), default=0)
    text = "\n".join("  ".join(c.rjust(width) for c in row) for row in cells)
    yield f"[{', '.join(map(str, index))}{', ' if index else ''}:, :]", text
