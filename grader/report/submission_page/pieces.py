"""The parts of a submission's pages that come many times: rows of clauses and checks, cases with details.

A template takes ten times as long for them. Every value goes into its pattern through `fill`. What is kept is
kept by type as well, as a safe text and one that is not yet safe may be equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from markupsafe import Markup

from grader.report.figures import number, plural, points
from grader.report.markup.arrays import ShownArray
from grader.report.markup.heat import legend
from grader.report.markup.parts import SCROLL, array, listing, part, side, snippet
from grader.report.markup.safe import broken, fill, joined, safe, safe_line
from grader.report.submission_page.details import BOTH, Details
from grader.report.submission_page.view import CaseView, Clause
from grader.report.texts import FAILED_SIGN, VERDICT_SIGNS, VERDICT_WORDS, one_line
from grader.result import CaseResult

TONES: Mapping[str, str] = {
    "passed": "good",
    "failed": "bad",
    "not_loadable": "warn",
    "grader_fault": "calm",
    "skipped": "calm",
    "holds": "good",
    "fails": "bad",
    "open": "calm",
    "fault": "calm",
    "clean": "good",
    "violated": "bad",
    "suspicious": "warn",
}
STATES: Mapping[str, tuple[str, str]] = {
    "holds": ("✓", "holds"),
    "fails": ("✗", "does not hold"),
    "open": ("–", "not fully checked"),
    "fault": ("?", "the grader failed"),
}
NONE = Markup()

# More checks of which only a message is told are folded.
MAX_OPEN = 12


@lru_cache(maxsize=64, typed=True)
def verdict_tag(verdict: str) -> Markup:
    """A verdict in words with its sign; the colour only repeats them."""
    return fill(
        '<span class="tag %s"><span aria-hidden="true">%s</span> %s</span>',
        TONES.get(verdict, "bad"),
        VERDICT_SIGNS.get(verdict, FAILED_SIGN),
        VERDICT_WORDS.get(verdict, verdict),
    )


# --- Rows -----------------------------------------------------------------------------------------


def clause_rows(clauses: Iterable[Clause], demands: Mapping[str, Markup]) -> Markup:
    """The list of clauses: what holds and what does not, and what those that don't demand."""
    rows = []
    for clause in clauses:
        demand = demands.get(clause.name) if clause.state == "fails" else None
        said = fill('<p class="demand">%s</p>', demand) if demand else NONE
        rows.append(joined([_clause_row(*clause[1:]), said, _ROW_END]))
    return joined(rows)


_ROW_END = Markup("</li>\n")


@lru_cache(maxsize=2_048, typed=True)
def _clause_row(
    title: str, state: str, passed: int, total: int, got: float, most: float, anchor: int | None
) -> Markup:
    """A row up to what the clause demands."""
    sign, words = STATES[state]
    name = fill('<a href="#case-%s">%s</a>', anchor, title) if anchor else safe(title)
    return fill(
        '<li class="%s"><span class="sign" aria-hidden="true">%s</span><p>%s '
        '<span class="state%s">%s</span></p>\n'
        '<p class="soft">%s of %s<span class="unseen"> checks</span> · %s of %s points</p>',
        TONES[state],
        sign,
        name,
        # The sign says it already, and most hold.
        " unseen" if state == "holds" else "",
        words,
        passed,
        total,
        points(got),
        points(most),
    )


def check_rows(cases: Iterable[CaseResult], titles: Mapping[str, str]) -> Markup:
    """The rows of the teacher's table of all checks."""
    rows = []
    for at, case in enumerate(cases, 1):
        error = case.error
        begin, end = _check_row(
            0 if case.verdict == "passed" else at,
            case.id,
            titles[case.clause],
            case.visibility,
            case.verdict,
            case.points,
            case.max_points,
            error.tolerance if error else None,
        )
        rows.append(f"{begin}{number(error.max_rel)}{end}" if error else begin + end)
    return Markup("\n".join(rows))


@lru_cache(maxsize=4_096, typed=True)
def _check_row(
    anchor: int,
    name: str,
    clause: str,
    visibility: str,
    verdict: str,
    got: float,
    most: float,
    tolerance: float | None,
) -> tuple[str, str]:
    """A row up to the relative error and from there on; without a tolerance there is no such error.

    ``anchor`` is 0 for a case that is shown nowhere else.
    """
    shown = broken(one_line(name, 120))
    if anchor:
        shown = fill('<a href="#case-%s">%s</a>', anchor, shown)
    begin = fill(
        '<tr><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td><td class="n">%s</td>'
        '<td class="n">%s</td><td class="n">',
        shown,
        clause,
        safe_line(visibility, 20),
        verdict_tag(verdict),
        points(got),
        points(most),
    )
    if tolerance is None:
        begin += "–"
    end = fill('</td><td class="n">%s</td></tr>', "–" if tolerance is None else number(tolerance))
    # As plain texts, which are put together faster.
    return str(begin), str(end)


