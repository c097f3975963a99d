"""Right ways to order the arithmetic of loss, gradient and predictions, in float32 and float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import crosscheck
from .model import STEPS, run

Run = Callable[[tuple[Any, ...], str], Any]


def _in(dtype: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return (np.asarray(arguments[0]).astype(dtype), *arguments[1:])


def _model(call: str) -> Run:
    return lambda arguments, dtype: run[call](STEPS, _in(dtype, arguments))


def _other(call: str) -> Run:
    def other(arguments: tuple[Any, ...], dtype: str) -> Any:
        return getattr(crosscheck, call)(*_in(dtype, arguments))

    return other


def _loss_by_sums(arguments: tuple[Any, ...], dtype: str) -> float:
    """log of a running sum less the label's logit, added up one by one."""
    logits, targets, chosen = _in(dtype, arguments)
    kept = chosen > 0.5
    rows, wanted = logits[kept], targets[kept]
    if not len(rows):
        return 0.0
    shifted = rows - rows.max(axis=1, keepdims=True)
    sums = np.cumsum(np.exp(shifted), axis=1)[:, -1]
    return float(np.cumsum(np.log(sums) - shifted[np.arange(len(rows)), wanted])[-1] / len(rows))


def _gradient_by_formula(arguments: tuple[Any, ...], dtype: str) -> Any:
    """(softmax - one-hot) / M at the selected positions."""
    logits, targets, chosen = _in(dtype, arguments)
    kept = chosen > 0.5
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    share = powers / powers.sum(axis=-1, keepdims=True) - np.eye(logits.shape[-1], dtype=dtype)[targets]
    return (share * kept[..., None] / max(int(kept.sum()), 1)).astype(dtype)


RUNS: dict[str, dict[str, Run]] = {
    "loss": {"model": _model("loss"), "loops": _other("loss"), "sums": _loss_by_sums},
    "loss_gradient": {
        "model": _model("loss_gradient"),
        "loops": _other("loss_gradient"),
        "formula": _gradient_by_formula,
    },
    "predictions": {"model": _model("predictions"), "loops": _other("predictions")},
}
