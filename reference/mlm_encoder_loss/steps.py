"""The encoder, the loss and the figures of an evaluation as fine, named steps.

Every step is a small function of a `Context` and of what the steps before it made; `Steps` names them all in
the order of their use. A changed model is the same `Steps` with one or more functions replaced
(`dataclasses.replace`), so changes of different steps combine.

Formulas: an encoder of the original, post-normalized form (Vaswani et al. 2017, Devlin et al. 2019):
attention softmax(Q K^T / sqrt(d_head)) V over the keys that are no padding, residual, layer normalization
with 1e-5 added to the population variance, a feed-forward part of four times the width with the tanh form
of GELU (Hendrycks & Gimpel 2016), residual, layer normalization. The cross entropy of a row of logits z and
its target y is max(z) + log(sum(exp(z - max(z)))) - z[y]; perplexity is exp of the mean over all tokens.

Shapes: N examples, T positions, P rows of positions (P >= T), V tokens, D features, H heads of width d = D
/ H, L layers, M selected positions, B batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MATRICES = ("w_q", "w_k", "w_v", "w_o", "w_in", "w_out")
EPSILON = 1e-5
GELU_CUBIC = 0.044715
GELU_SCALE = math.sqrt(2.0 / math.pi)
# Added to the score of a hidden key: finite, so that a row of nothing but hidden keys gives numbers.
HIDDEN = -1e30


@dataclass
class Context:
    """What every step of encoder and loss may look at; only `model` sets anything.

    Attributes:
        token_ids: (N, T), as given.
        valid: (N, T), True at real positions.
        weights: The arrays by name, in the dtype of the computation.
        num_heads: H.
        normalize: Layer normalization of (..., D), put together from the steps in use.
        positions: (M,) flat positions whose loss is asked for; None in the encoder.
        layer: Number of the current layer, from 0.
    """

    token_ids: Array
    valid: Array
    weights: Mapping[str, Array]
    num_heads: int
    normalize: Callable[[Array], Array]
    positions: Array | None = None
    layer: int = 0


# --- the encoder ------------------------------------------------------------------------------------


def look_up_tokens(c: Context, token_ids: Array) -> Array:
    """(N, T, D): a row of token_embed for each id."""
    rows: Array = c.weights["token_embed"][token_ids]
    return rows


def add_positions(c: Context, tokens: Array) -> Array:
    """(N, T, D): the first T rows of pos_embed, the same for every example."""
    return tokens + c.weights["pos_embed"][: tokens.shape[1]]


def begin(c: Context, x: Array) -> Array:
    """(N, T, D): what goes into the first layer, unchanged."""
    return x


def layer_order(c: Context) -> list[int]:
    """The layers in the order of execution."""
    return list(range(len(c.weights["w_q"])))


def attention_input(c: Context, x: Array) -> Array:
    """(N, T, D): x as the layer gets it; nothing is normalized first."""
    return x


def project_query(c: Context, x: Array, w: Array) -> Array:
    """(N, T, D): x times w_q transposed, as rows of w_q belong to features of the result."""
    return x @ w.T


def project_key(c: Context, x: Array, w: Array) -> Array:
    """(N, T, D): x times w_k transposed."""
    return x @ w.T


def project_value(c: Context, x: Array, w: Array) -> Array:
    """(N, T, D): x times w_v transposed."""
    return x @ w.T


def split_heads(c: Context, x: Array) -> Array:
    """(N, T, D) to (N, H, T, d): consecutive chunks of the features."""
    n, t, width = x.shape
    return x.reshape(n, t, c.num_heads, width // c.num_heads).transpose(0, 2, 1, 3)


def dot_products(c: Context, query: Array, key: Array) -> Array:
    """(N, H, T, T): every query with every key of its example and head."""
    return query @ key.swapaxes(-1, -2)


def scale_scores(c: Context, scores: Array, d_head: int) -> Array:
    """(N, H, T, T): divided by the root of a head's width."""
    return scores / math.sqrt(d_head)


