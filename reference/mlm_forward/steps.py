"""The forward pass as fine, named steps.

Every step is a small function of a `Context` and of what the steps before it made; `Steps` names them all.
A changed model is the same `Steps` with one or more functions replaced (`dataclasses.replace`), so changes
of different steps combine.

Formulas: masked language model forward pass with pre-normalized transformer blocks. Layer normalization
divides by the population standard deviation with 1e-5 added to the variance; attention is
softmax(Q K^T / sqrt(d_head)) V; GELU is the tanh approximation of Hendrycks & Gimpel (2016),
0.5 u (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3))).

Shapes: N examples, T positions, V tokens, D features, H heads of width d = D / H, M selected positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]

EPSILON = 1e-5
GELU_CUBIC = 0.044715
GELU_SCALE = math.sqrt(2.0 / math.pi)
MATRICES = ("w_q", "w_k", "w_v", "w_o", "w_mlp1", "w_mlp2")


@dataclass
class Context:
    """What every step may look at; only `model.run` sets anything.

    Attributes:
        input_ids: (N, T), as given.
        mask_indicator: (N, T), as given.
        w_emb: (V, D) token embeddings in the dtype of the computation.
        pos_embed: (T, D) position embeddings.
        blocks_weights: (L, 6, D, D).
        w_head: (D, V).
        num_heads: H.
        normalize: Layer normalization of (..., D), put together from the steps in use.
        block: Number of the current block, from 0.
        block_input: (N, T, D): x as it came into the current block; None outside of blocks.
    """

    input_ids: Array
    mask_indicator: Array
    w_emb: Array
    pos_embed: Array
    blocks_weights: Array
    w_head: Array
    num_heads: int
    normalize: Callable[[Array], Array]
    block: int = 0
    block_input: Array | None = None


def working_dtype(dtype: DTypeLike) -> DTypeLike:
    """The dtype of the weights and of everything computed from them: as asked for."""
    return dtype


def cast_ids(c: Context) -> Array:
    """(N, T) whole numbers for the lookup."""
    return c.input_ids.astype(np.int64)


def look_up_tokens(c: Context, ids: Array) -> Array:
    """(N, T, D): a row of w_emb for each id."""
    rows: Array = c.w_emb[ids]
    return rows


def add_positions(c: Context, tokens: Array) -> Array:
    """(N, T, D): the same position rows for every example."""
    return tokens + c.pos_embed


def block_order(c: Context) -> list[int]:
    """The blocks in the order of execution."""
    return list(range(len(c.blocks_weights)))


def block_input(c: Context, x: Array) -> Array:
    """(N, T, D): unchanged, since positions are added once, before the first block."""
    return x


def unpack_block(c: Context) -> dict[str, Array]:
    """The six (D, D) matrices of the current block by name."""
    return dict(zip(MATRICES, c.blocks_weights[c.block], strict=True))


def mean(c: Context, x: Array) -> Array:
    """(..., 1): each token's mean over its features."""
    return x.mean(axis=-1, keepdims=True)


def variance(c: Context, x: Array, mean: Array) -> Array:
    """(..., 1): each token's population variance over its features."""
    return np.square(x - mean).mean(axis=-1, keepdims=True)


