"""Scores, softmax and masks; who attends to whom."""

from __future__ import annotations

import math

import numpy as np

from grader.exercise.misconceptions import Function, Misconceptions

from ..steps import Array, Context

MISCONCEPTIONS = Misconceptions()


def _unchanged(c: Context, x: Array) -> Array:
    """What comes in."""
    return x


def _softmax_over(axis: int | tuple[int, ...]) -> dict[str, Function]:
    """Maximum and sum of the softmax along other axes of (N, H, T, T)."""

    def shift_scores(c: Context, scores: Array) -> Array:
        return scores - scores.max(axis=axis, keepdims=True)

    def normalize_row(c: Context, weights: Array) -> Array:
        return weights / weights.sum(axis=axis, keepdims=True)

    return {"shift_scores": shift_scores, "normalize_row": normalize_row}


def _hide(scores: Array, hidden: Array, score: float) -> Array:
    """(N, H, T, T): ``score`` in the hidden places."""
    return np.where(hidden, scores.dtype.type(score), scores)


def _offsets(scores: Array) -> Array:
    """(T, T): key position less query position."""
    t = np.arange(scores.shape[-1])
    return t - t[:, None]


def _by_key(scores: Array, x: Array) -> Array:
    """(N, T) to (N, 1, 1, T): a value for each key, also where the examples form one sequence."""
    return x.reshape(len(scores), 1, 1, -1)


