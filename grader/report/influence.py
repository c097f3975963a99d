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
MAX_NAMED = 12


def element_name(number: int, shape: tuple[int, ...]) -> str:
    """Index of an element: ``(example, position)`` for an argument with two axes."""
    index = []
    for size in reversed(shape):
        number, at = divmod(number, size)
        index.append(str(at))
    return f"({', '.join(reversed(index))})" if len(index) > 1 else index[0]


def group_size(shape: tuple[int, ...]) -> int:
    """How many neighbours belong together: the positions of an example, or all."""
    return shape[1] if len(shape) == 2 else math.prod(shape)


@dataclass(frozen=True)
class InfluenceMap:
    """Both maps, a text for each element of the argument with a sign for each row of the answer.

    Attributes:
        argument: Its name.
        shape: Its shape.
        obtained, expected: ``1`` where the row moved, ``0`` where it stayed, ``?`` where there was no answer.
        message: What to say of it.
    """

    argument: str
    shape: tuple[int, ...]
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
    def words(self) -> str:
        """In how many cells they differ and how; of a few, in which."""
        kinds: dict[tuple[str, str], list[str]] = {kind: [] for kind in (_MISSING, _TOO_MANY, _NO_ANSWER)}
        for row, column in self.differing:
            sign, right = self.obtained[row][column], self.expected[row][column]
            kind = _MISSING if right == MOVED else _TOO_MANY
            cells = kinds[_NO_ANSWER if NO_ANSWER in (sign, right) else kind]
            cells.append(f"{element_name(column, self.shape)} by {element_name(row, self.shape)}")
        parts = []
        for (one, more), cells in kinds.items():
            named = f" ({', '.join(cells)})" if len(self.differing) <= MAX_NAMED else ""
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
    size = math.prod(shape)
    if not shape or not 0 < size <= MAX_SIDE or len(obtained) != size or len(expected) != size:
        return None
    if {len(row) for row in (*obtained, *expected)} != {size} or obtained == expected:
        return None
    argument, message = data.get("argument"), data.get("message")
    return InfluenceMap(
        argument if isinstance(argument, str) else "",
        tuple(shape),
        obtained,
        expected,
        message if isinstance(message, str) else "",
    )


def _signs(rows: Any) -> tuple[str, ...]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return ()
    good = all(isinstance(row, str) and set(row) <= {MOVED, STAYED, NO_ANSWER} for row in rows)
    return tuple(rows) if good else ()
