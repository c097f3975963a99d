"""Answers that are containers, numbers or texts: read, and held against the expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.forms import Form
from grader.exercise.pack import PackCase
from grader.exercise.structure import (
    Flat,
    Leaf,
    UnfitError,
    flatten,
    place,
    require_same,
    require_sizes,
    scales,
    show_path,
)
from grader.judge.answers import Refusal
from grader.judge.compare import Comparison, compare
from grader.outcomes import StepOutcome

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Structured:
    """An answer as a vector with the leaves that its numbers belong to."""

    flat: Flat

    @property
    def numbers(self) -> Vector:
        """All its numbers."""
        return self.flat.numbers

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Its parts."""
        return self.flat.leaves

    def part(self, path: str) -> NDArray[Any] | None:
        """One of its parts as an array; None where there is none of that name."""
        at = 0
        for leaf in self.leaves:
            if show_path(leaf.path) == path:
                return self.numbers[at : at + leaf.size].reshape(leaf.shape)
            at += leaf.size
        return None


def expected_leaves(case: PackCase, step: int) -> tuple[Leaf, ...]:
    """The leaves of the right answer to one of a case's steps; none where they hang on chance."""
    return leaves_of(case.leaves[step] if case.leaves else ())


def leaves_of(rows: Sequence[Any]) -> tuple[Leaf, ...]:
    """Leaves as a pack holds them."""
    return tuple(
        Leaf(tuple(path), tuple(shape), bool(exact), str(group)) for path, shape, exact, group in rows
    )


def read_like(outcome: StepOutcome, form: Form, leaves: Sequence[Leaf]) -> Structured | Refusal:
    """The answer of a step that returned, with the same parts as the right one, or why it is none."""
    try:
        flat = flatten(outcome.value, form)
        require_same(flat, leaves)
    except UnfitError as error:
        return Refusal(error.verdict, error.message)
    return Structured(flat)


def read_structured(outcome: StepOutcome, form: Form, case: PackCase, step: int) -> Structured | Refusal:
    """The answer to one of a case's steps, or why it is none.

    Args:
        outcome: A step that returned.
        form: What is asked for.
        case: The case, with what is known of the right answer's sizes.
        step: Which of the case's steps it is.
    """
    if outcome.too_large:
        return Refusal("wrong_shape", "The answer is far larger than the right one.")
    if case.leaves:
        return read_like(outcome, form, expected_leaves(case, step))
    # In a call with changed arguments dims may have other values.
    changed = case.options.get("changed_dims") if step == 1 else None
    try:
        flat = flatten(outcome.value, form)
        require_sizes(flat, case.dims if changed is None else changed)
    except UnfitError as error:
        where = "" if changed is None else "In the second call, with changed arguments: "
        return Refusal(error.verdict, where + error.message)
    return Structured(flat)


def compare_structured(
    obtained: Structured, expected: Vector, tolerance: float, leaves: Sequence[Leaf], *scaled_by: Vector
) -> Comparison:
    """Compare an answer's numbers with expected ones, each relative to the largest of its group.

    Args:
        obtained: The answer.
        expected: The numbers of the right one.
        tolerance: Largest accepted error relative to a group's largest magnitude.
        leaves: What the numbers belong to.
        scaled_by: Answers whose magnitudes count; the expected one when left out.
    """
    return compare(obtained.numbers, expected, tolerance, scales(leaves, *(scaled_by or (expected,))))


def where_most(comparison: Comparison, leaves: Sequence[Leaf]) -> str:
    """The place of the number that is off most; empty where nothing is off, or all is one number."""
    if not comparison.worst or not leaves or (len(leaves) == 1 and not leaves[0].path):
        return ""
    return place(leaves, comparison.worst[0][0])