# --- scores ---------------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scores_not_scaled(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are not divided

    What it does:
        The products of queries and keys go into the softmax as they are.
    Why it is wrong:
        A product of two rows with d_head features grows with d_head. Dividing by sqrt(d_head) makes up for
        that; without it, the weights of a row lean too much towards its largest score.
    How it looks:
        scores = q @ k.swapaxes(-1, -2)
    What to write instead:
        d_head = D // num_heads
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    """
    return scores


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_by_model_width(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are divided by sqrt(D) instead of sqrt(d_head)

    What it does:
        The root is taken of all D features, although each head multiplies rows of only D / num_heads.
    Why it is wrong:
        With more than one head the scores come out too small and the weights too even. With one head you
        don't notice, since then d_head is D.
    How it looks:
        N, T, D = x.shape
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(D)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(D // num_heads)
    """
    return scores / math.sqrt(c.w_emb.shape[1])


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_by_head_width(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are divided by d_head, without the root

    What it does:
        The scores end up divided by d_head. Dividing by sqrt(d_head) in two places, say in the queries and
        once more in the scores, comes to the same.
    Why it is wrong:
        The divisor is sqrt(d_head). Unless d_head is 1, your scores are too small by that factor and the
        weights too even.
    How it looks:
        scores = q @ k.swapaxes(-1, -2) / d_head
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)   # once, and nowhere else
    """
    return scores / d_head


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_by_number_of_heads(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are divided by sqrt(num_heads)

    What it does:
        The divisor comes from how many heads there are, not from how many features a head has.
    Why it is wrong:
        The divisor is there because the products of rows with d_head = D / num_heads features grow with
        d_head. The two agree only when num_heads happens to equal d_head.
    How it looks:
        scores = q @ k.transpose(-2, -1) / math.sqrt(num_heads)
    What to write instead:
        scores = q @ k.transpose(-2, -1) / math.sqrt(D // num_heads)
    """
    return scores / math.sqrt(c.num_heads)


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_by_sequence_length(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are divided by sqrt(T)

    What it does:
        The root is taken of the number of positions, often because the size was read from the wrong axis.
    Why it is wrong:
        Each score is a sum over d_head features, however many positions there are. Take that size from the
        last axis of q, of shape (N, num_heads, T, d_head).
    How it looks:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-2])
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])   # k: (N, num_heads, T, d_head)
    """
    return scores / math.sqrt(scores.shape[-1])


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scaled_twice(c: Context, scores: Array, d_head: int) -> Array:
    """Queries, keys and scores are all scaled

    What it does:
        The scores end up divided by d_head ** 1.5, for instance because q, k and their product are each
        divided by sqrt(d_head).
    Why it is wrong:
        One division by sqrt(d_head) is asked for. Three of them make the scores too small by a factor of
        d_head and the weights nearly even.
    How it looks:
        q, k = q / np.sqrt(d_head), k / np.sqrt(d_head)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)   # q and k as projected
    """
    return scores / (d_head * math.sqrt(d_head))


@MISCONCEPTIONS.add(clause="scores", step="scale_scores")
def scores_multiplied(c: Context, scores: Array, d_head: int) -> Array:
    """Scores are multiplied by sqrt(d_head)

    What it does:
        The products of queries and keys grow by sqrt(d_head) where they should shrink by it.
    Why it is wrong:
        The scores are too large by a factor of d_head, so that nearly all weight of a row goes to one key.
    How it looks:
        scores = q @ k.swapaxes(-1, -2) * d_head ** 0.5
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) * d_head ** -0.5
    """
    return scores * math.sqrt(d_head)


@MISCONCEPTIONS.add(clause="scores", step="dot_products")
def scores_of_unit_vectors(c: Context, query: Array, key: Array) -> Array:
    """Queries and keys are brought to length 1

    What it does:
        Each query and each key of a head is divided by its Euclidean length before they are multiplied. The
        scores are cosines between them.
    Why it is wrong:
        The lengths count: a long query attends more sharply, a long key draws more attention. Cosines lie
        between -1 and 1, whatever the weights.
    How it looks:
        q = q / np.linalg.norm(q, axis=-1, keepdims=True)
        k = k / np.linalg.norm(k, axis=-1, keepdims=True)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)   # q and k at their own length
    """
    query, key = (a / np.maximum(np.linalg.norm(a, axis=-1, keepdims=True), 1e-12) for a in (query, key))
    return query @ key.swapaxes(-1, -2)


@MISCONCEPTIONS.add(clause="scores", step="dot_products")
def scores_by_distance(c: Context, query: Array, key: Array) -> Array:
    """Scores are distances instead of products

    What it does:
        A key's score is minus its Euclidean distance from the query: the nearest key scores highest.
    Why it is wrong:
        The score is the dot product of query and key. A long key in the query's direction scores high in it,
        however far off it lies.
    How it looks:
        scores = -np.linalg.norm(q[..., :, None, :] - k[..., None, :, :], axis=-1) / np.sqrt(d_head)
    What to write instead:
        scores = np.sum(q[..., :, None, :] * k[..., None, :, :], axis=-1) / np.sqrt(d_head)
        or, the same: scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    """
    return -np.linalg.norm(query[..., :, None, :] - key[..., None, :, :], axis=-1)


@MISCONCEPTIONS.add(clause="range", step="restrict_scores")
def scores_clipped(c: Context, scores: Array) -> Array:
    """Scores are clipped to -50 and 50

    What it does:
        Scores beyond 50 or -50 are cut down to those limits before the softmax.
    Why it is wrong:
        Large scores are legal, and their differences decide the weights: 60 and 80 become equal. Subtracting
        the row's maximum is all that `exp` needs.
    How it looks:
        scores = np.clip(scores, -50, 50)
        e = np.exp(scores)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    """
    return np.clip(scores, -50.0, 50.0)


# --- softmax --------------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="softmax")
def softmax_over_queries() -> dict[str, Function]:
    """Softmax over the queries: columns add up to 1

    What it does:
        The softmax runs along the second to last axis of the scores (N, num_heads, T, T), so that each key's
        column adds up to 1.
    Why it is wrong:
        A row belongs to one query, which has to share out weights that add up to 1 over all keys. The keys
        are on the last axis.
    How it looks:
        e = np.exp(scores - scores.max(axis=-2, keepdims=True))
        p = e / e.sum(axis=-2, keepdims=True)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return _softmax_over(-2)


@MISCONCEPTIONS.add(clause="softmax")
def softmax_over_heads() -> dict[str, Function]:
    """Softmax over the heads

    What it does:
        The softmax runs along axis 1 of the scores (N, num_heads, T, T): for each query and key, the weights
        of all heads add up to 1.
    Why it is wrong:
        Heads work on their own. Within each, a query's weights add up to 1 over the keys, on the last axis.
        With one head, your weights are all 1.
    How it looks:
        p = my_softmax(scores, dim=1)   # right for a 2-D matrix of scores, not for (N, num_heads, T, T)
    What to write instead:
        p = my_softmax(scores, dim=-1)
    """
    return _softmax_over(1)


