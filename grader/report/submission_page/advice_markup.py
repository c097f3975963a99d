"""The section of a page that says what to fix first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.report.advice import Advice, Answers, Diagnosis, Example, Given, MistakePage, Step, is_prose
from grader.report.figures import exact, plural
from grader.report.markup.arrays import Matrix, shape_words, shown_array
from grader.report.markup.heat import Scale, cells, common_scale, legend, numbers, scale_of
from grader.report.markup.parts import listing, matrix, part, side, snippet
from grader.report.markup.room import Room
from grader.report.markup.safe import fill, joined
from grader.report.submission_page.influence_markup import maps
from grader.report.texts import one_line
from grader.report.values import Slice, in_few_words, literal, shape_of, slices

ADVICE_BYTES = 44_000

MAX_PROSE = 1_500
MAX_CODE = 3_000
MAX_SNIPPET = 20_000
MAX_CELLS = 240
MAX_LITERAL = 8

# Characters of code that half the width of a page has room for.
MAX_HALF = 46

NONE = Markup()


class Broken(NamedTuple):
    """The clause that holds least.

    Attributes:
        demand: What the statement says of it; may be empty.
        anchor: Number of the first of its checks that did not pass.
        failed, total: How many of its checks did not pass, and how many there are.
    """

    title: str
    demand: str
    anchor: int
    failed: int
    total: int


def advice_section(advice: Advice, room: Room, broken: Broken | None = None) -> Markup:
    """The whole section; what finds no room in it is cut or left out."""
    parts = [
        Markup('<section class="advice" aria-labelledby="first"><h2 id="first">What to fix first</h2>\n')
    ]
    several = len(advice.alternatives) > 1
    if several:
        parts.append(fill("<p>%s</p>\n", room.text(advice.choice, MAX_PROSE, least=120)))
    parts += [_diagnosis(d, room, folded=several) for d in advice.alternatives]
    if advice.alternatives and advice.others:
        parts.append(Markup("<p>Beside that:</p>\n"))
    parts += [_diagnosis(d, room, folded=False) for d in advice.others]
    if advice.undiagnosed:
        parts.append(fill('<p class="said">%s</p>\n', room.text(advice.undiagnosed, MAX_PROSE, least=200)))
    if broken and not advice.alternatives and not advice.others:
        parts.append(_broken(broken, room))
    if advice.example:
        parts.append(_example(advice.example, room))
    if advice.influence:
        parts.append(maps(advice.influence, room))
    return joined([*parts, Markup("</section>\n")])


def _broken(broken: Broken, room: Room) -> Markup:
    """Where to begin where no mistake is known."""
    title = room.text(broken.title, 120, least=40)
    demand = room.text(broken.demand, MAX_PROSE, least=120) if broken.demand.strip() else NONE
    return fill(
        "<p>What holds least is the clause <strong>%s</strong>.</p>\n"
        '<article class="case mistake">\n<h3>%s</h3>\n<p class="tags"><span>%s did not pass</span></p>\n'
        '%s<p><a href="#case-%s">The first of these checks</a></p>\n</article>\n',
        title,
        title,
        f"{broken.failed} of {plural(broken.total, 'check')}",
        fill('<p class="said">%s</p>\n', demand) if demand else NONE,
        broken.anchor,
    )


# --- Mistakes -------------------------------------------------------------------------------------


def _diagnosis(diagnosis: Diagnosis, room: Room, *, folded: bool) -> Markup:
    pair = len(diagnosis.pages) > 1
    title = "Both of these" if pair else diagnosis.title
    parts = [fill("<h3>%s</h3>\n", room.text(one_line(title, 200), 200, least=80))]
    if not pair:
        parts.append(_clause(diagnosis.clause, room))
    if diagnosis.message:
        text = room.text(diagnosis.message, MAX_PROSE, least=120)
        parts.append(fill('<p class="said"><bdi>%s</bdi></p>\n', text))
    pages = []
    for page in diagnosis.pages:
        told = _page(page, room)
        if pair:
            head = _clause(page.clause, room)
            told = part(room.text(one_line(page.title, 200), 200, least=80), head + told)
        pages.append(told)
    if folded and any(pages):
        parts.append(
            fill(
                "<details><summary>Why it is wrong, and what to write instead</summary>\n%s</details>\n",
                joined(pages),
            )
        )
    else:
        parts += pages
    return fill('<article class="case mistake">\n%s</article>\n', joined(parts))


def _clause(title: str, room: Room) -> Markup:
    if not title:
        return NONE
    return fill('<p class="tags"><span>%s</span></p>\n', room.text(one_line(title, 120), 120, least=40))


def _page(page: MistakePage, room: Room) -> Markup:
    sections = [("What it does", page.what), ("Why it is wrong", page.why)]
    examples = [("How it looks", page.looks)]
    if is_prose(page.instead):
        sections.append(("What to do", page.instead))
    else:
        examples.append(("What to write instead", page.instead))
    prose = [
        fill("<div><dt>%s</dt><dd>%s</dd></div>\n", label, _paragraphs(text, room))
        for label, text in sections
        if text.strip()
    ]
    code = [
        fill(
            '<div><p class="label">%s</p>\n<pre role="group" tabindex="0" aria-label="%s"><code>%s</code>'
            "</pre></div>\n",
            label,
            label,
            room.text(text.strip("\n"), MAX_CODE, least=80),
        )
        for label, text in examples
        if text.strip()
    ]
    told = fill('<dl class="sides about">\n%s</dl>\n', joined(prose)) if prose else NONE
    if not code:
        return told
    widest = max([len(line) for _, text in examples for line in text.splitlines()], default=0)
    stacked = " stacked" if widest > MAX_HALF else ""
    return told + fill('<div class="sides%s codes">\n%s</div>\n', stacked, joined(code))


def _paragraphs(text: str, room: Room) -> Markup:
    paragraphs = [p for p in text.split("\n\n") if p.strip()][:6]
    return joined([fill("<p>%s</p>", room.text(p.strip(), MAX_PROSE, least=120)) for p in paragraphs])


# --- The small example ----------------------------------------------------------------------------


def _example(example: Example, room: Room) -> Markup:
    parts = [Markup('<h3 id="example">A small example to work through</h3>\n')]
    if example.dims:
        parts.append(fill('<p class="tags"><span>%s</span></p>\n', room.text(example.dims, 400, least=80)))
    said = room.text(example.message, MAX_PROSE, least=200) if example.message else NONE
    # First of all there has to be room for the answers.
    answers = _answers(example.answers, "the small example", room, said)
    given = [_given(g, room) for g in example.given]
    if given:
        parts.append(part("Inputs", fill('<ul class="given">\n%s</ul>', joined(given))))
    if answers:
        both = example.answers
        alone = both.obtained is None and both.expected is None and not both.texts
        parts.append(part("What happens" if alone else "Obtained and expected", answers))
    if example.step:
        parts.append(_step(example.step, room))
    text = room.whole(example.snippet, MAX_SNIPPET) if example.snippet.strip() else NONE
    if text:
        parts.append(part("Try it yourself", snippet(text, "the small example"), "part snippet"))
    return fill('<article class="case example" aria-labelledby="example">\n%s</article>\n', joined(parts))


def _step(step: Step, room: Room) -> Markup:
    told = [room.text(one_line(step.title, 300), 300, least=80)] if step.title else []
    if step.name:
        told.append(fill("<code>%s</code>", room.text(one_line(step.name, 80), 80, least=20)))
    if step.times > 1:
        told.append(fill('<span class="soft">run %s of this step</span>', step.times))
    said = fill("<p>%s</p>\n", joined(told, " ")) if told else NONE
    return part("The first step where they part", said + _answers(step.answers, "the step", room))


def _answers(answers: Answers, label: str, room: Room, said: Markup = NONE) -> Markup:
    """Both answers beside each other; what is ``said`` of the one obtained stands in its place if need be."""
    pairs = [("Obtained", answers.obtained), ("Expected", answers.expected)]
    scale = common_scale(answers.obtained, answers.expected)
    shown = [
        shown_array(room, name, value, worst=answers.differing, scale=scale)
        for name, value in pairs
        if value is not None
    ]
    message = fill('<p class="said"><bdi>%s</bdi></p>\n', said) if said else NONE
    sides = [side(a, label) for a in shown]
    if message and sides and answers.obtained is None:
        sides.insert(0, fill('<div><p class="label">Obtained</p>\n%s</div>\n', message))
        message = NONE
    sides += [listing(name, room.text(text, MAX_PROSE, least=200)) for name, text in answers.texts]
    if not sides:
        return message
    content = message + fill('<div class="heats">\n%s</div>\n', joined(sides))
    if answers.differing and shown and all(a.matrices for a in shown):
        content += legend(scale, "Framed: what differs.")
    return content


def _given(given: Given, room: Room) -> Markup:
    name = room.text(one_line(given.name, 80), 80, least=20)
    if not given.dtype and not isinstance(given.values, list | tuple):
        return fill("<li><p><code>%s</code> = <code>%s</code></p></li>\n", name, exact(given.values))
    about = one_line(f"{given.dtype} {shape_words(given.shape)}", 120)
    head = fill('<p class="label"><code>%s</code> <span class="soft">%s</span></p>', name, about)
    return fill("<li>%s\n%s</li>\n", head, _values(given.values, room, name))


def _values(values: Any, room: Room, name: Markup) -> Markup:
    """A literal, a matrix, or the matrices of an array of more axes."""
    shape = shape_of(values) if isinstance(values, list | tuple) else None
    if shape is None or 0 in shape:
        said = "The values are left out." if shape is None else "no elements"
        return fill('<p class="soft">%s</p>', said)
    size = math.prod(shape)
    words = in_few_words(values) if size > 4 * MAX_LITERAL and len(shape) < 3 else ""
    if words and room.take(len(words) + 40):
        return fill("<p><code>%s</code></p>", words)
    if size > MAX_CELLS or not room.take(60 * size + 200):
        return Markup('<p class="soft">The values are left out, since there are many.</p>')
    if size <= MAX_LITERAL and math.prod(shape[:-1]) == 1:
        return fill("<p><code>%s</code></p>", literal(values))
    found = slices(values if len(shape) > 1 else [values], len(shape))
    return _matrices(found, scale_of(numbers(values)), name)


def _matrices(found: Sequence[Slice], scale: Scale | None, name: Markup) -> Markup:
    shown = []
    for one in found:
        places = ", ".join(filter(None, one.places))
        label = fill('<p class="soft">%s</p>', one_line(places, 400)) if places else NONE
        # The only matrix is worth its numbers, unless they are many.
        plain = len(found) == 1 and len(one.places) == 1 and sum(map(len, one.rows)) <= 4 * MAX_LITERAL
        if one.words and not plain:
            content = fill("<p><code>%s</code></p>", one.words)
        else:
            rows = [cells(row, scale) for row in one.rows]
            content = matrix(
                Matrix("", rows, len(one.rows[0])), fill("%s %s", name, one_line(places, 200)), bare=True
            )
        shown.append(fill("<div>%s\n%s</div>\n", label, content))
    return fill('<div class="matrices">%s</div>', joined(shown))
