"""Patterns: small grids of cells that are filled or empty, such as which position attends to which.

A statement holds one as a fenced block, which is readable as it stands:

    ```pattern
    title: Causal
    asked: no
    rows: query
    columns: key
    x: attends
    .: does not attend
    note: A position reads itself and what stands to its left.

      0 1 2
    0 x . .
    1 x x .
    2 x x x
    ```

``title``, ``rows`` and ``columns`` are needed; ``x`` and ``.`` say what the two marks mean.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from grader.exercise.near import did_you_mean

BLOCK = "pattern"
NEEDED = ("title", "rows", "columns")
KEYS = (*NEEDED, "asked", "note", "x", ".")
MARKS = {"x": True, ".": False}
MOST = 40
# More letters of a name or a label than that leave no room for the grid.
MOST_LETTERS = 24
_ASKED = {"yes": True, "no": False}
_LEAST_WIDTH = 16


@dataclass(frozen=True)
class Pattern:
    """A grid.

    Attributes:
        title: What it is.
        rows: What a row stands for.
        columns: What a column stands for.
        row_labels: One a row.
        column_labels: One a column.
        cells: For each row whether each of its cells is filled.
        filled: What a filled cell means.
        empty: What an empty one means.
        asked: Whether it is what the exercise asks for; None where that is not told.
        note: A sentence on it; may be empty.
    """

    title: str
    rows: str
    columns: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: tuple[tuple[bool, ...], ...]
    filled: str = "yes"
    empty: str = "no"
    asked: bool | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether it is asked for, in words; empty where that is not told."""
        return {True: "asked for here", False: "not asked for", None: ""}[self.asked]


