"""Constants that are slightly off: their errors are the size of rounding errors."""

from __future__ import annotations

import math

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import EPSILON, GELU_CUBIC, GELU_SCALE, Array, Context

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="gelu", step="gelu", small=True)
def gelu_scale_rounded(c: Context, u: Array) -> Array:
    """sqrt(2 / pi) is rounded to 0.797885

    What it does:
        The factor in front of GELU's sum is typed in with six digits.
    Why it is wrong:
        0.797885 is too large by about one part in two million. Computing the root costs nothing and is as
        exact as the rest.
    How it looks:
        0.5 * u * (1 + np.tanh(0.797885 * (u + 0.044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(0.797885 * (u + GELU_CUBIC * u * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu", small=True)
def gelu_coefficient_rounded(c: Context, u: Array) -> Array:
    """0.044716 for 0.044715 in GELU

    What it does:
        The cubic term's factor differs in its last digit.
    Why it is wrong:
        The constant is 0.044715. The activation moves by less than a millionth, so hardly anything shows.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044716 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + 0.044716 * u * u * u)))


@MISCONCEPTIONS.add(clause="epsilon", step="standardize", small=True)
def epsilon_slightly_off(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """Epsilon is 1.000001e-5

    What it does:
        The constant added to the variance is too large by one part in a million.
    Why it is wrong:
        It is 1e-5 exactly. The difference shows only where the variance is not much larger than that.
    How it looks:
        (x - mean) / np.sqrt(var + 1.000001e-5)
    What to write instead:
        (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / np.sqrt(variance + 1.000001e-5)


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row", small=True)
def softmax_denominator_padded(c: Context, weights: Array) -> Array:
    """1e-6 is added to the softmax's sum

    What it does:
        Each row of exponentials is divided by its sum plus 1e-6, so its weights add up to slightly less than
        1.
    Why it is wrong:
        The sum is at least 1, because the row's maximum becomes exp(0). There is no division by zero to guard
        against.
    How it looks:
        p = e / (e.sum(axis=-1, keepdims=True) + 1e-6)
    What to write instead:
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return weights / (weights.sum(axis=-1, keepdims=True) + 1e-6)


@MISCONCEPTIONS.add(clause="layer_norm", step="standardize", small=True)
def norm_denominator_padded(c: Context, x: Array, mean: Array, variance: Array) -> Array:
    """1e-9 is added to the root as well

    What it does:
        Deviations are divided by sqrt(var + 1e-5) + 1e-9.
    Why it is wrong:
        The 1e-5 under the root already keeps the divisor above 0. A second constant makes every result a
        little too small.
    How it looks:
        (x - mean) / (np.sqrt(var + 1e-5) + 1e-9)
    What to write instead:
        (x - mean) / np.sqrt(var + 1e-5)
    """
    return (x - mean) / (np.sqrt(variance + EPSILON) + 1e-9)


@MISCONCEPTIONS.add(clause="scores", step="scale_scores", small=True)
def scale_rounded(c: Context, scores: Array, d_head: int) -> Array:
    """1 / sqrt(d_head) is rounded to six decimals

    What it does:
        Scores are multiplied by a factor such as 0.57735, which is 1 / sqrt(3) to six decimals.
    Why it is wrong:
        The factor's error grows with the scores. Dividing by the root itself is shorter and exact.
    How it looks:
        scores = q @ k.T * round(1 / math.sqrt(d_head), 6)
    What to write instead:
        scores = q @ k.T / math.sqrt(d_head)
    """
    return scores * round(1.0 / math.sqrt(d_head), 6)


@MISCONCEPTIONS.add(clause="logits", step="finish_logits", small=True)
def logits_temperature(c: Context, logits: Array) -> Array:
    """The scores are divided by 1 + 1e-7

    What it does:
        Every score is smaller than x @ w_head by one part in ten million.
    Why it is wrong:
        Nothing follows the product with w_head, neither a temperature nor a constant against division by
        zero.
    How it looks:
        logits = x @ w_head / (temperature + 1e-7)  # temperature is 1
    What to write instead:
        logits = x @ w_head
    """
    return logits / (1.0 + 1e-7)
