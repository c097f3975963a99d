"""Cells of tables whose colour tells their value: nine levels from orange over none to blue.

The number stays in the cell, so the colour only repeats it; a frame, not a colour, tells what differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.report.figures import number
from grader.report.markup.safe import fill, joined, safe
from grader.report.values import finite

LEVELS = 9
MIDDLE = LEVELS // 2

# An answer this many times as large as the right one does not set the scale: all else would look alike.
FAR = 4.0


class Scale(NamedTuple):
    """Which value has which level.

    Attributes:
        low, high: Finite; what lies beyond has the level of the end.
        first, last: Their levels.
        factor, offset: The level of a value between them is the whole part of ``value * factor + offset``.
    """

    low: float
    high: float
    first: int
    last: int
    factor: float
    offset: float

    def level(self, value: float) -> int:
        """The level of a value that is not NaN."""
        if value <= self.low:
            return self.first
        return self.last if value >= self.high else int(value * self.factor + self.offset)


def scale_of(values: Iterable[float]) -> Scale | None:
    """The scale of finite values: around 0 where they have both signs, else from the least to the largest.

    None where there are none, and where they are all the same.
    """
    kept = list(values)
    low, high = min(kept, default=0.0), max(kept, default=0.0)
    first, last = 0, LEVELS - 1
    if low < 0 < high:
        high = max(-low, high)
        low = -high
    elif low >= 0:
        first = MIDDLE
    else:
        last = MIDDLE
    # Halves, since the difference of the largest floats is infinite.
    half = high / 2 - low / 2
    factor = (last - first) / half / 2 if half else math.inf
    if not math.isfinite(factor):
        return None
    return Scale(low, high, first, last, factor, first + 0.5 - low * factor)


def common_scale(obtained: Any, expected: Any) -> Scale | None:
    """One scale for two answers. The right one sets it, and the other too unless it is far larger."""
    right, own = list(numbers(expected)), list(numbers(obtained))
    most = FAR * max(map(abs, right), default=0.0)
    near = [v for v in own if abs(v) <= most]
    return scale_of(right + near) or scale_of(right + own)


def numbers(values: Any) -> Iterator[float]:
    """The finite numbers in nested lists."""
    if isinstance(values, list | tuple):
        for value in values:
            if type(value) is float and math.isfinite(value):
                yield value
            else:
                yield from numbers(value)
    else:
        found = finite(values)
        if found is not None:
            yield found


# --- Cells ----------------------------------------------------------------------------------------

DOT = "<td>·</td>"
_PLAIN = tuple(f"<td class=h{level}>%.6g</td>" for level in range(LEVELS))
_MARKED = tuple(f"<td class=h{level}><mark>%.6g</mark></td>" for level in range(LEVELS))


def cells(row: Sequence[Any], scale: Scale | None, marked: Collection[int] = ()) -> Markup:
    """A row of values as cells; those at the indices ``marked`` are marked."""
    if scale is not None and set(map(type, row)) == {float} and all(map(math.isfinite, row)):
        low, high, first, last, factor, offset = scale
        levels = [
            first if v <= low else last if v >= high else int(v * factor + offset)  # as Scale.level
            for v in row
        ]
        patterns = [_PLAIN[level] for level in levels]
        for at in marked:
            if 0 <= at < len(row):
                patterns[at] = _MARKED[levels[at]]
        return Markup("".join(patterns) % tuple(row))
    return Markup("".join([_cell(v, scale, number, at in marked) for at, v in enumerate(row)]))


def difference_cells(row: Sequence[Any], scale: Scale | None, marked: Collection[int] = ()) -> Markup:
    """The same for differences, with a dot for none."""
    return Markup(
        "".join([DOT if v == 0 else _cell(v, scale, _difference, at in marked) for at, v in enumerate(row)])
    )


def _difference(value: Any) -> str:
    return f"{value:+.2g}".replace("-", "−") if isinstance(value, float) else number(value)


def _cell(value: Any, scale: Scale | None, written: Callable[[Any], str], marked: bool) -> str:
    known = finite(value)
    if known is not None:
        kind = f" class=h{scale.level(known)}" if scale is not None else ""
    else:
        kind = " class=hx" if _not_finite(value) else ""
    shown = safe(written(value))
    return f"<td{kind}><mark>{shown}</mark></td>" if marked else f"<td{kind}>{shown}</td>"


def _not_finite(value: Any) -> bool:
    return isinstance(value, int | float) or value in ("nan", "inf", "-inf")


def differences(obtained: Any, expected: Any, allowed: float) -> Any:
    """Obtained less expected, of nested lists of one shape; 0 where that is no more than is allowed."""
    if isinstance(obtained, list | tuple) and isinstance(expected, list | tuple):
        return [differences(a, b, allowed) for a, b in zip(obtained, expected, strict=True)]
    own, right = finite(obtained), finite(expected)
    if own is None or right is None:
        return 0.0 if obtained == expected else "nan"
    return 0.0 if abs(own - right) <= allowed else own - right


# --- What the colours mean ------------------------------------------------------------------------

_SWATCHES = tuple(Markup(f"<span class=h{level}></span>") for level in range(LEVELS))


@lru_cache(maxsize=1_024)
def legend(scale: Scale | None, *remarks: str) -> Markup:
    """The ends of a scale with its colours between them, and remarks."""
    parts = []
    if scale is not None:
        parts.append(
            fill(
                '<span class="swatches">%s<span class="unseen"> to </span>'
                '<span aria-hidden="true">%s</span>%s</span>',
                number(scale.low),
                joined(list(_SWATCHES[scale.first : scale.last + 1])),
                number(scale.high),
            )
        )
    parts += [fill("<span>%s</span>", remark) for remark in remarks]
    return fill('<p class="legend">%s</p>\n', joined(parts, " ")) if parts else Markup()
