"""Parts that several sections of a page have: a block with its heading, an array, a text, a snippet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from grader.report.arrays import ShownArray
from grader.report.figures import plural
from grader.report.safe import fill, joined

SCROLL = '<div class="scroll" role="group" tabindex="0" aria-label="%s">'


def part(title: str, content: Markup, kind: str = "part") -> Markup:
    """Some content below its heading."""
    return fill('<div class="%s"><h4>%s</h4>\n%s</div>\n', kind, title, content)


@lru_cache(maxsize=256, typed=True)
def _column_heads(count: int) -> Markup:
    return joined([fill('<th scope="col">%s</th>', column) for column in range(count)])


def array(a: ShownArray, label: str) -> Markup:
    """A table, a line, or folded texts."""
    name = fill("%s, %s", a.name, label)
    if a.rows:
        rows = [fill('<tr><th scope="row">%s</th>%s</tr>\n', at, row) for at, row in enumerate(a.rows)]
        return fill(
            SCROLL + '<table class="array">\n<thead><tr><td></td>%s</tr></thead>\n<tbody>\n%s'
            "</tbody></table></div>\n",
            name,
            _column_heads(a.columns),
            joined(rows),
        )
    if a.slices:
        return fill(
            '<details class="slices"><summary>Values, %s</summary>\n' + SCROLL + "\n%s</div></details>\n",
            plural(len(a.slices), "slice"),
            name,
            slices(a.slices),
        )
    if a.inline:
        return fill('<p class="inline"><code>%s</code></p>\n', a.inline)
    return Markup('<p class="soft">The values are left out, since there are many.</p>\n')


def slices(slices: Sequence[tuple[str, str]]) -> Markup:
    """The matrices of an array, one below the other."""
    return joined([fill('<p class="soft">%s</p>\n<pre>%s</pre>\n', where, text) for where, text in slices])


def listing(title: str, text: str) -> Markup:
    """A text as it was printed."""
    return fill(
        '<div class="listing"><p class="label">%s</p>\n'
        '<pre role="group" tabindex="0" aria-label="%s"><bdi>%s</bdi></pre></div>\n',
        title,
        title,
        text,
    )


def snippet(text: str, label: str) -> Markup:
    """A snippet to be copied; where it is not to stand beside a file, it begins with a comment."""
    if text.startswith("#"):
        where = "Its first line says where to run it."
    else:
        where = "Save it beside your file and run it with Python."
    return fill(
        '<div class="code"><div class="lead"><p class="soft">%s</p>'
        '<button type="button" class="copy" hidden>Copy<span class="unseen"> the snippet of %s</span>'
        '</button></div>\n<pre role="group" tabindex="0" aria-label="Snippet of %s"><code>%s</code></pre>'
        "</div>",
        where,
        label,
        label,
        text,
    )
