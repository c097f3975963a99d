"""The steps of ``bert_pretraining``, each a function that misconceptions.py may replace.

Shapes are those of one call: N examples of 6 positions, 8 features, 2 heads of 4 features, 16 tokens. In the
call ``gradients`` arrays have one more axis in front, for all the weights at which the model is looked at.
Formulas: Devlin et al. 2019 for the model and its two heads, Vaswani et al. 2017 for attention and post-norm,
Ba et al. 2016 for layer normalization, Hendrycks and Gimpel 2016 for GELU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Norm = Callable[[Array], Array]

LENGTH, VOCABULARY, HEADS = 6, 16, 2
EPSILON = 1e-5


# --- embeddings -------------------------------------------------------------------------------


def look_up_words(words: Array, tokens: Array) -> Array:
    """(N, 6, 8): row ``tokens[n, t]`` of the word embeddings (16, 8)."""
    return words[..., tokens, :]


def add_positions(x: Array, positions: Array) -> Array:
    """(N, 6, 8): row t of the position embeddings (6, 8) is added at position t."""
    return x + positions


def add_segments(x: Array, table: Array, segments: Array) -> Array:
    """(N, 6, 8): row ``segments[n, t]`` of the segment embeddings (2, 8) is added."""
    return x + table[..., segments, :]


def norm_embeddings(x: Array, norm: Norm) -> Array:
    """(N, 6, 8): the sum of the three embeddings, normalized."""
    return norm(x)


# --- layer normalization, as nn.LayerNorm(8) --------------------------------------------------


def center(x: Array) -> Array:
    """(..., 8): less the mean of each position's features."""
    return x - x.mean(axis=-1, keepdims=True)


def variance(centered: Array) -> Array:
    """(..., 1): the population variance of each position's features."""
    return (centered * centered).mean(axis=-1, keepdims=True)


def standardize(centered: Array, var: Array) -> Array:
    """(..., 8): divided by the root of the variance plus epsilon."""
    return centered / np.sqrt(var + EPSILON)


def scale_and_shift(z: Array, weight: Array, bias: Array) -> Array:
    """(..., 8): times the normalization's weight, plus its bias."""
    return z * weight + bias


# --- linear maps, as nn.Linear ----------------------------------------------------------------


def linear(x: Array, weight: Array, bias: Array) -> Array:
    """(N, T, out): x times the transpose of weight (out, in), plus bias (out,)."""
    return np.einsum("...nti,...oi->...nto", x, weight) + bias


# --- attention --------------------------------------------------------------------------------


def attention_input(x: Array, norm: Norm) -> Array:
    """(N, 6, 8): what queries, keys and values are made of: x as it is, as the block is post-norm."""
    return x


def split_heads(x: Array) -> Array:
    """(N, 6, 8) to (N, 2, 6, 4): head 0 has the first four features, head 1 the others."""
    return np.moveaxis(x.reshape(*x.shape[:-1], HEADS, 4), -2, -3)


def dot_products(query: Array, key: Array) -> Array:
    """(N, 2, 6, 6): every query of a head with every key."""
    return np.einsum("...qf,...kf->...qk", query, key)


def scale_scores(scores: Array) -> Array:
    """(N, 2, 6, 6): divided by 2, the root of a head's four features."""
    return scores / 2


def hide_keys(scores: Array, tokens: Array, segments: Array) -> Array:
    """(N, 2, 6, 6): the scores as they are, since nothing is masked."""
    return scores


def shift_scores(scores: Array) -> Array:
    """(N, 2, 6, 6): less the largest of each row, so that no exponential overflows."""
    return scores - scores.max(axis=-1, keepdims=True)


def divide_by_sum(powers: Array) -> Array:
    """(N, 2, 6, 6): each row divided by its sum over the keys."""
    return powers / powers.sum(axis=-1, keepdims=True)


def mix_values(weights: Array, value: Array) -> Array:
    """(N, 2, 6, 4): the weighted sums of the values of each head."""
    return np.einsum("...qk,...kf->...qf", weights, value)


