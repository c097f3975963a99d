"""How much processor time something may take: what the exercise states, or a multiple of the reference's."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Allowance:
    """Processor seconds that something may take.

    Attributes:
        seconds: How many.
        times: So many times what the reference needs on this machine; 0 where the seconds are stated.
    """

    seconds: float
    times: float = 0.0

    def __str__(self) -> str:
        return f"{self.seconds:g} s" + self.why

    @property
    def why(self) -> str:
        """In brackets, what the seconds come from; empty where they are stated."""
        return f" ({self.times:g} times what the reference needs here)" if self.times else ""


def larger(stated: float, times: float, reference_seconds: float) -> Allowance:
    """The stated seconds, or a multiple of what the reference needs here where that is more.

    Args:
        stated: Processor seconds.
        times: The multiple.
        reference_seconds: What the reference needs on this machine, in processor seconds.
    """
    scaled = two_digits_up(times * reference_seconds)
    return Allowance(scaled, times) if scaled > stated else Allowance(stated)


def two_digits_up(value: float) -> float:
    """The value with two significant digits, rounded up; what is below 0 counts as 0.

    Example:
        >>> two_digits_up(12.01), two_digits_up(0.5), two_digits_up(1999.0)
        (13.0, 0.5, 2000.0)
    """
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    # What is a hair above, from dividing, is not above.
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.1e}")
