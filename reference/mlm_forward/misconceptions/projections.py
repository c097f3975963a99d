"""Mistakes with the matrices of a block and with the heads."""

from __future__ import annotations

import math

from grader.exercise.misconceptions import Function, Misconceptions

from ..steps import Array, Context, unpack_block

MISCONCEPTIONS = Misconceptions()


def _swapped(c: Context, one: str, other: str) -> dict[str, Array]:
    """The matrices of the current block, two of them exchanged."""
    w = unpack_block(c)
    w[one], w[other] = w[other], w[one]
    return w


def _read_as(c: Context, *names: str) -> dict[str, Array]:
    """The matrices of the current block, the packed ones given these names."""
    return dict(zip(names, c.blocks_weights[c.block], strict=True))


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def query_key_swapped(c: Context) -> dict[str, Array]:
    """Queries and keys are swapped

    What it does:
        The first matrix of a block makes the keys and the second one the queries, or the two change places
        in the product that gives the scores.
    Why it is wrong:
        The first is w_q and the second w_k. Swapped, every T by T matrix of scores comes out transposed:
        position i weighs the others by its key instead of its query.
    How it looks:
        w_k, w_q, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
        scores = k @ q.swapaxes(-1, -2) / np.sqrt(d_head)   # this has the same effect
    What to write instead:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    """
    return _swapped(c, "w_q", "w_k")


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def key_value_order(c: Context) -> dict[str, Array]:
    """w_k and w_v are swapped

    What it does:
        The second matrix of a block makes the values and the third one the keys.
    Why it is wrong:
        The order is query, key, value: index 1 is w_k and index 2 is w_v.
    How it looks:
        w_q, w_v, w_k, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    What to write instead:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    """
    return _swapped(c, "w_k", "w_v")


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def query_value_swapped(c: Context) -> dict[str, Array]:
    """w_q and w_v are swapped

    What it does:
        The first matrix of a block makes the values and the third one the queries.
    Why it is wrong:
        The order is query, key, value: index 0 is w_q and index 2 is w_v.
    How it looks:
        w_v, w_k, w_q, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    What to write instead:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    """
    return _swapped(c, "w_q", "w_v")


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def value_output_swapped(c: Context) -> dict[str, Array]:
    """w_v and w_o are swapped

    What it does:
        The third matrix of a block is used as the output matrix and the fourth one makes the values.
    Why it is wrong:
        Index 2 is w_v, applied before the weighted sum; index 3 is w_o, applied after the heads are side by
        side.
    How it looks:
        w_q, w_k, w_o, w_v, w_mlp1, w_mlp2 = blocks_weights[i]
    What to write instead:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    """
    return _swapped(c, "w_v", "w_o")


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def output_matrix_first(c: Context) -> dict[str, Array]:
    """The output matrix is taken from the front

    What it does:
        The first matrix of a block is used as w_o, and w_q, w_k and w_v are each read one place too late.
    Why it is wrong:
        w_o stands behind the three projections, at index 3. Only the two feed-forward matrices are right
        here.
    How it looks:
        w_o, w_q, w_k, w_v, w_mlp1, w_mlp2 = blocks_weights[i]
    What to write instead:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    """
    return _read_as(c, "w_o", "w_q", "w_k", "w_v", "w_mlp1", "w_mlp2")


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def mlp_matrices_first(c: Context) -> dict[str, Array]:
    """The feed-forward matrices are taken from the front

    What it does:
        The first two matrices of a block go into the feed-forward step, the other four into the attention.
    Why it is wrong:
        The matrices are packed in the order of their use: four for the attention, then w_mlp1 and w_mlp2.
    How it looks:
        w_mlp1, w_mlp2, w_q, w_k, w_v, w_o = blocks_weights[i]
    What to write instead:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[i]
    """
    return _read_as(c, "w_mlp1", "w_mlp2", "w_q", "w_k", "w_v", "w_o")


@MISCONCEPTIONS.add(clause="block_weights", step="unpack_block")
def mlp_matrices_swapped(c: Context) -> dict[str, Array]:
    """w_mlp1 and w_mlp2 are swapped

    What it does:
        The sixth matrix of a block is applied before the activation and the fifth one after it.
    Why it is wrong:
        w_mlp1 at index 4 comes before the activation, w_mlp2 at index 5 after it. Both are (D, D), so no
        shape error gives the swap away.
    How it looks:
        mlp = gelu(norm @ w_mlp2) @ w_mlp1
    What to write instead:
        mlp = gelu(norm @ w_mlp1) @ w_mlp2
    """
    return _swapped(c, "w_mlp1", "w_mlp2")


