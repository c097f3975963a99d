"""Mistakes of residuals, normalization, feed-forward part and layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import EPSILON, GELU_CUBIC, GELU_SCALE, Array, Context

MISCONCEPTIONS = Misconceptions()
Changes = Mapping[str, Callable[..., Any]]


@MISCONCEPTIONS.add(clause="post_norm")
def pre_norm() -> Changes:
    """Layers normalize before their two parts

    What it does:
        x + attention(layer_norm(x)), then x + feed_forward(layer_norm(x)), and nothing is normalized
        afterwards.
    Why it is wrong:
        That is the later form of the transformer. Here the residual sum is normalized, after each of the
        two parts.
    How it looks:
        x = x + attention(layer_norm(x))
        x = x + feed_forward(layer_norm(x))
    What to write instead:
        x = layer_norm(x + attention(x))
        x = layer_norm(x + feed_forward(x))
    """

    def before(c: Context, x: Array) -> Array:
        return c.normalize(x)

    def second(c: Context, x: Array, layer_input: Array) -> Array:
        return c.normalize(x)

    def nothing(c: Context, x: Array) -> Array:
        return x

    return {
        "attention_input": before,
        "feed_forward_input": second,
        "norm_attention": nothing,
        "norm_feed_forward": nothing,
    }


@MISCONCEPTIONS.add(clause="post_norm", step="attention_input")
def normalized_before_attention(c: Context, x: Array) -> Array:
    """x is normalized before attention as well

    What it does:
        Queries, keys and values are made of layer_norm(x).
    Why it is wrong:
        Attention takes x as it comes. Normalized is only the sum, afterwards.
    How it looks:
        x = layer_norm(x + attention(layer_norm(x)))
    What to write instead:
        x = layer_norm(x + attention(x))
    """
    return c.normalize(x)


@MISCONCEPTIONS.add(clause="post_norm", step="norm_attention")
def first_norm_missing(c: Context, x: Array) -> Array:
    """The sum with the attention is not normalized

    What it does:
        Only the second residual sum of a layer is normalized.
    Why it is wrong:
        A layer normalizes twice: after attention and after the feed-forward part.
    How it looks:
        x = x + attention(x)
        x = layer_norm(x + feed_forward(x))
    What to write instead:
        x = layer_norm(x + attention(x))
        x = layer_norm(x + feed_forward(x))
    """
    return x


@MISCONCEPTIONS.add(clause="post_norm", step="norm_feed_forward")
def second_norm_missing(c: Context, x: Array) -> Array:
    """The sum with the feed-forward part is not normalized

    What it does:
        A layer ends with the residual sum as it is.
    Why it is wrong:
        A layer normalizes twice: after attention and after the feed-forward part.
    How it looks:
        x = layer_norm(x + attention(x))
        x = x + feed_forward(x)
    What to write instead:
        x = layer_norm(x + attention(x))
        x = layer_norm(x + feed_forward(x))
    """
    return x


@MISCONCEPTIONS.add(clause="post_norm", step="add_attention")
def first_residual_missing(c: Context, x: Array, attended: Array) -> Array:
    """Attention replaces x

    What it does:
        What attention gives is normalized and handed on; x itself is lost.
    Why it is wrong:
        Attention is added to x.
    How it looks:
        x = layer_norm(attention(x))
    What to write instead:
        x = layer_norm(x + attention(x))
    """
    return attended


@MISCONCEPTIONS.add(clause="post_norm", step="add_feed_forward")
def second_residual_missing(c: Context, x: Array, update: Array) -> Array:
    """The feed-forward part replaces x

    What it does:
        What the feed-forward part gives is normalized and handed on; x itself is lost.
    Why it is wrong:
        The feed-forward part is added to x.
    How it looks:
        x = layer_norm(feed_forward(x))
    What to write instead:
        x = layer_norm(x + feed_forward(x))
    """
    return update


@MISCONCEPTIONS.add(clause="post_norm", step="add_attention")
def norm_before_the_sum(c: Context, x: Array, attended: Array) -> Array:
    """Attention is normalized, not the sum

    What it does:
        The normalization is of what attention gives, and x is added to that, before the second part goes on.
    Why it is wrong:
        First the sum, then its normalization.
    How it looks:
        x = x + layer_norm(attention(x))
    What to write instead:
        x = layer_norm(x + attention(x))
    """
    return x + c.normalize(attended)


@MISCONCEPTIONS.add(clause="layer_norm", step="variance")
def sample_variance(c: Context, x: Array, mean: Array) -> Array:
    """The variance divides by D - 1

    What it does:
        The squared deviations are divided by one less than their number, as torch does unless it is told
        otherwise.
    Why it is wrong:
        Layer normalization takes the variance of a population: divide by D.
    How it looks:
        var = x.var(axis=-1, ddof=1, keepdims=True)
    What to write instead:
        var = x.var(axis=-1, keepdims=True)
    """
    return np.asarray(np.square(x - mean).sum(axis=-1, keepdims=True) / x.dtype.type(x.shape[-1] - 1))


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_over_positions() -> Changes:
    """Mean and variance run over the positions

    What it does:
        Each feature is standardized over the positions of its example.
    Why it is wrong:
        A layer normalization looks at one position alone, at its D features, the last axis.
    How it looks:
        mean = x.mean(axis=1, keepdims=True)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)
    """

    def mean(c: Context, x: Array) -> Array:
        return x.mean(axis=-2, keepdims=True)

    def variance(c: Context, x: Array, mean: Array) -> Array:
        return np.square(x - mean).mean(axis=-2, keepdims=True)

    return {"mean": mean, "variance": variance}


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize")
def mean_not_subtracted(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """The mean is not subtracted

    What it does:
        x is divided by its standard deviation, but not centered.
    Why it is wrong:
        Layer normalization centers each position first.
    How it looks:
        x = x / np.sqrt(var + 1e-5)
    What to write instead:
        x = (x - mean) / np.sqrt(var + 1e-5)
    """
    return x / np.sqrt(variance + EPSILON)


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize")
def divided_by_variance(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Deviations are divided by the variance

    What it does:
        The root is left out.
    Why it is wrong:
        The divisor is the standard deviation, the root of the variance.
    How it looks:
        x = (x - mean) / (var + 1e-5)
    What to write instead:
        x = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / (variance + EPSILON)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_outside_root(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """1e-5 is added to the standard deviation, not to the variance

    What it does:
        The divisor is sqrt(var) + 1e-5: the root comes first, then the addition.
    Why it is wrong:
        Under the root, 1e-5 acts like a deviation of about 0.003; outside, only like 0.00001. That shows
        wherever the features of a position are nearly equal.
    How it looks:
        x = (x - mean) / (np.sqrt(var) + 1e-5)
    What to write instead:
        x = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / (np.sqrt(variance) + EPSILON)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_missing(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Nothing is added to the variance

    What it does:
        x - mean is divided by sqrt(var) alone.
    Why it is wrong:
        Features that are all equal give 0 / 0, which is NaN and not zeros. All others come out slightly too
        large.
    How it looks:
        x = (x - mean) / np.sqrt(var)
    What to write instead:
        x = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_1e_12(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Epsilon is 1e-12

    What it does:
        1e-12 is added to the variance under the root, as in BERT.
    Why it is wrong:
        The constant is 1e-5. For positions with a small variance the result depends on it.
    How it looks:
        x = (x - mean) / np.sqrt(var + 1e-12)
    What to write instead:
        x = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance + 1e-12)


@MISCONCEPTIONS.add(clause="feed_forward", step="feed_forward_input")
def feed_forward_from_layer_input(c: Context, x: Array, layer_input: Array) -> Array:
    """The feed-forward part gets the layer's input

    What it does:
        Both parts of a layer start from the x that came in.
    Why it is wrong:
        The feed-forward part follows attention: it takes what the first normalization gave.
    How it looks:
        y = layer_norm(x + attention(x))
        x = layer_norm(y + feed_forward(x))
    What to write instead:
        y = layer_norm(x + attention(x))
        x = layer_norm(y + feed_forward(y))
    """
    return layer_input


@MISCONCEPTIONS.add(clause="feed_forward")
def matrices_reshaped() -> Changes:
    """w_in and w_out are reshaped, not transposed

    What it does:
        w_in is brought to the shape (D, 4 * D) and w_out to (4 * D, D) by reshape, so that the products are
        possible.
    Why it is wrong:
        reshape keeps the order of the numbers in memory: rows are cut anew instead of being turned into
        columns.
    How it looks:
        inner = x @ w_in.reshape(D, 4 * D)
    What to write instead:
        inner = x @ w_in.T
    """

    def reshaped(c: Context, x: Array, w: Array) -> Array:
        return x @ w.reshape(w.shape[::-1])

    return {"expand": reshaped, "contract": reshaped}


@MISCONCEPTIONS.add(clause="feed_forward", step="gelu")
def activation_missing(c: Context, u: Array) -> Array:
    """There is no activation

    What it does:
        w_in and w_out follow each other directly.
    Why it is wrong:
        Two matrices in a row are one matrix. Between them stands GELU.
    How it looks:
        fed = x @ w_in.T @ w_out.T
    What to write instead:
        fed = gelu(x @ w_in.T) @ w_out.T
    """
    return u


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def exact_gelu(c: Context, u: Array) -> Array:
    """GELU is the exact one

    What it does:
        GELU is computed with the error function.
    Why it is wrong:
        The tanh form is asked for, which differs in the fourth digit.
    How it looks:
        0.5 * u * (1 + erf(u / np.sqrt(2)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    erf = np.vectorize(math.erf, otypes=[np.float64])(u / math.sqrt(2.0)) if u.size else u
    return 0.5 * u * (1.0 + erf.astype(u.dtype))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def relu(c: Context, u: Array) -> Array:
    """ReLU instead of GELU

    What it does:
        Negative numbers become 0, positive ones stay.
    Why it is wrong:
        GELU is smooth: numbers around 0 are weakened, and small negative ones do not vanish.
    How it looks:
        np.maximum(u, 0)
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return np.maximum(u, u.dtype.type(0))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def sigmoid_gelu(c: Context, u: Array) -> Array:
    """GELU by the logistic function of 1.702 u

    What it does:
        The quick approximation u * sigmoid(1.702 * u) is used.
    Why it is wrong:
        It differs from the tanh form in the second digit.
    How it looks:
        u / (1 + np.exp(-1.702 * u))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    with np.errstate(over="ignore"):
        return u / (1.0 + np.exp(-1.702 * u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_squared_term(c: Context, u: Array) -> Array:
    """GELU has a square where the cube belongs

    What it does:
        The correction inside tanh is 0.044715 * u**2.
    Why it is wrong:
        It is a cube: the curve has to be symmetric around 0.
    How it looks:
        np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**2))
    What to write instead:
        np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + GELU_CUBIC * u * u)))


