"""From the points of the cases to the score: gates, policy, late work, what a teacher gave, rounding.

Each step is an adjustment with its reason, in this order, and the score is the sum of the cases' points and
of the adjustments. Sums are made of decimal numbers, so they come out as one would write them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from grader.exercise.pack import Pack
from grader.result import Adjustment, CaseResult, PolicyResult, SubmissionInfo

CENT = Decimal("0.01")
# Points are kept to a millionth: an author may write thirds.
SMALLEST = Decimal("0.000001")
MINUTE, DAY = 60.0, 86_400.0
PERIODS: Mapping[str, tuple[float, str]] = {
    "hour": (3600.0, "hour"),
    "day": (86400.0, "day"),
    "week": (604800.0, "week"),
}
BANNED = "a banned helper is used"
DIRECTIONS = {"nearest": ROUND_HALF_UP, "up": ROUND_CEILING, "down": ROUND_FLOOR}


def rounded(points: float) -> float:
    """Points to a millionth, so that sums of decimal fractions come out as one writes them."""
    return round(points, 6) + 0.0


def adjust(
    pack: Pack,
    cases: Sequence[CaseResult],
    policy: PolicyResult,
    info: SubmissionInfo,
    given: Iterable[Adjustment] = (),
) -> tuple[Adjustment, ...]:
    """What is added to the cases' points and taken from them.

    Args:
        pack: The exercise's pack, with the course's policies.
        cases: Every case's verdict and points.
        policy: What the policy check found.
        info: When it was handed in.
        given: What a teacher gave or took by hand.
    """
    total = _Total(pack, cases)
    for gate in pack.exercise.grading.get("gates", ()):
        _gate(total, gate, pack, cases)
    _policy(total, pack, policy, info)
    if "late" in pack.exercise.grading:
        _late(total, pack.exercise.grading["late"], info)
    for one in given:
        total.add(one.reason, Decimal(str(one.points)), keep=True)
    if total.score < 0:
        total.add("no score is below 0", -total.score)
    if "rounding" in pack.exercise.grading:
        _round(total, pack.exercise.grading["rounding"])
    return tuple(total.adjustments)


class _Total:
    """A score as it becomes."""

    def __init__(self, pack: Pack, cases: Sequence[CaseResult]) -> None:
        self.full = _decimal(math.fsum(c.points for c in pack.cases if not c.extra))
        self.most = _decimal(math.fsum(c.points for c in pack.cases))
        self.score = _decimal(math.fsum(c.points for c in cases))
        self.adjustments: list[Adjustment] = []

    def add(self, reason: str, points: Decimal, *, keep: bool = False) -> None:
        """One more adjustment; of 0 points only where it is to be told all the same."""
        if points or keep:
            self.score += points
            self.adjustments.append(Adjustment(reason, float(points) + 0.0))

    def take(self, reason: str, points: Decimal, *, keep: bool = False) -> None:
        """Take points, as far as there are any."""
        self.add(reason, -min(points, max(self.score, Decimal(0))), keep=keep)

    def cap(self, reason: str, most: Decimal, *, keep: bool = False) -> None:
        """Take what is above a limit."""
        self.add(reason, -max(Decimal(0), self.score - most), keep=keep)

    def amount(self, value: float | str) -> Decimal:
        """Points; of a share of the full marks to the cent."""
        if isinstance(value, str):
            share = self.full * Decimal(value.removesuffix("%").strip()) / 100
            return share.quantize(CENT, ROUND_HALF_UP)
        return _decimal(value)


def _decimal(value: float) -> Decimal:
    # As the record has it: what is taken away must not be more than what is there.
    return Decimal(repr(rounded(float(value)))).quantize(SMALLEST, ROUND_HALF_UP)


def _gate(total: _Total, gate: Mapping[str, Any], pack: Pack, cases: Sequence[CaseResult]) -> None:
    key = next(key for key in ("case", "clause", "group") if key in gate)
    if key == "case":
        named = {c.id for c in pack.cases if gate[key] in (c.id, c.batch)}
        members = [c for c in cases if c.id in named]
    else:
        members = [c for c in cases if getattr(c, key) == gate[key]]
    broken = [c for c in members if c.failed or c.verdict == "skipped"]
    if not broken:
        return
    public = any(c.visibility == "public" for c in members)
    reason = gate.get("reason") or _gate_reason(key, gate[key], broken, pack, public=public)
    if "cap" in gate:
        total.cap(
            f"{reason} (at most {_written(total.amount(gate['cap']))} points)", total.amount(gate["cap"])
        )
    else:
        total.take(reason, total.amount(gate["cost"]))


def _gate_reason(key: str, name: str, broken: Sequence[CaseResult], pack: Pack, *, public: bool) -> str:
    """What is required; what has no public case is told by its clause alone."""
    if key == "case" and public:
        return f"required: {broken[0].title or name}"
    if key == "group" and public:
        return f"required: every check of {name}"
    title = pack.exercise.clauses.get(broken[0].clause, {}).get("title", broken[0].clause)
    return f"required: {title}"


def _policy(total: _Total, pack: Pack, policy: PolicyResult, info: SubmissionInfo) -> None:
    """What a violation costs, by the exercise's ``effect``."""
    effect = pack.exercise.policy.get("effect", {"no_points": True})
    if policy.status != "violated" or effect.get("note"):
        return
    # A helper that was seen while it ran may have no known line.
    lines = sorted({v.line for v in policy.violations if v.line})[:8]
    where = f", {info.positions.names(lines)}" if lines else ""
    helpers = ", ".join(sorted({v.helper for v in policy.violations})[:4])
    reason = f"{BANNED} ({helpers}{where})"
    if "deduct" in effect:
        total.take(reason, _decimal(effect["deduct"]), keep=True)
    elif "cap" in effect:
        total.cap(reason, _decimal(effect["cap"]), keep=True)
    else:
        total.take(reason, total.score, keep=True)