@MISCONCEPTIONS.add(clause="projections", step="unpack_block")
def weights_transposed(c: Context) -> dict[str, Array]:
    """All matrices of a block are transposed

    What it does:
        Each of the six matrices is turned over before it is applied. nn.Linear does so with its weight, which
        it keeps as (out, in).
    Why it is wrong:
        The matrices are meant for row vectors: a token's D features times w, as it is. They are square, so
        the shapes fit either way.
    How it looks:
        q = norm @ w_q.T  # and so on for all six
    What to write instead:
        q = norm @ w_q  # and so on for all six
    """
    return {name: w.T for name, w in unpack_block(c).items()}


@MISCONCEPTIONS.add(clause="projections", step="project_query")
def query_transposed(c: Context, normed: Array, w: Array) -> Array:
    """w_q is transposed

    What it does:
        The queries are the normalized tensor times w_q.T.
    Why it is wrong:
        Rows of w_q belong to the features that go in, columns to those that come out, so a row vector is
        multiplied by w_q as it is.
    How it looks:
        q = norm @ w_q.T
    What to write instead:
        q = norm @ w_q
    """
    return normed @ w.T


@MISCONCEPTIONS.add(clause="projections", step="project_key")
def key_transposed(c: Context, normed: Array, w: Array) -> Array:
    """w_k is transposed

    What it does:
        The keys are the normalized tensor times w_k.T.
    Why it is wrong:
        The transpose in the attention formula is that of the keys, K.T, when they meet the queries. The
        matrix w_k that makes them is applied as it is.
    How it looks:
        k = norm @ w_k.T
    What to write instead:
        k = norm @ w_k
    """
    return normed @ w.T


@MISCONCEPTIONS.add(clause="projections", step="project_value")
def value_transposed(c: Context, normed: Array, w: Array) -> Array:
    """w_v is transposed

    What it does:
        The values are the normalized tensor times w_v.T.
    Why it is wrong:
        Rows of w_v belong to the features that go in, columns to those that come out, so a row vector is
        multiplied by w_v as it is.
    How it looks:
        v = norm @ w_v.T
    What to write instead:
        v = norm @ w_v
    """
    return normed @ w.T


@MISCONCEPTIONS.add(clause="attention", step="project_output")
def output_transposed(c: Context, merged: Array, w: Array) -> Array:
    """w_o is transposed

    What it does:
        The heads, side by side, are multiplied by w_o.T.
    Why it is wrong:
        Row i of w_o belongs to feature i of the heads side by side. Transposed, it mixes the wrong features,
        though the shapes still fit.
    How it looks:
        attention = heads @ w_o.T
    What to write instead:
        attention = heads @ w_o
    """
    return merged @ w.T


@MISCONCEPTIONS.add(clause="mlp", step="mlp_up")
def mlp1_transposed(c: Context, normed: Array, w: Array) -> Array:
    """w_mlp1 is transposed

    What it does:
        The input of the activation is the normalized tensor times w_mlp1.T.
    Why it is wrong:
        w_mlp1 has the D features in its rows and the hidden units in its columns. Both are D, so a transposed
        matrix goes unnoticed by the shapes.
    How it looks:
        hidden = gelu(norm @ w_mlp1.T)
    What to write instead:
        hidden = gelu(norm @ w_mlp1)
    """
    return normed @ w.T


@MISCONCEPTIONS.add(clause="mlp", step="mlp_down")
def mlp2_transposed(c: Context, hidden: Array, w: Array) -> Array:
    """w_mlp2 is transposed

    What it does:
        The hidden layer, after the activation, is multiplied by w_mlp2.T.
    Why it is wrong:
        w_mlp2 has the hidden units in its rows and the D features in its columns, and is applied as it is.
    How it looks:
        mlp = hidden @ w_mlp2.T
    What to write instead:
        mlp = hidden @ w_mlp2
    """
    return hidden @ w.T