def standardize(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """(..., D): deviations over the root of variance plus epsilon."""
    return (x - mean) / np.sqrt(variance + EPSILON)


def attention_input(c: Context, x: Array) -> Array:
    """(N, T, D): the block's input, normalized."""
    return c.normalize(x)


def project_query(c: Context, normed: Array, w: Array) -> Array:
    """(N, T, D): row vectors times w_q."""
    return normed @ w


def project_key(c: Context, normed: Array, w: Array) -> Array:
    """(N, T, D): row vectors times w_k."""
    return normed @ w


def project_value(c: Context, normed: Array, w: Array) -> Array:
    """(N, T, D): row vectors times w_v."""
    return normed @ w


def split_heads(c: Context, x: Array) -> Array:
    """(N, T, D) to (N, H, T, d): consecutive chunks of the features."""
    n, t, width = x.shape
    return x.reshape(n, t, c.num_heads, width // c.num_heads).transpose(0, 2, 1, 3)


def dot_products(c: Context, query: Array, key: Array) -> Array:
    """(N, H, T, T): every query with every key of its example and head."""
    return query @ key.swapaxes(-1, -2)


def scale_scores(c: Context, scores: Array, d_head: int) -> Array:
    """(N, H, T, T): divided by the root of the head's width."""
    return scores / math.sqrt(d_head)


def restrict_scores(c: Context, scores: Array) -> Array:
    """(N, H, T, T): unchanged, since every position attends to every position of its example."""
    return scores


def shift_scores(c: Context, scores: Array) -> Array:
    """(N, H, T, T): less each row's maximum over the keys."""
    return scores - scores.max(axis=-1, keepdims=True)


def exponentiate(c: Context, shifted: Array) -> Array:
    """(N, H, T, T)."""
    return np.exp(shifted)


def normalize_row(c: Context, weights: Array) -> Array:
    """(N, H, T, T): each row over its sum, so that it adds up to 1 over the keys."""
    return weights / weights.sum(axis=-1, keepdims=True)


def mix_values(c: Context, probabilities: Array, value: Array) -> Array:
    """(N, H, T, d): value rows weighted by the attention probabilities."""
    return probabilities @ value


def merge_heads(c: Context, heads: Array) -> Array:
    """(N, H, T, d) to (N, T, D): heads side by side in their original order."""
    n, h, t, d = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(n, t, h * d)


def project_output(c: Context, merged: Array, w: Array) -> Array:
    """(N, T, D): times w_o."""
    return merged @ w


def add_attention(c: Context, x: Array, normed: Array, attended: Array) -> Array:
    """(N, T, D): the attention's output added to the block's input."""
    return x + attended


def mlp_input(c: Context, x: Array, first_normed: Array) -> Array:
    """(N, T, D): the updated x, normalized by the same rule."""
    return c.normalize(x)


def mlp_up(c: Context, normed: Array, w: Array) -> Array:
    """(N, T, D): times w_mlp1."""
    return normed @ w


def gelu(c: Context, u: Array) -> Array:
    """(N, T, D): GELU by the tanh approximation."""
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + GELU_CUBIC * u * u * u)))


def mlp_down(c: Context, hidden: Array, w: Array) -> Array:
    """(N, T, D): times w_mlp2."""
    return hidden @ w


def add_mlp(c: Context, x: Array, normed: Array, out: Array) -> Array:
    """(N, T, D): the feed-forward output added to x."""
    return x + out


def finish_blocks(c: Context, x: Array) -> Array:
    """(N, T, D): unchanged, since there is no final normalization."""
    return x


def vocabulary_scores(c: Context, x: Array) -> Array:
    """(N, T, V): raw logits."""
    return x @ c.w_head


def finish_logits(c: Context, logits: Array) -> Array:
    """(N, T, V): unchanged, since no softmax is applied."""
    return logits


def selected(c: Context) -> Array:
    """(N, T) bool: where the indicator is above one half."""
    return c.mask_indicator > 0.5


def select_rows(c: Context, logits: Array, chosen: Array) -> Array:
    """(M, V): the chosen positions, by example first, then by position."""
    rows: Array = logits[chosen]
    return rows


def finish_rows(c: Context, rows: Array) -> Any:
    """(M, V): returned as they are."""
    return rows


@dataclass(frozen=True)
class Steps:
    """The steps in order of use."""

    working_dtype: Callable[..., Any] = working_dtype
    cast_ids: Callable[..., Any] = cast_ids
    look_up_tokens: Callable[..., Any] = look_up_tokens
    add_positions: Callable[..., Any] = add_positions
    block_order: Callable[..., Any] = block_order
    block_input: Callable[..., Any] = block_input
    unpack_block: Callable[..., Any] = unpack_block
    mean: Callable[..., Any] = mean
    variance: Callable[..., Any] = variance
    standardize: Callable[..., Any] = standardize
    attention_input: Callable[..., Any] = attention_input
    project_query: Callable[..., Any] = project_query
    project_key: Callable[..., Any] = project_key
    project_value: Callable[..., Any] = project_value
    split_heads: Callable[..., Any] = split_heads
    dot_products: Callable[..., Any] = dot_products
    scale_scores: Callable[..., Any] = scale_scores
    restrict_scores: Callable[..., Any] = restrict_scores
    shift_scores: Callable[..., Any] = shift_scores
    exponentiate: Callable[..., Any] = exponentiate
    normalize_row: Callable[..., Any] = normalize_row
    mix_values: Callable[..., Any] = mix_values
    merge_heads: Callable[..., Any] = merge_heads
    project_output: Callable[..., Any] = project_output
    add_attention: Callable[..., Any] = add_attention
    mlp_input: Callable[..., Any] = mlp_input
    mlp_up: Callable[..., Any] = mlp_up
    gelu: Callable[..., Any] = gelu
    mlp_down: Callable[..., Any] = mlp_down
    add_mlp: Callable[..., Any] = add_mlp
    finish_blocks: Callable[..., Any] = finish_blocks
    vocabulary_scores: Callable[..., Any] = vocabulary_scores
    finish_logits: Callable[..., Any] = finish_logits
    selected: Callable[..., Any] = selected
    select_rows: Callable[..., Any] = select_rows
    finish_rows: Callable[..., Any] = finish_rows