def _late(total: _Total, rules: Mapping[str, Any], info: SubmissionInfo) -> None:
    if not info.submitted_at:
        if info.late and "marked" in rules:
            total.take("handed in late, as the platform says", total.amount(rules["marked"]))
        return
    elapsed, by_clock = lateness(rules, info.submitted_at)
    per = rules.get("per", "day")

    def counted(*, by_hours: bool) -> float:
        # A day that has 25 hours, since the clocks go back, is one day. What is late stays late, though the
        # clocks show an earlier time.
        return elapsed if by_hours or by_clock <= 0 < elapsed else min(elapsed, by_clock)

    def over(span: float) -> bool:
        return counted(by_hours=span % DAY != 0) > span

    if not over(rules.get("grace", 0.0)):
        return
    seconds = counted(by_hours=per == "hour")
    # Up to the next minute, or who is a second late would read that it was as much as costs nothing.
    told = f"handed in {span_text(seconds if seconds < MINUTE else -(-seconds // MINUTE) * MINUTE)} late"
    if "closed_after" in rules and over(rules["closed_after"]):
        total.take(f"{told}, more than {span_text(rules['closed_after'])}", total.score)
        return
    cost = total.amount(rules["cost"])
    if per != "once":
        length, word = PERIODS[per]
        begun = max(1, math.ceil(seconds / length))
        cost *= begun
        told += f": {begun} {word}{'s' if begun > 1 else ''} begun"
    if "at_most" in rules:
        cost = min(cost, total.amount(rules["at_most"]))
    total.take(told, cost)


def lateness(rules: Mapping[str, Any], submitted_at: str) -> tuple[float, float]:
    """How late work was handed in: the seconds that passed, and what a clock on the course's wall shows.

    A time without an offset is of the course's time zone, or of the offset of the time at which it was due.
    Where the clocks go back or forward, what can be read in two ways is read to the student's advantage.
    """
    due = datetime.fromisoformat(rules["due"])
    handed_in = datetime.fromisoformat(submitted_at)
    zone = due.tzinfo
    if "timezone" in rules:
        # Looking for the system's zones takes longer than judging does.
        from zoneinfo import ZoneInfo

        zone = ZoneInfo(rules["timezone"])
    elapsed = min(
        _elapsed(_with_zone(due, zone, fold), _with_zone(handed_in, zone, other))
        for fold in (0, 1)
        for other in (0, 1)
    )
    return elapsed, (_on_the_wall(handed_in, zone) - _on_the_wall(due, zone)).total_seconds()


def _on_the_wall(time: datetime, zone: tzinfo | None) -> datetime:
    return (time if time.tzinfo is None else time.astimezone(zone)).replace(tzinfo=None)


