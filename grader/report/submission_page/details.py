"""What the pages of one submission show of a failing case beside its message."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from grader.report.advice import read_texts
from grader.report.figures import exact, number
from grader.report.markup.arrays import MAX_CELLS, ShownArray, read_part, shape_words, shown_array
from grader.report.markup.heat import DOT, common_scale, differences, legend, numbers, scale_of
from grader.report.markup.room import Room
from grader.report.submission_page.source import Source, frame_rows
from grader.report.texts import one_line
from grader.report.values import differing, shape_of
from grader.result import CaseResult, Shared

MAX_SNIPPET = 40_000
MAX_TEXT = 4_000
# An input of so many elements is a text on its line.
MAX_INLINE = 8

# The title of an argument that a call changed.
CHANGED = "Before and after the call"
# The title of two answers of hers that are held against each other.
BOTH = "Both answers"


@dataclass(frozen=True)
class _Worst:
    index: str
    obtained: str
    expected: str
    difference: str


@dataclass(frozen=True)
class Details:
    """What is shown of a failing case beside its message; ``made`` keeps what was written of it."""

    title: str = ""
    inputs: Shared | None = None
    answers: Sequence[ShownArray] = ()
    texts: Sequence[tuple[str, str]] = ()
    remarks: str = ""
    worst: Sequence[_Worst] = ()
    frames: Sequence[Markup] = ()
    exception: str = ""
    stdout: str = ""
    stderr: str = ""
    snippet: str = ""
    made: dict[str, Markup] = field(default_factory=dict)


def _text_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def made_details(room: Room, case: CaseResult, details: Mapping[str, Any], source: Source) -> Details:
    """What is shown of a case's details; unknown keys and odd values are passed over."""
    worst = [w for w in _text_list(details.get("worst")) if isinstance(w, Mapping)][:10]
    indices = [_index(w) for w in worst]
    snippet = details.get("snippet")

    def text(key: str, limit: int) -> str:
        value = details.get(key)
        return room.text(value, limit) if isinstance(value, str) and value else ""

    exception = text("exception", 1_000)
    frames = frame_rows(room, details, source)
    answers, remarks = _answers(room, case, details, indices)
    return Details(
        title=CHANGED if "changed" in details else BOTH if "answers" in details else "Obtained and expected",
        exception=exception,
        frames=frames,
        worst=[_worst(w, index) for w, index in zip(worst, indices, strict=True)],
        answers=answers,
        texts=[(name, room.text(text, MAX_TEXT)) for name, text in read_texts(details.get("texts"))],
        remarks=remarks,
        inputs=_inputs(room, details.get("inputs")),
        stdout=text("stdout", 4_000),
        stderr=text("stderr", 4_000),
        # A snippet that is cut can't be run.
        snippet=room.whole(snippet, MAX_SNIPPET) if isinstance(snippet, str) else "",
    )


def _answers(
    room: Room, case: CaseResult, details: Mapping[str, Any], worst: Sequence[tuple[int, ...]]
) -> tuple[list[ShownArray], Markup]:
    """Obtained, expected and their difference as tables with one scale, and how they are read."""
    changed = details.get("changed")
    if isinstance(changed, Mapping):
        return _changed(room, case, changed)
    part = read_part(details.get("part"))
    if part is not None:
        return _sides(
            room, case, part.obtained, part.expected, part.inside(worst), (part.top, part.left), part.words
        )
    both = details.get("answers")
    if isinstance(both, list) and len(both) == 2 and all(isinstance(b, list) and len(b) == 2 for b in both):
        (first, one), (second, other) = both
        # What is held against the earlier answer is the later one.
        names = [one_line(name, 80) if isinstance(name, str) else "Answer" for name in (second, first)]
        shown, remarks = _sides(room, case, other, one, worst, names=names)
        return [*reversed(shown[:2]), *shown[2:]], remarks
    return _sides(room, case, details.get("obtained"), details.get("expected"), worst)


def _changed(room: Room, case: CaseResult, changed: Mapping[str, Any]) -> tuple[list[ShownArray], Markup]:
    """An argument as it was before and after a call, with every element framed that is another one."""
    name = changed.get("name")
    known = one_line(name, 80) if isinstance(name, str) else "argument"
    names, framed = (f"{known} after the call", f"{known} before the call"), "what the call changed"
    part = read_part(changed.get("part"), "change")
    if part is not None:
        after, before, corner, words = part.obtained, part.expected, (part.top, part.left), part.words
    else:
        after, before, corner, words = changed.get("after"), changed.get("before"), (0, 0), ""
    off = differing(after, before, 0.0)
    shown, remarks = _sides(room, case, after, before, off, corner, words, names=names, framed=framed)
    return [*reversed(shown[:2]), *shown[2:]], remarks


