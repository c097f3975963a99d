"""Margins of cases on a common logarithmic scale: noise, tolerance, nearest mistake."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from grader.report.markup.safe import fill, joined
from grader.validation import CaseMargin

# In the drawing's units, which are pixels where there is room.
WIDTH, HEIGHT, EDGE, MIDDLE = 420, 24, 10, 12
# A mistake is killed with margin from here on, as a multiple of the tolerance.
CLEAR = 10.0

_EXPONENT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """Decades from 10 to the power of ``low`` to ``high``."""

    low: int
    high: int

    def at(self, value: float) -> float:
        """Where a value stands; what is out of range stands at the nearer end."""
        power = math.log10(value) if value > 0 else self.low
        inside = min(max(power, self.low), self.high)
        return EDGE + (inside - self.low) / (self.high - self.low) * (WIDTH - 2 * EDGE)

    @property
    def decades(self) -> range:
        """The powers that are ruled."""
        return range(self.low, self.high + 1)

    @property
    def drawing(self) -> Markup:
        """The axis with its labels."""
        step = 1 + (self.high - self.low) // 9
        labels = [
            fill(
                '<text x="%s" y="16">%s</text>',
                _figure(self.at(10.0**power)),
                "1" if not power else _power(power),
            )
            for power in self.decades
            if power % step == 0
        ]
        return fill(
            '<svg class="margin" viewBox="0 0 %s %s" aria-hidden="true" focusable="false">%s</svg>',
            WIDTH,
            HEIGHT,
            joined(labels),
        )


class MarginItem(NamedTuple):
    """A margin with its drawing; ``number`` and ``clause`` are its clause's, ``tone`` says how wide it is."""

    margin: CaseMargin
    number: int
    clause: str
    tone: str
    over_noise: str
    over_tolerance: str
    drawing: Markup


def poorest_first(margins: Iterable[CaseMargin]) -> list[CaseMargin]:
    """Those with advice, then by error over tolerance of the nearest mistake; those without one last."""
    return sorted(margins, key=lambda m: (not m.advice, _ratio(m.error, m.tolerance) or math.inf))


def margin_scale(margins: Sequence[CaseMargin]) -> Scale:
    """A scale for all figures of these margins."""
    figures = [f for m in margins for f in (m.noise, m.tolerance, m.error) if _drawable(f)]
    powers = [math.log10(f) for f in figures if f is not None]
    low, high = math.floor(min(powers, default=-8.0)), math.ceil(max(powers, default=0.0))
    return Scale(low, max(high, low + 1))


def margin_items(
    margins: Sequence[CaseMargin], numbers: Mapping[str, int], titles: Mapping[str, str], scale: Scale
) -> list[MarginItem]:
    """The margins in their order, each drawn."""
    return [
        MarginItem(
            margin=m,
            number=numbers.get(m.clause, 0),
            clause=titles.get(m.clause, m.clause),
            tone=_tone(m),
            over_noise=times(_ratio(m.tolerance, m.noise)),
            over_tolerance=times(_ratio(m.error, m.tolerance)),
            drawing=_drawing(m, scale),
        )
        for m in margins
    ]


def times(ratio: float | None) -> str:
    """A ratio for people; empty where there is none.

    Example:
        >>> times(2.345), times(1472.3), times(3.1e9), times(None)
        ('2.3 ×', '1,472 ×', '3e+09 ×', '')
    """
    if ratio is None:
        return ""
    if ratio >= 1e7:
        return f"{ratio:.0e} ×"
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def _ratio(one: float | None, other: float) -> float | None:
    return one / other if one is not None and other > 0 else None


def _drawable(value: float | None) -> bool:
    return value is not None and value > 0 and math.isfinite(value)


def _tone(m: CaseMargin) -> str:
    ratio = _ratio(m.error, m.tolerance)
    if m.advice or (ratio is not None and ratio < CLEAR):
        return "warn"
    return "calm" if ratio is None else "good"


def _power(power: int) -> str:
    return "10" + str(power).translate(_EXPONENT)


def _figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _drawing(m: CaseMargin, scale: Scale) -> Markup:
    """Noise is a dot, the tolerance a bar, the mistake a diamond: told apart without colours."""
    noise, tolerance = scale.at(m.noise), scale.at(m.tolerance)
    rules = "".join(f"M{_figure(scale.at(10.0**power))} 0v{HEIGHT}" for power in scale.decades)
    parts = [
        fill('<path class="rule" d="%s"/>', rules),
        fill('<path class="honest" d="M%s %sH%s"/>', _figure(noise), MIDDLE, _figure(tolerance)),
    ]
    if _drawable(m.error):
        assert m.error is not None
        mistake = scale.at(m.error)
        parts += [
            fill('<path class="between" d="M%s %sH%s"/>', _figure(tolerance), MIDDLE, _figure(mistake)),
            fill('<path class="clear" d="M%s 6v12"/>', _figure(scale.at(CLEAR * m.tolerance))),
            fill('<path class="wrong" d="M%s %sl6 6l-6 6l-6 -6z"/>', _figure(mistake), MIDDLE - 6),
        ]
    parts += [
        fill('<circle class="noise" cx="%s" cy="%s" r="4"/>', _figure(noise), MIDDLE),
        fill('<path class="limit" d="M%s 3v18"/>', _figure(tolerance)),
    ]
    return fill(
        '<svg class="margin %s" viewBox="0 0 %s %s" aria-hidden="true" focusable="false">%s</svg>',
        _tone(m),
        WIDTH,
        HEIGHT,
        joined(parts),
    )
