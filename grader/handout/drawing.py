"""Patterns as pictures: SVG, with a table that says the same."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from grader.handout.patterns import Pattern
from grader.report.figures import plural
from grader.report.markup.safe import fill, joined

CELL = 24
# The width of most letters at the labels' size, and room for those that are wider.
LETTER = 8
PAD = 8
LINE = 16


def figures(patterns: Sequence[Pattern], first: int) -> Markup:
    """Patterns side by side, each with its picture and its table.

    Args:
        patterns: At least one.
        first: The number of the first of them on the page, for its id.
    """
    # Where the marks mean the same in all of them, that is said once.
    same = len({(one.filled, one.empty) for one in patterns}) == 1
    drawn = [_figure(one, number, keyed=not same) for number, one in enumerate(patterns, first)]
    key = _key(patterns[0]) if same else Markup("")
    return fill('<div class="patterns">\n%s</div>\n%s', joined(drawn), key)


def _key(one: Pattern) -> Markup:
    return fill(
        '<ul class="key">\n<li>%s %s</li>\n<li>%s %s</li>\n</ul>\n',
        _swatch("on"),
        one.filled,
        _swatch("off"),
        one.empty,
    )


def _swatch(kind: str) -> Markup:
    return fill(
        '<svg class="pattern" width="18" height="18" viewBox="0 0 18 18" aria-hidden="true" '
        'focusable="false"><rect class="%s" x="1.5" y="1.5" width="15" height="15"/></svg>',
        kind,
    )


def _figure(one: Pattern, number: int, *, keyed: bool) -> Markup:
    tone, sign = {True: ("good", "✓"), False: ("calm", "✗"), None: ("", "")}[one.asked]
    tag = (
        fill(' <span class="tag %s"><span aria-hidden="true">%s</span> %s</span>', tone, sign, one.verdict)
        if one.verdict
        else Markup("")
    )
    note = fill("<p>%s</p>\n", one.note) if one.note else Markup("")
    return fill(
        '<figure aria-labelledby="pattern:%s">\n<figcaption id="pattern:%s"><strong>%s</strong>%s'
        '</figcaption>\n%s\n%s%s<details><summary>As a table<span class="unseen">: %s</span></summary>\n'
        "%s</details>\n</figure>\n",
        number,
        number,
        one.title,
        tag,
        _picture(one),
        _key(one) if keyed else Markup(""),
        note,
        one.title,
        _table(one),
    )


def _picture(one: Pattern) -> Markup:
    rows, columns = len(one.row_labels), len(one.column_labels)
    cell_w = max(CELL, max(map(len, one.column_labels)) * LETTER + PAD)
    left = LINE + max(map(len, one.row_labels)) * LETTER + PAD
    top = 2 * LINE + 2
    grid_w, grid_h = columns * cell_w, rows * CELL
    width = max(left + grid_w, left + len(one.columns) * LETTER) + 2
    height = max(top + grid_h, top + len(one.rows) * LETTER) + 2
    parts = [
        fill('<text class="axis" x="%s" y="11">%s</text>', left, one.columns),
        fill(
            '<text class="axis" transform="translate(11 %s) rotate(-90)" text-anchor="end">%s</text>',
            top,
            one.rows,
        ),
    ]
    for at, label in enumerate(one.column_labels):
        parts.append(
            fill('<text class="of" x="%s" y="%s">%s</text>', left + at * cell_w + cell_w // 2, top - 5, label)
        )
    for down, (label, cells) in enumerate(zip(one.row_labels, one.cells, strict=True)):
        y = top + down * CELL
        parts.append(fill('<text class="end" x="%s" y="%s">%s</text>', left - 5, y + CELL // 2 + 4, label))
        parts += [
            fill(
                '<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>',
                "on" if on else "off",
                left + along * cell_w + 1,
                y + 1,
                cell_w - 2,
                CELL - 2,
            )
            for along, on in enumerate(cells)
        ]
    filled = sum(map(sum, one.cells))
    told = (
        f"{plural(rows, 'row')} ({one.rows}), {plural(columns, 'column')} ({one.columns}); "
        f"{one.filled}: {filled} of {rows * columns} cells"
    )
    return fill(
        '<svg class="pattern" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">%s</svg>',
        f"{one.title}: {told}",
        width,
        height,
        width,
        height,
        joined(parts),
    )


def _table(one: Pattern) -> Markup:
    heads = joined([fill('<th scope="col">%s</th>', label) for label in one.column_labels])
    rows = [
        fill(
            '<tr><th scope="row">%s</th>%s</tr>\n',
            label,
            joined([fill("<td>%s</td>", one.filled if on else one.empty) for on in cells]),
        )
        for label, cells in zip(one.row_labels, one.cells, strict=True)
    ]
    return fill(
        '<div class="scroll" role="group" tabindex="0" aria-label="Table of %s"><table class="cells">\n'
        "<caption>Rows: %s. Columns: %s.</caption>\n<thead><tr><td></td>%s</tr></thead>\n<tbody>\n%s</tbody>"
        "</table></div>\n",
        one.title,
        one.rows,
        one.columns,
        heads,
        joined(rows),
    )
