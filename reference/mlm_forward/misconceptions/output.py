"""Mistakes on the way out: head, selection, order and shape of the rows, arguments, state between calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import MATRICES, Array, Context

MISCONCEPTIONS = Misconceptions()


# --- the head --------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="logits", step="finish_logits")
def vocabulary_softmax(c: Context, logits: Array) -> Array:
    """The scores are turned into probabilities

    What it does:
        A softmax over the V scores of each position makes them positive and add up to 1.
    Why it is wrong:
        Raw scores are asked for. The only softmax is the one over the key positions in attention.
    How it looks:
        return softmax(x @ w_head)
    What to write instead:
        return x @ w_head
    """
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="logits", step="finish_logits")
def vocabulary_log_softmax(c: Context, logits: Array) -> Array:
    """The scores are turned into log-probabilities

    What it does:
        The logarithm of a softmax over the V scores of each position is returned.
    Why it is wrong:
        Log-probabilities are what a loss works with; here the scores x @ w_head are asked for as they are.
    How it looks:
        return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    What to write instead:
        return logits
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@MISCONCEPTIONS.add(clause="logits", step="vocabulary_scores")
def tied_head(c: Context, x: Array) -> Array:
    """The transpose of w_emb is used as the head

    What it does:
        x is multiplied by w_emb.T, which has the head's shape (D, V); w_head is not used.
    Why it is wrong:
        Some networks share one matrix for both ends. Here w_head is an argument of its own with other
        numbers.
    How it looks:
        logits = x @ w_emb.T
    What to write instead:
        logits = x @ w_head
    """
    return x @ c.w_emb.T


@MISCONCEPTIONS.add(clause="logits", step="vocabulary_scores")
def head_scaled(c: Context, x: Array) -> Array:
    """The scores are divided by sqrt(D)

    What it does:
        Each product of x and w_head is divided by the root of the width D.
    Why it is wrong:
        Only attention scores are divided by a root, that of one head's width. The vocabulary's scores are x @
        w_head without a factor.
    How it looks:
        logits = x @ w_head / np.sqrt(D)
    What to write instead:
        logits = x @ w_head
    """
    return x @ c.w_head / math.sqrt(x.shape[-1])


@MISCONCEPTIONS.add(clause="logits", step="finish_logits")
def logits_centered(c: Context, logits: Array) -> Array:
    """Each row's largest score is subtracted

    What it does:
        The largest of a position's V scores becomes 0 and all others negative.
    Why it is wrong:
        The maximum is subtracted before exp, in attention. Nothing is exponentiated here, and the scores are
        asked for as they are.
    How it looks:
        logits = logits - logits.max(axis=-1, keepdims=True)
    What to write instead:
        logits = x @ w_head
    """
    return logits - logits.max(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="logits", step="finish_logits")
def sigmoid_logits(c: Context, logits: Array) -> Array:
    """The scores go through a sigmoid

    What it does:
        Each score becomes a number between 0 and 1.
    Why it is wrong:
        Raw scores are asked for: any number, negative or large, without a function around it.
    How it looks:
        return 1 / (1 + np.exp(-(x @ w_head)))
    What to write instead:
        return x @ w_head
    """
    return 1.0 / (1.0 + np.exp(-logits))


# --- which positions -------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="selection", step="selected")
def threshold_inclusive(c: Context) -> Array:
    """An indicator of exactly 0.5 selects

    What it does:
        Positions whose indicator is 0.5 get a row too.
    Why it is wrong:
        An indicator selects when it is greater than 0.5, and 0.5 is not.
    How it looks:
        chosen = mask_indicator >= 0.5
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    return c.mask_indicator >= 0.5


@MISCONCEPTIONS.add(clause="selection", step="selected")
def selection_as_bool(c: Context) -> Array:
    """Every indicator but 0 selects

    What it does:
        The indicator is used as a truth value, so that 0.2 and -1 select as well.
    Why it is wrong:
        Indicators need not be 0 or 1. Only those above 0.5 select.
    How it looks:
        chosen = mask_indicator.astype(bool)
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    return c.mask_indicator != 0