@MISCONCEPTIONS.add(clause="projections", step="unpack_block")
def keys_from_query_matrix(c: Context) -> dict[str, Array]:
    """The keys are made with w_q

    What it does:
        Queries and keys are the same tensor, both made with the first matrix of the block; w_k is never used.
    Why it is wrong:
        Every projection has a matrix of its own. With one for both, each score equals that of the opposite
        direction.
    How it looks:
        q = norm @ w_q
        k = norm @ w_q
    What to write instead:
        q = norm @ w_q
        k = norm @ w_k
    """
    w = unpack_block(c)
    return w | {"w_k": w["w_q"]}


@MISCONCEPTIONS.add(clause="projections", step="unpack_block")
def one_matrix_for_all(c: Context) -> dict[str, Array]:
    """Queries, keys and values are all made with w_q

    What it does:
        One projection with the first matrix of the block serves as query, key and value; w_k and w_v are
        never used.
    Why it is wrong:
        The three have different tasks, and a matrix each: what a token looks for, how it is found, what it
        gives.
    How it looks:
        q = k = v = norm @ w_q
    What to write instead:
        q, k, v = norm @ w_q, norm @ w_k, norm @ w_v
    """
    w = unpack_block(c)
    return w | {"w_k": w["w_q"], "w_v": w["w_q"]}


