"""Residuals, normalization and the feed-forward part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Norm

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="attention_residual", step="add_attention")
def no_attention_residual(x: Array, attended: Array) -> Array:
    """The first residual is left out

    What it does:
        The attention's output alone is normalized.
    Why it is wrong:
        The block's input is added to it first.
    How it looks:
        x = self.attention_norm(self.attention(x))
    What to write instead:
        x = self.attention_norm(x + self.attention(x))
    """
    return attended


@MISCONCEPTIONS.add(clause="attention_residual")
def pre_norm() -> dict[str, Any]:
    """Normalized before instead of after

    What it does:
        The input of the attention and of the feed-forward part is normalized, and the residual is not.
    Why it is wrong:
        BERT is post-norm: the residual is added first, and then the sum is normalized.
    How it looks:
        x = x + self.attention(self.attention_norm(x))
    What to write instead:
        x = self.attention_norm(x + self.attention(x))
    """
    return {
        "attention_input": lambda x, norm: norm(x),
        "norm_attention": lambda x, norm: x,
        "feed_forward_input": lambda hidden, norm: norm(hidden),
        "norm_output": lambda x, norm: x,
    }


@MISCONCEPTIONS.add(clause="attention_residual", step="norm_attention")
def attention_not_normalized(x: Array, norm: Norm) -> Array:
    """The first residual is not normalized

    What it does:
        attention_norm is never used.
    Why it is wrong:
        Both residuals of the block are normalized.
    How it looks:
        x = x + self.attention(x)
    What to write instead:
        x = self.attention_norm(x + self.attention(x))
    """
    return x


@MISCONCEPTIONS.add(clause="attention_residual", stateful=True)
def norm_before_residual() -> dict[str, Any]:
    """The attention is normalized before it is added

    What it does:
        attention_norm is applied to the attention's output, then the input is added.
    Why it is wrong:
        The sum is what is normalized.
    How it looks:
        x = x + self.attention_norm(self.attention(x))
    What to write instead:
        x = self.attention_norm(x + self.attention(x))
    """
    kept: dict[str, Array] = {}

    def add_attention(x: Array, attended: Array) -> Array:
        kept["x"] = x
        return attended

    def norm_attention(x: Array, norm: Norm) -> Array:
        return kept["x"] + norm(x)

    return {"add_attention": add_attention, "norm_attention": norm_attention}


@MISCONCEPTIONS.add(clause="feed_forward", step="activate_inner")
def no_activation(x: Array, gelu: Norm) -> Array:
    """No activation in the feed-forward part

    What it does:
        down follows up directly.
    Why it is wrong:
        GELU comes between them.
    How it looks:
        self.down(self.up(x))
    What to write instead:
        self.down(F.gelu(self.up(x)))
    """
    return x


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def gelu_tanh(x: Array) -> Array:
    """The tanh approximation of GELU

    What it does:
        GELU is computed by tanh, as some later models do.
    Why it is wrong:
        Here it is the exact one, by the error function; they are up to 0.0005 apart.
    How it looks:
        nn.GELU("tanh")
    What to write instead:
        nn.GELU()
    """
    inner = math.sqrt(2 / math.pi) * (x + x.dtype.type(0.044715) * x**3)
    return x * (1 + np.tanh(inner)) / 2


@MISCONCEPTIONS.add(clause="gelu", step="gelu")
def relu(x: Array) -> Array:
    """ReLU in the place of GELU

    What it does:
        Negative numbers become 0.
    Why it is wrong:
        BERT uses GELU, which lets a little of small negative numbers through.
    How it looks:
        F.relu(self.up(x))
    What to write instead:
        F.gelu(self.up(x))
    """
    return np.maximum(x, 0)


@MISCONCEPTIONS.add(clause="output_residual", step="add_feed_forward")
def no_second_residual(hidden: Array, fed: Array) -> Array:
    """The second residual is left out

    What it does:
        The feed-forward output alone is normalized.
    Why it is wrong:
        Its input is added to it first.
    How it looks:
        return self.output_norm(self.down(F.gelu(self.up(x))))
    What to write instead:
        return self.output_norm(x + self.down(F.gelu(self.up(x))))
    """
    return fed


@MISCONCEPTIONS.add(clause="output_residual", step="norm_output")
def output_not_normalized(x: Array, norm: Norm) -> Array:
    """The second residual is not normalized

    What it does:
        output_norm is never used.
    Why it is wrong:
        Both residuals of the block are normalized.
    How it looks:
        return x + self.down(F.gelu(self.up(x)))
    What to write instead:
        return self.output_norm(x + self.down(F.gelu(self.up(x))))
    """
    return x


@MISCONCEPTIONS.add(clause="output_residual", stateful=True)
def residual_from_block_input() -> dict[str, Any]:
    """The second residual starts from the block's input

    What it does:
        The feed-forward output is added to what came into the block.
    Why it is wrong:
        It is added to the feed-forward part's own input, the first normalized residual.
    How it looks:
        h = self.attention_norm(x + self.attention(x))
        return self.output_norm(x + self.down(F.gelu(self.up(h))))
    What to write instead:
        return self.output_norm(h + self.down(F.gelu(self.up(h))))
    """
    kept: dict[str, Array] = {}

    def add_attention(x: Array, attended: Array) -> Array:
        kept["x"] = x
        return x + attended

    def add_feed_forward(hidden: Array, fed: Array) -> Array:
        return kept["x"] + fed

    return {"add_attention": add_attention, "add_feed_forward": add_feed_forward}
