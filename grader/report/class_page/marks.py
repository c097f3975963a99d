"""The marks of a class: which submission passed which case, whatever packs they were graded by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.summary import CaseOutline, Outline, Summary

ABSENT = " "


@dataclass(frozen=True)
class ClassMarks:
    """The cases of a class, and how each submission fared in them.

    Attributes:
        cases: Those of all packs, in the order of the first pack that has them.
        patterns: The different rows of marks, a sign of `grader.summary.MARKS` for each case; a blank where a
            submission's pack has no such case.
        of: For each submission the number of its pattern.
    """

    cases: tuple[CaseOutline, ...]
    patterns: tuple[str, ...]
    of: tuple[int, ...]


def class_marks(rows: Sequence[tuple[Summary, Outline]]) -> ClassMarks:
    """The marks of all submissions over the same cases."""
    places: dict[tuple[str, int], int] = {}
    cases: list[CaseOutline] = []
    orders: dict[str, list[int]] = {}
    for summary, outline in rows:
        if summary.outline in orders:
            continue
        order, seen = [], dict[str, int]()
        for case in outline.cases:
            # An id that comes twice is two cases.
            seen[case.id] = seen.get(case.id, 0) + 1
            key = case.id, seen[case.id]
            if key not in places:
                places[key] = len(cases)
                cases.append(case)
            order.append(places[key])
        orders[summary.outline] = order
    plain = list(range(len(cases)))
    patterns: dict[str, int] = {}
    known: dict[tuple[str, str], int] = {}
    of = []
    for summary, _ in rows:
        row = summary.outline, summary.marks
        if row not in known:
            marks = summary.marks
            if orders[summary.outline] != plain or len(marks) != len(plain):
                spread = [ABSENT] * len(plain)
                for place, mark in zip(orders[summary.outline], marks, strict=False):
                    spread[place] = mark
                marks = "".join(spread)
            known[row] = patterns.setdefault(marks, len(patterns))
        of.append(known[row])
    return ClassMarks(tuple(cases), tuple(patterns), tuple(of))
