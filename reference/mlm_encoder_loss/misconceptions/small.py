"""Constants that are slightly off: their errors are the size of rounding errors."""

from __future__ import annotations

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import EPSILON, GELU_CUBIC, Array, Context

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
