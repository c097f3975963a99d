"""Right ways to order the arithmetic, run to measure honest rounding noise.

Each run takes the call's arguments and ``"float32"`` or ``"float64"`` and returns the answer computed in that
precision. Runs named in `FRAGILE` may give NaN or infinity where others do not, which then measures nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from . import steps
from .model import STEPS, run_encode_batch, run_evaluate, run_masked_loss
from .steps import Array, Context, Steps

Run = Callable[[tuple[Any, ...], str], Any]


def _sequential_sum(x: Array) -> Array:
    last: Array = np.cumsum(x, axis=-1)[..., -1:]
    return last


def _mean_one_by_one(c: Context, x: Array) -> Array:
    return _sequential_sum(x) / x.dtype.type(x.shape[-1])


def _multiply(c: Context, x: Array, w: Array) -> Array:
    return np.einsum("ntd,ed->nte", x, w)


def _rows_one_by_one(c: Context, shifted: Array) -> Array:
    powers = np.exp(shifted)
    return powers / _sequential_sum(powers)


# Means, variances and softmax sums added one by one, products by einsum, as loops do.
SEQUENTIAL: Steps = replace(
    STEPS,
    mean=_mean_one_by_one,
    variance=lambda c, x, m: _mean_one_by_one(c, np.square(x - m)),
    project_query=_multiply,
    project_key=_multiply,
    project_value=_multiply,
    dot_products=lambda c, q, k: np.einsum("nhqd,nhkd->nhqk", q, k),
    normalize_rows=_rows_one_by_one,
    mix_values=lambda c, p, v: np.einsum("nhqk,nhkd->nhqd", p, v),
    project_output=_multiply,
    expand=_multiply,
    contract=_multiply,
    score_vocabulary=lambda c, rows: np.einsum("md,vd->mv", rows, c.weights["head"]),
    average=lambda c, losses: np.cumsum(losses)[-1] / losses.dtype.type(len(losses)),
)


def _reciprocal(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    return (x - mean) * (x.dtype.type(1) / np.sqrt(variance + steps.EPSILON))


def _factored_gelu(c: Context, u: Array) -> Array:
    return u * (0.5 + 0.5 * np.tanh(steps.GELU_SCALE * u * (1 + steps.GELU_CUBIC * u**2)))


def _scaled_query(c: Context, x: Array, w: Array) -> Array:
    return x @ (w * w.dtype.type((len(w) // c.num_heads) ** -0.5)).T


def _weighted_by_mask(c: Context, shifted: Array) -> Array:
    powers = np.exp(shifted) * c.valid[:, None, None, :]
    return powers / np.maximum(powers.sum(axis=-1, keepdims=True), np.finfo(powers.dtype).tiny)


# Formulas in other shapes: queries scaled first, reciprocals, hidden keys taken out after the exponential,
# the loss as log of the sum less the shifted logit of the target.
OTHER_FORMS: Steps = replace(
    STEPS,
    standardize=_reciprocal,
    project_query=_scaled_query,
    scale_scores=lambda c, s, d: s,
    normalize_rows=_weighted_by_mask,
    gelu=_factored_gelu,
    log_normalizer=lambda c, z, m: np.log(np.exp(z - m).sum(axis=-1)),
    target_logits=lambda c, z, y: np.take_along_axis(z - z.max(axis=-1, keepdims=True), y[:, None], 1)[:, 0],
)
ONE_PASS: Steps = replace(
    STEPS, variance=lambda c, x, m: np.square(x).mean(axis=-1, keepdims=True) - np.square(m)
)
UNSHIFTED: Steps = replace(
    STEPS,
    shift_scores=lambda c, s: s,
    largest_logit=lambda c, z: np.zeros((len(z), 1), z.dtype),
)


def _by(run: Callable[..., Any], changed: Steps) -> Run:
    return lambda arguments, dtype: run(changed, arguments, dtype)


def _rounded(run: Callable[..., Any]) -> Run:
    """Computed in float64, the answer rounded."""
    return lambda arguments, dtype: getattr(np, dtype)(run(STEPS, arguments))


def _turned(weights: Mapping[str, Array]) -> dict[str, Array]:
    """The same network with features, heads and hidden units in reverse: sums run the other way."""
    turned = {n: w[..., ::-1] if w.ndim == 2 else w[:, ::-1, ::-1] for n, w in weights.items()}
    return {name: np.ascontiguousarray(w) for name, w in turned.items()}


def encode_reversed(arguments: tuple[Any, ...], dtype: str) -> Array:
    """Features in reverse, and turned back."""
    token_ids, valid, weights, num_heads = arguments
    turned: Array = run_encode_batch(STEPS, (token_ids, valid, _turned(weights), num_heads), dtype)
    return turned[..., ::-1]


def loss_reversed(arguments: tuple[Any, ...], dtype: str) -> Any:
    """Features in reverse."""
    token_ids, valid, weights, *others = arguments
    return run_masked_loss(STEPS, (token_ids, valid, _turned(weights), *others), dtype)


def _torch_hidden(arguments: tuple[Any, ...], dtype: str) -> Any:
    import torch
    import torch.nn.functional as functional

    token_ids, valid, weights, num_heads = arguments
    w = {name: torch.tensor(np.asarray(a)).to(getattr(torch, dtype)) for name, a in weights.items()}
    ids, real = torch.tensor(np.asarray(token_ids)).long(), torch.tensor(np.asarray(valid))
    width = w["token_embed"].shape[1]
    hidden = functional.embedding(ids, w["token_embed"]) + w["pos_embed"][: ids.shape[1]]
    block = torch.zeros(real.shape, dtype=hidden.dtype).masked_fill(~real, steps.HIDDEN)[:, None, None, :]
    for layer in range(len(w["w_q"])):
        query, key, value = [
            functional.linear(hidden, w[name][layer])
            .unflatten(-1, (num_heads, width // num_heads))
            .transpose(1, 2)
            for name in ("w_q", "w_k", "w_v")
        ]
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=block)
        mixed = mixed.transpose(1, 2).flatten(-2)
        hidden = functional.layer_norm(hidden + functional.linear(mixed, w["w_o"][layer]), (width,), eps=1e-5)
        inner = functional.gelu(functional.linear(hidden, w["w_in"][layer]), approximate="tanh")
        fed = functional.linear(inner, w["w_out"][layer])
        hidden = functional.layer_norm(hidden + fed, (width,), eps=1e-5)
    return hidden


def encode_by_torch(arguments: tuple[Any, ...], dtype: str) -> Array:
    """By torch's own attention, normalization and activation."""
    import torch

    with torch.no_grad():
        hidden: Array = _torch_hidden(arguments, dtype).numpy()
    return np.where(np.asarray(arguments[1])[..., None], hidden, hidden.dtype.type(0))