@MISCONCEPTIONS.add(clause="selection", step="selected")
def selection_positive(c: Context) -> Array:
    """Every indicator above 0 selects

    What it does:
        Positions with an indicator such as 0.2 get a row too.
    Why it is wrong:
        The limit is one half, not zero.
    How it looks:
        chosen = mask_indicator > 0
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    return c.mask_indicator > 0


@MISCONCEPTIONS.add(clause="selection", step="selected")
def selection_equals_one(c: Context) -> Array:
    """Only an indicator of exactly 1 selects

    What it does:
        Positions with indicators such as 0.7 or 2 get no row.
    Why it is wrong:
        Indicators need not be 0 or 1. Everything above 0.5 selects.
    How it looks:
        chosen = mask_indicator == 1
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    return c.mask_indicator == 1


@MISCONCEPTIONS.add(clause="selection", step="selected")
def selection_truncated(c: Context) -> Array:
    """Indicators are cut to whole numbers first

    What it does:
        The indicator is turned into an integer, which makes 0.7 a 0, and is compared afterwards.
    Why it is wrong:
        Turning a float into an integer cuts off its fraction. Everything above 0.5 selects, and 0.7 is.
    How it looks:
        chosen = mask_indicator.astype(int) > 0.5
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    return c.mask_indicator.astype(np.int64) > 0.5


@MISCONCEPTIONS.add(clause="selection", step="selected")
def selection_inverted(c: Context) -> Array:
    """The positions that are not selected are returned

    What it does:
        Rows come from the positions whose indicator is 0.5 or below.
    Why it is wrong:
        The indicator marks what you return, not what you leave out.
    How it looks:
        chosen = mask_indicator <= 0.5
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    return c.mask_indicator <= 0.5


@MISCONCEPTIONS.add(clause="selection", step="select_rows")
def rows_scaled_by_indicator(c: Context, logits: Array, chosen: Array) -> Array:
    """Rows are multiplied by their indicator

    What it does:
        The row of a position with indicator 0.7 is returned at 0.7 of its size, with indicator 2 at twice its
        size.
    Why it is wrong:
        The indicator is only compared with 0.5. How large it is changes no score.
    How it looks:
        return (logits * mask_indicator[:, :, None])[mask_indicator > 0.5]
    What to write instead:
        return logits[mask_indicator > 0.5]
    """
    return logits[chosen] * c.mask_indicator[chosen][:, None].astype(logits.dtype)


# --- order and shape of the rows -------------------------------------------------------------


@MISCONCEPTIONS.add(clause="row_order", step="select_rows")
def position_major_rows(c: Context, logits: Array, chosen: Array) -> Array:
    """Rows come by position first, then by example

    What it does:
        The rows of position 0 of all examples come first, then those of position 1, and so on.
    Why it is wrong:
        All rows of example 0 come first, by increasing position. Indexing an (N, T, V) array with an (N, T)
        array of bools gives just that order.
    How it looks:
        [logits[n, t] for t in range(T) for n in range(N) if mask_indicator[n, t] > 0.5]
    What to write instead:
        logits[mask_indicator > 0.5]
    """
    return logits.swapaxes(0, 1)[chosen.T]


@MISCONCEPTIONS.add(clause="row_order", step="select_rows")
def rows_reversed(c: Context, logits: Array, chosen: Array) -> Array:
    """Rows come in reverse order

    What it does:
        The last selected position of the last example comes first.
    Why it is wrong:
        Example 0 comes first, and within an example the positions increase.
    How it looks:
        return logits[mask_indicator > 0.5][::-1]
    What to write instead:
        return logits[mask_indicator > 0.5]
    """
    return logits[chosen][::-1]


