"""From attention weights back to the features of a position, and what is added to x."""

from __future__ import annotations

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Context

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="attention", step="project_output")
def no_output_projection(c: Context, merged: Array, w: Array) -> Array:
    """The heads' results are not multiplied by w_o

    What it does:
        The heads, side by side again as D features, are added to x as they are.
    Why it is wrong:
        w_o, the fourth matrix of the block, mixes what the heads found. Without it, head h can only ever
        write into its own chunk of features.
    How it looks:
        x = x + heads.transpose(0, 2, 1, 3).reshape(N, T, D)
    What to write instead:
        x = x + heads.transpose(0, 2, 1, 3).reshape(N, T, D) @ w_o
    """
    return merged


@MISCONCEPTIONS.add(clause="projections", step="project_value")
def no_value_projection(c: Context, normed: Array, w: Array) -> Array:
    """Values are not multiplied by w_v

    What it does:
        The normalized tensor itself, cut into heads, serves as the values; w_v is not used.
    Why it is wrong:
        Queries, keys and values each have a matrix of their own: what a position hands over when it is
        attended to is norm @ w_v.
    How it looks:
        q, k, v = norm @ w_q, norm @ w_k, norm
    What to write instead:
        q, k, v = norm @ w_q, norm @ w_k, norm @ w_v
    """
    return normed


@MISCONCEPTIONS.add(clause="attention", step="mix_values")
def probabilities_transposed(c: Context, probabilities: Array, value: Array) -> Array:
    """Values are summed with the transposed weights

    What it does:
        Position i sums up the values with column i of the T x T weights, that is, with how much the others
        attend to it.
    Why it is wrong:
        Row i holds the weights of query i and adds up to 1; it belongs to position i. A column adds up to
        anything.
    How it looks:
        heads = p.swapaxes(-1, -2) @ v
        or an einsum that sums over the queries: np.einsum("nhij,nhid->nhjd", p, v)
    What to write instead:
        heads = p @ v
        or np.einsum("nhij,nhjd->nhid", p, v)
    """
    return probabilities.swapaxes(-1, -2) @ value


@MISCONCEPTIONS.add(clause="attention_residual", step="add_attention")
def attention_missing(c: Context, x: Array, normed: Array, attended: Array) -> Array:
    """The attention's output is not used

    What it does:
        The feed-forward step gets x as it came into the block; what attention computed is dropped. Positions
        never learn of one another.
    Why it is wrong:
        Each block has two steps, and the first is `x = x + attention`.
    How it looks:
        attention = heads @ w_o
        x = x + mlp(layer_norm(x))
    What to write instead:
        x = x + heads @ w_o
        x = x + mlp(layer_norm(x))
    """
    return x


@MISCONCEPTIONS.add(clause="attention_residual", step="add_attention")
def no_attention_residual(c: Context, x: Array, normed: Array, attended: Array) -> Array:
    """The attention's output replaces x

    What it does:
        After attention, x is only what attention gave; what it was before is gone.
    Why it is wrong:
        Attention gives an update that is added to x. Without the sum, a position forgets its own token and
        everything from earlier blocks but for what comes through the values.
    How it looks:
        x = attention(layer_norm(x))
    What to write instead:
        x = x + attention(layer_norm(x))
    """
    return attended


@MISCONCEPTIONS.add(clause="attention_residual", step="add_attention")
def residual_from_normalized(c: Context, x: Array, normed: Array, attended: Array) -> Array:
    """Attention is added to the normalized tensor

    What it does:
        The sum after attention starts from the normalized tensor instead of x itself, often because the
        normalization overwrote x.
    Why it is wrong:
        x loses its mean and its size in every block. The normalized tensor is for w_q, w_k and w_v only; keep
        it under another name.
    How it looks:
        x = layer_norm(x)
        x = x + attention(x)
    What to write instead:
        norm = layer_norm(x)
        x = x + attention(norm)
    """
    return normed + attended


@MISCONCEPTIONS.add(clause="attention_residual", step="add_attention")
def attention_residual_doubled(c: Context, x: Array, normed: Array, attended: Array) -> Array:
    """x is added twice around attention

    What it does:
        After attention, x is 2 * x + attention, for instance because a function that already adds its input
        is called in `x = x + ...`.
    Why it is wrong:
        x counts once. The sum belongs either into the function or around its call.
    How it looks:
        def attention(x): return x + heads(layer_norm(x)) @ w_o
        x = x + attention(x)
    What to write instead:
        def attention(x): return heads(layer_norm(x)) @ w_o
        x = x + attention(x)
    """
    return 2.0 * x + attended


@MISCONCEPTIONS.add(clause="attention_residual", step="add_attention")
def attention_subtracted(c: Context, x: Array, normed: Array, attended: Array) -> Array:
    """The attention's output is subtracted from x

    What it does:
        After attention, x is x - attention.
    Why it is wrong:
        The update is added. With the other sign, each block moves x the opposite way.
    How it looks:
        x = x - heads @ w_o
    What to write instead:
        x = x + heads @ w_o
    """
    return x - attended


@MISCONCEPTIONS.add(clause="mlp_residual", step="add_mlp")
def no_mlp_residual(c: Context, x: Array, normed: Array, out: Array) -> Array:
    """The feed-forward output replaces x

    What it does:
        The block hands on only what the feed-forward step gave; the x that went into it is gone.
    Why it is wrong:
        The feed-forward step gives an update that is added to x. Without the sum, the result of attention and
        of all earlier blocks gets through only by way of the two matrices.
    How it looks:
        x = gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    What to write instead:
        x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    """
    return out


@MISCONCEPTIONS.add(clause="mlp_residual", step="add_mlp")
def mlp_residual_from_normalized(c: Context, x: Array, normed: Array, out: Array) -> Array:
    """The feed-forward output is added to the normalized tensor

    What it does:
        The block's last sum starts from the outcome of the second normalization instead of the x that went
        into it.
    Why it is wrong:
        x loses its mean and its size. The normalized tensor is for w_mlp1 only; keep it under another name.
    How it looks:
        x = layer_norm(x)
        x = x + gelu(x @ w_mlp1) @ w_mlp2
    What to write instead:
        norm = layer_norm(x)
        x = x + gelu(norm @ w_mlp1) @ w_mlp2
    """
    return normed + out


@MISCONCEPTIONS.add(clause="mlp_residual", step="add_mlp")
def mlp_residual_from_block_input(c: Context, x: Array, normed: Array, out: Array) -> Array:
    """The feed-forward output is added to the block's input

    What it does:
        The block's last sum starts from x as it came into the block, before attention. The attention's output
        reaches only the feed-forward step.
    Why it is wrong:
        The second sum goes on from the updated x, so that the attention's output is part of what the block
        hands on.
    How it looks:
        a = x + attention(layer_norm(x))
        x = x + mlp(layer_norm(a))
    What to write instead:
        a = x + attention(layer_norm(x))
        x = a + mlp(layer_norm(a))
    """
    assert c.block_input is not None
    return c.block_input + out


@MISCONCEPTIONS.add(clause="mlp_residual", step="add_mlp")
def mlp_missing(c: Context, x: Array, normed: Array, out: Array) -> Array:
    """The feed-forward step is not used

    What it does:
        The block hands on x as it is after attention; w_mlp1 and w_mlp2 have no influence.
    Why it is wrong:
        Each block has two steps, and the second is `x = x + mlp`.
    How it looks:
        for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
            x = x + attention(layer_norm(x), w_q, w_k, w_v, w_o)
    What to write instead:
        for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
            x = x + attention(layer_norm(x), w_q, w_k, w_v, w_o)
            x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    """
    return x
