"""What a record says, in lines of plain text for outlets without pages. Every text is cleaned and cut."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from grader.frames import Frame, read_frames
from grader.report.figures import number, plural, points
from grader.report.texts import STATUS_WORDS, VERDICT_WORDS, clean, one_line
from grader.result import Adjustment, CaseResult, Result, Violation

MAX_LISTED = 20
MAX_FRAMES = 10


def headline(result: Result) -> list[str]:
    """Status and points, then the message."""
    first = f"{STATUS_WORDS[result.status]}: {points(result.score)} of {points(result.max_score)} points"
    if result.score is None:
        first = STATUS_WORDS[result.status]
    return [first, *([clean(result.message, 1_500)] if result.message else [])]


def summary(result: Result) -> list[str]:
    """All that is said of the submission as a whole.

    Args:
        result: The record as its reader may see it.
    """
    lines = headline(result)
    violations = result.policy.violations
    lines += [f"Policy: {violation(result, found)}" for found in violations[:MAX_LISTED]]
    lines += [f"{points(a.points, signed=True)} points: {a.reason}" for a in adjustments(result)]
    lines += [f"Note: {clean(note, 500)}" for note in result.notes[:MAX_LISTED]]
    counting = result.exercise.get("counting", ())
    if isinstance(counting, list | tuple):
        lines += [one_line(str(text), 400) for text in counting[:MAX_LISTED]]
    for found in result.diagnoses[:MAX_LISTED]:
        title, message = str(found.get("title", "")), str(found.get("message", ""))
        lines.append(f"Likely mistake: {one_line(title, 200)}. {clean(message, 600)}".strip())
    if result.undiagnosed:
        lines.append(clean(result.undiagnosed, 600))
    small = result.counterexample
    if small is not None and small.get("message"):
        lines.append(f"A small example: {clean(str(small['message']), 600)}")
    layers = f" ({', '.join(result.isolation.layers)})" if result.isolation.layers else ""
    lines.append(one_line(f"Isolation: {result.isolation.level}{layers}", 300))
    if result.isolation.warning:
        lines.append(result.isolation.warning)
    return lines


def adjustments(result: Result) -> Iterator[Adjustment]:
    """The adjustments, with those beyond a number in one, so that what is shown adds up to the score."""
    for one in result.adjustments[:MAX_LISTED]:
        yield Adjustment(one_line(one.reason, 400), one.points)
    rest = result.adjustments[MAX_LISTED:]
    if rest:
        yield Adjustment(plural(len(rest), "more adjustment"), math.fsum(one.points for one in rest))


def violation(result: Result, found: Violation) -> str:
    """A finding with its place."""
    where = f" ({one_line(result.submission.positions.name(found.line), 200)})" if found.line > 0 else ""
    return f"{clean(found.message, 500)}{where}"


def clause_title(result: Result, case: CaseResult) -> str:
    """The title of the case's clause."""
    titles = result.exercise.get("clauses")
    title = titles.get(case.clause) if isinstance(titles, Mapping) else None
    return one_line(str(title or case.clause), 120)


def case_name(result: Result, case: CaseResult) -> str:
    """What a case is called: a hidden one by its clause alone."""
    if case.visibility == "hidden":
        return f"Hidden check: {clause_title(result, case)}"
    title = one_line(case.title, 160)
    return f"{one_line(case.id, 120)}: {title}" if title else one_line(case.id, 120)


def verdict(case: CaseResult) -> str:
    """The verdict in words."""
    return VERDICT_WORDS.get(case.verdict, one_line(case.verdict, 40))


def case_lines(result: Result, case: CaseResult) -> Iterator[str]:
    """What there is to say of a case that is no full success."""
    if case.message:
        yield clean(case.message, 1_500)
    if case.hint:
        yield f"Hint: {clean(case.hint, 1_500)}"
    details = case.details
    if details.get("exception"):
        yield clean(str(details["exception"]), 1_000)
    for line, function in frames(details):
        where = one_line(result.submission.positions.name(line), 200)
        yield f"  {where}, in {one_line(function, 120)}"
    for worst in _listed(details, "worst")[:5]:
        if isinstance(worst, Mapping):
            index = ", ".join(number(i) for i in _listed(worst, "index")[:32])
            obtained, expected = number(worst.get("obtained")), number(worst.get("expected"))
            yield f"  at [{index}] obtained {obtained}, expected {expected}"
    for key, label in (("stdout", "Printed"), ("stderr", "Printed to stderr")):
        if isinstance(details.get(key), str) and details[key]:
            yield f"{label}:\n{clean(details[key], 4_000)}"


def frames(details: Mapping[str, Any]) -> list[Frame]:
    """The student's lines in a traceback that are known, the innermost last."""
    return [frame for frame in read_frames(details)[-MAX_FRAMES:] if frame.line]


def _listed(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return list(value) if isinstance(value, list | tuple) else []