@MISCONCEPTIONS.add(clause="shape", step="select_rows")
def one_row_per_example(c: Context, logits: Array, chosen: Array) -> Array:
    """Each example gives only its first selected position

    What it does:
        Of every example at most one row is returned, that of its first selected position.
    Why it is wrong:
        Any number of positions may be selected in an example, and each has a row. A break after the first
        one, or argmax, misses the others.
    How it looks:
        for n in range(N):
            for t in np.flatnonzero(mask_indicator[n] > 0.5)[:1]:
                rows.append(logits[n, t])
    What to write instead:
        return logits[mask_indicator > 0.5]
    """
    first = chosen & (chosen.cumsum(axis=1) == 1)
    return logits[first]


@MISCONCEPTIONS.add(clause="shape", step="select_rows")
def returns_all_positions(c: Context, logits: Array, chosen: Array) -> Array:
    """The scores of all positions are returned

    What it does:
        The answer has shape (N, T, V), with a row for every position, selected or not.
    Why it is wrong:
        Only the M selected positions have a row, and the answer has the two axes (M, V).
    How it looks:
        return x @ w_head
    What to write instead:
        return (x @ w_head)[mask_indicator > 0.5]
    """
    return logits


@MISCONCEPTIONS.add(clause="shape", step="select_rows")
def unselected_rows_zeroed(c: Context, logits: Array, chosen: Array) -> Array:
    """Rows that are not selected are zeroed and kept

    What it does:
        The answer has shape (N, T, V), with zeros at the positions that are not selected.
    Why it is wrong:
        Those rows have to be left out, not zeroed: the answer has shape (M, V).
    How it looks:
        return logits * (mask_indicator > 0.5)[:, :, None]
    What to write instead:
        return logits[mask_indicator > 0.5]
    """
    return np.where(chosen[..., None], logits, logits.dtype.type(0))


@MISCONCEPTIONS.add(clause="shape", step="select_rows")
def rows_padded_per_example(c: Context, logits: Array, chosen: Array) -> Array:
    """Each example gets a padded matrix of its own

    What it does:
        The answer has three axes: example, selected position, V. Examples with fewer selected positions are
        filled up with rows of zeros.
    Why it is wrong:
        The rows of all examples stand below one another in one array of shape (M, V), without rows in
        between.
    How it looks:
        out = np.zeros((N, most, V))
        for n in range(N):
            out[n, :counts[n]] = logits[n][mask_indicator[n] > 0.5]
    What to write instead:
        out = np.concatenate([logits[n][mask_indicator[n] > 0.5] for n in range(N)])
    """
    counts = chosen.sum(axis=1)
    padded = np.zeros((len(chosen), counts.max(), logits.shape[-1]), logits.dtype)
    for example, count in enumerate(counts):
        padded[example, :count] = logits[example][chosen[example]]
    return padded


@MISCONCEPTIONS.add(clause="shape", step="finish_rows")
def squeezed_single_row(c: Context, rows: Array) -> Array:
    """A single row loses its axis

    What it does:
        With one selected position the answer has shape (V,) instead of (1, V).
    Why it is wrong:
        The answer always has two axes. Whoever calls the function need not know how many positions are
        selected.
    How it looks:
        return rows[0] if len(rows) == 1 else rows  # or rows.squeeze()
    What to write instead:
        return rows
    """
    return rows[0] if len(rows) == 1 else rows


@MISCONCEPTIONS.add(clause="shape", step="finish_rows")
def rows_flattened(c: Context, rows: Array) -> Array:
    """All scores are returned in one long row

    What it does:
        The answer has shape (M * V,), the rows one after the other.
    Why it is wrong:
        The answer has two axes, (M, V): a row for each selected position.
    How it looks:
        return rows.ravel()
    What to write instead:
        return rows
    """
    return rows.flatten()


