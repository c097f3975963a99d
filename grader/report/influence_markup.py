"""The two maps of influence as drawings beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from grader.report.influence import MOVED, NO_ANSWER, InfluenceMap
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
            _drawing(found, signs, said, mark),
        )
        for title, signs, said, mark in (
            ("Yours", found.obtained, "Your map; what differs is said below", True),
            ("Right", found.expected, "The map of a right solution", False),
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


def _drawing(found: InfluenceMap, signs: Sequence[str], label: str, mark: bool) -> Markup:
    size, group = len(signs), found.group
    width, height = LEFT + size * CELL + 2, TOP + size * CELL + 2
    texts = [_text(LEFT - 6, _middle(TOP, row) + 4, found.name(row), "end") for row in range(size)]
    if len(found.shape) == 2:
        word = "example" if group > 2 else "ex."
        texts += [
            _text(LEFT + (begin + group / 2) * CELL, 13, f"{word} {begin // group}")
            for begin in range(0, size, group)
        ]
        texts += [_text(_middle(LEFT, n), TOP - 7, str(n % group)) for n in range(size)]
    else:
        texts += [_text(_middle(LEFT, n), TOP - 7, str(n)) for n in range(size)]
    places = [(row, column) for row in range(size) for column in range(size)]
    unknown = [place for place in places if signs[place[0]][place[1]] == NO_ANSWER]
    texts += [_text(_middle(LEFT, column), _middle(TOP, row) + 4, "?") for row, column in unknown]
    moved = [place for place in places if signs[place[0]][place[1]] == MOVED]
    ends = f"M{LEFT} {TOP}h{size * CELL}v{size * CELL}h-{size * CELL}z"
    lines = [n for n in range(1, size) if n % group]
    borders = range(group, size, group)
    paths = [
        (
            "moved",
            "".join(
                f"M{LEFT + c * CELL} {TOP + r * CELL}h{n * CELL}v{CELL}h-{n * CELL}z"
                for r, c, n in _runs(moved)
            ),
        ),
        ("lines", _rules(lines, size)),
        ("border", ends + _rules(borders, size)),
    ]
    if mark:
        wrong = [place for place in found.differing if place not in set(unknown)]
        there = set(moved)
        paths += [
            ("cross over", _crosses([p for p in wrong if p in there])),
            ("cross", _crosses([p for p in wrong if p not in there])),
            (
                "frame",
                "".join(
                    f"M{LEFT + c * CELL + 2} {TOP + r * CELL + 2}h{CELL - 4}v{CELL - 4}h-{CELL - 4}z"
                    for r, c in found.differing
                ),
            ),
        ]
    shown = [fill('<path class="%s" d="%s"/>', kind, path) for kind, path in paths if path]
    return fill(
        '<svg class="map" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">%s%s</svg>\n',
        width,
        height,
        width,
        height,
        label,
        joined(shown),
        joined(texts),
    )


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
