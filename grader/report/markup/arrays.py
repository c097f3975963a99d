"""Values of arrays as pages show them: matrices of coloured cells, a text, or only what they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.report.figures import number
from grader.report.markup.heat import Scale, cells, difference_cells, numbers, scale_of
from grader.report.markup.room import Room
from grader.report.texts import one_line
from grader.report.values import literal, matrices, shape_of

MAX_CELLS = 240
MAX_COLUMNS = 40
MAX_MATRICES = 24
# A longer array of one axis goes on in the next row, after so many.
MAX_ROW, ROW = 16, 10


class Matrix(NamedTuple):
    """A matrix of an array.

    Attributes:
        where: Which one, as an index; empty for an array that is one matrix.
        rows: The cells of each row, escaped.
        columns: How many columns it has.
        top, left: Numbers of the first row and of the first column.
        step: By how much the numbers of two rows differ: that of a row of a long array of one axis is that
            of its first element.
    """

    where: str
    rows: Sequence[Markup]
    columns: int
    top: int = 0
    left: int = 0
    step: int = 1


@dataclass(frozen=True)
class ShownArray:
    """What is shown of a value: matrices, a text, or only what it is.

    Attributes:
        about: dtype and shape in words.
        inline: A value that fits into a line.
        scale: Of the colours of its cells; None where they have none.
    """

    name: str
    about: str
    inline: str = ""
    matrices: Sequence[Matrix] = ()
    scale: Scale | None = None


def shown_array(
    room: Room,
    name: str,
    values: Any,
    *,
    dtype: str = "",
    shape: Sequence[Any] | None = None,
    worst: Iterable[Sequence[int]] = (),
    scale: Scale | None = None,
    difference: bool = False,
    corner: tuple[int, int] = (0, 0),
    inline: int = 0,
) -> ShownArray:
    """Values of nested lists as they are shown.

    Args:
        room: What it takes room from.
        name: A name, to be shown.
        values: Nested lists, or a value.
        dtype, shape: Of the array; the shape is read from the lists where it is left out.
        worst: The indices to mark.
        scale: Of its colours; its own where it is left out.
        difference: The values are differences.
        corner: Numbers of the first row and column.
        inline: So many elements at most are shown as a text.
    """
    found = shape_of(values)
    # Nested lists don't tell (0, 7) from (0,).
    told = tuple(shape) if shape is not None else found if found != (0,) else None
    words = shape_words(told) if told is not None else "" if found else "nested lists of unequal length"
    about = one_line(" ".join(filter(None, (dtype, words))), 120)
    if found is None or 0 in found:
        return ShownArray(name, about, inline="no elements" if found is not None else "")
    if not found:
        return ShownArray(name, about, inline=number(values))
    size, columns, step = math.prod(found), found[-1], 1
    if len(found) == 1 and size > MAX_ROW:
        columns = step = ROW
    count = math.prod(found[:-2])
    if size <= inline:
        return ShownArray(name, about, inline=literal(values))
    if size > MAX_CELLS or columns > MAX_COLUMNS or count > MAX_MATRICES:
        return ShownArray(name, about)
    if not room.take(31 * size + 40 * -(-size // columns) + count * (30 * columns + 300)):
        return ShownArray(name, about)
    scale = scale or scale_of(numbers(values))
    if len(found) == 1:
        values = [values[at : at + columns] for at in range(0, size, columns)]
        worst = [divmod(index[0], columns) for index in worst if len(index) == 1]
    marked: dict[Sequence[int], set[int]] = {}
    for index in worst:
        if len(index) == max(len(found), 2):
            marked.setdefault(tuple(index[:-1]), set()).add(index[-1])
    written = difference_cells if difference else cells
    shown = [
        Matrix(
            f"[{', '.join(map(str, at))}, :, :]" if at else "",
            [written(row, scale, marked.get((*at, n), ())) for n, row in enumerate(rows)],
            columns,
            corner[0],
            corner[1],
            step,
        )
        for at, rows in matrices(values, max(len(found), 2))
    ]
    return ShownArray(name, about, matrices=shown, scale=scale)


def shape_words(shape: tuple[Any, ...]) -> str:
    """A shape as Python writes it; empty for a number."""
    if not shape:
        return ""
    return f"({', '.join(str(n) for n in shape)}{',' if len(shape) == 1 else ''})"


class Part(NamedTuple):
    """The rows and columns around the largest error of an array that is too large to be shown.

    Attributes:
        obtained, expected: Matrices of the same shape.
        at: The index of their matrix in the array.
        top, left: Numbers of their first row and column in that matrix.
        axes: How many axes the array has.
        words: What is shown, of what.
    """

    obtained: Any
    expected: Any
    at: tuple[int, ...]
    top: int
    left: int
    axes: int
    words: str

    def inside(self, worst: Iterable[tuple[int, ...]]) -> list[tuple[int, int]]:
        """Those indices of the array that lie in the part, as indices of the part."""
        rows, columns = len(self.obtained), len(self.obtained[0])
        found = []
        for index in worst:
            if len(index) != self.axes or index[:-2] != self.at:
                continue
            row = index[-2] - self.top if len(index) > 1 else 0
            column = index[-1] - self.left
            if 0 <= row < rows and 0 <= column < columns:
                found.append((row, column))
        return found


def read_part(data: Any, what: str = "error") -> Part | None:
    """The part of a case's details, which lies around the largest of ``what``; None where there is none."""
    if not isinstance(data, Mapping):
        return None
    obtained, expected = data.get("obtained"), data.get("expected")
    lists = [data.get(key) for key in ("shape", "at", "first")]
    if not all(isinstance(one, list) and all(_is_index(n) for n in one) for one in lists):
        return None
    shape, at, first = (tuple(one) for one in lists if isinstance(one, list))
    found = shape_of(obtained)
    if found is None or len(found) != 2 or 0 in found or shape_of(expected) != found:
        return None
    if len(first) != 2 or not 0 < len(shape) <= 32 or len(at) != max(0, len(shape) - 2):
        return None
    columns = f"columns {first[1]}–{first[1] + found[1] - 1}"
    if len(shape) == 1:
        columns = columns.replace("columns", "elements")
        words = f"Around the largest {what}: {columns} of {shape_words(shape)}."
    else:
        of = f"[{', '.join(map(str, at))}] of " if at else ""
        rows = f"rows {first[0]}–{first[0] + found[0] - 1}"
        words = f"Around the largest {what}: {rows} and {columns} of {of}{shape_words(shape)}."
    return Part(obtained, expected, at, *first, len(shape), words)


def _is_index(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63
