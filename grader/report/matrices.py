"""Small arrays as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from grader.report.figures import number
from grader.report.values import differing, shape_of

MAX_ROWS = 8
MAX_COLUMNS = 6
MAX_SLICES = 2


def cell(value: Any) -> str:
    """A number in five digits."""
    return f"{value:.5g}" if isinstance(value, float) else number(value)


def _matrix(title: str, matrix: Any) -> Table | None:
    """A titled table of a matrix, a row of numbers, or a number."""
    shape = shape_of(matrix)
    if shape is None or len(shape) > 2:
        return None
    # A table of Rich's needs a column.
    rows = [["none"]] if 0 in shape else matrix if len(shape) == 2 else [matrix] if shape else [[matrix]]
    table = Table(
        title=title,
        title_style="bold",
        title_justify="left",
        box=None,
        show_header=False,
        pad_edge=False,
        # A single narrow number must not cut the title.
        min_width=len(title),
    )
    for _ in range(min(max(map(len, rows), default=0), MAX_COLUMNS + 1)):
        table.add_column(justify="right", no_wrap=True)
    for row in rows[:MAX_ROWS]:
        cells = [Text(cell(value)) for value in row[:MAX_COLUMNS]]
        table.add_row(*cells, *(["…"] if len(row) > MAX_COLUMNS else []))
    if len(rows) > MAX_ROWS:
        table.add_row("…")
    return table


class _SideBySide:
    """The answer and the expected one beside each other, or below each other in a narrow window."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tables

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [Measurement.get(console, options, table).maximum for table in self.tables]
        if sum(widths) + 4 * len(widths) <= options.max_width:
            outer = Table(box=None, show_header=False, pad_edge=False, padding=(0, 4, 0, 0))
            outer.add_row(*self.tables)
            yield outer
        else:
            yield from self.tables


def side_by_side(details: Mapping[str, Any]) -> RenderableType:
    """What is ``obtained`` and what is ``expected``, as far as they are there.

    Of arrays of more than two axes the first matrices are shown, those that differ before the others.
    """
    given = {name: details[name] for name in ("obtained", "expected") if name in details}
    shapes = {name: shape_of(value) for name, value in given.items()}
    if all(shape is None or len(shape) <= 2 for shape in shapes.values()):
        tables = [table for name, value in given.items() if (table := _matrix(name, value)) is not None]
        return _SideBySide(tables)
    wrong = {index[:-2] for index in differing(given.get("obtained"), given.get("expected"))}
    parts: list[RenderableType] = []
    places = sorted({place for name, shape in shapes.items() for place in _places(shape)})
    places.sort(key=lambda place: place not in wrong)
    for place in places[:MAX_SLICES]:
        tables = []
        for name, value in given.items():
            shape = shapes[name]
            if shape is None or len(place) != max(len(shape) - 2, 0) or place not in _places(shape):
                continue
            for at in place:
                value = value[at]
            table = _matrix(f"{name}{list(place)}" if place else name, value)
            tables += [table] if table is not None else []
        parts.append(_SideBySide(tables))
    if len(places) > MAX_SLICES:
        parts.append(Text(f"… {len(places) - MAX_SLICES} more matrices"))
    return Group(*parts)


def _places(shape: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    """The indices of an array's matrices."""
    return list(product(*map(range, shape[:-2]))) if shape is not None else []