@MISCONCEPTIONS.add(clause="shape", step="finish_rows")
def rows_transposed(c: Context, rows: Array) -> Array:
    """Rows and columns of the answer are swapped

    What it does:
        The answer has shape (V, M), with a column for each selected position.
    Why it is wrong:
        Each selected position has a row, each token of the vocabulary a column: (M, V).
    How it looks:
        return rows.T
    What to write instead:
        return rows
    """
    return rows.T


@MISCONCEPTIONS.add(clause="shape", step="finish_rows")
def empty_selection_crash(c: Context, rows: Array) -> Array:
    """With no selected position an error is raised

    What it does:
        The rows are collected and stacked. With none collected, there is nothing to stack.
    Why it is wrong:
        No position need be selected. The answer is an empty array of shape (0, V) then.
    How it looks:
        return np.stack(rows)  # rows is a list, and may be empty
    What to write instead:
        return np.array(rows).reshape(-1, V)
    """
    return np.stack(list(rows))


@MISCONCEPTIONS.add(clause="shape", step="finish_rows")
def empty_selection_flat(c: Context, rows: Array) -> Array:
    """With no selected position the shape is (0,)

    What it does:
        An array is made of a list of rows. When the list is empty, it has one axis only.
    Why it is wrong:
        The answer always has V columns, and with no rows its shape is (0, V).
    How it looks:
        return np.array(rows)  # rows is a list, and may be empty
    What to write instead:
        return np.array(rows).reshape(-1, V)
    """
    return np.array(list(rows), rows.dtype)


@MISCONCEPTIONS.add(clause="logits", step="finish_rows")
def returns_argmax(c: Context, rows: Array) -> Array:
    """The likeliest tokens are returned, not the scores

    What it does:
        Of each row only the index of its largest score is kept, an integer from 0 to V - 1.
    Why it is wrong:
        All V scores of a selected position are asked for, as floats of shape (M, V).
    How it looks:
        return (x @ w_head)[mask_indicator > 0.5].argmax(axis=-1)
    What to write instead:
        return (x @ w_head)[mask_indicator > 0.5]
    """
    return rows.argmax(axis=-1)


@MISCONCEPTIONS.add(clause="shape", step="finish_rows")
def returns_list(c: Context, rows: Array) -> list[Array]:
    """A list of rows is returned

    What it does:
        The rows are collected in a list, and the list is returned as it is.
    Why it is wrong:
        The answer is a numpy array or a torch tensor of shape (M, V). A list has neither shape nor dtype.
    How it looks:
        return rows  # a list
    What to write instead:
        return np.array(rows).reshape(-1, V)
    """
    return list(rows)


# --- arguments -------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="inputs", step="cast_ids")
def ids_overwritten(c: Context) -> Array:
    """input_ids is written into

    What it does:
        Other ids are put into input_ids itself, at selected positions for instance.
    Why it is wrong:
        input_ids belongs to the caller and must be the same after the call. In a read-only array the
        assignment raises an error.
    How it looks:
        ids = input_ids.astype(int)
        input_ids[mask_indicator > 0.5] = 0
    What to write instead:
        ids = input_ids.astype(int)  # and nothing is written to input_ids
    """
    ids = c.input_ids.astype(np.int64)
    c.input_ids[c.mask_indicator > 0.5] = 0
    return ids


@MISCONCEPTIONS.add(clause="inputs", step="selected")
def indicator_overwritten(c: Context) -> Array:
    """mask_indicator is written into

    What it does:
        Other numbers are put into mask_indicator itself: zeros and ones for the selection, for instance.
    Why it is wrong:
        The array belongs to the caller, who finds other values in it afterwards. A read-only one raises an
        error.
    How it looks:
        mask_indicator[:] = mask_indicator > 0.5
    What to write instead:
        chosen = mask_indicator > 0.5
    """
    chosen = c.mask_indicator > 0.5
    c.mask_indicator[...] = chosen
    return chosen


