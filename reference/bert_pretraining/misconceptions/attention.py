"""Heads, scores, softmax and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import HEADS, Array, Norm

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="heads")
def heads_interleaved() -> dict[str, Any]:
    """Heads take every second feature

    What it does:
        Head 0 gets the even features and head 1 the odd ones.
    Why it is wrong:
        Head 0 has features 0 to 3, head 1 features 4 to 7.
    How it looks:
        x.reshape(n, 6, 4, 2)
    What to write instead:
        x.reshape(n, 6, 2, 4)
    """
    return {
        "split_heads": lambda x: np.moveaxis(x.reshape(*x.shape[:-1], 4, HEADS), -1, -3),
        "merge_heads": lambda mixed: (lambda y: y.reshape(*y.shape[:-2], 8))(np.moveaxis(mixed, -3, -1)),
    }


@MISCONCEPTIONS.add(clause="heads")
def heads_cut_from_rows() -> dict[str, Any]:
    """Positions and heads are not swapped

    What it does:
        The array is reshaped to (N, 2, 6, 4) directly, which cuts it by positions.
    Why it is wrong:
        Reshaping to (N, 6, 2, 4) and then swapping two axes keeps each position's features.
    How it looks:
        x.view(n, 2, 6, 4)
    What to write instead:
        x.view(n, 6, 2, 4).transpose(1, 2)
    """
    return {
        "split_heads": lambda x: x.reshape(*x.shape[:-2], HEADS, 6, 4),
        "merge_heads": lambda mixed: mixed.reshape(*mixed.shape[:-3], 6, 8),
    }


@MISCONCEPTIONS.add(clause="heads", step="merge_heads")
def heads_merged_untransposed(mixed: Array) -> Array:
    """The axes are not swapped back

    What it does:
        The heads' results are reshaped from (N, 2, 6, 4) to (N, 6, 8) directly.
    Why it is wrong:
        Positions have to come before heads again, or features of several positions get mixed.
    How it looks:
        (w @ v).reshape(n, 6, 8)
    What to write instead:
        (w @ v).transpose(1, 2).reshape(n, 6, 8)
    """
    return mixed.reshape(*mixed.shape[:-3], 6, 8)


@MISCONCEPTIONS.add(clause="heads")
def one_head() -> dict[str, Any]:
    """One head of eight features

    What it does:
        Queries and keys are compared over all 8 features at once.
    Why it is wrong:
        There are two heads of 4 features, each with weights of its own.
    How it looks:
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1)
    What to write instead:
        split q, k and v into (N, 2, 6, 4) first
    """
    return {
        "split_heads": lambda x: x[..., None, :, :],
        "merge_heads": lambda mixed: mixed[..., 0, :, :],
        "scale_scores": lambda scores: scores / np.sqrt(scores.dtype.type(8)),
    }


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scores_not_scaled(scores: Array) -> Array:
    """Scores are not divided

    What it does:
        The products of queries and keys go into the softmax as they are.
    Why it is wrong:
        They are divided by 2, the root of a head's 4 features.
    How it looks:
        torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    What to write instead:
        torch.softmax(q @ k.transpose(-2, -1) / 2, dim=-1)
    """
    return scores


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_by_width(scores: Array) -> Array:
    """Scores are divided by the root of the model's width

    What it does:
        The divisor is sqrt(8).
    Why it is wrong:
        It is the root of a head's width, sqrt(4) = 2.
    How it looks:
        q @ k.transpose(-2, -1) / 8**0.5
    What to write instead:
        q @ k.transpose(-2, -1) / 4**0.5
    """
    return scores / np.sqrt(scores.dtype.type(8))


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_by_four(scores: Array) -> Array:
    """Scores are divided by the width of a head

    What it does:
        The divisor is 4.
    Why it is wrong:
        It is the root of a head's width, sqrt(4) = 2.
    How it looks:
        q @ k.transpose(-2, -1) / 4
    What to write instead:
        q @ k.transpose(-2, -1) / 2
    """
    return scores / 4


@MISCONCEPTIONS.add(clause="softmax")
def softmax_over_queries() -> dict[str, Any]:
    """The softmax runs over the queries

    What it does:
        The weights of a key add up to 1 over the queries.
    Why it is wrong:
        A query's weights over the keys add up to 1, along the last axis.
    How it looks:
        torch.softmax(scores, dim=-2)
    What to write instead:
        torch.softmax(scores, dim=-1)
    """
    return {
        "shift_scores": lambda scores: scores - scores.max(axis=-2, keepdims=True),
        "divide_by_sum": lambda powers: powers / powers.sum(axis=-2, keepdims=True),
    }


@MISCONCEPTIONS.add(clause="softmax")
def softmax_over_heads() -> dict[str, Any]:
    """The softmax runs over the heads

    What it does:
        The two heads' scores compete with each other.
    Why it is wrong:
        A query's weights over the keys add up to 1, along the last axis.
    How it looks:
        torch.softmax(scores, dim=1)
    What to write instead:
        torch.softmax(scores, dim=-1)
    """
    return {
        "shift_scores": lambda scores: scores - scores.max(axis=-3, keepdims=True),
        "divide_by_sum": lambda powers: powers / powers.sum(axis=-3, keepdims=True),
    }


@MISCONCEPTIONS.add(clause="softmax", step="shift_scores")
def scores_overflow(scores: Array) -> Array:
    """Large scores overflow

    What it does:
        The exponential is taken of the scores as they are.
    Why it is wrong:
        From 710 on it is infinite, and infinity by infinity is NaN.
    How it looks:
        e = torch.exp(scores); weights = e / e.sum(-1, keepdim=True)
    What to write instead:
        weights = torch.softmax(scores, dim=-1)
    """
    return scores


@MISCONCEPTIONS.add(clause="bidirectional", step="hide_keys")
def causal_mask(scores: Array, tokens: Array, segments: Array) -> Array:
    """A causal mask

    What it does:
        A position sees itself and what came before.
    Why it is wrong:
        BERT reads in both directions; a causal mask is for models that write.
    How it looks:
        scores.masked_fill(torch.triu(torch.ones(6, 6), 1).bool(), -torch.inf)
    What to write instead:
        leave the scores as they are
    """
    return np.where(np.tri(6, dtype=bool), scores, scores.dtype.type(-1e30))


@MISCONCEPTIONS.add(clause="bidirectional", step="hide_keys")
def padding_mask(scores: Array, tokens: Array, segments: Array) -> Array:
    """Token 0 is taken for padding

    What it does:
        Keys with token 0 get no weight.
    Why it is wrong:
        Token 0 is a token like any other; nothing is masked.
    How it looks:
        scores.masked_fill((tokens == 0)[:, None, None], -torch.inf)
    What to write instead:
        leave the scores as they are
    """
    return np.where((tokens == 0)[:, None, None, :], scores.dtype.type(-1e30), scores)


@MISCONCEPTIONS.add(clause="bidirectional", step="hide_keys")
def mask_token_hidden(scores: Array, tokens: Array, segments: Array) -> Array:
    """Masked tokens are hidden from attention

    What it does:
        Keys with token 3 get no weight.
    Why it is wrong:
        MASK says what is to be predicted; its position is attended to like all others.
    How it looks:
        scores.masked_fill((tokens == 3)[:, None, None], -torch.inf)
    What to write instead:
        leave the scores as they are
    """
    return np.where((tokens == 3)[:, None, None, :], scores.dtype.type(-1e30), scores)


@MISCONCEPTIONS.add(clause="bidirectional", step="hide_keys")
def segments_apart(scores: Array, tokens: Array, segments: Array) -> Array:
    """Segments do not see each other

    What it does:
        A query attends to keys of its own segment alone.
    Why it is wrong:
        Whether the second sentence follows the first shows only where they see each other.
    How it looks:
        scores.masked_fill(segments[:, None, :, None] != segments[:, None, None], -torch.inf)
    What to write instead:
        leave the scores as they are
    """
    same = segments[:, None, :, None] == segments[:, None, None, :]
    return np.where(same, scores, scores.dtype.type(-1e30))


@MISCONCEPTIONS.add(clause="linear", step="project_output")
def no_output_projection(merged: Array, linear: Norm) -> Array:
    """The output projection is left out

    What it does:
        The heads' results are added to the residual as they are.
    Why it is wrong:
        project mixes the heads before the residual.
    How it looks:
        return (w @ v).transpose(1, 2).reshape(n, 6, 8)
    What to write instead:
        return self.project((w @ v).transpose(1, 2).reshape(n, 6, 8))
    """
    return merged


@MISCONCEPTIONS.add(clause="linear", step="linear")
def weights_not_transposed(x: Array, weight: Array, bias: Array) -> Array:
    """Square matrices are not transposed

    What it does:
        The 8 by 8 weights are applied as x @ weight.
    Why it is wrong:
        A linear map is x times the transpose of its weight, plus its bias.
    How it looks:
        x @ self.query.weight + self.query.bias
    What to write instead:
        self.query(x)
    """
    if weight.shape[-1] != weight.shape[-2]:
        return np.einsum("...nti,...oi->...nto", x, weight) + bias
    return np.einsum("...nti,...io->...nto", x, weight) + bias