def _sides(
    room: Room,
    case: CaseResult,
    obtained: Any,
    expected: Any,
    worst: Sequence[tuple[int, ...]],
    corner: tuple[int, int] = (0, 0),
    words: str = "",
    names: Sequence[str] = ("Obtained", "Expected"),
    framed: str = "the largest errors",
) -> tuple[list[ShownArray], Markup]:
    found, right = shape_of(obtained), shape_of(expected)
    scale = None
    if max(math.prod(found or ()), math.prod(right or ())) <= MAX_CELLS:
        scale = common_scale(obtained, expected)
    # Of a part the words tell the shape of the whole.
    shape = () if words else None
    shown = [
        shown_array(room, name, side, worst=worst, scale=scale, corner=corner, shape=shape)
        for name, side in zip(names, (obtained, expected), strict=True)
        if side is not None
    ]
    remarks = [words] if words else []
    if worst:
        remarks.append(f"Framed: {framed}.")
    if scale is not None and found and found == right:
        parted = differences(obtained, expected, _allowed(case, expected))
        most = max(map(abs, numbers(parted)), default=0.0)
        between = scale_of([-most, most])
        one = shown_array(
            room, "Difference", parted, worst=worst, scale=between, corner=corner, shape=(), difference=True
        )
        shown.append(replace(one, about=f"up to {most:.2g}") if between else one)
        remarks += (
            ["A dot: within the tolerance." if case.error else "A dot: no difference."]
            if _holds(one, DOT)
            else []
        )
    if not any(a.matrices for a in shown):
        return shown, Markup()
    if any(_holds(a, "class=hx") for a in shown):
        remarks.append("Hatched: NaN or infinity.")
    return shown, legend(scale or shown[0].scale, *remarks)


def _holds(array: ShownArray, sign: str) -> bool:
    return any(sign in row for matrix in array.matrices for row in matrix.rows)


def _allowed(case: CaseResult, expected: Any) -> float:
    """The largest difference that passes; 0 where it is not known."""
    error = case.error
    if error is None or not isinstance(error.tolerance, int | float):
        return 0.0
    if error.max_abs and error.max_rel:
        return error.tolerance * error.max_abs / error.max_rel
    return error.tolerance * max(map(abs, numbers(expected)), default=0.0)


def _index(worst: Mapping[str, Any]) -> tuple[int, ...]:
    index = _text_list(worst.get("index"))
    return tuple(i for i in index if type(i) is int)[:32]


def _worst(worst: Mapping[str, Any], index: tuple[int, ...]) -> _Worst:
    obtained, expected = worst.get("obtained"), worst.get("expected")
    difference = "–"
    if isinstance(obtained, int | float) and isinstance(expected, int | float):
        try:
            difference = number(float(abs(obtained - expected)))
        except OverflowError:
            difference = "inf"
    where = f"[{', '.join(number(i) for i in index)}]"
    return _Worst(where, number(obtained), number(expected), difference)


def _inputs(room: Room, inputs: Any) -> Shared | None:
    """The inputs as they are shown; made once where many records hold them."""
    known, cost = inputs.made.get("shown", (None, 0)) if isinstance(inputs, Shared) else (None, 0)
    if known is not None and room.take(cost):
        shown: Shared = known
        return shown
    before, ample, room.ample = room.used, room.ample, True
    shown = Shared([_input(room, i) for i in _text_list(inputs)[:60] if isinstance(i, Mapping)])
    if room.ample and isinstance(inputs, Shared):
        inputs.made["shown"] = shown, room.used - before
    room.ample = room.ample and ample
    return shown or None


def _input(room: Room, given: Mapping[str, Any]) -> ShownArray:
    name = one_line(str(given.get("name", "")), 80)
    if "value" in given:
        value = given["value"]
        kind = given.get("type")
        told = one_line(kind, 40) if isinstance(kind, str) else type(value).__name__
        return ShownArray(name, told, inline=exact(value))
    dtype, shape = str(given.get("dtype", "")), _text_list(given.get("shape"))
    if "values" not in given:
        return ShownArray(name, one_line(f"{dtype} {shape_words(tuple(shape[:32]))}".strip(), 120))
    return shown_array(room, name, given["values"], dtype=dtype, shape=shape[:32], inline=MAX_INLINE)
