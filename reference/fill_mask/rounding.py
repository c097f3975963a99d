"""Right ways to order the arithmetic, run to measure honest rounding noise.

Weights are whole numbers, so that logits are exact in either precision and in any order; the runs of
``fill_mask`` prove that no ranking hangs on rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .model import STEPS, Array, run_fill_mask, run_masking_rate_efficiency

Run = Callable[[tuple[Any, ...], str], Any]


def plain(arguments: tuple[Any, ...], dtype: str) -> Any:
    """The model's own order."""
    return run_fill_mask(STEPS, arguments, dtype)


def one_by_one(arguments: tuple[Any, ...], dtype: str) -> Any:
    """Sums over positions and features added up from the end, as loops do."""

    def gather(rows: Array, masked: Any, weights: Mapping[str, Array]) -> Array:
        return np.cumsum(rows[::-1], axis=0)[-1:]

    def score(state: Array, weights: Mapping[str, Array]) -> Array:
        return np.cumsum((weights["head"] * state)[:, ::-1], axis=1)[:, -1]

    return run_fill_mask(replace(STEPS, gather_context=gather, score=score), arguments, dtype)


def head_first(arguments: tuple[Any, ...], dtype: str) -> Any:
    """The head applied to own row and context apart."""
    kept: dict[str, Array] = {}

    def gather(rows: Array, masked: Any, weights: Mapping[str, Array]) -> Array:
        kept["context"] = rows.sum(axis=0)
        return np.zeros((1, rows.shape[1]), rows.dtype)

    def score(state: Array, weights: Mapping[str, Array]) -> Array:
        return weights["head"] @ state + weights["head"] @ kept["context"]

    return run_fill_mask(replace(STEPS, gather_context=gather, score=score), arguments, dtype)


def efficiency(arguments: tuple[Any, ...], dtype: str) -> Any:
    """The model's own order."""
    return run_masking_rate_efficiency(STEPS, arguments, dtype)


def cancelled(arguments: tuple[Any, ...], dtype: str) -> Any:
    """Operations for one position and one feature, since the others cancel."""
    steps = replace(
        STEPS,
        count_encoder=lambda n_positions, width: width * 6,
        count_head=lambda n_positions, width, vocab_size: vocab_size,
    )
    return run_masking_rate_efficiency(steps, arguments, dtype)


def less_encoder(arguments: tuple[Any, ...], dtype: str) -> Any:
    """A share as what the encoder leaves of 1."""
    return run_masking_rate_efficiency(
        replace(STEPS, share=lambda head, encoder: 1 - encoder / (encoder + head)), arguments, dtype
    )


def _default(run: Run) -> Run:
    return lambda arguments, dtype: run((*arguments, 5), dtype)


_FILLING: dict[str, Run] = {"plain": plain, "one_by_one": one_by_one, "head_first": head_first}

RUNS: dict[str, dict[str, Run]] = {
    "fill_mask": _FILLING,
    "fill_mask_default": {name: _default(run) for name, run in _FILLING.items()},
    "masking_rate_efficiency": {
        "plain": efficiency,
        "cancelled": cancelled,
        "less_encoder": less_encoder,
    },
}
