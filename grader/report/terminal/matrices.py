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
# Blanks between columns (a table of Rich's has them), and between matrices beside each other.
BETWEEN = 2
APART = 4
# Stands for columns or rows that are left out.
MORE = "…"


def cell(value: Any) -> str:
    """A number in five digits."""
    return f"{value:.5g}" if isinstance(value, float) else number(value)


class _Matrix:
    """A matrix, a row of numbers or a number below its title; as many columns as there is room for."""

    def __init__(self, title: str, matrix: Any, shape: Sequence[int]) -> None:
        self.title = title
        # An empty matrix needs a column too.
        rows = [["none"]] if 0 in shape else matrix if len(shape) == 2 else [matrix] if shape else [[matrix]]
        self.all_rows, self.all_columns = len(rows), max(map(len, rows), default=0)
        self.cells = [[cell(value) for value in row[:MAX_COLUMNS]] for row in rows[:MAX_ROWS]]
        count = min(self.all_columns, MAX_COLUMNS)
        self.widths = [
            max((len(row[n]) for row in self.cells if n < len(row)), default=0) for n in range(count)
        ]

    def _needs(self, columns: int) -> int:
        """The width of so many columns, with the sign that there are more."""
        more = [len(MORE)] if columns < self.all_columns else []
        widths = self.widths[:columns] + more
        return sum(widths) + BETWEEN * (len(widths) - 1)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        whole = max(self._needs(len(self.widths)), len(self.title))
        return Measurement(whole, whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        columns = next((n for n in range(len(self.widths), 0, -1) if self._needs(n) <= room), 0)
        if not columns:
            yield Text(self.title, style="bold")
            yield Text("too wide for this window")
            return
        table = Table(
            title=self.title,
            title_style="bold",
            title_justify="left",
            box=None,
            show_header=False,
            pad_edge=False,
            # A single narrow number must not cut the title.
            min_width=min(len(self.title), room),
        )
        more = [MORE] if columns < self.all_columns else []
        for _ in range(columns + len(more)):
            table.add_column(justify="right", no_wrap=True)
        for row in self.cells:
            table.add_row(*map(Text, row[:columns]), *(more if len(row) >= columns else []))
        if len(self.cells) < self.all_rows:
            table.add_row(MORE)
        yield table


def _matrix(title: str, matrix: Any) -> _Matrix | None:
    """A titled table of a matrix, a row of numbers, or a number."""
    shape = shape_of(matrix)
    return None if shape is None or len(shape) > 2 else _Matrix(title, matrix, shape)


class _SideBySide:
    """The answer and the expected one beside each other, or below each other in a narrow window."""

    def __init__(self, matrices: Sequence[_Matrix]) -> None:
        self.matrices = matrices

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [Measurement.get(console, options, one).maximum for one in self.matrices]
        if sum(widths) + APART * len(widths) <= options.max_width:
            outer = Table(box=None, show_header=False, pad_edge=False, padding=(0, APART, 0, 0))
            outer.add_row(*self.matrices)
            yield outer
        else:
            yield from self.matrices


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
    places: dict[tuple[int, ...], list[_Matrix]] = {}
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
