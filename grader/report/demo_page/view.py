"""What the page of a demonstration shows, made ready for its template."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector, paragraphs
from grader.report.figures import alike
from grader.report.markup.heat import Scale, legend, numbers, scale_of
from grader.report.markup.parts import MANY_COLUMNS, SCROLL
from grader.report.markup.safe import fill, joined, safe_line
from grader.report.texts import one_line
from grader.report.values import finite

DECIMALS = 4
# Longer texts are cut.
MAX_LABEL, MAX_NAME, MAX_VALUE, MAX_NOTE = 200, 40, 60, 600
MAX_PARAGRAPHS = 6
# From so many elements on a vector goes on in the next column.
MANY_ELEMENTS = 20
# In the drawing's units.
BAR = 100


class ShownExample(NamedTuple):
    """An example with the markup of its parts; ``number`` counts from 1."""

    number: int
    label: str
    note: Sequence[str]
    metrics: Sequence[tuple[Markup, Markup]]
    vectors: Sequence[Markup]
    matrices: Sequence[Markup]


def demonstration_view(demonstration: Demonstration) -> dict[str, Any]:
    """What the template needs."""
    return {
        "title": one_line(demonstration.title, MAX_LABEL),
        "description": _note(demonstration.description),
        "examples": [_example(n, e) for n, e in enumerate(demonstration.examples, 1)],
    }


def _note(text: str) -> list[str]:
    return [one_line(part, MAX_NOTE) for part in paragraphs(text)[:MAX_PARAGRAPHS]]


def _example(number: int, example: Example) -> ShownExample:
    return ShownExample(
        number,
        one_line(example.label, MAX_LABEL),
        _note(example.note),
        [_metric(m) for m in example.metrics],
        [_vector(v) for v in example.vectors],
        [_matrix(m) for m in example.matrices],
    )


def _metric(metric: Metric) -> tuple[Markup, Markup]:
    return safe_line(metric.label, MAX_LABEL), safe_line(_value(metric.value), MAX_LABEL)


def _value(value: Any) -> str:
    """A figure that stands alone, in six digits."""
    return value if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else str(value)


def _texts(values: Sequence[Any]) -> list[str]:
    """Values that stand together; texts as they are."""
    written = iter(alike([v for v in values if not isinstance(v, str)], DECIMALS))
    return [v if isinstance(v, str) else next(written) for v in values]


# --- Matrices -------------------------------------------------------------------------------------


def _matrix(m: Matrix) -> Markup:
    """A table with the names of its rows and columns, and what its colours mean."""
    scale = scale_of(m.scale) if m.scale else scale_of(numbers(m.values))
    width = len(m.values[0])
    texts = _texts([value for row in m.values for value in row])
    rows = [
        fill(
            '<tr><th scope="row">%s</th>%s</tr>\n',
            safe_line(name, MAX_NAME),
            joined([_cell(v, t, scale) for v, t in zip(row, texts[at * width :], strict=False)]),
        )
        for at, (name, row) in enumerate(zip(m.row_names, m.values, strict=True))
    ]
    heads = [fill('<th scope="col">%s</th>', safe_line(name, MAX_NAME)) for name in m.column_names]
    label = safe_line(m.label, MAX_LABEL)
    table = fill(
        '<table class="array%s">\n<thead><tr><td></td>%s</tr></thead>\n<tbody>\n%s</tbody></table>',
        " many" if width >= MANY_COLUMNS else "",
        joined(heads),
        joined(rows),
    )
    return fill("<div><h3>%s</h3>\n" + SCROLL + "%s</div>\n%s</div>\n", label, label, table, legend(scale))


def _cell(value: Any, text: str, scale: Scale | None) -> Markup:
    known = finite(value)
    if known is not None:
        kind = f' class="h{scale.level(known)}"' if scale is not None else ""
    else:
        kind = ' class="hx"' if isinstance(value, float) else ""
    return fill(f"<td{kind}>%s</td>", safe_line(text, MAX_VALUE))


# --- Vectors --------------------------------------------------------------------------------------


def _vector(v: Vector) -> Markup:
    """Each element with its name, its bar from zero, and its value."""
    known = [finite(value) for value in v.values]
    low = min([n for n in known if n is not None and n < 0], default=0.0)
    high = max([n for n in known if n is not None and n > 0], default=0.0)
    drawn = any(n is not None for n in known)
    items = [
        fill(
            "<div><dt>%s</dt><dd>%s<b>%s</b></dd></div>\n",
            safe_line(name, MAX_NAME),
            _bar(n, low, high) if drawn else Markup(),
            safe_line(text, MAX_VALUE),
        )
        for name, n, text in zip(v.names, known, _texts(v.values), strict=True)
    ]
    label = safe_line(v.label, MAX_LABEL)
    return fill(
        '<div><h3>%s</h3>\n<dl class="%s">\n%s</dl></div>\n',
        label,
        ("bars" if drawn else "texts") + (" long" if len(v.values) > MANY_ELEMENTS else ""),
        joined(items),
    )


def _bar(value: float | None, low: float, high: float) -> Markup:
    """A bar from zero to the value, between the ends of all."""
    # Halves, since the difference of the largest floats is infinite.
    half = high / 2 - low / 2
    # A number below the smallest half has no bar, whatever its share.
    share = (value or 0.0) / 2 / half * BAR if half and math.isfinite(half) else 0.0
    zero = -low / 2 / half * BAR if half else 0.0
    shape = fill(
        '<rect class="%s" x="%s" width="%s" height="8"/><path class="zero" d="M%s 0v8"/>',
        "below" if share < 0 else "above",
        _figure(min(zero, zero + share)),
        _figure(abs(share)),
        _figure(zero),
    )
    return fill(
        '<svg viewBox="0 0 %s 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">%s</svg>',
        BAR,
        shape,
    )


def _figure(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
