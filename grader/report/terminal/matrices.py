"""Small arrays as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    """What is ``obtained`` and what is ``expected``, or an argument before and after a call, as far as known.

    Of arrays of more than two axes the first matrices are shown, those that differ before the others.
    """
    given = {
        name: details[name]
        for name in ("obtained", "expected", "before the call", "after the call")
        if name in details and shape_of(details[name]) is not None
    }
    if len({_leading(value) for value in given.values()}) == 1:
        return Group(*_matrices(given))
    return Group(*[part for name, value in given.items() for part in _matrices({name: value})])


def _leading(value: Any) -> int:
    """How many axes stand before those of the matrices."""
    return max(len(shape_of(value) or ()) - 2, 0)


def _matrices(given: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Arrays with as many axes, matrix by matrix beside each other."""
    places: dict[tuple[int, ...], list[Table]] = {}
    for name, value in given.items():
        shape = shape_of(value) or ()
        for place in product(*map(range, shape[: _leading(value)])):
            matrix = value
            for at in place:
                matrix = matrix[at]
            table = _matrix(f"{name}{list(place)}" if place else name, matrix)
            if table is not None:
                places.setdefault(place, []).append(table)
    differ = {index[:-2] for index in differing(*given.values())} if len(given) == 2 else set()
    order = sorted(places, key=lambda place: (place not in differ, place))
    for place in order[:MAX_SLICES]:
        yield _SideBySide(places[place])
    if len(order) > MAX_SLICES:
        yield Text(f"… {len(order) - MAX_SLICES} more matrices")
