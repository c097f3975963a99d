"""Mistakes of the layer normalization: over what, by what, and where it is applied."""

from __future__ import annotations

import numpy as np

from grader.exercise.misconceptions import Function, Misconceptions

from ..steps import EPSILON, Array, Context

MISCONCEPTIONS = Misconceptions()


def _came_in(c: Context) -> Array:
    """(N, T, D): x as it came into the current block."""
    assert c.block_input is not None
    return c.block_input


def _moments_over(axis: int | tuple[int, ...]) -> dict[str, Function]:
    """Mean and variance of (N, T, D) over other axes than the last one alone."""

    def mean(c: Context, x: Array) -> Array:
        return x.mean(axis=axis, keepdims=True)

    def variance(c: Context, x: Array, mean: Array) -> Array:
        return np.square(x - mean).mean(axis=axis, keepdims=True)

    return {"mean": mean, "variance": variance}


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_over_sequence() -> dict[str, Function]:
    """Mean and variance are taken over the positions

    What it does:
        For each example and feature, mean and variance run over the T positions (axis 1 of (N, T, D)).
    Why it is wrong:
        Each token is standardized on its own, over its D features. Over the positions, a token's numbers
        depend on its neighbours, and with T = 1 everything becomes 0.
    How it looks:
        mean = x.mean(axis=1, keepdims=True)
        var = x.var(axis=1, keepdims=True)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)
        var = x.var(axis=-1, keepdims=True)
    """
    return _moments_over(1)


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_over_batch() -> dict[str, Function]:
    """Mean and variance are taken over the examples

    What it does:
        For each position and feature, mean and variance run over the N examples (axis 0 of (N, T, D)), as in
        batch normalization.
    Why it is wrong:
        The examples then see one another, and with N = 1 everything becomes 0. Mean and variance belong to
        one token and run over its D features.
    How it looks:
        mean = x.mean(axis=0, keepdims=True)
        var = x.var(axis=0, keepdims=True)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)
        var = x.var(axis=-1, keepdims=True)
    """
    return _moments_over(0)


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_over_example() -> dict[str, Function]:
    """One mean and variance for each whole example

    What it does:
        Mean and variance run over positions and features together, so that all T tokens of an example share
        them.
    Why it is wrong:
        Every token has a mean and a variance of its own, over its D features: N x T means, not N.
    How it looks:
        mean = x.mean(axis=(1, 2), keepdims=True)
        var = x.var(axis=(1, 2), keepdims=True)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)  # (N, T, 1)
        var = x.var(axis=-1, keepdims=True)
    """
    return _moments_over((1, 2))


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_over_everything() -> dict[str, Function]:
    """One mean and variance for the whole tensor

    What it does:
        Mean and variance run over all N x T x D numbers, so that all tokens of all examples share them.
    Why it is wrong:
        Without an axis, mean() and var() reduce everything to one number. Every token needs its own, over its
        D features.
    How it looks:
        norm = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)
        var = x.var(axis=-1, keepdims=True)
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return _moments_over((0, 1, 2))


@MISCONCEPTIONS.add(clause="layer_norm", step="mean")
def norm_without_mean(c: Context, x: Array) -> Array:
    """Root mean square normalization, without the mean

    What it does:
        x is divided by the root of the mean of its squares; the mean of the features is never used.
    Why it is wrong:
        That is RMS norm. Layer normalization subtracts the token's mean first, and its variance is measured
        from that mean.
    How it looks:
        norm = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)
        var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return np.zeros_like(x[..., :1])


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize")
def norm_mean_not_subtracted(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """x is divided by its deviation but not centered

    What it does:
        The variance is right, but x itself is divided by the root, not x - mean.
    Why it is wrong:
        The D features of a normalized token have mean 0. Here the mean stays in, however large it is.
    How it looks:
        norm = x / np.sqrt(var + 1e-5)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return x / np.sqrt(variance + EPSILON)


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize")
def norm_only_centered(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """x is centered but not divided by its deviation

    What it does:
        Each token's mean is subtracted, and that is all.
    Why it is wrong:
        The deviations also have to be divided by sqrt(var + 1e-5), so that tokens of all sizes come out with
        a variance of about 1.
    How it looks:
        norm = x - x.mean(axis=-1, keepdims=True)
    What to write instead:
        mean = x.mean(axis=-1, keepdims=True)
        var = x.var(axis=-1, keepdims=True)
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return x - mean


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize")
def norm_divides_by_variance(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """The deviations are divided by the variance, without a root

    What it does:
        x - mean is divided by var + 1e-5.
    Why it is wrong:
        The divisor is the standard deviation, the root of the variance. Without the root, a token twice as
        large comes out half as large.
    How it looks:
        norm = (x - mean) / (var + 1e-5)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / (variance + EPSILON)


@MISCONCEPTIONS.add(clause="layer_norm", step="variance")
def norm_sum_of_squares(c: Context, x: Array, mean: Array) -> Array:
    """The squared deviations are summed, not averaged

    What it does:
        The variance is the sum of a token's squared deviations, without the division by D.
    Why it is wrong:
        It is D times too large, so the normalized features come out too small by a factor of about sqrt(D).
    How it looks:
        var = ((x - mean) ** 2).sum(axis=-1, keepdims=True)
    What to write instead:
        var = ((x - mean) ** 2).sum(axis=-1, keepdims=True) / D
    """
    return np.square(x - mean).sum(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_mean_absolute() -> dict[str, Function]:
    """The deviations are divided by their mean absolute value

    What it does:
        x - mean is divided by the mean of |x - mean| over the features, plus 1e-5.
    Why it is wrong:
        The mean absolute deviation is another measure than the standard deviation, and never larger. Square
        the deviations, take their mean, then the root.
    How it looks:
        spread = np.abs(x - mean).mean(axis=-1, keepdims=True)
        norm = (x - mean) / (spread + 1e-5)
    What to write instead:
        var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """

    def variance(c: Context, x: Array, mean: Array) -> Array:
        return np.abs(x - mean).mean(axis=-1, keepdims=True)

    def standardize(c: Context, x: Array, mean: Array, variance: Array) -> Array:
        return (x - mean) / (variance + EPSILON)

    return {"variance": variance, "standardize": standardize}


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize")
def norm_min_max(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Features are scaled to the range from 0 to 1

    What it does:
        Each token's smallest feature becomes 0 and its largest about 1.
    Why it is wrong:
        That is min-max scaling, which looks at two of the features. Standardizing subtracts the mean of all
        of them and divides by their standard deviation.
    How it looks:
        low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
        norm = (x - low) / (high - low + 1e-5)
    What to write instead:
        mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    low = x.min(axis=-1, keepdims=True)
    return (x - low) / (x.max(axis=-1, keepdims=True) - low + EPSILON)


@MISCONCEPTIONS.add(clause="layer_norm", step="variance")
def variance_unbiased(c: Context, x: Array, mean: Array) -> Array:
    """The variance is divided by D - 1

    What it does:
        The squared deviations of a token are summed and divided by D - 1. That is the default of torch's var
        and std; numpy's divide by D.
    Why it is wrong:
        The variance is that of a population, which divides by D. With D = 1, dividing by D - 1 gives NaN.
    How it looks:
        var = x.var(dim=-1, keepdim=True)  # torch
        var = x.var(axis=-1, ddof=1, keepdims=True)  # numpy
    What to write instead:
        var = x.var(dim=-1, unbiased=False, keepdim=True)  # torch
        var = x.var(axis=-1, keepdims=True)  # numpy
    """
    return np.square(x - mean).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)


@MISCONCEPTIONS.add(clause="layer_norm")
def post_norm() -> dict[str, Function]:
    """Each sum is normalized after its step, not the input before

    What it does:
        Attention and feed-forward step get x as it is; afterwards x + attention and x + mlp are normalized
        and become the new x.
    Why it is wrong:
        That is the order of the first transformers. Here the input of each step is normalized, and the sum
        stays as it is, so the residual x keeps its size.
    How it looks:
        x = layer_norm(x + attention(x))
        x = layer_norm(x + mlp(x))
    What to write instead:
        x = x + attention(layer_norm(x))
        x = x + mlp(layer_norm(x))
    """

    def unchanged(c: Context, x: Array) -> Array:
        return x

    def mlp_input(c: Context, x: Array, first_normed: Array) -> Array:
        return x

    def add(c: Context, x: Array, normed: Array, update: Array) -> Array:
        return c.normalize(x + update)

    return {"attention_input": unchanged, "mlp_input": mlp_input, "add_attention": add, "add_mlp": add}


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_of_sublayer_output() -> dict[str, Function]:
    """What a step gives is normalized, not what it gets

    What it does:
        Attention and feed-forward step get x as it is; their results are normalized before they are added to
        x.
    Why it is wrong:
        Each step starts with the normalization; what it gives is added to x as it is, be it small or large.
    How it looks:
        x = x + layer_norm(attention(x))
        x = x + layer_norm(mlp(x))
    What to write instead:
        x = x + attention(layer_norm(x))
        x = x + mlp(layer_norm(x))
    """

    def unchanged(c: Context, x: Array) -> Array:
        return x

    def mlp_input(c: Context, x: Array, first_normed: Array) -> Array:
        return x

    def add(c: Context, x: Array, normed: Array, update: Array) -> Array:
        return x + c.normalize(update)

    return {"attention_input": unchanged, "mlp_input": mlp_input, "add_attention": add, "add_mlp": add}


@MISCONCEPTIONS.add(clause="projections", step="attention_input")
def first_norm_missing(c: Context, x: Array) -> Array:
    """Queries, keys and values are made from x itself

    What it does:
        x goes into the attention without being normalized first.
    Why it is wrong:
        All three projections start from the normalized tensor. Only the sum at the end of the attention uses
        x as it was.
    How it looks:
        q, k, v = x @ w_q, x @ w_k, x @ w_v
    What to write instead:
        norm = layer_norm(x)
        q, k, v = norm @ w_q, norm @ w_k, norm @ w_v
    """
    return x


@MISCONCEPTIONS.add(clause="projections", step="project_value")
def value_unnormalized(c: Context, normed: Array, w: Array) -> Array:
    """Values are made from x, not from the normalized tensor

    What it does:
        Queries and keys come from the normalized tensor, but the values are x @ w_v.
    Why it is wrong:
        The values are a projection like the other two and start from the same normalized tensor.
    How it looks:
        v = x @ w_v
    What to write instead:
        v = norm @ w_v
    """
    return _came_in(c) @ w


@MISCONCEPTIONS.add(clause="projections", step="project_query")
def query_unnormalized(c: Context, normed: Array, w: Array) -> Array:
    """Queries are made from x, not from the normalized tensor

    What it does:
        Keys and values come from the normalized tensor, but the queries are x @ w_q.
    Why it is wrong:
        With x in place of the normalized tensor, the size of a token decides how sharply it attends. All
        three projections start from the normalized tensor.
    How it looks:
        q = x @ w_q
    What to write instead:
        q = norm @ w_q
    """
    return _came_in(c) @ w


@MISCONCEPTIONS.add(clause="projections", step="project_key")
def key_unnormalized(c: Context, normed: Array, w: Array) -> Array:
    """Keys are made from x, not from the normalized tensor

    What it does:
        Queries and values come from the normalized tensor, but the keys are x @ w_k.
    Why it is wrong:
        The size of a token then decides how large its scores get. All three projections start from the
        normalized tensor.
    How it looks:
        k = x @ w_k
    What to write instead:
        k = norm @ w_k
    """
    return _came_in(c) @ w


@MISCONCEPTIONS.add(clause="second_norm", step="mlp_input")
def one_norm_for_both(c: Context, x: Array, first_normed: Array) -> Array:
    """The first normalized tensor serves both steps

    What it does:
        x is normalized once per block, and attention and feed-forward step share the result.
    Why it is wrong:
        By then x has changed: the attention's output has been added. The feed-forward step has to see that,
        so normalize the updated x.
    How it looks:
        norm = layer_norm(x)
        x = x + attention(norm)
        x = x + mlp(norm)
    What to write instead:
        x = x + attention(layer_norm(x))
        x = x + mlp(layer_norm(x))
    """
    return first_normed


@MISCONCEPTIONS.add(clause="second_norm", step="mlp_input")
def second_norm_missing(c: Context, x: Array, first_normed: Array) -> Array:
    """The feed-forward step gets x without a normalization

    What it does:
        After the attention, x goes straight into the feed-forward step.
    Why it is wrong:
        Both steps of a block start with a normalization. Without the second one, the activation sees numbers
        of any size.
    How it looks:
        x = x + gelu(x @ w_mlp1) @ w_mlp2
    What to write instead:
        x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    """
    return x


@MISCONCEPTIONS.add(clause="second_norm", step="mlp_input")
def second_norm_of_update(c: Context, x: Array, first_normed: Array) -> Array:
    """The attention's output is normalized, not the updated x

    What it does:
        The second normalization takes what the attention gave, before it is added to x.
    Why it is wrong:
        The feed-forward step then knows nothing of x itself. Add first, then normalize the sum.
    How it looks:
        x = x + attended
        x = x + mlp(layer_norm(attended))
    What to write instead:
        x = x + attended
        x = x + mlp(layer_norm(x))
    """
    return c.normalize(x - _came_in(c))


@MISCONCEPTIONS.add(clause="blocks", step="finish_blocks")
def final_layer_norm(c: Context, x: Array) -> Array:
    """x is normalized once more after the last block

    What it does:
        A layer normalization stands between the last block and w_head.
    Why it is wrong:
        Many transformers with this block end like that; here x goes to the vocabulary head as the last block
        hands it on.
    How it looks:
        logits = layer_norm(x) @ w_head
    What to write instead:
        logits = x @ w_head
    """
    return c.normalize(x)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_outside_root(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """1e-5 is added to the standard deviation, not to the variance

    What it does:
        The divisor is sqrt(var) + 1e-5: the root comes first, then the addition.
    Why it is wrong:
        Under the root, 1e-5 acts like a deviation of about 0.003; outside, only like 0.00001. That shows
        wherever a token's features are nearly equal.
    How it looks:
        norm = (x - mean) / (np.sqrt(var) + 1e-5)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / (np.sqrt(variance) + EPSILON)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_missing(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Nothing is added to the variance

    What it does:
        x - mean is divided by sqrt(var) alone.
    Why it is wrong:
        When a token's features are all equal, that is 0 / 0, which gives NaN and not zeros. All other tokens
        come out slightly too large.
    How it looks:
        norm = (x - mean) / np.sqrt(var)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_1e_12(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Epsilon is 1e-12

    What it does:
        1e-12 is added to the variance under the root, as in BERT.
    Why it is wrong:
        The constant is 1e-5. For tokens with a small variance the result depends on it.
    How it looks:
        norm = (x - mean) / np.sqrt(var + 1e-12)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance + 1e-12)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_1e_8(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Epsilon is 1e-8

    What it does:
        1e-8 is added to the variance under the root.
    Why it is wrong:
        The constant is 1e-5. With 1e-8, tokens with a small variance come out larger than they should.
    How it looks:
        norm = (x - mean) / np.sqrt(var + 1e-8)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance + 1e-8)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_1e_6(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Epsilon is 1e-6

    What it does:
        1e-6 is added to the variance under the root, a common default elsewhere.
    Why it is wrong:
        The constant is 1e-5, ten times as much. Where the variance is small, the difference is easy to see.
    How it looks:
        norm = (x - mean) / np.sqrt(var + 1e-6)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance + 1e-6)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_1e_3(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Epsilon is 1e-3

    What it does:
        1e-3 is added to the variance under the root, the default of Keras.
    Why it is wrong:
        The constant is 1e-5. A hundred times as much shrinks every normalized token, even one of ordinary
        size.
    How it looks:
        norm = (x - mean) / np.sqrt(var + 1e-3)
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance + 1e-3)


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_as_minimum(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """1e-5 is a lower bound of the variance, not added to it

    What it does:
        A variance below 1e-5 is raised to 1e-5; a larger one is used as it is.
    Why it is wrong:
        1e-5 is added to every variance, large or small. A bound prevents the division by 0 but gives other
        numbers.
    How it looks:
        norm = (x - mean) / np.sqrt(np.maximum(var, 1e-5))
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(np.maximum(variance, EPSILON))


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_subtracted(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """1e-5 is subtracted from the variance

    What it does:
        The divisor is the root of var - 1e-5, or of its absolute value.
    Why it is wrong:
        The sign is wrong: 1e-5 is there to keep the divisor away from 0. Subtracted, it can turn a small
        variance into 0 or a negative number.
    How it looks:
        norm = (x - mean) / np.sqrt(np.abs(var - 1e-5))
    What to write instead:
        norm = (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(np.abs(variance - EPSILON))


@MISCONCEPTIONS.add(clause="range", step="variance")
def variance_one_pass(c: Context, x: Array, mean: Array) -> Array:
    """The variance is mean of squares minus squared mean

    What it does:
        The variance is computed as mean(x**2) - mean**2.
    Why it is wrong:
        When a token's mean is far from 0, two huge, nearly equal numbers are subtracted and hardly a digit is
        left. The result can even be negative, and then its root is NaN. Subtract the mean first, then square.
    How it looks:
        var = (x**2).mean(axis=-1, keepdims=True) - mean**2
    What to write instead:
        var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    """
    return np.square(x).mean(axis=-1, keepdims=True) - np.square(mean)
