"""Honest ways to compute what is a float: the proportion that stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .model import STEPS, run_make_policy


def as_the_model(arguments: tuple[Any, ...], dtype: DTypeLike) -> Any:
    """One after the other."""
    return run_make_policy(STEPS, arguments, dtype)


def sum_first(arguments: tuple[Any, ...], dtype: DTypeLike) -> Any:
    """What is left of 1 by the sum, in this precision."""
    answer = run_make_policy(STEPS, arguments)
    one, sentinel, random = np.array([1, answer["prob_sentinel"], answer["prob_random"]], dtype)
    return {**answer, "prob_unchanged": float(one - (sentinel + random))}


def random_first(arguments: tuple[Any, ...], dtype: DTypeLike) -> Any:
    """The other order, in this precision."""
    answer = run_make_policy(STEPS, arguments)
    one, sentinel, random = np.array([1, answer["prob_sentinel"], answer["prob_random"]], dtype)
    return {**answer, "prob_unchanged": float(one - random - sentinel)}


Run = Callable[[tuple[Any, ...], DTypeLike], Any]
RUNS: dict[str, dict[str, Run]] = {
    "make_policy": {"as_the_model": as_the_model, "sum_first": sum_first, "random_first": random_first}
}
