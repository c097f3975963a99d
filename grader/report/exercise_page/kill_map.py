"""The kill matrix as a table that is its own heat map.

A cell says by its sign what its colour says too. The markup is written by hand, as a library of mistakes has
some ten thousand cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from grader.report.figures import plural
from grader.report.markup.safe import fill, joined, safe_line

MARGIN, KILLED, CHOSEN, PUBLIC = "●", "○", "★", "✓"

# Sign by whether the case kills (not, killed, with margin) and whether the clause is its own.
_CELLS = {
    (0, False): "<td></td>",
    (0, True): '<td class="o"></td>',
    (1, False): f'<td class="k">{KILLED}</td>',
    (1, True): f'<td class="k o">{KILLED}</td>',
    (2, False): f'<td class="m">{MARGIN}</td>',
    (2, True): f'<td class="m o">{MARGIN}</td>',
}


class Column(NamedTuple):
    """A case; ``number`` is its clause's, 0 where there is none, ``chosen`` says it is in the small set."""

    id: str
    title: str
    group: str
    clause: str
    number: int
    public: bool
    chosen: bool
    kills: int


class Row(NamedTuple):
    """A mistake with the ids of the cases that it fails."""

    name: str
    title: str
    place: str
    clause: str
    killed: frozenset[str]
    with_margin: frozenset[str]


@dataclass(frozen=True)
class KillMap:
    """The table's parts."""

    columns: Markup
    head: Markup
    bodies: Markup


def kill_map(columns: Sequence[Column], groups: Sequence[tuple[int, str, Sequence[Row]]]) -> KillMap:
    """The table of a kill matrix.

    Args:
        columns: The cases; those of a case file, and of a clause therein, stand together.
        groups: Number and title of a clause, 0 for what is none, with its mistakes.
    """
    starts = _starts(columns)
    return KillMap(
        columns=Markup("<col><col>") + joined([Markup('<col class="b">' if s else "<col>") for s in starts]),
        head=_head(columns),
        bodies=joined([_body(number, title, rows, columns) for number, title, rows in groups]),
    )


def _starts(columns: Sequence[Column]) -> list[bool]:
    """Whether a column begins a case file."""
    return [at > 0 and c.group != columns[at - 1].group for at, c in enumerate(columns)]


def _head(columns: Sequence[Column]) -> Markup:
    """Case file, clause, case, whether it is public and in the small set, and what it kills."""
    files = [(group, len(list(cases))) for group, cases in groupby(columns, key=lambda c: c.group)]
    clauses = [
        (number, len(list(cases)))
        for (_, number), cases in groupby(columns, key=lambda c: (c.group, c.number))
    ]
    rows = [
        ("file", "Case file", [_spanning(safe_line(group or "–", 60), count) for group, count in files]),
        ("number", "Clause", [_spanning(_number(number), count) for number, count in clauses]),
        ("case", "Case", [_case(c) for c in columns]),
        ("mark", "Public", [_mark(PUBLIC if c.public else "") for c in columns]),
        ("mark", "Small set", [_mark(CHOSEN if c.chosen else "") for c in columns]),
        ("sum", "Mistakes it kills", [_sum(c.kills) for c in columns]),
    ]
    return joined(
        [
            fill(
                '<tr class="%s"><th scope="row" colspan="2">%s</th>%s</tr>\n',
                kind,
                label,
                joined(cells),
            )
            for kind, label, cells in rows
        ]
    )


def _spanning(content: Markup, count: int) -> Markup:
    return fill('<th scope="colgroup" colspan="%s"><span>%s</span></th>', count, content)


def _number(number: int) -> Markup:
    return fill('<a href="#clause-%s">%s</a>', number, number) if number else Markup("–")


def _case(c: Column) -> Markup:
    return fill(
        '<th scope="col" title="%s"><span>%s</span></th>',
        safe_line(c.title or c.id, 200),
        safe_line(c.id, 60),
    )


def _mark(sign: str) -> Markup:
    return fill("<td>%s</td>", sign)


def _sum(kills: int) -> Markup:
    return fill("<td>%s</td>" if kills else '<td class="none">%s</td>', kills)


def _body(number: int, title: str, rows: Sequence[Row], columns: Sequence[Column]) -> Markup:
    """The mistakes of a clause below their heading."""
    # The same for every row of the clause.
    own = [bool(number) and c.number == number for c in columns]
    head = fill(
        '<tr class="group"><th scope="rowgroup" colspan="%s"><span>%s%s <small>%s</small></span></th></tr>\n',
        len(columns) + 2,
        fill("%s ", _number(number)) if number else Markup(),
        safe_line(title, 120),
        plural(len(rows), "mistake"),
    )
    return fill("<tbody>%s%s</tbody>\n", head, joined([_row(row, columns, own) for row in rows]))


def _row(row: Row, columns: Sequence[Column], own: Sequence[bool]) -> Markup:
    cells = [
        _CELLS[(c.id in row.killed) + (c.id in row.with_margin), mine]
        for c, mine in zip(columns, own, strict=True)
    ]
    about = " · ".join(text for text in (row.title, row.place) if text)
    return fill(
        '<tr><th scope="row" title="%s">%s</th><td class="%s">%s</td>%s</tr>\n',
        safe_line(about or row.name, 400),
        # A long name breaks where its words end.
        Markup(safe_line(row.name, 80).replace("_", Markup("_<wbr>"))),
        "sum" if row.killed else "sum none",
        len(row.killed),
        Markup("".join(cells)),
    )