@MISCONCEPTIONS.add(clause="layers", step="layer_order")
def layers_reversed(c: Context) -> list[int]:
    """Layers run from last to first

    What it does:
        The last layer's matrices are used first.
    Why it is wrong:
        Layer 0 comes first.
    How it looks:
        for layer in reversed(range(L)):
    What to write instead:
        for layer in range(L):
    """
    return list(range(len(c.weights["w_q"])))[::-1]


@MISCONCEPTIONS.add(clause="layers", step="layer_order")
def first_layer_repeated(c: Context) -> list[int]:
    """Every layer uses the matrices of the first

    What it does:
        There are L layers, all with w_q[0], w_k[0] and so on.
    Why it is wrong:
        Each layer has matrices of its own.
    How it looks:
        for layer in range(L): x = block(x, w_q[0], ...)
    What to write instead:
        for layer in range(L): x = block(x, w_q[layer], ...)
    """
    return [0] * len(c.weights["w_q"])


@MISCONCEPTIONS.add(clause="layers", step="begin")
def embeddings_normalized(c: Context, x: Array) -> Array:
    """The embeddings are normalized

    What it does:
        A layer normalization stands between the embeddings and the first layer, as in BERT.
    Why it is wrong:
        Here x goes into the first layer as it is, and with L = 0 it is the answer.
    How it looks:
        x = layer_norm(token_embed[token_ids] + pos_embed[:T])
    What to write instead:
        x = token_embed[token_ids] + pos_embed[:T]
    """
    return c.normalize(x)