@MISCONCEPTIONS.add(clause="softmax")
def softmax_over_examples() -> dict[str, Function]:
    """Softmax over the examples of the batch

    What it does:
        The softmax runs along axis 0 of the scores (N, num_heads, T, T): for each query and key, the weights
        of all examples add up to 1.
    Why it is wrong:
        A query's weights add up to 1 over the keys of its own example, on the last axis. Here the answer for
        an example changes with its neighbours in the batch.
    How it looks:
        e = np.exp(scores - scores.max(axis=0))
        p = e / e.sum(axis=0)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return _softmax_over(0)


@MISCONCEPTIONS.add(clause="softmax")
def softmax_over_matrix() -> dict[str, Function]:
    """One softmax over each whole T x T matrix

    What it does:
        All T * T weights of a head add up to 1 together, so a row's weights add up to 1/T on average.
    Why it is wrong:
        Every query shares out weights that add up to 1. With one sum for all, queries with small scores get
        next to nothing and every result is too small.
    How it looks:
        e = np.exp(s - s.max())   # s: the (T, T) scores of one head
        p = e / e.sum()
    What to write instead:
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return _softmax_over((-2, -1))


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def softmax_sum_over_queries(c: Context, weights: Array) -> Array:
    """Exponentials are divided by the sums of columns

    What it does:
        The maximum comes from each row, over the keys, but the sum runs down each column, over the queries.
    Why it is wrong:
        A row's weights don't add up to 1. Maximum and sum both go over the keys, the last axis of the T x T
        scores, and both keep that axis so that they line up with the rows.
    How it looks:
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-2, keepdims=True)
    What to write instead:
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return weights / weights.sum(axis=-2, keepdims=True)


@MISCONCEPTIONS.add(clause="softmax")
def softmax_missing() -> dict[str, Function]:
    """Scores are used as weights, without a softmax

    What it does:
        The values are summed with the scaled scores themselves as their weights.
    Why it is wrong:
        Each row of scores has to become weights that are positive and add up to 1. Scores are neither: they
        may be negative and of any size.
    How it looks:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        heads = scores @ v
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads = e / e.sum(axis=-1, keepdims=True) @ v
    """
    return {"shift_scores": _unchanged, "exponentiate": _unchanged, "normalize_row": _unchanged}


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def softmax_not_normalized(c: Context, weights: Array) -> Array:
    """Exponentials are not divided by their sum

    What it does:
        `exp(row - max(row))` is used as it is: the largest weight of each row is 1, and the sum is anything
        from 1 to T.
    Why it is wrong:
        Weights add up to 1 over the keys. Yours add up to more, differently so in every row, and the weighted
        sum of the values grows with them.
    How it looks:
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return weights


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def softmax_squared(c: Context, weights: Array) -> Array:
    """The softmax is applied twice

    What it does:
        The weights that come out of the softmax go through a second one.
    Why it is wrong:
        Weights lie between 0 and 1, so the second softmax finds them all much alike and makes them nearly
        even. A single one turns scores into weights.
    How it looks:
        p = my_softmax(my_softmax(scores))
        or once in a function that makes the scores and once more where they are used
    What to write instead:
        p = my_softmax(scores)
    """
    p = weights / weights.sum(axis=-1, keepdims=True)
    e = np.exp(p - p.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="softmax", step="exponentiate")
