"""What to fix first, for a terminal: the same as on the page, in short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from grader.listing import labelled
from grader.report.advice import Advice, Diagnosis, Example, Given, is_prose
from grader.report.figures import exact, plural
from grader.report.influence import MOVED, NO_ANSWER, InfluenceMap
from grader.report.terminal.matrices import side_by_side
from grader.report.texts import clean, one_line
from grader.report.values import in_few_words, literal, shape_of, slices

MAX_PAGES = 2
MAX_LITERAL = 60
# Lines that are shown of an answer that is no array.
MOST_LINES = 24
MAX_CODE_LINES = 8
MAX_ELEMENTS = 240

CELLS = {MOVED: "██", NO_ANSWER: "? "}
DIFFERENT = {MOVED: "█!", NO_ANSWER: "?!"}


def advice_report(advice: Advice) -> RenderableType:
    """Mistakes, the small example and the maps, each in a few lines."""
    lines: list[RenderableType] = [Text("\nWhat to fix first", style="bold")]
    if advice.choice:
        lines.append(Text(clean(advice.choice, 600)))
    # Code is worth its lines only where it is clear what is to be replaced.
    brief = sum(max(len(d.pages), 1) for d in advice.alternatives) > MAX_PAGES
    lines += [_diagnosis(d, brief) for d in advice.alternatives]
    lines += [_diagnosis(d, brief) for d in advice.others]
    if advice.undiagnosed:
        lines.append(Text(clean(advice.undiagnosed, 600)))
        if advice.clause and not advice.alternatives:
            lines.append(Text(f"What holds least: {one_line(advice.clause, 60)}."))
    rows: list[tuple[str, RenderableType]] = []
    if advice.example:
        said = [d.message for d in (*advice.alternatives, *advice.others)]
        rows.append(("example", example_lines(advice.example, said)))
    if advice.influence:
        rows.append(("moves", _Maps(advice.influence)))
    return Group(*lines, labelled(rows)) if rows else Group(*lines)


# --- Mistakes -------------------------------------------------------------------------------------


def _diagnosis(diagnosis: Diagnosis, brief: bool) -> RenderableType:
    pair = len(diagnosis.pages) > 1
    said = [Text(clean(diagnosis.message, 600))] if diagnosis.message else []
    parts: list[RenderableType] = []
    if pair:
        parts += said or [Text("Both of these:")]
    elif not diagnosis.pages:
        parts += [_title(diagnosis.title, diagnosis.clause), *said]
    for at, page in enumerate(diagnosis.pages):
        # A single page and its diagnosis have one title.
        parts.append(_title(page.title or diagnosis.title, page.clause, "and " if at else ""))
        if not pair:
            parts += said
        rows: list[tuple[str, RenderableType]] = []
        if page.why.strip():
            rows.append(("why", Text(one_line(page.why, 600))))
        if page.instead.strip() and not brief:
            prose = is_prose(page.instead)
            rows.append(("instead", Text(one_line(page.instead, 600)) if prose else _code(page.instead)))
        if rows:
            parts.append(labelled(rows))
    return Group(*parts)


def _title(title: str, clause: str, before: str = "") -> Text:
    told = f"  {one_line(clause, 60)}" if clause else ""
    return Text.assemble(("✗ ", "red"), before, (one_line(title, 200), "bold"), (told, "dim"))


def _code(text: str) -> Text:
    lines = clean(text.strip("\n"), 2_000).splitlines()
    more = ["…"] if len(lines) > MAX_CODE_LINES else []
    return Text("\n".join(lines[:MAX_CODE_LINES] + more))


# --- The small example ----------------------------------------------------------------------------


def example_lines(example: Example, said: Sequence[str] = ()) -> RenderableType:
    """Dims, arguments, answers, and the first step where the two ways part.

    Args:
        example: What is shown.
        said: Sentences that stand above; one that begins with the example's own is not said again.
    """
    given = [_given(g) for g in example.given]
    parts: list[RenderableType] = [Text("\n".join(filter(None, [clean(example.dims, 300), *given])))]
    if example.message:
        known = any(sentence.startswith(example.message) for sentence in said)
        parts.append(Text("It ends as said above." if known else clean(example.message, 300)))
    both = {"obtained": example.answers.obtained, "expected": example.answers.expected}
    answers = {name: value for name, value in both.items() if value is not None}
    if answers:
        parts.append(side_by_side(answers))
    parts += answer_texts(example.answers.texts)
    if example.step:
        step = example.step
        run = f", run {step.times}" if step.times > 1 else ""
        name = f"{one_line(step.name, 60)}{run}" if step.name else ""
        # Steps are named by their functions; a title is there where a function has a docstring.
        title = one_line(step.title, 200)
        said = f"{title} ({name})" if title and name else title or name
        told = f"first step where they part: {said}"
        values = [_plain(value) for value in (step.answers.obtained, step.answers.expected)]
        if all(0 < len(value) <= MAX_LITERAL for value in values):
            told += f"\n  obtained {values[0]}\n  expected {values[1]}"
        parts.append(Text(told))
    return Group(*parts)


def answer_texts(texts: Sequence[tuple[str, str]]) -> list[RenderableType]:
    """Answers that are no arrays, each under its name."""
    shown: list[RenderableType] = []
    for name, text in texts:
        told = text.splitlines()
        lines = [clean(line, 400) for line in told[:MOST_LINES]]
        if len(told) > MOST_LINES:
            lines.append(f"… {plural(len(told) - MOST_LINES, 'more line')}")
        if len(lines) == 1 and len(lines[0]) < MAX_LITERAL:
            shown.append(Text(f"{name.lower()}: {lines[0]}"))
        else:
            shown.append(Text("\n".join([f"{name.lower()}:", *(f"  {line}" for line in lines)])))
    return shown


def _given(given: Given) -> str:
    """An argument on a line: its values, or those of its matrices that are not zero, or what it is."""
    name = one_line(given.name, 60)
    if not given.dtype and not isinstance(given.values, list | tuple):
        return f"{name} = {exact(given.values)}"
    about = f"{one_line(given.dtype, 20)} {given.shape}"
    shape = shape_of(given.values) if isinstance(given.values, list | tuple) else None
    if shape is None or 0 in shape or math.prod(shape) > MAX_ELEMENTS:
        return f"{name}: {about}"
    text = literal(given.values)
    if len(text) > MAX_LITERAL and len(shape) < 3 and (words := in_few_words(given.values)):
        return f"{name}: {words}, {about}"
    if len(text) <= MAX_LITERAL or len(shape) < 3:
        return f"{name} = {text}" if len(text) <= 2 * MAX_LITERAL else f"{name}: {about}"
    told = []
    for one in slices(given.values, len(shape)):
        value = one.words or literal(one.rows)
        told.append(f"{', '.join(one.places)} {value}" if one.words else f"{', '.join(one.places)} = {value}")
    text = "; ".join(told)
    return f"{name}: {text}" if len(text) <= 4 * MAX_LITERAL else f"{name}: {about}"


def _plain(value: Any) -> str:
    """A small array as a literal; empty for anything else."""
    shape = shape_of(value)
    return "" if value is None or shape is None or math.prod(shape) > MAX_ELEMENTS else literal(value)


# --- The maps -------------------------------------------------------------------------------------


class _Maps:
    """Both maps beside or below each other; where they don't fit, what is said of them alone."""

    def __init__(self, found: InfluenceMap) -> None:
        self.found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        found = self.found
        if found.message:
            yield Text(clean(found.message, 300))
        yours, right = _drawn(found, found.obtained, True), _drawn(found, found.expected, False)
        width = max(map(len, yours))
        if width > options.max_width:
            # Cell by cell it would be too long to be read.
            yield Text("The maps are too wide for this window." if found.message else found.words(0))
            return
        if 2 * width + 4 <= options.max_width:
            yield Text("\n".join(f"{a:<{width}}    {b}".rstrip() for a, b in zip(yours, right, strict=True)))
        else:
            yield Text("\n".join([*yours, *right]))
        yield Text(_legend(found))