def hidden_rows(cases: Iterable[CaseView]) -> Markup:
    """What a student is told of hidden cases that did not pass."""
    return joined(
        [
            _hidden_row(c.number, c.clause, c.case.verdict, c.message, c.case.points, c.case.max_points)
            for c in cases
        ]
    )


@lru_cache(maxsize=1_024, typed=True)
def _hidden_row(at: int, clause: str, verdict: str, message: str, got: float, most: float) -> Markup:
    return fill(
        '<li id="case-%s"><p>%s %s</p>\n'
        '<p class="soft">%s <span class="points">%s of %s points</span></p></li>\n',
        at,
        clause,
        verdict_tag(verdict),
        message,
        points(got),
        points(most),
    )


def skipped_rows(cases: Sequence[CaseView]) -> Markup:
    """Cases that were not counted, and why; many of them are folded."""
    rows = [_skipped_row(c.number, c.id, c.title, c.message, c.case.points, c.case.max_points) for c in cases]
    listed = fill('<ul class="rows">\n%s</ul>', joined(rows, "\n"))
    if len(rows) <= MAX_OPEN:
        return listed
    return fill("<details><summary>%s</summary>\n%s</details>", plural(len(rows), "check"), listed)


@lru_cache(maxsize=2_048, typed=True)
def _skipped_row(at: int, name: str, title: str, message: str, got: float, most: float) -> Markup:
    return fill(
        '<li id="case-%s"><p><span aria-hidden="true">%s</span> %s</p>\n'
        '<p class="soft">%s <span class="points">%s of %s points</span></p></li>',
        at,
        VERDICT_SIGNS["skipped"],
        _titled("%s", title, name),
        message or VERDICT_WORDS["skipped"],
        points(got),
        points(most),
    )


def _titled(pattern: str, title: str, name: str) -> Markup:
    """The title of a case beside its id, or the id alone; ``pattern`` is that of the first of them."""
    return fill(f"{pattern} <code>%s</code>", title, name) if title else fill(pattern, name)


# --- Cases ----------------------------------------------------------------------------------------


def articles(cases: Sequence[CaseView], *, show_visibility: bool = False) -> Markup:
    """Cases that did not pass, each with what there is to tell of it; those with the most to tell first."""
    detailed = [_article(c, show_visibility) for c in cases if c.details is not None]
    rest = [_short(c, show_visibility) for c in cases if c.details is None]
    if not rest:
        return joined(detailed, "\n")
    listed = fill('<ul class="rows short">\n%s</ul>\n', joined(rest))
    if not detailed:
        return listed
    if len(rest) > MAX_OPEN:
        more = fill(
            '<details class="rest"><summary>%s</summary>\n%s</details>\n',
            plural(len(rest), "more check"),
            listed,
        )
    else:
        more = fill('<h3 class="rest">The others</h3>\n%s', listed)
    return joined([*detailed, more], "\n")


def _short(c: CaseView, show_visibility: bool) -> Markup:
    """A case of which only the message is told."""
    case = c.case
    begin, end = _short_row(
        c.number,
        c.id,
        c.title,
        c.clause,
        case.visibility if show_visibility else None,
        case.verdict,
        case.points,
        case.max_points,
    )
    if "told" not in c.made:
        parts = [fill("<p><bdi>%s</bdi></p>\n", c.message)] if c.message else []
        parts += [fill('<p class="soft">Hint: %s</p>\n', c.hint)] if c.hint else []
        c.made["told"] = joined(parts)
    return joined([begin, c.made["told"], end])


@lru_cache(maxsize=4_096, typed=True)
def _short_row(
    at: int,
    name: str,
    title: str,
    clause: str,
    visibility: str | None,
    verdict: str,
    got: float,
    most: float,
) -> tuple[Markup, Markup]:
    """A row up to what is told of the case, and its end."""
    begin = fill(
        '<li id="case-%s"><p>%s %s</p>\n',
        at,
        _titled("<strong>%s</strong>", title, name),
        verdict_tag(verdict),
    )
    end = fill(
        '<p class="soft">%s · %s of %s points%s</p></li>\n',
        clause,
        points(got),
        points(most),
        fill(" · %s", safe_line(visibility, 20)) if visibility is not None else NONE,
    )
    return begin, end


def _article(c: CaseView, show_visibility: bool) -> Markup:
    case = c.case
    head = _head(
        c.number,
        c.id,
        c.title,
        c.clause,
        case.visibility if show_visibility else None,
        case.verdict,
        case.points,
        case.max_points,
    )
    if "told" not in c.made:
        c.made["told"] = _told(c)
    assert c.details is not None
    return joined([head, c.made["told"], details(c.details, c.id), _END])


