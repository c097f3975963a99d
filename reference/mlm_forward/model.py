"""The numpy reference of ``mlm_forward``: the steps put together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .steps import Array, Context, Steps

STEPS = Steps()


def run(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The forward pass by the given steps, computed in ``dtype``.

    Args:
        steps: The steps; `STEPS` for the right ones.
        arguments: The seven arguments of `mlm_forward`.
        dtype: Dtype of the weights and of everything computed from them.

    Returns:
        (M, V) logits of the selected positions.
    """
    ids, indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads = arguments
    dtype = steps.working_dtype(dtype)
    c = Context(
        input_ids=np.asarray(ids),
        mask_indicator=np.asarray(indicator),
        w_emb=np.asarray(w_emb, dtype),
        pos_embed=np.asarray(pos_embed, dtype),
        blocks_weights=np.asarray(blocks_weights, dtype),
        w_head=np.asarray(w_head, dtype),
        num_heads=int(num_heads),
        normalize=lambda x: normalize(steps, c, x),
    )
    x = steps.add_positions(c, steps.look_up_tokens(c, steps.cast_ids(c)))
    for block in steps.block_order(c):
        c.block = block
        x = run_block(steps, c, x)
    c.block_input = None
    x = steps.finish_blocks(c, x)
    logits = steps.finish_logits(c, steps.vocabulary_scores(c, x))
    return steps.finish_rows(c, steps.select_rows(c, logits, steps.selected(c)))


def normalize(steps: Steps, c: Context, x: Array) -> Array:
    """(..., D): layer normalization of each token."""
    mean = steps.mean(c, x)
    normed: Array = steps.standardize(c, x, mean, steps.variance(c, x, mean))
    return normed


def run_block(steps: Steps, c: Context, x: Array) -> Array:
    """(N, T, D): one pre-normalized block."""
    x = steps.block_input(c, x)
    c.block_input = x
    w = steps.unpack_block(c)
    normed = steps.attention_input(c, x)
    query = steps.split_heads(c, steps.project_query(c, normed, w["w_q"]))
    key = steps.split_heads(c, steps.project_key(c, normed, w["w_k"]))
    value = steps.split_heads(c, steps.project_value(c, normed, w["w_v"]))
    scores = steps.scale_scores(c, steps.dot_products(c, query, key), query.shape[-1])
    shifted = steps.shift_scores(c, steps.restrict_scores(c, scores))
    probabilities = steps.normalize_row(c, steps.exponentiate(c, shifted))
    merged = steps.merge_heads(c, steps.mix_values(c, probabilities, value))
    attended = steps.add_attention(c, x, normed, steps.project_output(c, merged, w["w_o"]))
    second = steps.mlp_input(c, attended, normed)
    hidden = steps.gelu(c, steps.mlp_up(c, second, w["w_mlp1"]))
    out: Array = steps.add_mlp(c, attended, second, steps.mlp_down(c, hidden, w["w_mlp2"]))
    return out


def mlm_forward(
    input_ids: Array,
    mask_indicator: Array,
    w_emb: Array,
    pos_embed: Array,
    blocks_weights: Array,
    w_head: Array,
    num_heads: int,
) -> Array:
    """Vocabulary scores of the selected positions, in float64.

    Args:
        input_ids: (N, T) whole numbers in [0, V).
        mask_indicator: (N, T); positions above 0.5 are selected.
        w_emb: (V, D).
        pos_embed: (T, D).
        blocks_weights: (L, 6, D, D), packed as w_q, w_k, w_v, w_o, w_mlp1, w_mlp2.
        w_head: (D, V).
        num_heads: Divides D.

    Returns:
        (M, V) float64 logits, ordered by example, then by position.
    """
    arguments = (input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads)
    rows: Array = run(STEPS, arguments)
    return rows
