"""Which elements of an argument move which rows of the answer, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A row has moved when it changed by more than this share of the answer's magnitude.
MOVED = 1e-5

Array = NDArray[Any]


@dataclass(frozen=True)
class InfluenceMap:
    """The picture as a pack holds it.

    Attributes:
        argument: The argument whose elements are changed.
        shape: Its shape; the elements are numbered in C order.
        axes: What its axes are called: the exercise's expressions for their lengths.
        rows: For each view, which rows of the picture the rows of its answers are.
        expected: For each element a text with a character for each row: ``1`` where the row moves when the
            element is changed, ``0`` where it does not.

    The calls of a view follow each other: the unchanged one, then one for each element.
    """

    argument: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    expected: tuple[str, ...]

    @property
    def calls(self) -> int:
        """How many calls it takes."""
        return len(self.rows) * (1 + len(self.expected))


def read_map(map_: InfluenceMap, answers: Sequence[Array | None], bound: float = MOVED) -> tuple[str, ...]:
    """The picture that answers give.

    Args:
        map_: The picture's form.
        answers: The answer to each call, None where there is none of the right form.
        bound: A row has moved when it changed by more than this share of the answer's magnitude.

    Returns:
        As `InfluenceMap.expected`, with ``?`` where an answer is missing.
    """
    size = len(map_.expected)
    picture = [["?"] * sum(map(len, map_.rows)) for _ in range(size)]
    for view, rows in enumerate(map_.rows):
        first, *others = answers[view * (1 + size) : (view + 1) * (1 + size)]
        for element, other in enumerate(others):
            if first is None or other is None or first.shape != other.shape or len(first) != len(rows):
                continue
            for row, name in enumerate(rows):
                picture[element][name] = _has_moved(first, other, row, bound)
    return tuple("".join(line) for line in picture)


def _has_moved(first: Array, other: Array, row: int, bound: float) -> str:
    one, two = np.atleast_1d(first[row]), np.atleast_1d(other[row])
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        return "?"
    finite = [a[np.isfinite(a)] for a in (first, other)]
    scale = max((float(np.max(np.abs(a), initial=0.0)) for a in finite), default=0.0) or 1.0
    return "1" if float(np.max(np.abs(one - two), initial=0.0)) > bound * scale else "0"