def hide_padding(c: Context, scores: Array) -> Array:
    """(N, H, T, T): keys at padding get a score that nothing comes close to."""
    return np.where(c.valid[:, None, None, :], scores, scores.dtype.type(HIDDEN))


def shift_scores(c: Context, scores: Array) -> Array:
    """(N, H, T, T): each row less its largest score."""
    return scores - scores.max(axis=-1, keepdims=True)


def normalize_rows(c: Context, shifted: Array) -> Array:
    """(N, H, T, T): exponentials over their sum along the keys."""
    powers = np.exp(shifted)
    return powers / powers.sum(axis=-1, keepdims=True)


def mix_values(c: Context, probabilities: Array, value: Array) -> Array:
    """(N, H, T, d): values weighted by the probabilities."""
    return probabilities @ value


def merge_heads(c: Context, x: Array) -> Array:
    """(N, H, T, d) to (N, T, D): the heads side by side in their order."""
    n, heads, t, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(n, t, heads * width)


def project_output(c: Context, merged: Array, w: Array) -> Array:
    """(N, T, D): merged heads times w_o transposed."""
    return merged @ w.T


def add_attention(c: Context, x: Array, attended: Array) -> Array:
    """(N, T, D): the first residual sum."""
    return x + attended


def mean(c: Context, x: Array) -> Array:
    """(..., 1): each position's mean over its features."""
    return x.mean(axis=-1, keepdims=True)


def variance(c: Context, x: Array, mean: Array) -> Array:
    """(..., 1): each position's population variance over its features."""
    return np.square(x - mean).mean(axis=-1, keepdims=True)


def standardize(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """(..., D): deviations over the root of variance plus epsilon."""
    return (x - mean) / np.sqrt(variance + EPSILON)


def norm_attention(c: Context, x: Array) -> Array:
    """(N, T, D): the first residual sum, normalized."""
    return c.normalize(x)


def feed_forward_input(c: Context, x: Array, layer_input: Array) -> Array:
    """(N, T, D): what the first normalization gave."""
    return x


def expand(c: Context, x: Array, w: Array) -> Array:
    """(N, T, 4D): x times w_in transposed."""
    return x @ w.T


def gelu(c: Context, u: Array) -> Array:
    """The tanh form of GELU, element by element."""
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + GELU_CUBIC * u * u * u)))


def contract(c: Context, u: Array, w: Array) -> Array:
    """(N, T, D): hidden units times w_out transposed."""
    return u @ w.T


def add_feed_forward(c: Context, x: Array, update: Array) -> Array:
    """(N, T, D): the second residual sum."""
    return x + update


def norm_feed_forward(c: Context, x: Array) -> Array:
    """(N, T, D): the second residual sum, normalized."""
    return c.normalize(x)


def finish(c: Context, x: Array) -> Array:
    """(N, T, D): what the last layer gave; nothing follows."""
    return x


# --- the loss ---------------------------------------------------------------------------------------


def refuse_nothing(c: Context, positions: Array) -> None:
    """Raises ValueError where no position is selected: there is no mean of nothing."""
    if len(positions) == 0:
        raise ValueError("no position is selected, so there is no mean loss")


def refuse_padding(c: Context, positions: Array) -> None:
    """Raises ValueError where a selected position is padding: its target would be garbage."""
    padding = positions[~c.valid.reshape(-1)[positions]]
    if len(padding):
        raise ValueError(f"flat position {padding[0]} is selected but is padding")


def gather_rows(c: Context, hidden: Array, positions: Array) -> Array:
    """(M, D): the hidden states of flat positions n * T + t."""
    rows: Array = hidden.reshape(-1, hidden.shape[-1])[positions]
    return rows


def score_vocabulary(c: Context, rows: Array) -> Array:
    """(M, V): rows times head transposed."""
    return rows @ c.weights["head"].T


