"""What a trusted function answers, as numbers that can be held against other ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.forms import Form
from grader.exercise.rehearsal import as_value
from grader.exercise.structure import Leaf, flatten, scales, show_path
from grader.outcomes import ArrayValue, Value

Array = NDArray[Any]


@dataclass(frozen=True)
class Answer:
    """An answer.

    Attributes:
        array: The answer, or the vector of its numbers where it is no array.
        leaves: What the numbers belong to; None where the answer is an array.
    """

    array: Array
    leaves: tuple[Leaf, ...] | None = None

    @property
    def finite(self) -> bool:
        """Whether all its numbers are finite."""
        return bool(np.isfinite(self.array).all())

    @property
    def parts(self) -> dict[str, Array]:
        """Its parts as arrays, by the names that a relation's ``part`` has; none where it is an array."""
        found: dict[str, Array] = {}
        at = 0
        for leaf in self.leaves or ():
            found[show_path(leaf.path)] = self.array[at : at + leaf.size].reshape(leaf.shape)
            at += leaf.size
        return found

    def unlike(self, other: Answer) -> str:
        """In what another answer is of another form than this one; empty where it is not."""
        if self.leaves is None or other.leaves is None:
            same = (self.leaves is None) == (other.leaves is None) and self.array.shape == other.array.shape
            return "" if same else f"shape {other.array.shape}, expected {self.array.shape}"
        mine = [(leaf.path, leaf.shape) for leaf in self.leaves]
        return (
            ""
            if mine == [(leaf.path, leaf.shape) for leaf in other.leaves]
            else "other parts, or other shapes"
        )

    def error(self, other: Answer) -> float:
        """How far another answer of the same form is off, relative to this one's magnitude.

        Where they have parts it is the largest of the parts' errors; infinite where something differs that
        must be equal, as whole numbers and truth values. NaN where one of them is NaN.
        """
        if not self.array.size:
            return 0.0
        with np.errstate(all="ignore"):
            difference = np.abs(np.asarray(other.array, np.float64) - np.asarray(self.array, np.float64))
            if self.leaves is None and all(one.array.dtype.kind in "iub" for one in (self, other)):
                return math.inf if difference.any() else 0.0
            if self.leaves is None:
                return float(difference.max()) / (float(np.max(np.abs(self.array))) or 1.0)
            scale = scales(self.leaves, self.array)
            return float(np.where(difference == 0, 0.0, difference / scale).max())


def read_answer(answer: Any, form: Form) -> Answer:
    """An answer as a function returned it.

    Raises:
        UnfitError: It is of another form.
    """
    return answer_of(as_value(answer), form)


def answer_of(value: Value | None, form: Form) -> Answer:
    """An answer as it came back. Raises UnfitError where it is of another form."""
    if form.is_array and isinstance(value, ArrayValue) and value.kind != "scalar" and value.data is not None:
        return Answer(value.array())
    flat = flatten(value, form)
    return Answer(flat.numbers, flat.leaves)
