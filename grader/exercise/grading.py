"""How a course counts: weights, gates, late work, extra credit, rounding.

All of it is optional and changes marks only, never what is run. Amounts are points, or a share of the full
marks such as ``10 %``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from fractions import Fraction
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from grader.exercise.fields import Identifier, Model, Points, Text, fault

SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")
SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h|days?|weeks?)")
HOUR = re.compile(r"\d[T ]\d")
SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86400, "days": 86400, "week": 604800, "weeks": 604800}


def _amount(value: Any) -> Any:
    if isinstance(value, str):
        match = SHARE.fullmatch(value.strip())
        if match is None or float(match[1]) > 100:
            raise fault("amount", f"expected points such as 2.5, or a share such as 10 %, found {value!r}")
        return f"{match[1]} %"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100_000:
        raise fault("amount", f"expected points such as 2.5, or a share such as 10 %, found {value!r}")
    return float(value)


def _span(value: Any) -> Any:
    match = SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise fault("span", f"expected a time such as 15 min, 2 h or 7 days, found {value!r}")
    # Exactly, so that who hands in at the last second is in time.
    return float(Fraction(match[1]) * SECONDS[match[2]])


def _moment(value: Any) -> Any:
    text = value.isoformat() if isinstance(value, datetime) else value
    try:
        # A day alone would be its first moment, and hardly anybody means that.
        if not HOUR.search(text):
            raise ValueError
        return datetime.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        raise fault(
            "moment", f"expected a time such as 2026-10-01T23:59+02:00, found {str(value)!r}"
        ) from None


_AMOUNT = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": f"^{SHARE.pattern}$"}]}
Amount = Annotated[float | str, BeforeValidator(_amount), WithJsonSchema(_AMOUNT)]
Span = Annotated[
    float,
    BeforeValidator(_span),
    WithJsonSchema({"type": "string", "pattern": f"^{SPAN.pattern}$"}),
]
Moment = Annotated[str, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]


def _cents(value: float) -> float:
    if round(value, 2) != value:
        raise fault("cents", f"expected whole cents, found {value!r}")
    return value


Weight = Annotated[Points, Field(gt=0), AfterValidator(_cents)]


class Gate(Model):
    """A requirement: when one of its checks fails, the score is capped, or points are taken.

    Exactly one of ``case`` (also a random batch), ``clause`` and ``group`` says which checks; exactly one of
    ``cap`` and ``cost`` what a failure does. ``reason`` is what the report says.
    """

    case: Identifier | None = None
    clause: Identifier | None = None
    group: str | None = None
    cap: Amount | None = None
    cost: Amount | None = None
    reason: str = ""

    @model_validator(mode="after")
    def _one_of_each(self) -> Gate:
        for keys in (("case", "clause", "group"), ("cap", "cost")):
            given = [key for key in keys if getattr(self, key) is not None]
            if len(given) != 1:
                found = f", found {' and '.join(given)}" if given else ""
                raise fault("one_of", f"expected exactly one of {', '.join(keys)}{found}")
        return self


class Late(Model):
    """What late work costs.

    Work that is handed in after ``due`` and ``grace`` costs ``cost`` for every ``per`` that has begun since
    ``due``, at most ``at_most``; after ``closed_after`` it gets no points. Times without an offset from UTC
    are of ``timezone``, or of the offset of ``due``. Where the platform says "late" and no time, the cost is
    ``marked``.
    """

    due: Moment
    timezone: str | None = None
    grace: Span = 0.0
    cost: Amount
    per: Literal["hour", "day", "week", "once"] = "day"
    at_most: Amount | None = None
    closed_after: Span | None = None
    marked: Amount | None = None

    @model_validator(mode="after")
    def _has_a_zone(self) -> Late:
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (ValueError, OSError, KeyError):
                said = f"no time zone {self.timezone!r}; expected a name such as Europe/Berlin"
                raise fault("zone", said, key="timezone") from None
        elif datetime.fromisoformat(self.due).tzinfo is None:
            said = f"{self.due} has no offset from UTC; add one (such as +02:00), or timezone: Europe/Berlin"
            raise fault("zone", said, at=("due",))
        return self


class Rounding(Model):
    """To which step a total is rounded; half a step goes up with ``nearest``."""

    to: Weight
    direction: Literal["nearest", "up", "down"] = "nearest"


class Grading(Model):
    """The policies of a course.

    ``weights`` gives each group its points, however many its cases have among themselves; ``max_score``
    scales everything to these full marks. ``extra_credit`` names groups and cases whose points are beyond
    the full marks.
    """

    weights: dict[str, Weight] | None = None
    max_score: Weight | None = None
    extra_credit: list[Text] = []
    gates: list[Gate] = []
    late: Late | None = None
    rounding: Rounding | None = None

    def naming_only(self, groups: Collection[str], cases: Collection[str]) -> Grading:
        """The same without what names other groups and cases; clauses stay, as the statement tells them.

        Args:
            groups: Groups that may be named.
            cases: Cases and random batches that may be named.
        """
        weights = {name: weight for name, weight in (self.weights or {}).items() if name in groups}
        extra = [name for name in self.extra_credit if name in groups or name in cases]
        gates = [g for g in self.gates if g.clause is not None or g.case in cases or g.group in groups]
        return self.model_copy(update={"weights": weights or None, "extra_credit": extra, "gates": gates})