def largest_logit(c: Context, logits: Array) -> Array:
    """(M, 1): what is taken off before the exponential."""
    return logits.max(axis=-1, keepdims=True)


def log_normalizer(c: Context, logits: Array, largest: Array) -> Array:
    """(M,): log of the sum of exponentials."""
    sums: Array = largest[:, 0] + np.log(np.exp(logits - largest).sum(axis=-1))
    return sums


def target_logits(c: Context, logits: Array, targets: Array) -> Array:
    """(M,): each row's logit of its own target."""
    chosen: Array = logits[np.arange(len(targets)), targets]
    return chosen


def position_losses(c: Context, normalizer: Array, chosen: Array) -> Array:
    """(M,): minus the log probability of each target."""
    return normalizer - chosen


def average(c: Context, losses: Array) -> float:
    """The mean over the selected positions."""
    return float(losses.mean())


# --- figures of an evaluation -----------------------------------------------------------------------


def refuse_no_tokens(token_counts: Array) -> None:
    """Raises ValueError where there is no token at all."""
    if token_counts.sum() == 0:
        raise ValueError("there are no tokens to evaluate")


def mean_loss(loss_sums: Array, token_counts: Array) -> float:
    """All losses over all tokens, each added up over the batches first."""
    return float(loss_sums.sum() / token_counts.sum())


def perplexity(loss: float) -> float:
    """e to the power of the mean loss."""
    return float(np.exp(loss))


def count_tokens(token_counts: Array) -> int:
    """The number of tokens in all batches."""
    total: int = token_counts.sum()
    return total


@dataclass(frozen=True)
class Steps:
    """The functions of the model, in the order of their use."""

    look_up_tokens: Callable[..., Any] = look_up_tokens
    add_positions: Callable[..., Any] = add_positions
    begin: Callable[..., Any] = begin
    layer_order: Callable[..., Any] = layer_order
    attention_input: Callable[..., Any] = attention_input
    project_query: Callable[..., Any] = project_query
    project_key: Callable[..., Any] = project_key
    project_value: Callable[..., Any] = project_value
    split_heads: Callable[..., Any] = split_heads
    dot_products: Callable[..., Any] = dot_products
    scale_scores: Callable[..., Any] = scale_scores
    hide_padding: Callable[..., Any] = hide_padding
    shift_scores: Callable[..., Any] = shift_scores
    normalize_rows: Callable[..., Any] = normalize_rows
    mix_values: Callable[..., Any] = mix_values
    merge_heads: Callable[..., Any] = merge_heads
    project_output: Callable[..., Any] = project_output
    add_attention: Callable[..., Any] = add_attention
    mean: Callable[..., Any] = mean
    variance: Callable[..., Any] = variance
    standardize: Callable[..., Any] = standardize
    norm_attention: Callable[..., Any] = norm_attention
    feed_forward_input: Callable[..., Any] = feed_forward_input
    expand: Callable[..., Any] = expand
    gelu: Callable[..., Any] = gelu
    contract: Callable[..., Any] = contract
    add_feed_forward: Callable[..., Any] = add_feed_forward
    norm_feed_forward: Callable[..., Any] = norm_feed_forward
    finish: Callable[..., Any] = finish
    refuse_nothing: Callable[..., Any] = refuse_nothing
    refuse_padding: Callable[..., Any] = refuse_padding
    gather_rows: Callable[..., Any] = gather_rows
    score_vocabulary: Callable[..., Any] = score_vocabulary
    largest_logit: Callable[..., Any] = largest_logit
    log_normalizer: Callable[..., Any] = log_normalizer
    target_logits: Callable[..., Any] = target_logits
    position_losses: Callable[..., Any] = position_losses
    average: Callable[..., Any] = average
    refuse_no_tokens: Callable[..., Any] = refuse_no_tokens
    mean_loss: Callable[..., Any] = mean_loss
    perplexity: Callable[..., Any] = perplexity
    count_tokens: Callable[..., Any] = count_tokens
