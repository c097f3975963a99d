"""Parts that several sections of a page have: a block with its heading, an array, a text, a snippet."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup

from grader.report.markup.arrays import Matrix, ShownArray
from grader.report.markup.safe import fill, joined

SCROLL = '<div class="scroll" role="group" tabindex="0" aria-label="%s">'


def part(title: str, content: Markup, kind: str = "part") -> Markup:
    """Some content below its heading."""
    return fill('<div class="%s"><h4>%s</h4>\n%s</div>\n', kind, title, content)


@lru_cache(maxsize=256)
def _column_heads(first: int, count: int) -> Markup:
    return joined([fill('<th scope="col">%s</th>', column) for column in range(first, first + count)])


@lru_cache(maxsize=256)
def _row_heads(first: int, count: int, step: int) -> tuple[Markup, ...]:
    return tuple([fill('<th scope="row">%s</th>', first + step * row) for row in range(count)])


# From so many columns on a table has smaller letters.
MANY_COLUMNS = 10


def matrix(m: Matrix, label: str, *, bare: bool = False) -> Markup:
    """A table; a ``bare`` one has no numbers of rows and columns."""
    if bare:
        rows = joined([fill("<tr>%s</tr>\n", row) for row in m.rows])
        table = fill('<table class="array bare">\n%s</table>', rows)
    else:
        heads = _row_heads(m.top, len(m.rows), m.step)
        rows = joined([fill("<tr>%s%s</tr>\n", head, row) for head, row in zip(heads, m.rows, strict=True)])
        table = fill(
            '<table class="array%s">\n<thead><tr><td></td>%s</tr></thead>\n<tbody>\n%s</tbody></table>',
            " many" if m.columns >= MANY_COLUMNS else "",
            _column_heads(m.left, m.columns),
            rows,
        )
    name = fill("%s, %s", m.where, label) if m.where else label
    return fill(SCROLL + "%s</div>\n", name, table)


def array(a: ShownArray, label: str, *, bare: bool = False) -> Markup:
    """Its matrices, a line, or that it is left out."""
    if a.matrices:
        name = fill("%s, %s", a.name, label)
        if len(a.matrices) == 1 and not a.matrices[0].where:
            return matrix(a.matrices[0], name, bare=bare)
        shown = [
            fill('<div><p class="soft">%s</p>\n%s</div>\n', m.where, matrix(m, name, bare=bare))
            for m in a.matrices
        ]
        return fill('<div class="matrices">\n%s</div>\n', joined(shown))
    if a.inline:
        return fill('<p class="inline"><code>%s</code></p>\n', a.inline)
    return Markup('<p class="soft">The values are left out, since there are many.</p>\n')


def side(a: ShownArray, label: str) -> Markup:
    """An array below its name."""
    head = fill('<p class="label">%s <span class="soft">%s</span></p>', a.name, a.about)
    return fill("<div>%s\n%s</div>\n", head, array(a, label))


def listing(title: str, text: str) -> Markup:
    """A text as it was printed."""
    return fill(
        '<div class="listing"><p class="label">%s</p>\n'
        '<pre role="group" tabindex="0" aria-label="%s"><bdi>%s</bdi></pre></div>\n',
        title,
        title,
        text,
    )


def snippet(text: str, label: str, *, folded: bool = False) -> Markup:
    """A snippet to be copied; where it is not to stand beside a file, it begins with a comment."""
    if text.startswith("#"):
        where = "Its first line says where to run it."
    else:
        where = "Save it beside your file and run it with Python."
    shown = fill(
        '<pre role="group" tabindex="0" aria-label="Snippet of %s"><code>%s</code></pre>', label, text
    )
    if folded:
        shown = fill("<details><summary>Show the text</summary>\n%s</details>", shown)
    return fill(
        '<div class="code"><div class="lead"><p class="soft">%s</p>'
        '<button type="button" class="copy" hidden>Copy<span class="unseen"> the snippet of %s</span>'
        "</button></div>\n%s</div>",
        where,
        label,
        shown,
    )