class PatternError(ValueError):
    """A block is at fault.

    Attributes:
        line: The line within the block, from 0.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_pattern(text: str) -> Pattern:
    """The pattern that a block describes.

    Args:
        text: What stands between the fences.

    Raises:
        PatternError: It is none.
    """
    lines = text.splitlines()
    told: dict[str, str] = {}
    at = 0
    while at < len(lines) and lines[at].strip():
        key, colon, value = (part.strip() for part in lines[at].partition(":"))
        if not colon:
            raise PatternError(
                at,
                f"expected a line such as 'title: Causal', found {lines[at].strip()!r}; the grid comes "
                "after a blank line",
            )
        if key not in KEYS:
            raise PatternError(at, f"unknown key {key!r}{did_you_mean(key, KEYS)}")
        if key in told:
            raise PatternError(at, f"the key {key!r} stands there twice")
        if not value:
            raise PatternError(at, f"nothing is said after '{key}:'")
        told[key] = value
        at += 1
    if missing := [key for key in NEEDED if key not in told]:
        raise PatternError(0, "lacks " + " and ".join(f"'{key}:'" for key in missing))
    asked = told.get("asked")
    if asked is not None and asked not in _ASKED:
        line = next(n for n, one in enumerate(lines) if one.partition(":")[0].strip() == "asked")
        raise PatternError(line, f"'asked:' is {asked!r}; expected yes or no")
    for key in ("rows", "columns"):
        if fault := _too_long(told[key]):
            line = next(n for n, one in enumerate(lines) if one.partition(":")[0].strip() == key)
            raise PatternError(line, f"'{key}:' {fault}")
    columns, rows, cells = _grid(lines, at)
    return Pattern(
        title=told["title"],
        rows=told["rows"],
        columns=told["columns"],
        row_labels=rows,
        column_labels=columns,
        cells=cells,
        filled=told.get("x", "yes"),
        empty=told.get(".", "no"),
        asked=_ASKED[asked] if asked is not None else None,
        note=told.get("note", ""),
    )


def _grid(
    lines: Sequence[str], start: int
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[bool, ...], ...]]:
    """Labels of the columns and the rows, and the cells."""
    found = [(at, line.split()) for at, line in enumerate(lines) if at >= start and line.strip()]
    if len(found) < 2:
        raise PatternError(
            max(start - 1, 0),
            "holds no grid; expected a blank line, a line of labels for the columns, and a "
            "line for each row: its label and a mark for each column",
        )
    columns = tuple(found[0][1])
    for label in columns:
        if fault := _too_long(label):
            raise PatternError(found[0][0], f"the label {label!r} {fault}")
    rows, cells = [], []
    for at, (label, *marks) in found[1:]:
        if len(marks) != len(columns):
            raise PatternError(
                at,
                f"the row {label!r} has {len(marks)} marks; expected {len(columns)}, as many as there are "
                "labels above",
            )
        if strange := [mark for mark in marks if mark not in MARKS]:
            raise PatternError(at, f"unknown mark {strange[0]!r}; expected x (filled) or . (empty)")
        if fault := _too_long(label):
            raise PatternError(at, f"the label {label!r} {fault}")
        rows.append(label)
        cells.append(tuple(MARKS[mark] for mark in marks))
    if max(len(rows), len(columns)) > MOST:
        raise PatternError(
            found[0][0], f"is {len(rows)} by {len(columns)}; at most {MOST} rows and columns are drawn"
        )
    return columns, tuple(rows), tuple(cells)


def _too_long(name: str) -> str:
    """What is wrong with a name that is written beside a grid; empty where it fits."""
    if len(name) <= MOST_LETTERS:
        return ""
    return f"has {len(name)} letters; expected {MOST_LETTERS} at most, and the rest in 'note:'"


def drawn_as_text(patterns: Sequence[Pattern], width: int = 90) -> str:
    """The patterns side by side in plain text, as many in a line as the width allows, and what they say."""
    shelves: list[list[_Block]] = []
    room = 0
    for block in map(_block, patterns):
        if not shelves or room + 3 + block.width > width:
            shelves.append([])
            room = -3
        shelves[-1].append(block)
        room += 3 + block.width
    drawn = ["\n".join(_beside(shelf)) for shelf in shelves]
    return "\n\n".join([*drawn, "\n".join(_told(patterns, width))])


class _Block(NamedTuple):
    """A pattern in plain text: what stands above its grid, the grid, and the longest line of both."""

    head: list[str]
    grid: list[str]
    width: int


def _block(one: Pattern) -> _Block:
    label = max(map(len, one.row_labels))
    cell = max(map(len, one.column_labels))
    grid = [" ".join([" " * label, *(name.rjust(cell) for name in one.column_labels)])]
    for name, row in zip(one.row_labels, one.cells, strict=True):
        grid.append(" ".join([name.rjust(label), *(("■" if on else "·").rjust(cell) for on in row)]))
    head = textwrap.wrap(one.title, max(len(grid[0]), _LEAST_WIDTH))
    head += [f"({one.verdict})"] if one.verdict else []
    return _Block(head, grid, max(map(len, (*head, *grid))))


def _beside(blocks: Sequence[_Block]) -> Iterator[str]:
    """The lines of several blocks, whose grids begin on one line."""
    above = max(len(block.head) for block in blocks)
    columns = [[*block.head, *[""] * (above - len(block.head)), *block.grid] for block in blocks]
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (part.ljust(block.width) for part, block in zip(parts, blocks, strict=True))
        yield "   ".join(padded).rstrip()


def _told(patterns: Sequence[Pattern], width: int) -> Iterator[str]:
    """What the marks mean, with the title where that differs, and the notes."""
    keys = [f"■ {one.filled}, · {one.empty}; rows: {one.rows}, columns: {one.columns}" for one in patterns]
    if len(set(keys)) > 1:
        keys = [f"{one.title}: {key}" for one, key in zip(patterns, keys, strict=True)]
    notes = [f"{one.title}: {one.note}" for one in patterns if one.note]
    for text in (*dict.fromkeys(keys), *notes):
        yield from textwrap.wrap(text, width, subsequent_indent="  ")
