"""The two maps of influence as drawings beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from markupsafe import Markup

from grader.report.influence import MAX_NAMED, MOVED, NO_ANSWER, InfluenceMap, Sides
from grader.report.markup.room import Room, byte_count
from grader.report.markup.safe import fill, joined, safe_line
from grader.report.texts import one_line

# In the drawing's units, which are pixels where there is room. The first cell begins at (0, 0).
CELL = 22
LETTER = 6
NUMBERS, GROUPS = 20, 38


def maps(found: InfluenceMap, room: Room) -> Markup:
    """Yours and the right one, with how they are read and what differs; empty where there is no room."""
    sides = found.sides
    drawings = [
        fill('<div><p class="label">%s</p>\n%s</div>\n', title, _drawing(sides, signs, wrong, said))
        for title, signs, said, wrong in (
            ("Yours", found.obtained, "Your map; what differs is said below", found.differing),
            ("Right", found.expected, "The map of a right solution", ()),
        )
    ]
    alike = "; both go by %s." if sides.alike else ". Elements go by %s, rows of the answer by their number."
    content = fill(
        '<article class="case" aria-labelledby="influence">\n<h3 id="influence">What a change moves</h3>\n%s'
        '<div class="maps">\n%s</div>\n'
        '<p class="soft">A row of a map is an element of <code>%s</code> that was changed, a column a row of '
        "the answer%s Filled: that row of the answer moved. Empty: it stayed as it was.%s "
        'Framed and crossed: yours is not what it should be.</p>\n<p class="soft">%s</p>\n%s</article>\n',
        fill('<p class="said"><bdi>%s</bdi></p>\n', one_line(found.message, 600)) if found.message else "",
        joined(drawings),
        safe_line(found.argument, 80),
        fill(alike, safe_line(sides.numbered, 200)),
        " ?: there was no answer." if found.unanswered else "",
        found.words(0),
        _named_cells(found),
    )
    return content if room.take(byte_count(content)) else Markup()


def _named_cells(found: InfluenceMap) -> Markup:
    """Which cells differ, for those who can't see the drawing; empty where they are too many."""
    if len(found.differing) > MAX_NAMED:
        return Markup()
    return fill('<details><summary>Which cells</summary>\n<p class="soft">%s</p></details>\n', found.words())


# Students with the same mistake have the same map, and the right one is everyone's.
@lru_cache(maxsize=256)
def _drawing(sides: Sides, signs: tuple[str, ...], wrong: tuple[tuple[int, int], ...], label: str) -> Markup:
    """A map; ``wrong`` are the cells to mark."""
    moved = _cells(signs, MOVED)
    unknown = _cells(signs, NO_ANSWER)
    paths = [
        ("moved", "".join([_box(row, column, 0, count) for row, column, count in _runs(moved)])),
        *_lines(sides),
        ("cross over", _crosses([place for place in wrong if place in moved])),
        ("cross", _crosses([place for place in wrong if place not in moved and place not in unknown])),
        ("frame", "".join([_box(row, column, 2) for row, column in wrong])),
    ]
    texts = [_text(_middle(column), _middle(row) + 4, "?") for row, column in unknown]
    left = 8 + LETTER * max(len(sides.row_name(row)) for row in range(sides.rows))
    top = GROUPS if _grouped(sides) else NUMBERS
    width, height = left + sides.columns * CELL + 2, top + sides.rows * CELL + 2
    return fill(
        '<svg class="map" viewBox="%s %s %s %s" width="%s" height="%s" role="img" aria-label="%s">'
        "%s%s%s</svg>\n",
        -left,
        -top,
        *[width, height] * 2,
        label,
        joined([fill('<path class="%s" d="%s"/>', kind, path) for kind, path in paths if path]),
        _labels(sides),
        joined(texts),
    )


def _cells(signs: Sequence[str], sign: str) -> dict[tuple[int, int], None]:
    """Row and column of the cells with a sign, in their order."""
    return {(r, c): None for r, row in enumerate(signs) for c, own in enumerate(row) if own == sign}


def _grouped(sides: Sides) -> bool:
    """Whether columns go by an index of several numbers; a cell has room for the last."""
    return sides.alike and len(sides.shape) > 1


def _lines(sides: Sides) -> list[tuple[str, str]]:
    """Between cells, and between what belongs together."""
    width, height = sides.columns * CELL, sides.rows * CELL
    across = [(n % sides.group == 0, f"M0 {n * CELL}h{width}") for n in range(1, sides.rows)]
    down = [(n % sides.column_group == 0, f"M{n * CELL} 0v{height}") for n in range(1, sides.columns)]
    borders = "".join([path for border, path in across + down if border])
    return [
        ("lines", "".join([path for border, path in across + down if not border])),
        ("border", f"M0 0h{width}v{height}h-{width}z{borders}"),
    ]


@lru_cache(maxsize=32)
def _labels(sides: Sides) -> Markup:
    """What rows and columns are called."""
    texts = [_text(-6, _middle(n) + 4, sides.row_name(n), "end") for n in range(sides.rows)]
    texts += [_text(_middle(n), -7, str(n % sides.column_group)) for n in range(sides.columns)]
    if _grouped(sides):
        begins = range(0, sides.columns, sides.group)
        names = _group_names(sides, [sides.index(begin)[:-1] for begin in begins])
        for begin, name in zip(begins, names, strict=True):
            texts.append(_text((begin + sides.group / 2) * CELL, -25, name))
    return joined(texts)


def _group_names(sides: Sides, indices: Sequence[tuple[int, ...]]) -> list[str]:
    """``N = 0`` where there is room for it, and for want of it or of a name less."""
    numbers = [", ".join(map(str, index)) for index in indices]
    choices = [[f"({n}, …)" for n in numbers], numbers]
    if sides.axes:
        told = [zip(sides.axes, index, strict=False) for index in indices]
        choices.insert(0, [", ".join([f"{one_line(axis, 80)} = {at}" for axis, at in t]) for t in told])
    fitting = [names for names in choices if max(map(len, names)) * LETTER <= sides.group * CELL]
    return fitting[0] if fitting else numbers


def _box(row: int, column: int, inset: int, count: int = 1) -> str:
    """The outline of neighbours in a row."""
    width, height = count * CELL - 2 * inset, CELL - 2 * inset
    return f"M{column * CELL + inset} {row * CELL + inset}h{width}v{height}h-{width}z"


def _middle(number: int) -> int:
    return number * CELL + CELL // 2


def _text(x: float, y: float, text: str, kind: str = "") -> Markup:
    return fill(
        '<text%s x="%s" y="%s">%s</text>',
        fill(' class="%s"', kind) if kind else Markup(),
        f"{x:g}",
        f"{y:g}",
        text,
    )


def _crosses(places: Iterable[tuple[int, int]]) -> str:
    arm = CELL - 14
    return "".join(f"M{c * CELL + 7} {r * CELL + 7}l{arm} {arm}m-{arm} 0l{arm} -{arm}" for r, c in places)


def _runs(places: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Row, first column and length of every run of neighbours in a row."""
    runs: list[tuple[int, int, int]] = []
    for row, column in places:
        if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][2] == column:
            runs[-1] = (row, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((row, column, 1))
    return runs