def loss_by_torch(arguments: tuple[Any, ...], dtype: str) -> Any:
    """By torch's own cross entropy."""
    import torch
    import torch.nn.functional as functional

    *inputs, positions, targets = arguments
    with torch.no_grad():
        hidden = _torch_hidden(tuple(inputs), dtype)
        rows = hidden.reshape(-1, hidden.shape[-1])[torch.tensor(np.asarray(positions)).long()]
        head = torch.tensor(np.asarray(inputs[2]["head"])).to(rows.dtype)
        logits = functional.linear(rows, head)
        return functional.cross_entropy(logits, torch.tensor(np.asarray(targets)).long()).numpy()[()]


def evaluate_one_by_one(arguments: tuple[Any, ...], dtype: str) -> dict[str, Any]:
    """Added up one by one; the power of e in float64."""
    sums, counts = np.asarray(arguments[0], dtype), arguments[1]
    tokens = int(np.cumsum(counts)[-1])
    loss = np.cumsum(sums)[-1] / sums.dtype.type(tokens)
    return {"loss": loss, "perplexity": math.exp(loss), "tokens": tokens}


def evaluate_weighted(arguments: tuple[Any, ...], dtype: str) -> dict[str, Any]:
    """Means of the batches weighted by their counts; empty batches left out."""
    sums, counts = np.asarray(arguments[0], dtype), np.asarray(arguments[1])
    filled = counts > 0
    means = sums[filled] / counts[filled].astype(dtype)
    loss = (means * counts[filled].astype(dtype)).sum() / counts.sum().astype(dtype)
    return {"loss": loss, "perplexity": np.exp(loss), "tokens": int(counts.sum())}


RUNS: dict[str, dict[str, Run]] = {
    "encode_batch": {
        "plain": _by(run_encode_batch, STEPS),
        "rounded_answer": _rounded(run_encode_batch),
        "features_reversed": encode_reversed,
        "sequential_sums": _by(run_encode_batch, SEQUENTIAL),
        "other_forms": _by(run_encode_batch, OTHER_FORMS),
        "one_pass_variance": _by(run_encode_batch, ONE_PASS),
        "unshifted_softmax": _by(run_encode_batch, UNSHIFTED),
        "torch_helpers": encode_by_torch,
    },
    "masked_loss": {
        "plain": _by(run_masked_loss, STEPS),
        "rounded_answer": _rounded(run_masked_loss),
        "features_reversed": loss_reversed,
        "sequential_sums": _by(run_masked_loss, SEQUENTIAL),
        "other_forms": _by(run_masked_loss, OTHER_FORMS),
        "one_pass_variance": _by(run_masked_loss, ONE_PASS),
        "unshifted_exponentials": _by(run_masked_loss, UNSHIFTED),
        "torch_helpers": loss_by_torch,
    },
    "evaluate": {
        "plain": _by(run_evaluate, STEPS),
        "one_by_one": evaluate_one_by_one,
        "batches_weighted": evaluate_weighted,
    },
}
FRAGILE = frozenset({"one_pass_variance", "unshifted_softmax", "unshifted_exponentials"})