def merge_heads(mixed: Array) -> Array:
    """(N, 2, 6, 4) to (N, 6, 8): the heads side by side, where they came from."""
    merged = np.moveaxis(mixed, -3, -2)
    return merged.reshape(*merged.shape[:-2], 8)


def project_output(merged: Array, linear: Norm) -> Array:
    """(N, 6, 8): through the output projection of the attention."""
    return linear(merged)


def add_attention(x: Array, attended: Array) -> Array:
    """(N, 6, 8): the first residual."""
    return x + attended


def norm_attention(x: Array, norm: Norm) -> Array:
    """(N, 6, 8): normalized after the first residual."""
    return norm(x)


# --- feed-forward part ------------------------------------------------------------------------


def feed_forward_input(hidden: Array, norm: Norm) -> Array:
    """(N, 6, 8): what goes into the feed-forward part: the normalized first residual as it is."""
    return hidden


def error_function(x: Array) -> Array:
    """Of each number."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), x.dtype).reshape(x.shape)


def gelu(x: Array) -> Array:
    """x times the normal distribution function, by the error function."""
    return x * (1 + error_function(x / math.sqrt(2))) / 2


def activate_inner(x: Array, gelu: Norm) -> Array:
    """(N, 6, 32): GELU between the two layers of the feed-forward part."""
    return gelu(x)


def add_feed_forward(hidden: Array, fed: Array) -> Array:
    """(N, 6, 8): the second residual."""
    return hidden + fed


def norm_output(x: Array, norm: Norm) -> Array:
    """(N, 6, 8): normalized after the second residual."""
    return norm(x)


# --- the head for masked tokens ---------------------------------------------------------------


def transform(hidden: Array, linear: Norm) -> Array:
    """(N, 6, 8): the linear map of the head."""
    return linear(hidden)


def activate_transform(x: Array, gelu: Norm) -> Array:
    """(N, 6, 8): GELU after it."""
    return gelu(x)


def norm_transform(x: Array, norm: Norm) -> Array:
    """(N, 6, 8): normalized before the decoder."""
    return norm(x)


def decoder_weight(words: Array, loaded: Array, still: Array) -> Array:
    """(16, 8): the decoder's weight is that of the word embeddings, whatever becomes of it after loading.

    ``loaded`` are the values that were loaded; ``still`` are those of ``words`` at the call, which stay as
    they are where words are moved for a gradient.
    """
    return words


def decode(x: Array, weight: Array) -> Array:
    """(N, 6, 16): every position with every token's embedding."""
    return np.einsum("...ntf,...vf->...ntv", x, weight)


def add_decoder_bias(logits: Array, bias: Array) -> Array:
    """(N, 6, 16): plus a bias for each token."""
    return logits + bias


def token_output(logits: Array) -> Array:
    """(N, 6, 16): raw logits."""
    return logits


# --- the head for pairs of sentences ----------------------------------------------------------


def pool(hidden: Array) -> Array:
    """(N, 1, 8): the hidden state of position 0."""
    return hidden[..., :1, :]


def pooler(pooled: Array, linear: Norm) -> Array:
    """(N, 1, 8): the linear map of the pooler."""
    return linear(pooled)


def activate_pooler(x: Array) -> Array:
    """(N, 1, 8): the pooler's hyperbolic tangent."""
    return np.tanh(x)


def pair_output(logits: Array) -> Array:
    """(N, 1, 2): raw logits."""
    return logits


def pack(token_logits: Array, pair_logits: Array) -> Array:
    """(N, 98): the 96 token logits by position and then by token, then the 2 of the pair."""
    rows = token_logits.shape[:-2]
    return np.concatenate([token_logits.reshape(*rows, 96), pair_logits.reshape(*rows, 2)], axis=-1)


# --- masked loss ------------------------------------------------------------------------------


def take_positions(positions: list[int]) -> Array:
    """(P,): the selected positions."""
    return np.asarray(positions)


