"""A demonstration for a terminal: the same as on its page, in short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector, paragraphs
from grader.report.figures import alike, number, plural
from grader.report.texts import one_line
from grader.report.values import finite

DECIMALS = 3
MAX_LABEL, MAX_NOTE, MAX_NAME, MAX_VALUE = 200, 600, 16, 24
MAX_LINE = 60
MAX_ROWS = 12
# Blanks between columns.
BETWEEN = 2
INDENT = 2
# Elements of a vector that stand beside each other, where there is room; more stand below each other.
MAX_BESIDE = 10
MAX_BELOW = 20
BAR = 24
BLOCK, MORE = "█", "…"


def demonstration_report(demonstration: Demonstration) -> RenderableType:
    """Title, description, and every example."""
    parts: list[RenderableType] = [Text(one_line(demonstration.title, MAX_LABEL), style="bold")]
    parts += _note(demonstration.description)
    for example in demonstration.examples:
        parts += ["", *_example(example)]
    return Group(*parts)


def _note(text: str) -> list[RenderableType]:
    return [Text(one_line(part, MAX_NOTE)) for part in paragraphs(text)]


def _example(example: Example) -> list[RenderableType]:
    head = Text.assemble((one_line(example.label, MAX_LABEL), "bold"), (f"  {example.id}", "dim"))
    parts: list[RenderableType] = _note(example.note)
    if parts:
        parts.append("")
    if example.metrics:
        parts += [_metric(m) for m in example.metrics]
    parts += [_Vector(v) for v in example.vectors]
    parts += [_matrix(m) for m in example.matrices]
    return [head, _indented(Group(*parts))]


def _indented(content: RenderableType) -> RenderableType:
    return Padding(content, (0, 0, 0, INDENT))


def _metric(metric: Metric) -> RenderableType:
    value = metric.value
    told = one_line(value, MAX_LABEL) if isinstance(value, str) else number(value)
    return Text.assemble((one_line(metric.label, MAX_LABEL), "bold"), f": {told}")


def _name(text: str) -> str:
    return one_line(text, MAX_NAME)


def _texts(values: Sequence[Any], most: int = MAX_VALUE) -> list[str]:
    """Values that stand together; texts as they are, cut where they are longer than ``most``."""
    written = iter(alike([v for v in values if not isinstance(v, str)], DECIMALS))
    return [one_line(v, most) if isinstance(v, str) else next(written) for v in values]


class _Grid:
    """A title over rows of cells, the names of columns first; as many columns as there is room for.

    Args:
        title: What it is.
        rows: Each begins with its name where there are names of rows.
        named: Whether there are.
        left_out: How many more rows there are.
    """

    def __init__(self, title: str, rows: Sequence[Sequence[str]], *, named: bool, left_out: int = 0) -> None:
        self.title = one_line(title, MAX_LABEL)
        self.rows = rows
        self.named = named
        self.left_out = left_out
        self.widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]

    def fits(self, room: int) -> bool:
        """Whether all columns have room."""
        return self._needs(len(self.widths)) <= room - INDENT

    def _needs(self, columns: int) -> int:
        more = [len(MORE)] if columns < len(self.widths) else []
        widths = self.widths[:columns] + more
        return sum(widths) + BETWEEN * (len(widths) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - INDENT
        yield Text(self.title, style="bold")
        columns = next((n for n in range(len(self.widths), int(self.named), -1) if self._needs(n) <= room), 0)
        if not columns:
            yield _indented(Text("too wide for this window"))
            return
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, BETWEEN, 0, 0))
        more = [MORE] if columns < len(self.widths) else []
        for at in range(columns + len(more)):
            table.add_column(justify="left" if self.named and at == 0 else "right", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, (*row[:columns], *more)))
        yield _indented(table)
        left_out = []
        if more:
            left_out.append(plural(len(self.widths) - columns, "more column"))
        if self.left_out:
            left_out.append(plural(self.left_out, "more row"))
        if left_out:
            yield _indented(Text(f"{MORE} {' and '.join(left_out)}"))


def _matrix(matrix: Matrix) -> _Grid:
    """A matrix with the names of its rows and columns; of many rows the first."""
    shown = matrix.values[:MAX_ROWS]
    width = len(shown[0])
    texts = _texts([value for row in shown for value in row])
    rows = [["", *map(_name, matrix.column_names)]]
    for at, name in enumerate(matrix.row_names[:MAX_ROWS]):
        rows.append([_name(name), *texts[at * width : (at + 1) * width]])
    return _Grid(matrix.label, rows, named=True, left_out=len(matrix.values) - len(shown))


class _Vector:
    """Elements below their names where there is room; else one a line, numbers with bars."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.names = [_name(name) for name in vector.names]
        # A text may have a line of its own.
        self.texts = _texts(vector.values, MAX_LINE)
        self.beside = _Grid(vector.label, [self.names, self.texts], named=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if len(self.texts) <= MAX_BESIDE and self.beside.fits(options.max_width):
            yield self.beside
            return
        yield Text(self.beside.title, style="bold")
        most = max((abs(n) for v in self.vector.values if (n := finite(v)) is not None), default=0.0)
        name = max(map(cell_len, self.names))
        text = max(map(cell_len, self.texts))
        room = min(BAR, options.max_width - INDENT - name - text - 2 * BETWEEN)
        rows = list(zip(self.names, self.texts, self.vector.values, strict=True))
        # Where it ends is told too: a loss is looked at for that.
        first = rows if len(rows) <= MAX_BELOW else rows[: MAX_BELOW - 1]
        for at, (own, written, value) in enumerate([*first, *rows[len(first) :][-1:]]):
            if at and at == len(first):
                yield _indented(Text(f"{MORE} {plural(len(rows) - MAX_BELOW, 'more element')}"))
            before = "" if isinstance(value, str) else " " * (text - cell_len(written))
            line = f"{set_cell_size(own, name)}  {before}{written}"
            told = f"{line}  {_bar(value, most, room)}".rstrip()
            yield _indented(Text(told, no_wrap=True, overflow="ellipsis"))


def _bar(value: Any, most: float, room: int) -> str:
    """A bar for the magnitude of a number; that of one below zero begins with its sign."""
    known = finite(value)
    if known is None or not most or room < 4:
        return ""
    bar = BLOCK * round(abs(known) / most * (room - 1))
    return f"−{bar}" if known < 0 and bar else bar