def softmax_base_two(c: Context, shifted: Array) -> Array:
    """The softmax takes powers of 2 instead of e

    What it does:
        Each weight is a power of 2 over the row's sum of such powers.
    Why it is wrong:
        The formula says `exp`, powers of e = 2.718... With 2 as the base, differences between scores count
        for less and the weights are too even.
    How it looks:
        e = 2.0 ** (scores - scores.max(axis=-1, keepdims=True))
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    """
    return np.exp2(shifted)


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def softmax_plus_one(c: Context, weights: Array) -> Array:
    """The softmax divides by 1 plus the sum

    What it does:
        The exponentials of a row are divided by 1 + their sum, so the weights add up to less than 1.
    Why it is wrong:
        Nothing has to keep the divisor from 0: after the row's maximum is subtracted, the sum is at least 1.
        What you add takes weight away from every key.
    How it looks:
        p = e / (1 + e.sum(axis=-1, keepdims=True))
    What to write instead:
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return weights / (1.0 + weights.sum(axis=-1, keepdims=True))


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def softmax_by_length(c: Context, weights: Array) -> Array:
    """Exponentials are divided by their Euclidean length

    What it does:
        Each row of exponentials is divided by the root of its sum of squares: the squares of the weights add
        up to 1, not the weights.
    Why it is wrong:
        The weights of a row are shares, which add up to 1 over the keys. Divide by the plain sum.
    How it looks:
        p = e / np.linalg.norm(e, axis=-1, keepdims=True)
    What to write instead:
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return weights / np.sqrt(np.square(weights).sum(axis=-1, keepdims=True))


@MISCONCEPTIONS.add(clause="softmax")
def scores_normalized_without_exp() -> dict[str, Function]:
    """Scores are divided by their sum, without exp

    What it does:
        Each row of scores is divided by its own sum to make weights.
    Why it is wrong:
        Scores may be negative and their sum may be close to 0, so such weights can be negative or huge. `exp`
        makes all of them positive first.
    How it looks:
        p = scores / scores.sum(axis=-1, keepdims=True)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return {"shift_scores": _unchanged, "exponentiate": _unchanged}


@MISCONCEPTIONS.add(clause="softmax")
def sigmoid_attention() -> dict[str, Function]:
    """A sigmoid stands where the softmax should

    What it does:
        Each score becomes a weight between 0 and 1 on its own, by 1 / (1 + exp(-score)).
    Why it is wrong:
        The weights of a query have to add up to 1 over the keys, so each depends on the whole row. Equal
        scores of 0, for instance, get 1/T each, not 1/2.
    How it looks:
        p = 1 / (1 + np.exp(-scores))
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """

    def exponentiate(c: Context, shifted: Array) -> Array:
        return 1.0 / (1.0 + np.exp(-shifted))

    return {"shift_scores": _unchanged, "exponentiate": exponentiate, "normalize_row": _unchanged}


@MISCONCEPTIONS.add(clause="softmax")
def relu_attention() -> dict[str, Function]:
    """Negative scores count as 0, the others by their share

    What it does:
        Scores below 0 become 0, and each row is divided by its sum. No exponential is taken.
    Why it is wrong:
        Every key gets some weight, however low its score, and a weight grows with the exponential of the
        score. A row without positive scores gets no attention at all in your version.
    How it looks:
        e = np.maximum(scores, 0)
        p = e / (e.sum(axis=-1, keepdims=True) + 1e-9)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """

    def exponentiate(c: Context, shifted: Array) -> Array:
        return np.maximum(shifted, 0.0)

    def normalize_row(c: Context, weights: Array) -> Array:
        return weights / (weights.sum(axis=-1, keepdims=True) + 1e-9)

    return {"shift_scores": _unchanged, "exponentiate": exponentiate, "normalize_row": normalize_row}


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def hard_attention(c: Context, weights: Array) -> Array:
    """Only the key with the largest score counts

    What it does:
        Every query takes the value of the one key that scores highest, and nothing from the others.
    Why it is wrong:
        Attention is a weighted sum of all values. Keys with slightly lower scores have slightly lower
        weights, not 0.
    How it looks:
        p = np.eye(T)[scores.argmax(axis=-1)]
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    best = weights.argmax(axis=-1)[..., None]
    return (np.arange(weights.shape[-1]) == best).astype(weights.dtype)


