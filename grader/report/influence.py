"""The map of influence: which row of the answer moves when an element of an argument is changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MOVED, STAYED, NO_ANSWER = "1", "0", "?"

# A larger map can't be read, neither on a page nor in a terminal.
MAX_SIDE = 40
MAX_AXIS = 20
MAX_NAMED = 12


@dataclass(frozen=True)
class Sides:
    """What the rows and the columns of a map stand for.

    Attributes:
        shape: The argument's shape; each row of the map is an element of it, in C order.
        axes: Names of its axes; empty where they are not known.
        columns: How many rows the answers have; each column of the map is one of them.
    """

    shape: tuple[int, ...]
    axes: tuple[str, ...]
    columns: int

    @property
    def rows(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def group(self) -> int:
        """How many rows of the map belong together: those that differ in their last index alone."""
        return self.shape[-1]

    @property
    def alike(self) -> bool:
        """Whether there is a column for each element, which then goes by the element's name."""
        return self.columns == self.rows

    @property
    def column_group(self) -> int:
        """How many columns belong together."""
        return self.group if self.alike else self.columns

    @property
    def numbered(self) -> str:
        """How elements are named: ``(N, T)``, or ``their index``."""
        if not self.axes:
            return "their index"
        return self.axes[0] if len(self.axes) == 1 else f"({', '.join(self.axes)})"

    def index(self, element: int) -> tuple[int, ...]:
        """Where an element is."""
        found = []
        for size in reversed(self.shape):
            element, at = divmod(element, size)
            found.append(at)
        return tuple(reversed(found))

    def row_name(self, element: int) -> str:
        """Index of an element: ``(1, 3)``, or ``3`` where there is one axis."""
        index = [str(at) for at in self.index(element)]
        return f"({', '.join(index)})" if len(index) > 1 else index[0]

    def column_name(self, row: int) -> str:
        """A row of the answer, in a sentence."""
        return self.row_name(row) if self.alike else f"row {row}"


@dataclass(frozen=True)
class InfluenceMap:
    """Both maps, a text for each element of the argument with a sign for each row of the answer.

    Attributes:
        argument: Its name.
        sides: What rows and columns stand for.
        obtained, expected: ``1`` where the row moved, ``0`` where it stayed, ``?`` where there was no answer.
        message: What to say of it.
    """

    argument: str
    sides: Sides
    obtained: tuple[str, ...]
    expected: tuple[str, ...]
    message: str

    @cached_property
    def differing(self) -> tuple[tuple[int, int], ...]:
        """Element and row of the cells in which the two maps differ."""
        return tuple(
            (row, column)
            for row, (one, other) in enumerate(zip(self.obtained, self.expected, strict=True))
            for column, (sign, right) in enumerate(zip(one, other, strict=True))
            if sign != right
        )

    @property
    def unanswered(self) -> bool:
        """Whether a sign says that there was no answer."""
        return any(NO_ANSWER in row for row in (*self.obtained, *self.expected))

    def words(self, most_named: int = MAX_NAMED) -> str:
        """In how many cells they differ and how; in which, if there are no more than ``most_named``."""
        kinds: dict[tuple[str, str], list[str]] = {kind: [] for kind in (_MISSING, _TOO_MANY, _NO_ANSWER)}
        for row, column in self.differing:
            sign, right = self.obtained[row][column], self.expected[row][column]
            kind = _MISSING if right == MOVED else _TOO_MANY
            cells = kinds[_NO_ANSWER if NO_ANSWER in (sign, right) else kind]
            cells.append(f"{self.sides.column_name(column)} by {self.sides.row_name(row)}")
        parts = []
        for (one, more), cells in kinds.items():
            named = f" ({', '.join(cells)})" if len(self.differing) <= most_named else ""
            if cells:
                parts.append(f"{len(cells)} {one if len(cells) == 1 else more}{named}")
        of = sum(map(len, self.expected))
        return f"Yours differs from the right map in {len(self.differing)} of {of} cells: {'; '.join(parts)}."


# What is said of one cell and of several.
_MISSING = "row that should move stays", "rows that should move stay"
_TOO_MANY = "row that should stay moves", "rows that should stay move"
_NO_ANSWER = "row is without an answer", "rows are without an answer"


def read_influence(data: Any) -> InfluenceMap | None:
    """The maps of a record; None where there are none, they are the same, or they are of no use."""
    if not isinstance(data, Mapping):
        return None
    shape = data.get("shape")
    if not isinstance(shape, list | tuple) or not all(type(n) is int and n > 0 for n in shape):
        return None
    obtained, expected = _signs(data.get("obtained")), _signs(data.get("expected"))
    rows = math.prod(shape)
    if not shape or rows > MAX_SIDE or len(obtained) != rows or len(expected) != rows:
        return None
    columns = len(expected[0])
    if not 0 < columns <= MAX_SIDE or {len(row) for row in (*obtained, *expected)} != {columns}:
        return None
    if obtained == expected:
        return None
    argument, message = data.get("argument"), data.get("message")
    return InfluenceMap(
        argument if isinstance(argument, str) else "",
        Sides(tuple(shape), _axes(data.get("axes"), len(shape)), columns),
        obtained,
        expected,
        message if isinstance(message, str) else "",
    )


def _signs(rows: Any) -> tuple[str, ...]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return ()
    good = all(isinstance(row, str) and set(row) <= {MOVED, STAYED, NO_ANSWER} for row in rows)
    return tuple(rows) if good else ()


def _axes(names: Any, count: int) -> tuple[str, ...]:
    """Names of as many axes; empty where one is missing or too long to be read, as in older records."""
    if not isinstance(names, list | tuple) or len(names) != count:
        return ()
    good = all(isinstance(name, str) and name.strip() and len(name) <= MAX_AXIS for name in names)
    return tuple(names) if good else ()
