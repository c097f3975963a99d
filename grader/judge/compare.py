"""Comparing an answer with the expected one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Comparison:
    """How far an answer is off.

    Attributes:
        max_abs: Largest absolute difference over the elements; infinite where the answer is not finite and
            the expected one is.
        max_rel: ``max_abs`` over the largest magnitude of the expected answer.
        beyond: How many elements are off by more than the tolerance.
        size: How many elements there are.
        not_finite: How many elements are NaN or infinite though the expected ones are finite.
        worst: Indices of the elements that are off most, largest first.
    """

    max_abs: float
    max_rel: float
    beyond: int
    size: int
    not_finite: int
    worst: tuple[tuple[int, ...], ...]

    @property
    def equal(self) -> bool:
        """Whether every element lies within the tolerance."""
        return self.beyond == 0


def is_exact(array: Array) -> bool:
    """Whether an array holds whole numbers or truth values, which are compared exactly."""
    return array.dtype.kind in "iub"


def compare(
    obtained: Array, expected: Array, tolerance: float, scale: float | Array, *, worst: int = 5
) -> Comparison:
    """Compare two arrays of equal shape.

    The error of an element is its absolute difference over ``scale``, the largest magnitude of the expected
    answer: rounding errors of a matrix product grow with the largest terms, not with the single element.
    Where both arrays hold whole numbers or truth values, which have no rounding, all must be equal.

    Args:
        obtained: The answer, of any float dtype; compared in float64.
        expected: The expected answer; where it is NaN or infinite, the same is expected.
        tolerance: Largest accepted error relative to ``scale``.
        scale: Positive; or one for each element, 0 for those that must be equal.
        worst: How many indices to name.

    Raises:
        ValueError: The shapes differ.
    """
    if obtained.shape != expected.shape:
        raise ValueError(f"can't compare the shapes {obtained.shape} and {expected.shape}")
    if obtained.size == 0:
        return Comparison(0.0, 0.0, 0, 0, 0, ())
    with np.errstate(all="ignore"):
        got = obtained.astype(np.float64)
        want = expected.astype(np.float64)
        difference = np.asarray(np.abs(got - want))
    exact = is_exact(obtained) and is_exact(expected)
    if exact:
        # Neighbours beyond what a float holds have no difference there.
        unequal = np.asarray(obtained != expected)
        difference = np.where(unequal, np.maximum(difference, 1.0), 0.0)
    largest = float(difference.max())
    if not exact and isinstance(scale, float | int) and largest <= tolerance * scale:
        # The common case; NaN and infinity are no less than anything.
        return Comparison(largest, largest / scale, 0, int(got.size), 0, ())
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if not exact:
        difference[same] = 0.0
        difference[np.isnan(difference)] = np.inf
    off = difference > (0.0 if exact else tolerance * scale)
    beyond = int(np.count_nonzero(off))
    max_abs = float(difference.max())
    if isinstance(scale, np.ndarray):
        with np.errstate(all="ignore"):
            relative = np.where(difference > 0, difference / scale, 0.0)
        max_rel = float(relative.max())
        difference = relative
    else:
        max_rel = max_abs / scale
    named: tuple[tuple[int, ...], ...] = ()
    if beyond:
        flat = np.argsort(-difference, axis=None, kind="stable")[: min(worst, beyond)]
        if difference.ndim:
            axes = np.unravel_index(flat, difference.shape)
            named = tuple(zip(*[axis.tolist() for axis in axes], strict=True))
        else:
            named = ((),)
    not_finite = int(np.count_nonzero(~np.isfinite(got) & np.isfinite(want)))
    return Comparison(max_abs, max_rel, beyond, int(got.size), not_finite, named)
