"""Right ways to order the arithmetic, run to measure honest rounding noise.

Each entry of `RUNS` takes the seven arguments and ``"float32"`` or ``"float64"`` and returns the answer
computed in that precision. Runs named in `FRAGILE` may give NaN or infinity where others do not, which
then measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from . import steps
from .model import STEPS, run
from .steps import Array, Context

Run = Callable[[tuple[Any, ...], str], Array]


def plain(arguments: tuple[Any, ...], dtype: str) -> Array:
    """The model's own order."""
    answer: Array = run(STEPS, arguments, dtype)
    return answer


def rounded_answer(arguments: tuple[Any, ...], dtype: str) -> Array:
    """Computed in float64, the answer rounded."""
    return run(STEPS, arguments).astype(dtype)


def features_reversed(arguments: tuple[Any, ...], dtype: str) -> Array:
    """The same network with features, heads and hidden units in reverse: sums run the other way."""
    ids, indicator, w_emb, pos_embed, blocks, w_head, num_heads = arguments
    # Both axes of every matrix run over features, chunks of heads or hidden units.
    turned = (w_emb[:, ::-1], pos_embed[:, ::-1], blocks[:, :, ::-1, ::-1], w_head[::-1])
    w_emb, pos_embed, blocks, w_head = (np.ascontiguousarray(a) for a in turned)
    return run(STEPS, (ids, indicator, w_emb, pos_embed, blocks, w_head, num_heads), dtype)


def _sequential_sum(x: Array) -> Array:
    last: Array = np.cumsum(x, axis=-1)[..., -1:]
    return last


def sequential_sums(arguments: tuple[Any, ...], dtype: str) -> Array:
    """Means, variances and softmax sums added one by one, products by einsum, as loops do."""

    def mean(c: Context, x: Array) -> Array:
        return _sequential_sum(x) / x.dtype.type(x.shape[-1])

    def multiply(c: Context, x: Array, w: Array) -> Array:
        return np.einsum("ntd,de->nte", x, w)

    changed = replace(
        STEPS,
        mean=mean,
        variance=lambda c, x, m: mean(c, np.square(x - m)),
        project_query=multiply,
        project_key=multiply,
        project_value=multiply,
        dot_products=lambda c, q, k: np.einsum("nhqd,nhkd->nhqk", q, k),
        normalize_row=lambda c, e: e / _sequential_sum(e),
        mix_values=lambda c, p, v: np.einsum("nhqk,nhkd->nhqd", p, v),
        project_output=multiply,
        mlp_up=multiply,
        mlp_down=multiply,
        vocabulary_scores=lambda c, x: np.einsum("ntd,dv->ntv", x, c.w_head),
    )
    return run(changed, arguments, dtype)


def other_forms(arguments: tuple[Any, ...], dtype: str) -> Array:
    """Formulas in other shapes: queries scaled first, reciprocals, division after mixing."""

    def standardize(c: Context, x: Array, mean: Array, variance: Array) -> Array:
        return (x - mean) * (x.dtype.type(1) / np.sqrt(variance + steps.EPSILON))

    def gelu(c: Context, u: Array) -> Array:
        return u * (0.5 + 0.5 * np.tanh(steps.GELU_SCALE * u * (1 + steps.GELU_CUBIC * u**2)))

    def project_query(c: Context, normed: Array, w: Array) -> Array:
        scale = normed.dtype.type((normed.shape[-1] // c.num_heads) ** -0.5)
        return normed @ (w * scale)

    sums: list[Array] = []

    def remember_sum(c: Context, weights: Array) -> Array:
        sums.append(weights.sum(axis=-1, keepdims=True))
        return weights

    changed = replace(
        STEPS,
        standardize=standardize,
        project_query=project_query,
        scale_scores=lambda c, s, d: s,
        normalize_row=remember_sum,
        mix_values=lambda c, weights, v: (weights @ v) / sums.pop(),
        gelu=gelu,
    )
    return run(changed, arguments, dtype)


def one_pass_variance(arguments: tuple[Any, ...], dtype: str) -> Array:
    """Variance as the mean of squares less the square of the mean."""
    changed = replace(
        STEPS, variance=lambda c, x, m: np.square(x).mean(axis=-1, keepdims=True) - np.square(m)
    )
    return run(changed, arguments, dtype)


def unshifted_softmax(arguments: tuple[Any, ...], dtype: str) -> Array:
    """Softmax without the row's maximum, always in float64."""
    return run(replace(STEPS, shift_scores=lambda c, s: s), arguments).astype(dtype)


def torch_helpers(arguments: tuple[Any, ...], dtype: str) -> Array:
    """The cross-check in the given precision."""
    import torch

    from .crosscheck import forward

    with torch.no_grad():
        answer: Array = forward(arguments, getattr(torch, dtype)).numpy()
    return answer


RUNS: dict[str, Run] = {
    "plain": plain,
    "rounded_answer": rounded_answer,
    "features_reversed": features_reversed,
    "sequential_sums": sequential_sums,
    "other_forms": other_forms,
    "one_pass_variance": one_pass_variance,
    "unshifted_softmax": unshifted_softmax,
    "torch_helpers": torch_helpers,
}
FRAGILE = frozenset({"one_pass_variance", "unshifted_softmax"})