def _with_zone(time: datetime, zone: tzinfo | None, fold: int) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=zone, fold=fold)


def _elapsed(first: datetime, last: datetime) -> float:
    """Seconds; Python itself passes over a change of the clocks between two times of the same zone."""
    offsets = (last.utcoffset() or timedelta()) - (first.utcoffset() or timedelta())
    return (last.replace(tzinfo=None) - first.replace(tzinfo=None) - offsets).total_seconds()


def span_text(seconds: float) -> str:
    """A length of time in words: ``3 days 4 h``, ``15 min``."""
    left = timedelta(seconds=max(0.0, seconds))
    hours, minutes = left.seconds // 3600, left.seconds % 3600 // 60
    parts = [f"{left.days} day{'s' if left.days != 1 else ''}"] if left.days else []
    parts += [f"{hours} h"] if hours else []
    parts += [f"{minutes} min"] if minutes and not (left.days and hours) else []
    return " ".join(parts) or "less than a minute"


def _round(total: _Total, rules: Mapping[str, Any]) -> None:
    """To the step; full marks and all that can be had stay what they are, and nobody is lifted above them."""
    step = Decimal(repr(float(rules["to"])))
    direction = rules.get("direction", "nearest")
    way = "" if direction == "nearest" else f" {direction}"
    reason = f"rounded{way} to {_written(step)}"
    score = (total.score / step).quantize(Decimal(1), DIRECTIONS[direction]) * step
    for limit in (total.full, total.most):
        if total.score <= limit < score:
            score, reason = limit, f"{reason}, at most {_written(limit)} points"
        elif score < limit <= total.score:
            score, reason = limit, f"{reason}, at least {_written(limit)} points"
    total.add(reason, score - total.score)


def _written(points: Decimal) -> str:
    return f"{points.normalize():f}"


def _points(value: float) -> str:
    return _written(_decimal(value))


def how_it_counts(grading: Mapping[str, Any], cases: Iterable[CaseResult]) -> list[str]:
    """What a course's policies make of points, in sentences for its students."""
    said = []
    cases = list(cases)
    if "weights" in grading:
        shares = ", ".join(_shares(grading["weights"], cases))
        said.append(
            f"Each group of checks has its weight, whatever its checks have among themselves: {shares}."
        )
    if "max_score" in grading:
        said.append(f"All points are scaled so that full marks are {_points(grading['max_score'])}.")
    extra = math.fsum(c.max_points for c in cases if c.extra)
    if extra:
        said.append(f"{_points(extra)} points are extra credit: they come on top of full marks.")
    if "late" in grading:
        said.append(_late_text(grading["late"]))
    if "rounding" in grading:
        to, way = grading["rounding"]["to"], grading["rounding"].get("direction", "nearest")
        said.append(f"The total is rounded {_WAYS[way]} {_points(to)}.")
    return said


def _shares(weights: Mapping[str, float], cases: Sequence[CaseResult]) -> Iterator[str]:
    """Each group with its weight; those of hidden checks alone go together, without their names."""
    hidden = {c.group for c in cases} - {c.group for c in cases if c.visibility == "public"}
    for name, weight in weights.items():
        if name not in hidden:
            yield f"{name} {_points(weight)}"
    if hidden:
        yield f"hidden checks {_points(math.fsum(weights[name] for name in hidden))}"


_WAYS = {"nearest": "to the nearest", "up": "up to the next", "down": "down to the next"}


def _late_text(late: Mapping[str, Any]) -> str:
    per = late.get("per", "day")
    zone = f" ({late['timezone']})" if "timezone" in late else ""
    grace = f"; up to {span_text(late['grace'])} cost nothing" if late.get("grace") else ""
    every = "" if per == "once" else f" for every {per} that has begun"
    most = f", at most {_amount_text(late['at_most'])}" if "at_most" in late else ""
    closed = f" After {span_text(late['closed_after'])} it gets no points." if "closed_after" in late else ""
    cost = f"{_amount_text(late['cost'])}{every}{most}{grace}"
    return f"Work handed in after {late['due']}{zone} loses {cost}.{closed}"


def _amount_text(value: float | str) -> str:
    return f"{value} of full marks" if isinstance(value, str) else f"{_points(value)} points"
