"""Right ways to order the arithmetic, in float32 and float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from . import crosscheck
from .model import STEPS, run
from .steps import Array, Steps

Run = Callable[[tuple[Any, ...], str], Any]


def _in_order(x: Array) -> Array:
    last: Array = np.cumsum(x, axis=-1)[..., -1:]
    return last


# Sums one number after another, and the same function in other words.
ONE_BY_ONE: Steps = replace(
    STEPS,
    center=lambda x: x - _in_order(x) / x.dtype.type(8),
    variance=lambda centered: _in_order(centered * centered) / centered.dtype.type(8),
    divide_by_sum=lambda powers: powers / _in_order(powers),
    linear=lambda x, weight, bias: (
        np.cumsum(x[..., None, :] * weight, axis=-1, dtype=x.dtype)[..., -1] + bias.astype(x.dtype)
    ),
)
OTHER_WORDS: Steps = replace(
    STEPS,
    variance=lambda centered: np.square(centered).sum(axis=-1, keepdims=True) * centered.dtype.type(0.125),
    standardize=lambda centered, var: centered * (1 / np.sqrt(var + var.dtype.type(1e-5))),
    scale_scores=lambda scores: scores * scores.dtype.type(0.5),
    log_normalizer=lambda logits, largest: np.logaddexp.reduce(logits, axis=-1),
    linear=lambda x, weight, bias: x @ weight.T + bias,
)


def _tensor_dtype(dtype: str) -> torch.dtype:
    return torch.float32 if dtype == "float32" else torch.float64


def _torch_packed(arguments: tuple[Any, ...], dtype: str) -> Any:
    weights, tokens, segments = arguments
    w = {name: torch.tensor(values).to(_tensor_dtype(dtype)) for name, values in weights.items()}
    return crosscheck.packed(w, tokens, segments).detach().numpy()


def _torch_shifted(arguments: tuple[Any, ...], dtype: str) -> Any:
    weights, tokens, segments, shift = arguments
    words = weights["word_embeddings"].astype(dtype) + shift.astype(dtype)
    packed = _torch_packed(({**weights, "word_embeddings": words}, tokens, segments), dtype)
    return packed[:, :96].reshape(-1, 6, 16)


def _in_numpy(steps: Steps, call: str) -> Run:
    return lambda arguments, dtype: run[call](steps, arguments, dtype)


_OF_TORCH: dict[str, Run] = {
    "packed_logits": lambda arguments, dtype: _torch_packed(arguments, dtype),
    "later_logits": lambda arguments, dtype: _torch_packed(arguments, dtype),
    "token_logits": lambda arguments, dtype: _torch_packed(arguments, dtype)[:, :96].reshape(-1, 6, 16),
    "pair_logits": lambda arguments, dtype: _torch_packed(arguments, dtype)[:, 96:],
    "shifted_embeddings": _torch_shifted,
    "masked_loss": lambda arguments, dtype: crosscheck.loss(
        torch.tensor(arguments[0]).to(_tensor_dtype(dtype)), *arguments[1:]
    ).item(),
}


def _loss_gradient(arguments: tuple[Any, ...], dtype: str) -> Any:
    """(softmax less one-hot) by the number of selected positions, in numpy."""
    logits, positions, original = np.asarray(arguments[0], dtype), list(arguments[1]), arguments[2]
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    share = powers / powers.sum(axis=-1, keepdims=True)
    gradient = np.zeros_like(logits)
    one_hot = np.eye(16, dtype=dtype)[original[:, positions]]
    gradient[:, positions] = (share[:, positions] - one_hot) / logits.dtype.type(len(logits) * len(positions))
    return gradient


def _per_example(arguments: tuple[Any, ...], dtype: str) -> Any:
    """The gradients of each example alone, added up."""
    weights, tokens, segments, coefficients, rows = arguments
    each = [
        crosscheck.gradients_in(
            (weights, tokens[n : n + 1], segments[n : n + 1], coefficients[n : n + 1], rows),
            _tensor_dtype(dtype),
        )
        for n in range(len(tokens))
    ]
    added: dict[str, Any] = {
        part: np.sum([one[part] for one in each], axis=0, dtype=dtype) for part in ("words", "query_bias")
    }
    added["slopes"] = {name: float(sum(one["slopes"][name] for one in each)) for name in weights}
    return added


RUNS: dict[str, dict[str, Run]] = {
    call: {
        "plain": _in_numpy(STEPS, call),
        "one by one": _in_numpy(ONE_BY_ONE, call),
        "other words": _in_numpy(OTHER_WORDS, call),
        "torch": of_torch,
    }
    for call, of_torch in _OF_TORCH.items()
}
RUNS["gradients"] = {
    "autograd": lambda arguments, dtype: crosscheck.gradients_in(arguments, _tensor_dtype(dtype)),
    "example by example": _per_example,
}
RUNS["loss_gradient"] = {
    "autograd": lambda arguments, dtype: crosscheck.loss_gradient_in(arguments, _tensor_dtype(dtype)),
    "by formula": _loss_gradient,
}
FRAGILE: frozenset[str] = frozenset()