@MISCONCEPTIONS.add(clause="inputs", step="look_up_tokens")
def embeddings_overwritten(c: Context, ids: Array) -> Array:
    """w_emb is written into

    What it does:
        Rows of w_emb itself get other numbers: their sums with the positions, for instance.
    Why it is wrong:
        w_emb belongs to the caller, who finds other embeddings in it afterwards. += on an array changes that
        array; it makes no new one.
    How it looks:
        x = w_emb[ids] + pos_embed
        w_emb[ids] += pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    tokens = c.w_emb[ids]
    c.w_emb[ids] += c.pos_embed
    return tokens


@MISCONCEPTIONS.add(clause="inputs", step="add_positions")
def positions_overwritten(c: Context, tokens: Array) -> Array:
    """pos_embed is written into

    What it does:
        pos_embed itself gets other numbers: += adds the token rows to it, for instance.
    Why it is wrong:
        x may begin with the positions, but as a copy. The caller uses pos_embed again, and so does the next
        example.
    How it looks:
        x = pos_embed
        x += w_emb[ids[0]]
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    rows = tokens + c.pos_embed
    c.pos_embed[...] = rows[-1]
    return rows


@MISCONCEPTIONS.add(clause="inputs")
def weights_scaled_in_place() -> dict[str, Callable[..., Any]]:
    """blocks_weights is written into

    What it does:
        An operation such as /= changes a matrix of blocks_weights itself: w_q is scaled instead of the
        scores, for instance.
    Why it is wrong:
        Scaling w_q is fine, but on a copy: a slice of blocks_weights, and a tensor made by torch.from_numpy,
        share the caller's memory.
    How it looks:
        w_q = blocks_weights[b, 0]
        w_q /= np.sqrt(d_head)
    What to write instead:
        w_q = blocks_weights[b, 0] / np.sqrt(d_head)
    """

    def unpack_block(c: Context) -> dict[str, Array]:
        w = dict(zip(MATRICES, c.blocks_weights[c.block], strict=True))
        w["w_q"] /= math.sqrt(c.w_emb.shape[-1] // c.num_heads)
        return w

    def scale_scores(c: Context, scores: Array, d_head: int) -> Array:
        return scores

    return {"unpack_block": unpack_block, "scale_scores": scale_scores}


@MISCONCEPTIONS.add(clause="inputs", step="vocabulary_scores")
def head_overwritten(c: Context, x: Array) -> Array:
    """w_head is written into

    What it does:
        Other numbers are put into w_head itself, even if the scores come out right in this call.
    Why it is wrong:
        The array belongs to the caller, who may use it again. *= and assignments to elements change it; an
        expression such as 2 * w_head makes a new one.
    How it looks:
        w_head *= 2
        logits = x @ w_head / 2
    What to write instead:
        logits = x @ w_head
    """
    head = c.w_head
    head *= 2.0
    return x @ head / 2.0


@MISCONCEPTIONS.add(clause="inputs", step="finish_rows")
def answer_is_view(c: Context, rows: Array) -> Array:
    """The answer may be a part of an argument

    What it does:
        Where the answer has the same numbers as w_emb, w_emb itself or a view of it is returned.
    Why it is wrong:
        Whoever changes the answer then changes the embeddings too. The answer has to be an array of its own.
    How it looks:
        return w_emb[:M]  # a slice shares memory with w_emb
    What to write instead:
        return x[chosen] @ w_head  # a product is a new array
    """
    return c.w_emb if np.array_equal(rows, c.w_emb) else rows


# --- calls one after another -----------------------------------------------------------------


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def persistent_buffer() -> dict[str, Callable[..., Any]]:
    """One buffer holds the answers of all calls

    What it does:
        An array is kept for each shape of the answer, and every call writes into it and returns it.
    Why it is wrong:
        The next call of that shape changes the answer already given. Each call needs a new array.
    How it looks:
        np.matmul(x[chosen], w_head, out=buffer)
        return buffer
    What to write instead:
        return x[chosen] @ w_head
    """
    buffers: dict[Any, Array] = {}

    def finish_rows(c: Context, rows: Array) -> Array:
        buffer = buffers.setdefault((rows.shape, rows.dtype), np.empty_like(rows))
        buffer[...] = rows
        return buffer

    return {"finish_rows": finish_rows}


def _contents(*arrays: Array) -> tuple[Any, ...]:
    return tuple((a.shape, a.dtype.str, a.tobytes()) for a in arrays)


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def cache_ignores_embeddings() -> dict[str, Callable[..., Any]]:
    """A cache that leaves the values of w_emb out of its key

    What it does:
        Answers are kept, and given again when all arguments but w_emb are the same and w_emb has the same
        shape.
    Why it is wrong:
        With other embeddings the answer is another one. The key has to hold the value of every argument.
    How it looks:
        key = (input_ids.tobytes(), mask_indicator.tobytes(), w_emb.shape, ...)
    What to write instead:
        key = (input_ids.tobytes(), mask_indicator.tobytes(), w_emb.tobytes(), ...)  # or no cache at all
    """
    answers: dict[Any, Array] = {}

    def finish_rows(c: Context, rows: Array) -> Array:
        others = _contents(c.input_ids, c.mask_indicator, c.pos_embed, c.blocks_weights, c.w_head)
        return answers.setdefault((others, c.w_emb.shape, c.num_heads), rows).copy()

    return {"finish_rows": finish_rows}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def cache_by_shape() -> dict[str, Callable[..., Any]]:
    """A cache whose key is the shapes of the arguments

    What it does:
        The first answer for arguments of certain shapes is kept and given again for all others of these
        shapes.
    Why it is wrong:
        The answer depends on the numbers in the arrays, even on how many positions are selected. The key has
        to hold the value of every argument.
    How it looks:
        key = (input_ids.shape, w_emb.shape, blocks_weights.shape, num_heads)
    What to write instead:
        key = (input_ids.tobytes(), mask_indicator.tobytes(), w_emb.tobytes(), ...)  # or no cache at all
    """
    answers: dict[Any, Array] = {}

    def finish_rows(c: Context, rows: Array) -> Array:
        arrays = (c.input_ids, c.mask_indicator, c.w_emb, c.pos_embed, c.blocks_weights, c.w_head)
        key = (*(a.shape for a in arrays), c.num_heads, rows.dtype)
        return answers.setdefault(key, rows).copy()

    return {"finish_rows": finish_rows}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def rows_pile_up() -> dict[str, Callable[..., Any]]:
    """Rows of earlier calls are returned as well

    What it does:
        Rows are collected in a list that outlives the call, so each answer begins with those of all calls
        before.
    Why it is wrong:
        Only this call's rows belong to its answer. A list at the top of the file, or as a parameter's
        default, is made once and not anew for each call.
    How it looks:
        def collect(new, rows=[]):
            rows.append(new)
    What to write instead:
        rows = []  # inside mlm_forward, before the loop
    """
    kept: list[Array] = []

    def finish_rows(c: Context, rows: Array) -> Array:
        kept.append(rows)
        return np.concatenate(kept)

    return {"finish_rows": finish_rows}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def dropout_left_on() -> dict[str, Callable[..., Any]]:
    """Random numbers change the answer

    What it does:
        Each call draws new random numbers and uses them: dropout that is left on, for instance, sets a random
        part of the values to 0.
    Why it is wrong:
        Dropout and noise belong to training. Here there is neither, and the same call must give the same
        answer.
    How it looks:
        mlp = mlp * (np.random.rand(*mlp.shape) >= 0.1) / 0.9
        x = x + mlp
    What to write instead:
        x = x + mlp
    """
    generator = np.random.default_rng(0)

    def add_mlp(c: Context, x: Array, normed: Array, out: Array) -> Array:
        return x + out * (generator.random(out.shape) >= 0.1) / 0.9

    return {"add_mlp": add_mlp}