@MISCONCEPTIONS.add(clause="range", step="shift_scores")
def softmax_no_row_maximum(c: Context, scores: Array) -> Array:
    """The row's maximum is not subtracted before exp

    What it does:
        The exponential is taken of the scores as they are.
    Why it is wrong:
        `exp` overflows beyond 709 in float64 and beyond 88 in float32, and inf / inf is NaN; a row of scores
        far below 0 gives 0 / 0. Subtracting the row's largest score leaves the weights as they are and
        prevents both.
    How it looks:
        e = np.exp(scores)
        p = e / e.sum(axis=-1, keepdims=True)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return scores


@MISCONCEPTIONS.add(clause="range", step="shift_scores")
def softmax_global_maximum(c: Context, scores: Array) -> Array:
    """One maximum is subtracted from all scores

    What it does:
        The largest of all N * num_heads * T * T scores is subtracted everywhere.
    Why it is wrong:
        In a row whose scores all lie far below that number, by 746 in float64 or 104 in float32, every
        exponential is 0, and 0 / 0 gives NaN. Each row needs its own largest score.
    How it looks:
        e = np.exp(scores - np.max(scores))
    What to write instead:
        e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    """
    return scores - scores.max()


@MISCONCEPTIONS.add(clause="range", step="shift_scores")
def softmax_matrix_maximum(c: Context, scores: Array) -> Array:
    """One maximum is subtracted per T x T matrix

    What it does:
        For each example and head, the largest of its T * T scores is subtracted from all of them.
    Why it is wrong:
        Rows differ in size. Where all scores of a row lie far below the largest of the matrix, every
        exponential is 0, and 0 / 0 gives NaN.
    How it looks:
        s = q[n, h] @ k[n, h].T / np.sqrt(d_head)
        e = np.exp(s - s.max())
    What to write instead:
        e = np.exp(s - s.max(axis=-1, keepdims=True))
    """
    return scores - scores.max(axis=(-2, -1), keepdims=True)


@MISCONCEPTIONS.add(clause="softmax", step="shift_scores")
def softmax_column_maximum(c: Context, scores: Array) -> Array:
    """The maximum of the column is subtracted, not of the row

    What it does:
        Each column of scores, one key, loses its largest number, whereas the sum afterwards goes along the
        row.
    Why it is wrong:
        A row keeps its weights only if the same number is subtracted from all its scores. Here each key of
        the row loses another one.
    How it looks:
        e = np.exp(scores - scores.max(axis=-2, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return scores - scores.max(axis=-2, keepdims=True)


@MISCONCEPTIONS.add(clause="range", step="shift_scores")
def softmax_mean_subtracted(c: Context, scores: Array) -> Array:
    """The row's mean is subtracted before exp

    What it does:
        Each row of scores loses its mean over the keys instead of its maximum.
    Why it is wrong:
        Scores far above the mean are still there, `exp` overflows on them and inf / inf gives NaN. Only after
        the maximum is subtracted is no number above 0.
    How it looks:
        e = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    """
    return scores - scores.mean(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="softmax", step="normalize_row")
def even_attention(c: Context, weights: Array) -> Array:
    """Every key gets the same weight

    What it does:
        Each position gets the plain mean of the values of its example; queries and keys have no influence.
    Why it is wrong:
        The weight of a key depends on its score: p = exp(score) over the row's sum. An even 1/T comes out
        only where a row's scores are all equal.
    How it looks:
        p = np.full((N, num_heads, T, T), 1 / T)
        or, the same: heads = np.repeat(v.mean(axis=-2, keepdims=True), T, axis=-2)
    What to write instead:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
    """
    return np.full_like(weights, 1.0 / weights.shape[-1])


# --- who sees whom --------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def causal_mask(c: Context, scores: Array) -> Array:
    """Later positions are hidden

    What it does:
        Position i attends to itself and to positions before it; keys j > i get no weight.
    Why it is wrong:
        Models that write text word by word need that. A masked language model looks in both directions: every
        position attends to all T.
    How it looks:
        scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        and straight into the softmax, with no mask in between
    """
    return _hide(scores, _offsets(scores) > 0, -np.inf)


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def anti_causal_mask(c: Context, scores: Array) -> Array:
    """Earlier positions are hidden

    What it does:
        Position i attends to itself and to positions after it; keys j < i get no weight. It is a causal mask
        turned the wrong way.
    Why it is wrong:
        No mask belongs here, in either direction: every position attends to all T of its example.
    How it looks:
        hidden = np.tril(np.ones((T, T), bool), -1)
        scores[:, :, hidden] = -np.inf
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        and straight into the softmax; every key counts
    """
    return _hide(scores, _offsets(scores) < 0, -np.inf)


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def strictly_causal_mask(c: Context, scores: Array) -> Array:
    """Later positions and the position itself are hidden

    What it does:
        Position i attends only to positions before it: keys j >= i get a score of -1e9. Position 0 has none
        left, so all its scores are equal and it attends evenly to everything.
    Why it is wrong:
        Every position attends to all T positions, itself included, and no mask is needed.
    How it looks:
        mask = torch.tril(torch.ones(T, T), diagonal=-1)
        scores = scores.masked_fill(mask == 0, -1e9)
    What to write instead:
        scores = q @ k.transpose(-2, -1) / d_head ** 0.5
        and straight into the softmax; every key counts
    """
    return _hide(scores, _offsets(scores) >= 0, -1e9)


@MISCONCEPTIONS.add(clause="bidirectional", step="normalize_row")
def causal_mask_after_softmax(c: Context, weights: Array) -> Array:
    """Weights of later positions are set to 0 after the softmax

    What it does:
        The softmax runs over all keys, then the weights of keys j > i become 0. What is left of a row adds up
        to less than 1.
    Why it is wrong:
        Later positions count like all the others: attention looks to both sides, and a row's weights add up
        to 1.
    How it looks:
        p = e / e.sum(axis=-1, keepdims=True)
        p = np.tril(p)
    What to write instead:
        p = e / e.sum(axis=-1, keepdims=True)
        and use p as it is
    """
    return np.tril(weights / weights.sum(axis=-1, keepdims=True))


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def self_hidden(c: Context, scores: Array) -> Array:
    """A position does not attend to itself

    What it does:
        The diagonal of each T x T matrix of scores is set to a very low number such as -1e9, so that a
        position sees all others but not itself.
    Why it is wrong:
        Every position attends to every position of its example, itself included. Nothing has to be hidden
        from it, since the tokens are given as they are.
    How it looks:
        scores[..., np.arange(T), np.arange(T)] = -1e9
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        and leave the diagonal as it is
    """
    return _hide(scores, _offsets(scores) == 0, -1e9)


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def only_self(c: Context, scores: Array) -> Array:
    """Every position attends to itself alone

    What it does:
        Each position takes its own value with weight 1, and positions don't exchange anything.
    Why it is wrong:
        A query meets every key of its example: the scores of a head are a T x T matrix, and the softmax
        shares a row out over T keys.
    How it looks:
        scores = np.sum(q * k, axis=-1, keepdims=True)   # (N, num_heads, T, 1)
        heads = my_softmax(scores) * v   # the softmax of a single score is 1
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)   # (N, num_heads, T, T)
    """
    return _hide(scores, _offsets(scores) != 0, -np.inf)


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def local_window(c: Context, scores: Array) -> Array:
    """Only direct neighbours are seen

    What it does:
        Position i attends to i - 1, i and i + 1; keys farther away get no weight.
    Why it is wrong:
        Distance plays no part: every position attends to all T of its example. With T up to 2 you don't
        notice the difference.
    How it looks:
        far = np.abs(np.arange(T)[:, None] - np.arange(T)) > 1
        scores = np.where(far, -np.inf, scores)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        and straight into the softmax; every key counts
    """
    return _hide(scores, np.abs(_offsets(scores)) > 1, -np.inf)


@MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
def padding_masked(c: Context, scores: Array) -> Array:
    """Tokens with id 0 are treated as padding

    What it does:
        Keys whose token id is 0 get a very low score such as -1e9, so that no weight is left for them beside
        any other token.
    Why it is wrong:
        There is no padding: id 0 is a token like any other, with its own row of w_emb.
    How it looks:
        pad = (input_ids == 0)[:, None, None, :]
        scores = np.where(pad, -1e9, scores)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        whatever the ids are
    """
    return _hide(scores, _by_key(scores, c.input_ids == 0), -1e9)


# --- examples -------------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="examples")
def attention_across_batch() -> dict[str, Function]:
    """All examples of the batch attend to each other

    What it does:
        The N examples are treated as one sequence of N * T positions: a query meets the keys of all of them.
    Why it is wrong:
        The answer for an example depends on what else is in the batch. A row of scores has T keys, those of
        its own example.
    How it looks:
        y = norm.reshape(N * T, D)
        scores = (y @ w_q) @ (y @ w_k).T / np.sqrt(d_head)   # (N * T, N * T)
    What to write instead:
        q, k = norm @ w_q, norm @ w_k   # (N, T, D), then split into heads: (N, num_heads, T, d_head)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)   # (N, num_heads, T, T)
    """

    def join(heads: Array) -> Array:
        n, h, t, d = heads.shape
        return heads.transpose(1, 0, 2, 3).reshape(1, h, n * t, d)

    def dot_products(c: Context, query: Array, key: Array) -> Array:
        return join(query) @ join(key).swapaxes(-1, -2)

    def mix_values(c: Context, probabilities: Array, value: Array) -> Array:
        n, h, t, d = value.shape
        return (probabilities @ join(value)).reshape(h, n, t, d).transpose(1, 0, 2, 3)

    return {"dot_products": dot_products, "mix_values": mix_values}


@MISCONCEPTIONS.add(clause="examples")
def attention_along_batch() -> dict[str, Function]:
    """Attention runs along the examples, not the positions

    What it does:
        Each position attends to the same position of all N examples. The scores of a head are N x N matrices,
        one for each position.
    Why it is wrong:
        The axes for examples and positions are mixed up. A query meets the T keys of its own example and
        nothing else.
    How it looks:
        scores = np.einsum("nthd,mthd->thnm", q, k)   # q, k: (N, T, num_heads, d_head)
        or code that expects (T, N, D), fed with (N, T, D)
    What to write instead:
        scores = np.einsum("nihd,njhd->nhij", q, k) / np.sqrt(d_head)
    """

    def turn(heads: Array) -> Array:
        return heads.transpose(2, 1, 0, 3)

    def dot_products(c: Context, query: Array, key: Array) -> Array:
        return turn(query) @ turn(key).swapaxes(-1, -2)

    def mix_values(c: Context, probabilities: Array, value: Array) -> Array:
        return turn(probabilities @ turn(value))

    return {"dot_products": dot_products, "mix_values": mix_values}


@MISCONCEPTIONS.add(clause="examples", step="select_rows")
def first_example_only(c: Context, logits: Array, chosen: Array) -> Array:
    """Only the first example is answered

    What it does:
        The rows of example 0 come back; the selected positions of all other examples are missing.
    Why it is wrong:
        input_ids has shape (N, T), and each of the N examples has selected positions of its own. The answer
        has a row for each of them, M in all.
    How it looks:
        x = w_emb[input_ids[0].astype(int)] + pos_embed
        ...
        return x[mask_indicator[0] > 0.5] @ w_head
    What to write instead:
        x = w_emb[input_ids.astype(int)] + pos_embed   # (N, T, D)
        ...
        return x[mask_indicator > 0.5] @ w_head
    """
    return logits[0][chosen[0]]


@MISCONCEPTIONS.add(clause="examples", step="cast_ids")
def first_example_for_all(c: Context) -> Array:
    """Every example gets the tokens of the first

    What it does:
        The ids of example 0 are looked up for all N examples. Each still returns the rows of its own selected
        positions.
    Why it is wrong:
        Example n starts from its own ids, input_ids[n].
    How it looks:
        for n in range(N):
            x = w_emb[input_ids[0].astype(int)] + pos_embed
    What to write instead:
        for n in range(N):
            x = w_emb[input_ids[n].astype(int)] + pos_embed
    """
    return np.repeat(c.input_ids[:1], len(c.input_ids), axis=0).astype(np.int64)


# --- selecting is not masking ---------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="selection_only", step="restrict_scores")
def indicator_hides_keys(c: Context, scores: Array) -> Array:
    """Selected positions are hidden from attention

    What it does:
        Keys at selected positions get a very low score such as -1e9, as if mask_indicator were an attention
        mask. No weight is left for them beside any other key.
    Why it is wrong:
        mask_indicator decides which rows you return and nothing else. A selected position is attended to like
        all the others.
    How it looks:
        scores = np.where((mask_indicator > 0.5)[:, None, None, :], -1e9, scores)
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)   # no mask
        and only at the end: x[mask_indicator > 0.5] @ w_head
    """
    return _hide(scores, _by_key(scores, c.mask_indicator > 0.5), -1e9)


@MISCONCEPTIONS.add(clause="selection_only", step="restrict_scores")
def indicator_keeps_keys(c: Context, scores: Array) -> Array:
    """Only selected positions are attended to

    What it does:
        Keys at positions that are not selected get a very low score such as -1e9, as if mask_indicator marked
        the real tokens and the rest were padding.
    Why it is wrong:
        mask_indicator decides which rows you return and nothing else. All T positions of an example are real
        and attended to.
    How it looks:
        keep = torch.tensor(mask_indicator)[:, None, None, :] > 0.5
        scores = scores.masked_fill(~keep, -1e9)
    What to write instead:
        scores = q @ k.transpose(-2, -1) / d_head ** 0.5   # no mask
        and only at the end: x[torch.tensor(mask_indicator) > 0.5] @ w_head
    """
    return _hide(scores, _by_key(scores, c.mask_indicator <= 0.5), -1e9)


@MISCONCEPTIONS.add(clause="selection_only", step="restrict_scores")
def indicator_scales_keys(c: Context, scores: Array) -> Array:
    """Scores are multiplied by the indicator

    What it does:
        Each key's scores are multiplied by its mask_indicator. Where that is 0 the score becomes 0, which is
        no mask either: `exp` of it is 1.
    Why it is wrong:
        mask_indicator decides which rows you return and nothing else. It has no place in the scores.
    How it looks:
        scores = scores * mask_indicator[:, None, None, :]
    What to write instead:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
        and only at the end: x[mask_indicator > 0.5] @ w_head
    """
    return scores * _by_key(scores, c.mask_indicator).astype(scores.dtype)


@MISCONCEPTIONS.add(clause="selection_only", step="look_up_tokens")
def selected_tokens_blanked(c: Context, ids: Array) -> Array:
    """Selected positions lose their token embedding

    What it does:
        Where mask_indicator is above 0.5, a row of zeros takes the place of the token's row of w_emb. The
        position's row of pos_embed stays.
    Why it is wrong:
        Whatever had to be hidden is already hidden in input_ids. A selected position keeps its embedding;
        mask_indicator only decides which rows you return.
    How it looks:
        x = w_emb[ids]
        x[mask_indicator > 0.5] = 0
        x = x + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    rows: Array = c.w_emb[ids]
    return np.where((c.mask_indicator > 0.5)[..., None], rows.dtype.type(0), rows)


@MISCONCEPTIONS.add(clause="selection_only", step="cast_ids")
def selected_tokens_replaced(c: Context) -> Array:
    """Selected tokens are replaced by a mask token

    What it does:
        Where mask_indicator is above 0.5, the id becomes V - 1, as if the last token of the vocabulary stood
        for a hidden word.
    Why it is wrong:
        The ids you get are final, and no id has a special meaning. mask_indicator decides which rows you
        return and nothing else.
    How it looks:
        ids = np.where(mask_indicator > 0.5, len(w_emb) - 1, input_ids).astype(int)
    What to write instead:
        ids = input_ids.astype(int)
    """
    return np.where(c.mask_indicator > 0.5, len(c.w_emb) - 1, c.input_ids.astype(np.int64))


@MISCONCEPTIONS.add(clause="selection_only", step="look_up_tokens")
def unselected_tokens_blanked(c: Context, ids: Array) -> Array:
    """Positions that are not selected lose their embedding

    What it does:
        The token embeddings are multiplied by the selection: where mask_indicator is not above 0.5, a row of
        zeros is left, to which the position's row of pos_embed is added.
    Why it is wrong:
        All T tokens are input, since the others are what a selected position looks at. mask_indicator only
        decides which rows you return.
    How it looks:
        x = w_emb[ids] * (mask_indicator > 0.5)[..., None] + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return c.w_emb[ids] * (c.mask_indicator > 0.5)[..., None]