def _legend(found: InfluenceMap) -> str:
    """How the maps are read: one line in a window of 80 columns, with names that are not long."""
    sides = found.sides
    # The message names the argument.
    row = "element" if found.message else f"element of {one_line(found.argument, 40)}"
    by = one_line(sides.numbered, 200).removeprefix("their ")
    if sides.alike:
        told = f"row: {row}, column: answer's row, both by {by}"
    else:
        told = f"row: {row}, by {by}; column: answer's row"
    return f"{told}; ██ moved, ! wrong{', ? no answer' if found.unanswered else ''}"


def _drawn(found: InfluenceMap, signs: Sequence[str], mark: bool) -> list[str]:
    """The lines of a map: its title over the numbers of the columns, then a line for each element."""
    sides = found.sides
    wrong = set(found.differing) if mark else set()
    names = [sides.row_name(row) for row in range(sides.rows)]
    left = max(len("yours"), *map(len, names)) + 1

    def line(begin: str, cells: Sequence[str], between: str = "│") -> str:
        starts = range(0, sides.columns, sides.column_group)
        groups = ["".join(cells[at : at + sides.column_group]) for at in starts]
        return f"{begin:<{left}}{between.join(groups)}"

    numbers = [f"{n % sides.column_group % 10} " for n in range(sides.columns)]
    lines = [line("yours" if mark else "right", numbers)]
    for row, name in enumerate(names):
        if row and row % sides.group == 0:
            lines.append(line("", ["──"] * sides.columns, "┼"))
        cells = [
            (DIFFERENT.get(sign, "·!") if (row, column) in wrong else CELLS.get(sign, "··"))
            for column, sign in enumerate(signs[row])
        ]
        lines.append(line(name, cells))
    return lines
