"""Mistakes of the embeddings, of attention and of its padding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import HIDDEN, Array, Context

MISCONCEPTIONS = Misconceptions()
Changes = Mapping[str, Callable[..., Any]]


@MISCONCEPTIONS.add(clause="embedding", step="look_up_tokens")
def embedding_scaled(c: Context, token_ids: Array) -> Array:
    """Token embeddings are multiplied by sqrt(D)

    What it does:
        Each row of token_embed is scaled by the root of the model's width.
    Why it is wrong:
        Some transformers do that; here a token starts as its row as it is.
    How it looks:
        x = token_embed[token_ids] * np.sqrt(D)
    What to write instead:
        x = token_embed[token_ids]
    """
    table = c.weights["token_embed"]
    rows: Array = table[token_ids] * table.dtype.type(math.sqrt(table.shape[1]))
    return rows


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_missing(c: Context, tokens: Array) -> Array:
    """Position embeddings are not added

    What it does:
        x is made of token embeddings alone.
    Why it is wrong:
        Without positions the encoder cannot tell the order of the tokens.
    How it looks:
        x = token_embed[token_ids]
    What to write instead:
        x = token_embed[token_ids] + pos_embed[:T]
    """
    return tokens


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_by_real_tokens(c: Context, tokens: Array) -> Array:
    """Positions count real tokens only

    What it does:
        The first real token of an example gets row 0 of pos_embed, wherever it stands.
    Why it is wrong:
        Row t of pos_embed belongs to place t of the row, padding included.
    How it looks:
        x = x + pos_embed[np.cumsum(valid, axis=1) - 1]
    What to write instead:
        x = x + pos_embed[:T]
    """
    places = np.maximum(np.cumsum(c.valid, axis=1) - 1, 0)
    rows: Array = tokens + c.weights["pos_embed"][places]
    return rows


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def last_positions(c: Context, tokens: Array) -> Array:
    """The last T rows of pos_embed are taken

    What it does:
        Where pos_embed has more rows than there are positions, those at its end are added.
    Why it is wrong:
        Position 0 gets row 0; rows beyond T are not used.
    How it looks:
        x = x + pos_embed[-T:]
    What to write instead:
        x = x + pos_embed[:T]
    """
    return tokens + c.weights["pos_embed"][-tokens.shape[1] :]


@MISCONCEPTIONS.add(clause="projections")
def matrices_not_transposed() -> Changes:
    """The square matrices are not transposed

    What it does:
        Queries, keys, values and the output are x @ w.
    Why it is wrong:
        A row of a matrix belongs to one feature of the result, so x is multiplied by the transpose. As these
        matrices are square, both products have the same shape.
    How it looks:
        q = x @ w_q
    What to write instead:
        q = x @ w_q.T
    """

    def plain(c: Context, x: Array, w: Array) -> Array:
        return x @ w

    names = ("project_query", "project_key", "project_value", "project_output")
    return dict.fromkeys(names, plain)


@MISCONCEPTIONS.add(clause="projections", step="project_output")
def output_not_transposed(c: Context, merged: Array, w: Array) -> Array:
    """w_o is not transposed

    What it does:
        The merged heads are multiplied by w_o as it is.
    Why it is wrong:
        All matrices are applied in the same way: x times the transpose.
    How it looks:
        attended = merged @ w_o
    What to write instead:
        attended = merged @ w_o.T
    """
    return merged @ w


@MISCONCEPTIONS.add(clause="projections", step="project_output")
def output_missing(c: Context, merged: Array, w: Array) -> Array:
    """w_o is left out

    What it does:
        The merged heads are added to x as they are.
    Why it is wrong:
        Attention ends with a matrix that mixes what the heads found.
    How it looks:
        x = x + merged
    What to write instead:
        x = x + merged @ w_o.T
    """
    return merged


@MISCONCEPTIONS.add(clause="heads")
def heads_interleaved() -> Changes:
    """Features are dealt out to the heads in turn

    What it does:
        Head 0 gets the features 0, H, 2H and so on instead of a run of neighbours.
    Why it is wrong:
        A head works with D / num_heads consecutive features.
    How it looks:
        q = q.reshape(N, T, d_head, num_heads).transpose(0, 3, 1, 2)
    What to write instead:
        q = q.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
    """

    def split(c: Context, x: Array) -> Array:
        n, t, width = x.shape
        return x.reshape(n, t, width // c.num_heads, c.num_heads).transpose(0, 3, 1, 2)

    def merge(c: Context, x: Array) -> Array:
        n, heads, t, width = x.shape
        return x.transpose(0, 2, 3, 1).reshape(n, t, heads * width)

    return {"split_heads": split, "merge_heads": merge}


@MISCONCEPTIONS.add(clause="heads", step="split_heads")
def heads_by_reshape_alone(c: Context, x: Array) -> Array:
    """Heads are made by a reshape without a transposition

    What it does:
        (N, T, D) is reshaped to (N, num_heads, T, d_head) at once, which mixes positions and features.
    Why it is wrong:
        reshape keeps the order in memory. First split the features, then move the axis of the heads forward.
    How it looks:
        q = q.reshape(N, num_heads, T, d_head)
    What to write instead:
        q = q.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
    """
    n, t, width = x.shape
    return x.reshape(n, c.num_heads, t, width // c.num_heads)


@MISCONCEPTIONS.add(clause="heads", step="merge_heads")
def heads_merged_without_transposing(c: Context, x: Array) -> Array:
    """Heads are merged by a reshape without a transposition

    What it does:
        (N, num_heads, T, d_head) is reshaped to (N, T, D) at once, which mixes positions and heads.
    Why it is wrong:
        reshape keeps the order in memory. Move the axis of the heads back first.
    How it looks:
        merged = mixed.reshape(N, T, D)
    What to write instead:
        merged = mixed.transpose(0, 2, 1, 3).reshape(N, T, D)
    """
    n, heads, t, width = x.shape
    return x.reshape(n, t, heads * width)


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scores_by_model_width(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are divided by sqrt(D)

    What it does:
        The divisor is the root of the model's width, whatever the number of heads.
    Why it is wrong:
        A score is a sum over the d_head features of one head, so the divisor is the root of d_head.
    How it looks:
        scores = q @ k.T / np.sqrt(D)
    What to write instead:
        scores = q @ k.T / np.sqrt(D // num_heads)
    """
    return scores / math.sqrt(d_head * c.num_heads)


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scores_not_scaled(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are not scaled

    What it does:
        The dot products go into the softmax as they are.
    Why it is wrong:
        They grow with the width of a head, and the softmax gets too sharp.
    How it looks:
        scores = q @ k.T
    What to write instead:
        scores = q @ k.T / np.sqrt(d_head)
    """
    return scores


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scores_divided_by_width(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are divided by d_head, not by its root

    What it does:
        The divisor is the width of a head itself.
    Why it is wrong:
        A sum of d_head products has a spread of sqrt(d_head); that is what is divided by.
    How it looks:
        scores = q @ k.T / d_head
    What to write instead:
        scores = q @ k.T / np.sqrt(d_head)
    """
    return scores / d_head


@MISCONCEPTIONS.add(clause="softmax", step="normalize_rows")
def softmax_over_queries(c: Context, shifted: Array) -> Array:
    """The softmax runs over the queries

    What it does:
        The weights of one key over all queries add up to 1.
    Why it is wrong:
        It is the query that shares out its attention: its weights over the keys, the last axis, add up to 1.
    How it looks:
        w = e / e.sum(axis=-2, keepdims=True)
    What to write instead:
        w = e / e.sum(axis=-1, keepdims=True)
    """
    powers = np.exp(shifted)
    return powers / powers.sum(axis=-2, keepdims=True)


@MISCONCEPTIONS.add(clause="softmax")
def hidden_weights_not_renormalized() -> Changes:
    """Padding still counts in the softmax's sum

    What it does:
        The softmax is taken over all keys, and the weights at padding are set to zero afterwards, so that
        the others add up to less than 1.
    Why it is wrong:
        The weights of the real keys add up to 1. Hide padding before the sum is taken.
    How it looks:
        w = softmax(scores) * valid[:, None, None, :]
    What to write instead:
        w = softmax(np.where(valid[:, None, None, :], scores, -1e30))
    """

    def softmax(c: Context, shifted: Array) -> Array:
        powers = np.exp(shifted)
        return powers / powers.sum(axis=-1, keepdims=True) * c.valid[:, None, None, :]

    return {"hide_padding": lambda c, scores: scores, "normalize_rows": softmax}


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def padding_not_hidden(c: Context, scores: Array) -> Array:
    """Padding is attended to

    What it does:
        valid is not used in the attention, and every key counts.
    Why it is wrong:
        What stands at padding is no part of the sequence and must not change its hidden states.
    How it looks:
        w = softmax(scores)
    What to write instead:
        w = softmax(np.where(valid[:, None, None, :], scores, -1e30))
    """
    return scores


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def queries_hidden(c: Context, scores: Array) -> Array:
    """The mask is laid over the queries

    What it does:
        Rows of scores at padding are hidden, and real queries still attend to keys at padding.
    Why it is wrong:
        The keys are what has to be hidden, along the last axis; what a query at padding does matters to
        nobody.
    How it looks:
        scores = np.where(valid[:, None, :, None], scores, -1e30)
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    return np.where(c.valid[:, None, :, None], scores, scores.dtype.type(HIDDEN))


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def mask_multiplied(c: Context, scores: Array) -> Array:
    """Scores at padding are multiplied by 0

    What it does:
        Scores are multiplied by the mask before the softmax, so that padding gets the score 0.
    Why it is wrong:
        exp(0) is 1: such a key has a weight like any other. A score far below the others has none.
    How it looks:
        w = softmax(scores * valid[:, None, None, :])
    What to write instead:
        w = softmax(np.where(valid[:, None, None, :], scores, -1e30))
    """
    return scores * c.valid[:, None, None, :]


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def mask_inverted(c: Context, scores: Array) -> Array:
    """The real keys are hidden instead of the padding

    What it does:
        True in valid is taken for "to be hidden", as some libraries have it.
    Why it is wrong:
        valid is True at real positions. They are what is attended to.
    How it looks:
        scores = np.where(valid[:, None, None, :], -1e30, scores)
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    return np.where(c.valid[:, None, None, :], scores.dtype.type(HIDDEN), scores)


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def padding_counted_at_the_end(c: Context, scores: Array) -> Array:
    """Padding is taken to be at the end

    What it does:
        The real positions are counted, and the first that many keys are attended to.
    Why it is wrong:
        Padding may stand in front or in between. valid says of every position what it is.
    How it looks:
        keep = np.arange(T) < valid.sum(axis=1)[:, None]
    What to write instead:
        keep = valid
    """
    keep = np.arange(c.valid.shape[1]) < c.valid.sum(axis=1)[:, None]
    return np.where(keep[:, None, None, :], scores, scores.dtype.type(HIDDEN))


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def first_mask_for_all(c: Context, scores: Array) -> Array:
    """The padding of the first example is hidden in all

    What it does:
        One row of valid is used for the whole batch.
    Why it is wrong:
        Every example is padded by itself.
    How it looks:
        scores = np.where(valid[0], scores, -1e30)
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    return np.where(c.valid[0], scores, scores.dtype.type(HIDDEN))


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def weak_mask(c: Context, scores: Array) -> Array:
    """Too little is taken off the scores at padding

    What it does:
        100 is subtracted from the scores of hidden keys.
    Why it is wrong:
        A score may be larger than that, and then padding gets weight after all. Take a number beyond any
        score, such as 1e30, or take the weights away.
    How it looks:
        scores = scores - 100 * ~valid[:, None, None, :]
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    return np.where(c.valid[:, None, None, :], scores, scores - scores.dtype.type(100))


@MISCONCEPTIONS.add(clause="padding", step="hide_padding")
def weak_score(c: Context, scores: Array) -> Array:
    """The score at padding is not low enough

    What it does:
        Hidden keys get the score -100, whatever the others have.
    Why it is wrong:
        Where the scores of real positions are lower still, padding gets all the weight. Take a number below
        any score, such as -1e30, or take the weights away.
    How it looks:
        scores = np.where(valid[:, None, None, :], scores, -100)
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    return np.where(c.valid[:, None, None, :], scores, scores.dtype.type(-100))


@MISCONCEPTIONS.add(clause="all_padding", step="hide_padding")
def minus_infinity(c: Context, scores: Array) -> Array:
    """An example of padding alone becomes NaN

    What it does:
        The scores of hidden keys are minus infinity. Where all keys are hidden, the largest score is minus
        infinity as well, and -inf - (-inf) is NaN.
    Why it is wrong:
        An example without a real position is legal, and its rows must be numbers. A large finite number
        hides as well.
    How it looks:
        scores = np.where(valid[:, None, None, :], scores, -np.inf)
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    return np.where(c.valid[:, None, None, :], scores, scores.dtype.type(-np.inf))


@MISCONCEPTIONS.add(clause="context", step="hide_padding")
def causal_mask(c: Context, scores: Array) -> Array:
    """Later positions are hidden

    What it does:
        Beside padding, every query sees only the keys up to its own position.
    Why it is wrong:
        That is what a model does that writes from left to right. An encoder reads both ways.
    How it looks:
        scores = np.where(np.tril(np.ones((T, T), bool)), scores, -1e30)
    What to write instead:
        scores = np.where(valid[:, None, None, :], scores, -1e30)
    """
    length = scores.shape[-1]
    seen = c.valid[:, None, None, :] & np.tril(np.ones((length, length), bool))
    return np.where(seen, scores, scores.dtype.type(HIDDEN))


@MISCONCEPTIONS.add(clause="range", step="shift_scores")
def scores_not_shifted(c: Context, scores: Array) -> Array:
    """The largest score is not subtracted

    What it does:
        The exponential is taken of the scores as they are.
    Why it is wrong:
        Beyond 709 it is infinite, and infinity over infinity is NaN.
    How it looks:
        e = np.exp(scores)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    """
    # Without the shift a hidden key of an example of padding alone has the exponential 0, and the sum is 0.
    return scores


@MISCONCEPTIONS.add(clause="range", step="shift_scores")
def scores_clipped(c: Context, scores: Array) -> Array:
    """Scores are cut off so that their exponentials are finite

    What it does:
        All scores beyond 500 count as 500, and those below -500 as -500.
    Why it is wrong:
        Scores of 2000 and 2005 become alike, though the first has less than a hundredth of the weight.
    How it looks:
        e = np.exp(np.clip(scores, -500, 500))
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    """
    return np.clip(scores, -80, 80) if scores.dtype == np.float32 else np.clip(scores, -500, 500)


@MISCONCEPTIONS.add(clause="inputs", step="look_up_tokens")
def padding_ids_overwritten(c: Context, token_ids: Array) -> Array:
    """Ids at padding are overwritten

    What it does:
        token_ids is set to 0 at padding, in the caller's own array.
    Why it is wrong:
        The caller still needs its ids. What stands at padding does not matter anyway.
    How it looks:
        token_ids[~valid] = 0
    What to write instead:
        token_ids = np.where(valid, token_ids, 0)
    """
    token_ids[~c.valid] = 0
    rows: Array = c.weights["token_embed"][token_ids]
    return rows
