"""Lines of a submission as a page shows them: numbered, with what was found in them marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from grader.excerpt import AROUND, SourceLine
from grader.frames import read_frames
from grader.positions import Positions
from grader.report.figures import number, plural
from grader.report.markup.room import Room, byte_count
from grader.report.markup.safe import fill, joined, safe_line, safe_text
from grader.report.texts import one_line, place_words
from grader.result import Violation

MAX_FINDINGS = 30
MAX_FRAMES = 20
MAX_SHOWN = 200

# What a column points at: a name with what is looked up in it, or else a sign.
_NAME = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*|\S")


class Source:
    """The lines that a record holds of a submission's text.

    Args:
        lines: Those lines.
        positions: Names for them.
    """

    def __init__(self, lines: Iterable[SourceLine], positions: Positions) -> None:
        self._lines = {line.number: line.text for line in lines if type(line.number) is int}
        self.positions = positions

    def line(self, at: int) -> str:
        """The text of a line without the blanks around it; empty where the record does not hold it."""
        return self._lines.get(at, "").strip()

    def near(self, one: int, other: int) -> bool:
        """Whether two lines of one file or cell are so near that they are shown together."""
        same = self.positions.within(one)[0] == self.positions.within(other)[0]
        return same and abs(one - other) <= 2 * AROUND + 1

    def block(self, room: Room, places: Sequence[tuple[int, int]], *, titled: bool = True) -> Markup:
        """The lines around some places; empty where the record does not hold them or there is no room.

        Args:
            room: What it takes room from.
            places: Line and column, from 1, of what to mark, near each other; the column is 0 if not known.
            titled: Whether the name of a cell or module stands above it.
        """
        columns: dict[int, list[int]] = {}
        for line, column in places:
            columns.setdefault(line, []).append(column)
        if not any(line in self._lines for line in columns):
            return Markup()
        name = self.positions.within(places[0][0])[0]
        wanted = range(min(columns) - AROUND, max(columns) + AROUND + 1)
        # Another cell may begin within these lines.
        shown = [at for at in wanted if at in self._lines and self.positions.within(at)[0] == name]
        while shown[0] not in columns and not self.line(shown[0]):
            del shown[0]
        while shown[-1] not in columns and not self.line(shown[-1]):
            del shown[-1]
        rows = [self._row(at, columns.get(at)) for at in shown]
        first, last = (self.positions.within(at)[1] for at in (shown[0], shown[-1]))
        title = safe_line(f"{name}, lines {first} to {last}" if name else f"Lines {first} to {last}", 200)
        made = fill(
            '%s<pre class="source" role="group" tabindex="0" aria-label="%s">%s</pre>\n',
            fill('<p class="label">%s</p>\n', safe_line(name, 120)) if name and titled else "",
            title,
            joined(rows),
        )
        return made if room.take(byte_count(made)) else Markup()

    def _row(self, at: int, columns: Sequence[int] | None) -> Markup:
        line, number = self._lines[at], self.positions.within(at)[1]
        if columns is None:
            return fill("<span><b>%s</b>%s\n</span>", number, safe_text(line, MAX_SHOWN))
        return fill(
            '<span class="hit"><b><span class="unseen">here: </span>%s</b>%s\n</span>',
            number,
            _marked(line, columns),
        )


def _marked(line: str, columns: Sequence[int]) -> Markup:
    """The line with the names at these columns marked."""
    parts, end = [], 0
    for column in sorted(set(columns)):
        found = _NAME.match(line, column - 1) if column > 0 else None
        if found is None or found.start() < end:
            continue
        parts.append(safe_text(line[end : found.start()], MAX_SHOWN))
        parts.append(fill("<mark>%s</mark>", safe_text(found.group(), MAX_SHOWN)))
        end = found.end()
    return joined([*parts, safe_text(line[end:], MAX_SHOWN)])


# --- Findings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Findings:
    """Findings of the policy check: how many there are, and all that is shown of them."""

    count: int
    markup: Markup


def findings(room: Room, found: Sequence[Violation], source: Source) -> Findings:
    """What was found, with the lines in which it was; near lines are shown once."""
    groups: list[list[Violation]] = []
    for one in sorted(found[:MAX_FINDINGS], key=lambda v: v.line):
        last = groups[-1][-1].line if groups else 0
        if last > 0 and one.line > 0 and source.near(last, one.line):
            groups[-1].append(one)
        else:
            groups.append([one])
    items = []
    for group in groups:
        told = [_finding(room, one, source.positions) for one in group]
        lines = [(v.line, v.column) for v in group if v.line > 0]
        items.append(fill("<li>%s%s</li>\n", joined(told), source.block(room, lines) if lines else ""))
    made = fill('<ul class="findings">\n%s</ul>\n', joined(items))
    more = len(found) - MAX_FINDINGS
    if more > 0:
        made += fill('<p class="soft">And %s.</p>\n', plural(more, "more finding"))
    return Findings(len(found), made)


def _finding(room: Room, one: Violation, positions: Positions) -> Markup:
    place = place_words(positions, one.line) if one.line > 0 else "Line not known"
    if one.line > 0 and one.column > 0:
        place += f", column {number(one.column)}"
    return fill(
        "<div><p><strong>%s</strong> <code>%s</code></p>\n<p><bdi>%s</bdi> "
        '<span class="soft">Rule %s, found %s.</span></p></div>\n',
        place,
        room.text(one_line(one.helper, 200), 200, least=40),
        room.text(one.message, 800, least=80),
        one_line(one.rule, 80),
        "while it ran" if one.found == "runtime" else "in the source text",
    )


def frame_rows(room: Room, details: Mapping[str, Any], source: Source) -> list[Markup]:
    """The frames of a traceback, the innermost with the lines around it.

    Args:
        room: What it takes room from.
        details: Those of a case, or how loading ended.
        source: The submission's lines.
    """
    rows = []
    frames = read_frames(details)[-MAX_FRAMES:]
    for at, (line, function) in enumerate(frames, 1):
        place = one_line(source.positions.name(line), 200) if line > 0 else "line ?"
        head = fill("%s, in <code>%s</code>", place, room.text(one_line(function, 120), 120, least=1))
        if not function:
            head = safe_line(place, 200)
        shown = source.block(room, [(line, 0)], titled=False) if at == len(frames) and line > 0 else Markup()
        text = source.line(line) if line > 0 and not shown else ""
        if text:
            shown = fill('<pre class="line">%s</pre>', room.text(text, MAX_SHOWN, least=20))
        rows.append(fill("<li>%s%s</li>\n", head, shown))
    return rows