def _told(c: CaseView) -> Markup:
    """Message, hint and figures."""
    parts = []
    if c.message:
        parts.append(fill('<p class="said"><bdi>%s</bdi></p>\n', c.message))
    if c.hint:
        parts.append(_hint(c.hint))
    error = c.case.error
    if error:
        parts.append(fill(_FIGURES, number(error.max_abs), number(error.max_rel), number(error.tolerance)))
    return joined(parts)


_END = Markup("</article>\n")
_FIGURES = (
    '<dl class="figures">\n<div><dt>Largest error</dt><dd>%s</dd></div>\n'
    "<div><dt>Relative to the largest expected value</dt><dd>%s</dd></div>\n"
    "<div><dt>Tolerance</dt><dd>%s</dd></div>\n</dl>\n"
)


@lru_cache(maxsize=4_096, typed=True)
def _head(
    at: int,
    name: str,
    title: str,
    clause: str,
    visibility: str | None,
    verdict: str,
    got: float,
    most: float,
) -> Markup:
    return fill(
        '<article class="case" id="case-%s" aria-labelledby="title-%s">\n<h3 id="title-%s">%s</h3>\n'
        '<p class="tags">%s<span>%s</span><span>%s of %s points</span>%s</p>\n',
        at,
        at,
        at,
        _titled("%s", title, name),
        verdict_tag(verdict),
        clause,
        points(got),
        points(most),
        fill("<span>%s</span>", safe_line(visibility, 20)) if visibility is not None else NONE,
    )


@lru_cache(maxsize=1_024, typed=True)
def _hint(hint: str) -> Markup:
    return fill('<p class="hint"><strong>Hint</strong> %s</p>\n', hint)


def details(d: Details, label: str) -> Markup:
    """Inputs, answers and errors of a case; ``label`` names the case to those who hear the page."""
    if label not in d.made:
        parts = [
            exception(d, label),
            _answers(d, label),
            _inputs(d, label),
            _printed(d),
            _snippet(d, label),
            Markup("\n"),
        ]
        d.made[label] = joined(parts)
    return d.made[label]


def exception(d: Details, label: str) -> Markup:
    """The exception with her own traceback."""
    if not (d.exception or d.frames):
        return NONE
    content = NONE
    if d.exception:
        content += fill(
            '<pre class="exception" role="group" tabindex="0" aria-label="Exception of %s">'
            "<bdi>%s</bdi></pre>\n",
            label,
            d.exception,
        )
    if d.frames:
        content += fill(
            '<ol class="frames" aria-label="Your lines, outermost call first">\n%s</ol>\n',
            joined(list(d.frames)),
        )
    return part("The exception", content)


def _answers(d: Details, label: str) -> Markup:
    """Obtained, expected and their difference beside each other, with a list of the largest errors."""
    shown = [side(a, label) for a in d.answers]
    shown += [listing(name, text) for name, text in d.texts]
    if d.worst:
        rows = [
            fill(
                '<tr><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td></tr>\n',
                w.index,
                w.obtained,
                w.expected,
                w.difference,
            )
            for w in d.worst
        ]
        columns = ("Obtained", "Expected") if d.title != BOTH else ("Later answer", "Earlier answer")
        shown.append(fill(_WORST, fill("Largest errors of %s", label), *columns, joined(rows)))
    if not shown:
        return NONE
    content = fill('<div class="heats">\n%s</div>\n%s', joined(shown), d.remarks)
    return part(d.title, content)


_WORST = (
    '<div><p class="label">Largest errors</p>\n' + SCROLL + '<table class="worst">\n'
    '<thead><tr><th scope="col">Index</th><th scope="col">%s</th>'
    '<th scope="col">%s</th><th scope="col">Difference</th></tr></thead>\n'
    "<tbody>\n%s</tbody></table></div></div>\n"
)


def _inputs(d: Details, label: str) -> Markup:
    if not d.inputs:
        return NONE
    if label not in d.inputs.made:
        items = [fill("<li>%s</li>\n", _input(a, label)) for a in d.inputs]
        content = fill('<ul class="inputs">\n%s</ul>', joined(items))
        d.inputs.made[label] = part("Inputs", content)
    made: Markup = d.inputs.made[label]
    return made


def _input(a: ShownArray, label: str) -> Markup:
    name = fill('<code>%s</code> <span class="soft">%s</span>', a.name, a.about)
    if a.matrices:
        return fill("<details><summary>%s</summary>\n%s%s</details>", name, array(a, label), legend(a.scale))
    if a.inline:
        return fill('<p>%s <code class="value">%s</code></p>', name, a.inline)
    return fill("<p>%s</p>", name)


def _printed(d: Details) -> Markup:
    if not (d.stdout or d.stderr):
        return NONE
    content = NONE
    if d.stdout:
        content += listing("Standard output", d.stdout)
    if d.stderr:
        content += listing("Standard error", d.stderr)
    return part("Printed in this call", content)


def _snippet(d: Details, label: str) -> Markup:
    if not d.snippet:
        return NONE
    return part("Try it yourself", snippet(d.snippet, label, folded=True), "part snippet")
