"""Rows of cells for a terminal: a table, or in a window too narrow for one every row as lines of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

BETWEEN = 2
# Narrower than this a sentence can't be read.
LEAST = 12
# Words up to this are not broken.
LONG_WORD = 20


class Listing:
    """A table whose columns are never squeezed to a few letters.

    Args:
        columns: Their titles.
        rows: As many cells in each.
        right: Titles of the columns of numbers.
        whole: Titles of the columns whose cells are there to be copied and are not broken.
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Text]],
        *,
        right: Collection[str] = (),
        whole: Collection[str] = (),
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.right = right
        self.whole = {*right, *whole}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(options.max_width)
        if widths is None:
            yield from self._below()
            return
        table = Table(box=None, pad_edge=False, padding=(0, BETWEEN, 0, 0), header_style="bold")
        for name, width in zip(self.columns, widths, strict=True):
            justify = "right" if name in self.right else "left"
            table.add_column(name, width=width, overflow="fold", justify=justify)  # type: ignore[arg-type]
        for row in self.rows:
            table.add_row(*row)
        yield table

    def _widths(self, room: int) -> list[int] | None:
        """A width for each column; None where there is no room to read them."""
        widths, least = [], []
        for at, name in enumerate(self.columns):
            cells = [line for row in self.rows for line in row[at].plain.split("\n")]
            width = max(cell_len(name), *map(cell_len, cells)) if cells else cell_len(name)
            widths.append(width)
            word = max(map(cell_len, " ".join(cells).split()), default=0)
            readable = max(LEAST, min(word, LONG_WORD), cell_len(name))
            least.append(width if name in self.whole else min(width, readable))
        excess = sum(widths) + BETWEEN * (len(widths) - 1) - room
        while excess > 0:
            at = max(range(len(widths)), key=lambda n: widths[n] - least[n])
            if widths[at] == least[at]:
                return None
            widths[at] -= 1
            excess -= 1
        return widths

    def _below(self) -> Iterator[RenderableType]:
        for number, row in enumerate(self.rows):
            if number:
                yield Text("")
            named = [(name, cell) for name, cell in zip(self.columns, row, strict=True) if cell.plain]
            yield labelled(named)


def labelled(rows: Sequence[tuple[str, RenderableType]]) -> Table:
    """Labels, and beside each what it is about."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, BETWEEN, 0, 0))
    table.add_column(style="bold", no_wrap=True, min_width=len("instead"))
    table.add_column(overflow="fold")
    for label, content in rows:
        table.add_row(label, content)
    return table