def _deal_out(c: Context, x: Array) -> Array:
    """(N, T, D) to (N, H, T, d): feature i goes to head i modulo H."""
    n, t, width = x.shape
    return x.reshape(n, t, width // c.num_heads, c.num_heads).transpose(0, 3, 1, 2)


def _collect(c: Context, heads: Array) -> Array:
    """(N, H, T, d) to (N, T, D): first feature of every head, then the second of every head."""
    n, h, t, d = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(n, t, d * h)


def _reshape_to_heads(c: Context, x: Array) -> Array:
    """(N, T, D) to (N, H, T, d) without moving a number in memory."""
    n, t, width = x.shape
    return x.reshape(n, c.num_heads, t, width // c.num_heads)


def _reshape_to_tokens(c: Context, heads: Array) -> Array:
    """(N, H, T, d) to (N, T, D) without moving a number in memory."""
    n, h, t, d = heads.shape
    return heads.reshape(n, t, h * d)


def _one_head(c: Context, x: Array) -> Array:
    """(N, T, D) to (N, 1, T, D)."""
    return x[:, None]


@MISCONCEPTIONS.add(clause="heads")
def heads_interleaved() -> dict[str, Function]:
    """The features are dealt out to the heads one by one

    What it does:
        With H heads, head h works with the features h, h + H, h + 2H and so on, and its results go back to
        these places.
    Why it is wrong:
        Each head takes d_head consecutive features: head 0 the first d_head, head 1 the next. So the head's
        axis comes before d_head when axis D is split.
    How it looks:
        heads = x.reshape(N, T, d_head, num_heads).transpose(0, 3, 1, 2)
        merged = heads.transpose(0, 2, 3, 1).reshape(N, T, D)
    What to write instead:
        heads = x.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        merged = heads.transpose(0, 2, 1, 3).reshape(N, T, D)
    """
    return {"split_heads": _deal_out, "merge_heads": _collect}


@MISCONCEPTIONS.add(clause="heads", step="split_heads")
def heads_interleaved_split(c: Context, x: Array) -> Array:
    """The features are dealt out one by one, merged in chunks

    What it does:
        With H heads, head h works with the features h, h + H, h + 2H and so on, but the results are put
        together as consecutive chunks.
    Why it is wrong:
        Head h takes the consecutive features from h * d_head on. Here the head's axis and d_head have changed
        places when axis D is split.
    How it looks:
        heads = x.reshape(N, T, d_head, num_heads).transpose(0, 3, 1, 2)
    What to write instead:
        heads = x.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
    """
    return _deal_out(c, x)


@MISCONCEPTIONS.add(clause="heads", step="split_heads")
def heads_reshaped_over_time(c: Context, x: Array) -> Array:
    """(N, T, D) is reshaped straight to (N, H, T, d_head)

    What it does:
        The split into heads is one reshape. It cuts the T x D numbers of an example in the order of memory,
        so a head gets pieces of different tokens.
    Why it is wrong:
        A reshape never moves numbers. Split axis D first, which keeps each token together, then swap the axes
        of heads and positions.
    How it looks:
        q = q.reshape(N, num_heads, T, d_head)
    What to write instead:
        q = q.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
    """
    return _reshape_to_heads(c, x)


@MISCONCEPTIONS.add(clause="heads", step="merge_heads")
def heads_merged_untransposed(c: Context, heads: Array) -> Array:
    """(N, H, T, d_head) is reshaped straight to (N, T, D)

    What it does:
        The heads are merged by one reshape. It reads the first head at all positions, then the next head, and
        cuts that into T rows.
    Why it is wrong:
        A row then holds several positions of one head, not all heads of one position. Bring the axes into the
        order N, T, H, d_head before the reshape.
    How it looks:
        merged = heads.reshape(N, T, D)
    What to write instead:
        merged = heads.transpose(0, 2, 1, 3).reshape(N, T, D)
    """
    return _reshape_to_tokens(c, heads)


@MISCONCEPTIONS.add(clause="heads")
def heads_reshaped_both_ways() -> dict[str, Function]:
    """Heads are split and merged by reshape alone

    What it does:
        (N, T, D) is reshaped to (N, H, T, d_head) and back. Every number returns to its place, but in between
        a head holds pieces of different tokens.
    Why it is wrong:
        Row t of a head has to come from token t. That takes a transpose in both directions, since a reshape
        never moves numbers.
    How it looks:
        heads = x.reshape(N, num_heads, T, d_head)
        merged = heads.reshape(N, T, D)
    What to write instead:
        heads = x.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        merged = heads.transpose(0, 2, 1, 3).reshape(N, T, D)
    """
    return {"split_heads": _reshape_to_heads, "merge_heads": _reshape_to_tokens}


@MISCONCEPTIONS.add(clause="heads")
def heads_ignored() -> dict[str, Function]:
    """One attention over all features, scaled as if split

    What it does:
        num_heads is used for the divisor sqrt(D / num_heads), but Q, K and V are not split: one matrix of
        weights serves all D features.
    Why it is wrong:
        Every head has T by T weights of its own, from its own d_head features.
    How it looks:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(D / num_heads)  # q, k: (N, T, D)
    What to write instead:
        q, k, v = (a.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3) for a in (q, k, v))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    """

    def scale_scores(c: Context, scores: Array, d_head: int) -> Array:
        return scores / math.sqrt(d_head / c.num_heads)

    return {"split_heads": _one_head, "scale_scores": scale_scores}


@MISCONCEPTIONS.add(clause="heads", step="split_heads")
def heads_ignored_scaled_by_width(c: Context, x: Array) -> Array:
    """num_heads is ignored: one attention over all features

    What it does:
        Q, K and V are not split; every query meets every key with all D features, and the scores are divided
        by sqrt(D).
    Why it is wrong:
        That is the answer for num_heads = 1. Otherwise every head has T by T weights of its own, from its own
        d_head features.
    How it looks:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(D)  # q, k: (N, T, D)
    What to write instead:
        q, k, v = (a.reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3) for a in (q, k, v))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)
    """
    return _one_head(c, x)


@MISCONCEPTIONS.add(clause="heads", step="merge_heads")
def heads_merged_by_feature(c: Context, heads: Array) -> Array:
    """Heads are merged feature by feature

    What it does:
        The merged features are the first of every head, then the second of every head, and so on.
    Why it is wrong:
        The heads go side by side: all d_head features of head 0, then all of head 1. Before the last two axes
        are joined, they must be heads, then d_head.
    How it looks:
        merged = heads.transpose(0, 2, 3, 1).reshape(N, T, D)  # heads: (N, H, T, d_head)
    What to write instead:
        merged = heads.transpose(0, 2, 1, 3).reshape(N, T, D)
    """
    return _collect(c, heads)


@MISCONCEPTIONS.add(clause="heads", step="merge_heads")
def heads_in_reverse(c: Context, heads: Array) -> Array:
    """Heads are put together in reverse order

    What it does:
        The last head's features come first and those of head 0 last.
    Why it is wrong:
        w_o expects the chunks in the order in which they were cut: what head 0 gives takes the first d_head
        places.
    How it looks:
        merged = np.concatenate(outputs[::-1], axis=-1)
    What to write instead:
        merged = np.concatenate(outputs, axis=-1)
    """
    n, h, t, d = heads.shape
    return heads[:, ::-1].transpose(0, 2, 1, 3).reshape(n, t, h * d)
