"""The two maps of influence as drawings beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from markupsafe import Markup

from grader.report.influence import MOVED, NO_ANSWER, InfluenceMap, element_name, group_size
from grader.report.room import Room, byte_count
from grader.report.safe import fill, joined, safe_line
from grader.report.texts import one_line

# In the drawing's units, which are pixels where there is room.
CELL = 22
LEFT, TOP = 50, 38


def maps(found: InfluenceMap, room: Room) -> Markup:
    """Yours and the right one, with how they are read and what differs; empty where there is no room."""
    argument = safe_line(found.argument, 80)
    drawings = [
        fill(
            '<div><p class="label">%s</p>\n%s</div>\n',
            title,
            _drawing(found.shape, signs, wrong, said),
        )
        for title, signs, said, wrong in (
            ("Yours", found.obtained, "Your map; what differs is said below", found.differing),
            ("Right", found.expected, "The map of a right solution", ()),
        )
    ]
    numbered = "(example, position)" if len(found.shape) == 2 else "their index"
    content = fill(
        '<article class="case" aria-labelledby="influence">\n<h3 id="influence">What a change moves</h3>\n%s'
        '<div class="maps">\n%s</div>\n'
        '<p class="soft">A row of a map is an element of <code>%s</code> that was changed, a column a row of '
        "the answer; both go by %s. Filled: that row of the answer moved. Empty: it stayed as it was.%s "
        "Framed and crossed: yours is not what it should be.</p>\n<p>%s</p>\n</article>\n",
        fill('<p class="said"><bdi>%s</bdi></p>\n', one_line(found.message, 600)) if found.message else "",
        joined(drawings),
        argument,
        numbered,
        " ?: there was no answer." if any(NO_ANSWER in row for row in found.obtained) else "",
        found.words,
    )
    return content if room.take(byte_count(content)) else Markup()


# Students with the same mistake have the same map, and the right one is everyone's.
@lru_cache(maxsize=256)
def _drawing(
    shape: tuple[int, ...], signs: tuple[str, ...], wrong: tuple[tuple[int, int], ...], label: str
) -> Markup:
    """A map; ``wrong`` are the cells to mark."""
    size = len(signs)
    moved = _cells(signs, MOVED)
    unknown = _cells(signs, NO_ANSWER)
    paths = [
        ("moved", "".join([_box(row, column, 0, count) for row, column, count in _runs(moved)])),
        *_lines(shape),
        ("cross over", _crosses([place for place in wrong if place in moved])),
        ("cross", _crosses([place for place in wrong if place not in moved and place not in unknown])),
        ("frame", "".join([_box(row, column, 2) for row, column in wrong])),
    ]
    texts = [_text(_middle(LEFT, column), _middle(TOP, row) + 4, "?") for row, column in unknown]
    return fill(
        '<svg class="map" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">'
        "%s%s%s</svg>\n",
        *[LEFT + size * CELL + 2, TOP + size * CELL + 2] * 2,
        label,
        joined([fill('<path class="%s" d="%s"/>', kind, path) for kind, path in paths if path]),
        _labels(shape),
        joined(texts),
    )


def _cells(signs: Sequence[str], sign: str) -> dict[tuple[int, int], None]:
    """Row and column of the cells with a sign, in their order."""
    return {(r, c): None for r, row in enumerate(signs) for c, own in enumerate(row) if own == sign}


def _lines(shape: tuple[int, ...]) -> list[tuple[str, str]]:
    """Between cells, and between what belongs together."""
    size, group = math.prod(shape), group_size(shape)
    borders = _rules(range(group, size, group), size)
    return [
        ("lines", _rules([n for n in range(1, size) if n % group], size)),
        ("border", f"M{LEFT} {TOP}h{size * CELL}v{size * CELL}h-{size * CELL}z{borders}"),
    ]


@lru_cache(maxsize=32)
def _labels(shape: tuple[int, ...]) -> Markup:
    """What rows and columns are called."""
    size, group = math.prod(shape), group_size(shape)
    texts = [_text(LEFT - 6, _middle(TOP, n) + 4, element_name(n, shape), "end") for n in range(size)]
    texts += [_text(_middle(LEFT, n), TOP - 7, str(n % group)) for n in range(size)]
    if len(shape) == 2:
        word = "example" if group > 2 else "ex."
        for begin in range(0, size, group):
            texts.append(_text(LEFT + (begin + group / 2) * CELL, 13, f"{word} {begin // group}"))
    return joined(texts)


def _box(row: int, column: int, inset: int, count: int = 1) -> str:
    """The outline of neighbours in a row."""
    width, height = count * CELL - 2 * inset, CELL - 2 * inset
    return f"M{LEFT + column * CELL + inset} {TOP + row * CELL + inset}h{width}v{height}h-{width}z"


def _middle(begin: int, number: int) -> int:
    return begin + number * CELL + CELL // 2


def _text(x: float, y: float, text: str, kind: str = "") -> Markup:
    return fill(
        '<text%s x="%s" y="%s">%s</text>',
        fill(' class="%s"', kind) if kind else Markup(),
        f"{x:g}",
        f"{y:g}",
        text,
    )


def _rules(numbers: Iterable[int], size: int) -> str:
    """Lines between columns and between rows."""
    return "".join(
        f"M{LEFT + n * CELL} {TOP}v{size * CELL}M{LEFT} {TOP + n * CELL}h{size * CELL}" for n in numbers
    )


def _crosses(places: Iterable[tuple[int, int]]) -> str:
    arm = CELL - 14
    return "".join(
        f"M{LEFT + c * CELL + 7} {TOP + r * CELL + 7}l{arm} {arm}m-{arm} 0l{arm} -{arm}" for r, c in places
    )


def _runs(places: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Row, first column and length of every run of neighbours in a row."""
    runs: list[tuple[int, int, int]] = []
    for row, column in places:
        if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][2] == column:
            runs[-1] = (row, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((row, column, 1))
    return runs