def select(logits: Array, positions: Array) -> Array:
    """(N, P, 16): the logits of the selected positions of every example."""
    return logits[:, positions]


def targets(original: Array, positions: Array) -> Array:
    """(N, P): the original tokens at these positions."""
    return original[:, positions]


def largest_logit(logits: Array) -> Array:
    """(N, P, 1): the largest logit of each position."""
    return logits.max(axis=-1, keepdims=True)


def log_normalizer(logits: Array, largest: Array) -> Array:
    """(N, P): the logarithm of the sum of the exponentials of the logits."""
    return np.log(np.exp(logits - largest).sum(axis=-1)) + largest[..., 0]


def target_logits(logits: Array, tokens: Array) -> Array:
    """(N, P): the logit of the original token."""
    return np.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]


def average(losses: Array, count: int) -> Array:
    """The mean over selected positions (N, P); ``count`` is the number of all positions, N times 6."""
    return losses.mean()


# --- gradients --------------------------------------------------------------------------------


def signal(gradient: Array) -> Array:
    """The gradient as it arrives at what learns."""
    return gradient


# --- names and shapes -------------------------------------------------------------------------


def name_parameters(shapes: dict[str, list[int]]) -> dict[str, list[int]]:
    """The shape of each parameter by its name."""
    return shapes


@dataclass(frozen=True)
class Steps:
    """The steps in the order of their use."""

    name_parameters: Callable[..., Any] = name_parameters
    look_up_words: Callable[..., Any] = look_up_words
    add_positions: Callable[..., Any] = add_positions
    add_segments: Callable[..., Any] = add_segments
    center: Callable[..., Any] = center
    variance: Callable[..., Any] = variance
    standardize: Callable[..., Any] = standardize
    scale_and_shift: Callable[..., Any] = scale_and_shift
    norm_embeddings: Callable[..., Any] = norm_embeddings
    attention_input: Callable[..., Any] = attention_input
    linear: Callable[..., Any] = linear
    split_heads: Callable[..., Any] = split_heads
    dot_products: Callable[..., Any] = dot_products
    scale_scores: Callable[..., Any] = scale_scores
    hide_keys: Callable[..., Any] = hide_keys
    shift_scores: Callable[..., Any] = shift_scores
    divide_by_sum: Callable[..., Any] = divide_by_sum
    mix_values: Callable[..., Any] = mix_values
    merge_heads: Callable[..., Any] = merge_heads
    project_output: Callable[..., Any] = project_output
    add_attention: Callable[..., Any] = add_attention
    norm_attention: Callable[..., Any] = norm_attention
    feed_forward_input: Callable[..., Any] = feed_forward_input
    gelu: Callable[..., Any] = gelu
    activate_inner: Callable[..., Any] = activate_inner
    add_feed_forward: Callable[..., Any] = add_feed_forward
    norm_output: Callable[..., Any] = norm_output
    transform: Callable[..., Any] = transform
    activate_transform: Callable[..., Any] = activate_transform
    norm_transform: Callable[..., Any] = norm_transform
    decoder_weight: Callable[..., Any] = decoder_weight
    decode: Callable[..., Any] = decode
    add_decoder_bias: Callable[..., Any] = add_decoder_bias
    token_output: Callable[..., Any] = token_output
    pool: Callable[..., Any] = pool
    pooler: Callable[..., Any] = pooler
    activate_pooler: Callable[..., Any] = activate_pooler
    pair_output: Callable[..., Any] = pair_output
    pack: Callable[..., Any] = pack
    take_positions: Callable[..., Any] = take_positions
    select: Callable[..., Any] = select
    targets: Callable[..., Any] = targets
    largest_logit: Callable[..., Any] = largest_logit
    log_normalizer: Callable[..., Any] = log_normalizer
    target_logits: Callable[..., Any] = target_logits
    average: Callable[..., Any] = average
    signal: Callable[..., Any] = signal
