"""The numpy reference of ``mlm_encoder_loss``: the steps put together, a function for each call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .steps import MATRICES, Array, Context, Steps

STEPS = Steps()


def context(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike) -> Context:
    """What the steps look at, from token ids, valid, weights and the number of heads."""
    token_ids, valid, weights, num_heads = arguments
    c = Context(
        token_ids=np.asarray(token_ids),
        valid=np.asarray(valid),
        weights={name: np.asarray(w, dtype) for name, w in weights.items()},
        num_heads=int(num_heads),
        normalize=lambda x: normalize(steps, c, x),
    )
    return c


def normalize(steps: Steps, c: Context, x: Array) -> Array:
    """(..., D): layer normalization of each position."""
    mean = steps.mean(c, x)
    normed: Array = steps.standardize(c, x, mean, steps.variance(c, x, mean))
    return normed


def run_layer(steps: Steps, c: Context, x: Array) -> Array:
    """(N, T, D): one post-normalized layer."""
    w = {name: c.weights[name][c.layer] for name in MATRICES}
    source = steps.attention_input(c, x)
    query = steps.split_heads(c, steps.project_query(c, source, w["w_q"]))
    key = steps.split_heads(c, steps.project_key(c, source, w["w_k"]))
    value = steps.split_heads(c, steps.project_value(c, source, w["w_v"]))
    scores = steps.scale_scores(c, steps.dot_products(c, query, key), query.shape[-1])
    shifted = steps.shift_scores(c, steps.hide_padding(c, scores))
    merged = steps.merge_heads(c, steps.mix_values(c, steps.normalize_rows(c, shifted), value))
    attended = steps.project_output(c, merged, w["w_o"])
    first = steps.norm_attention(c, steps.add_attention(c, x, attended))
    inner = steps.gelu(c, steps.expand(c, steps.feed_forward_input(c, first, x), w["w_in"]))
    update = steps.contract(c, inner, w["w_out"])
    out: Array = steps.norm_feed_forward(c, steps.add_feed_forward(c, first, update))
    return out


def encode(steps: Steps, c: Context) -> Array:
    """(N, T, D): hidden states; those at padding are whatever comes out."""
    x = steps.begin(c, steps.add_positions(c, steps.look_up_tokens(c, c.token_ids)))
    for layer in steps.layer_order(c):
        c.layer = layer
        x = run_layer(steps, c, x)
    hidden: Array = steps.finish(c, x)
    return hidden


def run_encode_batch(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, T, D) hidden states as the driver hands them on: zeros for finite rows at padding."""
    c = context(steps, arguments, dtype)
    hidden = encode(steps, c)
    if c.valid.all():
        return hidden
    # NaN and infinity times 0 are NaN: they are not free.
    return np.where(c.valid[..., None], hidden, hidden * 0)


def run_masked_loss(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The mean cross entropy at the selected positions."""
    *inputs, flat_positions, targets = arguments
    c = context(steps, tuple(inputs), dtype)
    positions, targets = np.asarray(flat_positions), np.asarray(targets)
    c.positions = positions
    steps.refuse_nothing(c, positions)
    steps.refuse_padding(c, positions)
    rows = steps.gather_rows(c, encode(steps, c), positions)
    logits = steps.score_vocabulary(c, rows)
    normalizer = steps.log_normalizer(c, logits, steps.largest_logit(c, logits))
    losses = steps.position_losses(c, normalizer, steps.target_logits(c, logits, targets))
    return steps.average(c, losses)


def run_evaluate(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """loss, perplexity and tokens of all batches together."""
    loss_sums, token_counts = np.asarray(arguments[0], dtype), np.asarray(arguments[1])
    steps.refuse_no_tokens(token_counts)
    loss = steps.mean_loss(loss_sums, token_counts)
    return {
        "loss": loss,
        "perplexity": steps.perplexity(loss),
        "tokens": steps.count_tokens(token_counts),
    }


run = {"encode_batch": run_encode_batch, "masked_loss": run_masked_loss, "evaluate": run_evaluate}


def encode_batch(token_ids: Array, valid: Array, weights: Mapping[str, Array], num_heads: int) -> Array:
    """Hidden states of padded batches, in float64; zeros at padding.

    Args:
        token_ids: (N, T) whole numbers in [0, V).
        valid: (N, T) truth values, False at padding.
        weights: token_embed (V, D), pos_embed (P, D), w_q, w_k, w_v, w_o (L, D, D), w_in (L, 4D, D),
            w_out (L, D, 4D), head (V, D).
        num_heads: Divides D.

    Returns:
        (N, T, D).
    """
    hidden: Array = run_encode_batch(STEPS, (token_ids, valid, weights, num_heads))
    return hidden


def masked_loss(
    token_ids: Array,
    valid: Array,
    weights: Mapping[str, Array],
    num_heads: int,
    flat_positions: Array,
    targets: Array,
) -> float:
    """The mean cross entropy at selected positions.

    Args:
        token_ids, valid, weights, num_heads: As of `encode_batch`.
        flat_positions: (M,) positions n * T + t.
        targets: (M,) the token to be predicted at each.

    Raises:
        ValueError: Nothing is selected, or padding is.
    """
    arguments = (token_ids, valid, weights, num_heads, flat_positions, targets)
    loss: float = run_masked_loss(STEPS, arguments)
    return loss


def evaluate(loss_sums: Array, token_counts: Array) -> dict[str, Any]:
    """The figures of several batches.

    Args:
        loss_sums: (B,) added-up losses of each batch.
        token_counts: (B,) over how many tokens each was added up.

    Returns:
        loss, perplexity and tokens.

    Raises:
        ValueError: There are no tokens.
    """
    figures: dict[str, Any] = run_evaluate(STEPS, (loss_sums, token_counts))
    return figures
