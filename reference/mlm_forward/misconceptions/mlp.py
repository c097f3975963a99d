"""Mistakes of the feed-forward step and of the stack of blocks: GELU, the two matrices, order, precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from grader.exercise.misconceptions import Misconceptions

from .. import steps
from ..steps import GELU_CUBIC, GELU_SCALE, MATRICES, Array, Context

MISCONCEPTIONS = Misconceptions()


def _unchanged(c: Context, u: Array) -> Array:
    return u


def _inner(u: Array) -> Array:
    return GELU_SCALE * (u + GELU_CUBIC * u * u * u)


# --- the formula of GELU ---------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_erf(c: Context, u: Array) -> Array:
    """The exact GELU with the error function

    What it does:
        Each hidden value u becomes u times the normal distribution's probability below u, computed with erf.
    Why it is wrong:
        The statement asks for the approximation by tanh. The two differ by up to 0.0005, far more than
        rounding does.
    How it looks:
        0.5 * u * (1 + erf(u / np.sqrt(2)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    erf = np.array([math.erf(v) for v in (u / math.sqrt(2.0)).ravel()], u.dtype)
    return 0.5 * u * (1.0 + erf.reshape(u.shape))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_sigmoid(c: Context, u: Array) -> Array:
    """GELU approximated by a sigmoid

    What it does:
        Each hidden value u is multiplied by sigmoid(1.702 u).
    Why it is wrong:
        This is a coarser approximation of GELU. In places it is off by 0.02 from the one with tanh that is
        asked for.
    How it looks:
        u / (1 + np.exp(-1.702 * u))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return u / (1.0 + np.exp(-1.702 * u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def silu(c: Context, u: Array) -> Array:
    """SiLU takes the place of GELU

    What it does:
        Each hidden value u is multiplied by sigmoid(u), which is also called swish.
    Why it is wrong:
        SiLU has a similar shape but rises more slowly: silu(1) is 0.7311, gelu(1) is 0.8412.
    How it looks:
        u / (1 + np.exp(-u))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return u / (1.0 + np.exp(-u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def relu(c: Context, u: Array) -> Array:
    """ReLU takes the place of GELU

    What it does:
        Negative hidden values become 0, the others stay as they are.
    Why it is wrong:
        GELU bends smoothly: gelu(-1) is -0.1588 and gelu(1) is 0.8412, where ReLU gives 0 and 1.
    How it looks:
        np.maximum(u, 0)
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return np.maximum(u, 0)


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def leaky_relu(c: Context, u: Array) -> Array:
    """Leaky ReLU takes the place of GELU

    What it does:
        Negative hidden values are multiplied by 0.01, the others stay as they are.
    Why it is wrong:
        For very negative values GELU goes back to 0, whereas a leaky ReLU keeps falling. In between, GELU
        bends smoothly: gelu(-1) is -0.1588 and gelu(1) is 0.8412.
    How it looks:
        np.where(u > 0, u, 0.01 * u)
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return np.where(u > 0, u, 0.01 * u)


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def tanh_activation(c: Context, u: Array) -> Array:
    """The activation is a plain tanh

    What it does:
        Each hidden value u becomes tanh(u), so that nothing leaves the range from -1 to 1.
    Why it is wrong:
        In GELU tanh is only the gate: it decides how much of u passes, and u itself is still a factor. Large
        values stay large.
    How it looks:
        np.tanh(norm @ w_mlp1) @ w_mlp2
    What to write instead:
        u = norm @ w_mlp1
        (0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))) @ w_mlp2
    """
    return np.tanh(u)


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def sigmoid_activation(c: Context, u: Array) -> Array:
    """The activation is a plain sigmoid

    What it does:
        Each hidden value u becomes 1 / (1 + exp(-u)), a number between 0 and 1.
    Why it is wrong:
        GELU gives 0 for 0 and about u for large u; a sigmoid gives 0.5 and 1.
    How it looks:
        1 / (1 + np.exp(-u))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 1.0 / (1.0 + np.exp(-u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def softplus_activation(c: Context, u: Array) -> Array:
    """Softplus takes the place of GELU

    What it does:
        Each hidden value u becomes log(1 + exp(u)), which is always above 0.
    Why it is wrong:
        GELU is 0 at 0, where softplus is 0.6931, and below 0 for negative values.
    How it looks:
        np.log(1 + np.exp(u))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return np.logaddexp(u, u.dtype.type(0))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_coefficient(c: Context, u: Array) -> Array:
    """0.44715 for 0.044715 in GELU

    What it does:
        The cubic term has a factor ten times too large.
    Why it is wrong:
        A zero is missing after the decimal point. gelu(1) becomes 0.9096 instead of 0.8412.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.44715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + 0.44715 * u * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_coefficient_too_small(c: Context, u: Array) -> Array:
    """0.0044715 for 0.044715 in GELU

    What it does:
        The cubic term has a factor ten times too small.
    Why it is wrong:
        There is a zero too many after the decimal point. The error is largest around u = 2, nearly 0.03
        there.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.0044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + 0.0044715 * u * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_coefficient_missing(c: Context, u: Array) -> Array:
    """The factor 0.044715 is missing in GELU

    What it does:
        u + u**3 goes into tanh, the cubic term at full weight.
    Why it is wrong:
        The cubic term is a small correction; without its factor it takes over from about u = 1.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + u * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_cubic_missing(c: Context, u: Array) -> Array:
    """The cubic term is missing in GELU

    What it does:
        Only sqrt(2 / pi) * u goes into tanh.
    Why it is wrong:
        The cubic term 0.044715 * u**3 belongs to the formula. Without it the result is off by about 0.03
        around u = 2.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * u))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_square(c: Context, u: Array) -> Array:
    """u squared for u cubed in GELU

    What it does:
        u + 0.044715 * u**2 goes into tanh.
    Why it is wrong:
        The power is 3. A square loses the sign of u, so that negative values are pushed the wrong way.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**2)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + GELU_CUBIC * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_scale_missing(c: Context, u: Array) -> Array:
    """The factor sqrt(2 / pi) is missing in GELU

    What it does:
        u + 0.044715 * u**3 goes into tanh as it is.
    Why it is wrong:
        The whole sum is multiplied by sqrt(2 / pi), about 0.798, first. Without that the curve is too steep:
        gelu(1) becomes 0.8899 instead of 0.8412.
    How it looks:
        0.5 * u * (1 + np.tanh(u + 0.044715 * u**3))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(u + GELU_CUBIC * u * u * u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_scale_inverted(c: Context, u: Array) -> Array:
    """sqrt(pi / 2) for sqrt(2 / pi) in GELU

    What it does:
        The sum in tanh is multiplied by 1.253 instead of 0.798.
    Why it is wrong:
        The fraction under the root is upside down: it is 2 over pi.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(np.pi / 2) * (u + 0.044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(math.sqrt(math.pi / 2.0) * (u + GELU_CUBIC * u * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_scale_without_root(c: Context, u: Array) -> Array:
    """2 / pi for sqrt(2 / pi) in GELU

    What it does:
        The sum in tanh is multiplied by 0.637 instead of 0.798.
    Why it is wrong:
        The factor is the root of 2 / pi. Without the root the curve is too flat.
    How it looks:
        0.5 * u * (1 + np.tanh(2 / np.pi * (u + 0.044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(2.0 / math.pi * (u + GELU_CUBIC * u * u * u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_cubic_outside_scale(c: Context, u: Array) -> Array:
    """Only u is multiplied by sqrt(2 / pi) in GELU

    What it does:
        The cubic term is added after the multiplication, so it is not scaled.
    Why it is wrong:
        The factor sqrt(2 / pi) belongs in front of the whole sum. A pair of parentheses is missing.
    How it looks:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * u + 0.044715 * u**3))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 + np.tanh(GELU_SCALE * u + GELU_CUBIC * u * u * u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_half_missing(c: Context, u: Array) -> Array:
    """The factor 0.5 is missing in GELU

    What it does:
        Every activation is twice as large as it should be.
    Why it is wrong:
        1 + tanh lies between 0 and 2. Half of it is the share of u that passes, at most 1.
    How it looks:
        u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return u * (1.0 + np.tanh(_inner(u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_one_missing(c: Context, u: Array) -> Array:
    """1 is not added to tanh in GELU

    What it does:
        Each hidden value u becomes 0.5 * u * tanh(...), without the 1 +.
    Why it is wrong:
        tanh lies between -1 and 1. Only with 1 added is it a gate that is closed for very negative u and open
        for large u. Without it negative values come out positive, and large ones at half their size.
    How it looks:
        0.5 * u * np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * np.tanh(_inner(u))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_minus(c: Context, u: Array) -> Array:
    """tanh is subtracted from 1 in GELU

    What it does:
        Negative hidden values pass and positive ones are held back.
    Why it is wrong:
        The sign in front of tanh is a plus: large values pass, very negative ones become 0.
    How it looks:
        0.5 * u * (1 - np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * u * (1.0 - np.tanh(_inner(u)))


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_factor_missing(c: Context, u: Array) -> Array:
    """The factor u is missing in GELU

    What it does:
        Each hidden value becomes 0.5 * (1 + tanh(...)), a number between 0 and 1.
    Why it is wrong:
        That number is only the share of u that passes; it still has to be multiplied by u.
    How it looks:
        0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    What to write instead:
        0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    """
    return 0.5 * (1.0 + np.tanh(_inner(u)))


# --- the two matrices ------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="mlp", step="gelu")
def activation_missing(c: Context, u: Array) -> Array:
    """The feed-forward step has no activation

    What it does:
        The normalized x is multiplied by w_mlp1 and at once by w_mlp2.
    Why it is wrong:
        Two matrices in a row are no more than one matrix. GELU is applied to each of the numbers between
        them.
    How it looks:
        x = x + norm @ w_mlp1 @ w_mlp2
    What to write instead:
        x = x + gelu(norm @ w_mlp1) @ w_mlp2
    """
    return u


@MISCONCEPTIONS.add(clause="mlp")
def activation_after_second_matrix() -> dict[str, Callable[..., Any]]:
    """The activation comes after the second matrix

    What it does:
        The normalized x is multiplied by w_mlp1 and w_mlp2, and GELU is applied to the outcome.
    Why it is wrong:
        GELU acts on the hidden values, between the two matrices. What w_mlp2 gives is added to x as it is.
    How it looks:
        x = x + gelu(norm @ w_mlp1 @ w_mlp2)
    What to write instead:
        x = x + gelu(norm @ w_mlp1) @ w_mlp2
    """

    def mlp_down(c: Context, hidden: Array, w: Array) -> Array:
        return steps.gelu(c, hidden @ w)

    return {"gelu": _unchanged, "mlp_down": mlp_down}


@MISCONCEPTIONS.add(clause="mlp", step="mlp_down")
def activation_twice(c: Context, hidden: Array, w: Array) -> Array:
    """The activation comes after both matrices

    What it does:
        GELU is applied to the hidden values and once more to what w_mlp2 makes of them.
    Why it is wrong:
        Only the values between the matrices are activated. The second matrix's outcome is added to x as it
        is, negative numbers included.
    How it looks:
        x = x + gelu(gelu(norm @ w_mlp1) @ w_mlp2)
    What to write instead:
        x = x + gelu(norm @ w_mlp1) @ w_mlp2
    """
    return steps.gelu(c, hidden @ w)


@MISCONCEPTIONS.add(clause="mlp")
def activation_before_first_matrix() -> dict[str, Callable[..., Any]]:
    """The activation comes before the first matrix

    What it does:
        GELU is applied to the normalized x; the two matrices follow one another without one.
    Why it is wrong:
        The normalized x goes into w_mlp1 as it is. GELU is applied to what comes out, before w_mlp2.
    How it looks:
        x = x + gelu(norm) @ w_mlp1 @ w_mlp2
    What to write instead:
        x = x + gelu(norm @ w_mlp1) @ w_mlp2
    """

    def mlp_up(c: Context, normed: Array, w: Array) -> Array:
        return steps.gelu(c, normed) @ w

    return {"mlp_up": mlp_up, "gelu": _unchanged}


@MISCONCEPTIONS.add(clause="mlp", step="mlp_down")
def mlp_one_matrix(c: Context, hidden: Array, w: Array) -> Array:
    """The second feed-forward matrix is left out

    What it does:
        The hidden values gelu(norm @ w_mlp1) are added to x; w_mlp2 is not used.
    Why it is wrong:
        w_mlp2 takes the hidden values back to the features of x. Both have D columns here, so nothing fails
        without it.
    How it looks:
        x = x + gelu(norm @ w_mlp1)
    What to write instead:
        x = x + gelu(norm @ w_mlp1) @ w_mlp2
    """
    return hidden


@MISCONCEPTIONS.add(clause="range", step="gelu")
def tanh_overflow(c: Context, u: Array) -> Array:
    """tanh is written with exp and overflows

    What it does:
        tanh is computed as a quotient of exponentials. For a large z, exp(z) is infinite, and inf / inf is
        NaN.
    Why it is wrong:
        tanh itself is 1 or -1 there, an ordinary number. The argument grows with u**3, so that a hidden value
        of 30 is already enough.
    How it looks:
        (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z))
    What to write instead:
        np.tanh(z)
    """
    z = _inner(u)
    up, down = np.exp(z), np.exp(-z)
    return 0.5 * u * (1.0 + (up - down) / (up + down))


# --- the stack of blocks ---------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="blocks", step="block_order")
def blocks_reversed(c: Context) -> list[int]:
    """The blocks run from last to first

    What it does:
        x passes through block L - 1 first and through block 0 last.
    Why it is wrong:
        The first axis of blocks_weights is in the order of execution: block 0 comes first.
    How it looks:
        for weights in blocks_weights[::-1]:
    What to write instead:
        for weights in blocks_weights:
    """
    return list(range(len(c.blocks_weights)))[::-1]


@MISCONCEPTIONS.add(clause="blocks", step="unpack_block")
def first_block_reused(c: Context) -> dict[str, Array]:
    """Every block uses the weights of block 0

    What it does:
        L blocks run, all with the six matrices of blocks_weights[0].
    Why it is wrong:
        Each block has six matrices of its own: block number b uses blocks_weights[b].
    How it looks:
        for b in range(L):
            w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[0]
    What to write instead:
        for b in range(L):
            w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[b]
    """
    return dict(zip(MATRICES, c.blocks_weights[0], strict=True))


@MISCONCEPTIONS.add(clause="blocks", step="unpack_block")
def last_block_reused(c: Context) -> dict[str, Array]:
    """Every block uses the weights of the last one

    What it does:
        L blocks run, all with the six matrices of blocks_weights[L - 1].
    Why it is wrong:
        Each block has six matrices of its own. Functions that are made in a loop and look at the loop's
        variable only when they are called all see its last value.
    How it looks:
        layers = []
        for w in blocks_weights:
            layers.append(lambda x: run_block(x, w))
    What to write instead:
        for w in blocks_weights:
            x = run_block(x, w)
    """
    return dict(zip(MATRICES, c.blocks_weights[-1], strict=True))


@MISCONCEPTIONS.add(clause="blocks", step="block_order")
def first_block_only(c: Context) -> list[int]:
    """Only the first block runs

    What it does:
        x passes through block 0 and goes to w_head, however many blocks there are.
    Why it is wrong:
        blocks_weights has shape (L, 6, D, D), and all L blocks run. A return inside the loop ends it after
        one round.
    How it looks:
        for weights in blocks_weights[:1]:
            x = run_block(x, weights)
    What to write instead:
        for weights in blocks_weights:
            x = run_block(x, weights)
    """
    return list(range(len(c.blocks_weights)))[:1]


@MISCONCEPTIONS.add(clause="blocks", step="block_order")
def last_block_skipped(c: Context) -> list[int]:
    """The last block is left out

    What it does:
        L - 1 blocks run.
    Why it is wrong:
        range(L) already stops before L, so block L - 1 is the last of L blocks and has to run too.
    How it looks:
        for b in range(len(blocks_weights) - 1):
            x = run_block(x, blocks_weights[b])
    What to write instead:
        for b in range(len(blocks_weights)):
            x = run_block(x, blocks_weights[b])
    """
    return list(range(len(c.blocks_weights) - 1))


@MISCONCEPTIONS.add(clause="blocks", step="block_order")
def blocks_run_twice(c: Context) -> list[int]:
    """Every block runs twice

    What it does:
        x passes through each block two times before it goes to the next.
    Why it is wrong:
        A block changes x each time it runs. Each of the L blocks runs once.
    How it looks:
        for weights in blocks_weights:
            x = run_block(x, weights)
            x = run_block(x, weights)
    What to write instead:
        for weights in blocks_weights:
            x = run_block(x, weights)
    """
    return [block for block in range(len(c.blocks_weights)) for _ in range(2)]


@MISCONCEPTIONS.add(clause="blocks", step="block_order")
def zero_blocks_crash(c: Context) -> list[int]:
    """blocks_weights[0] is looked at even when L is 0

    What it does:
        A size is read from the first block. With no blocks there is none, and an error follows.
    Why it is wrong:
        L may be 0. Take D from w_emb, which always has it, and a loop over no blocks does nothing.
    How it looks:
        D = blocks_weights[0].shape[-1]
    What to write instead:
        D = w_emb.shape[1]
    """
    return [0, *range(1, len(c.blocks_weights))]


# --- precision -------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="range")
def half_precision() -> dict[str, Callable[..., Any]]:
    """Everything is computed in 16 bits

    What it does:
        Weights and x are turned into float16 or bfloat16, and the answer is turned back at the end.
    Why it is wrong:
        Such numbers have two or three decimal digits, and float16 ends at 65504. Turning the answer into a
        wider type brings back nothing that was lost on the way.
    How it looks:
        x = w_emb.astype(np.float16)[ids] + pos_embed.astype(np.float16)
    What to write instead:
        x = w_emb[ids] + pos_embed  # float64; float32 is fine too
    """

    def working_dtype(dtype: DTypeLike) -> DTypeLike:
        return np.float16

    def finish_rows(c: Context, rows: Array) -> Array:
        return rows.astype(np.float64)

    return {"working_dtype": working_dtype, "finish_rows": finish_rows}


@MISCONCEPTIONS.add(clause="logits", step="finish_rows")
def answer_rounded(c: Context, rows: Array) -> Array:
    """The answer is rounded to four decimals

    What it does:
        All scores are rounded to four digits after the decimal point before they are returned.
    Why it is wrong:
        Scores are compared to about six significant digits. Round when you print, not what you return.
    How it looks:
        return np.round(logits, 4)
    What to write instead:
        return logits
    """
    return np.round(rows, 4)
