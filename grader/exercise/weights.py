"""What each case is worth in a course: its own points, or its share of its group's weight.

Points are whole cents and add up to the weights and to the full marks exactly: what a division leaves over
goes to the largest remainders first (Hamilton's method of apportionment), among equals to the earlier case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from grader.exercise.grading import Grading


@dataclass(frozen=True)
class Worth:
    """A case with its own points.

    Attributes:
        id: The case.
        group: Its case file.
        points: As its author wrote them.
        extra: They are beyond the full marks.
    """

    id: str
    group: str
    points: float
    extra: bool = False


def course_points(cases: Sequence[Worth], grading: Grading | None) -> dict[str, float]:
    """The points of each case by id.

    Without weights and full marks they are the author's own. Points beyond the full marks are scaled like
    those of their group; a group of which all points are beyond them shares its weight among its cases.

    Args:
        cases: All cases, the hidden ones too.
        grading: The course's policies.
    """
    if grading is None or (grading.weights is None and grading.max_score is None):
        return {case.id: case.points for case in cases}
    buckets: dict[str, list[Worth]] = {}
    for case in cases:
        buckets.setdefault(case.group if grading.weights is not None else "", []).append(case)
    targets = _targets(buckets, grading)
    points: dict[str, float] = {}
    for name, members in buckets.items():
        regular = [case for case in members if not case.extra]
        shared = regular or members
        whole = sum((Fraction(str(c.points)) for c in shared), Fraction(0))
        points |= _shares(shared, targets[name])
        for case in members:
            if case.extra and regular:
                scaled = Fraction(str(case.points)) * targets[name] / whole if whole else Fraction(0)
                points[case.id] = _nearest(scaled) / 100
    return {case.id: points[case.id] for case in cases}


def _targets(buckets: Mapping[str, list[Worth]], grading: Grading) -> dict[str, int]:
    """The cents of each bucket."""
    raw: dict[str, Fraction] = {}
    beyond = set()
    for name, members in buckets.items():
        regular = [case for case in members if not case.extra]
        if not regular:
            beyond.add(name)
        if grading.weights is not None:
            raw[name] = 100 * Fraction(str(grading.weights[name]))
        else:
            raw[name] = 100 * sum((Fraction(str(c.points)) for c in regular or members), Fraction(0))
    if grading.max_score is None:
        return {name: round(value) for name, value in raw.items()}
    full = 100 * Fraction(str(grading.max_score))
    whole = sum((value for name, value in raw.items() if name not in beyond), Fraction(0))
    factor = full / whole if whole else Fraction(0)
    inside = {name: value * factor for name, value in raw.items() if name not in beyond}
    targets = apportion(inside, round(full)) if whole else dict.fromkeys(inside, 0)
    return targets | {name: _nearest(raw[name] * factor) for name in beyond}


def _nearest(cents: Fraction) -> int:
    """The nearest whole number; half a cent goes up."""
    return floor(cents + Fraction(1, 2))


def _shares(cases: Sequence[Worth], cents: int) -> dict[str, float]:
    wanted = {case.id: Fraction(str(case.points)) for case in cases}
    whole = sum(wanted.values(), Fraction(0))
    if not whole:
        return dict.fromkeys(wanted, 0.0)
    given = apportion({name: value * cents / whole for name, value in wanted.items()}, cents)
    return {name: value / 100 for name, value in given.items()}


def apportion(wanted: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """Whole numbers of the given total that are as near to the wanted ones as their largest remainders allow.

    Args:
        wanted: Not negative; their sum is the total.
        total: What the whole numbers add up to.
    """
    given = {name: value.numerator // value.denominator for name, value in wanted.items()}
    left = total - sum(given.values())
    by_remainder = sorted(wanted, key=lambda name: given[name] - wanted[name])
    for name in by_remainder[:left]:
        given[name] += 1
    return given
