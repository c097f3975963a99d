"""Mistakes of the loss at selected positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Context

MISCONCEPTIONS = Misconceptions()
Changes = Mapping[str, Callable[..., Any]]


@MISCONCEPTIONS.add(clause="flat_positions", step="gather_rows")
def places_by_the_number_of_examples(c: Context, hidden: Array, positions: Array) -> Array:
    """Places are split by N instead of T

    What it does:
        Example and position are the quotient and remainder of a division by the number of examples.
    Why it is wrong:
        Place n * T + t is found again with a division by T, the length of a row.
    How it looks:
        n, t = divmod(flat_positions, N)
    What to write instead:
        n, t = divmod(flat_positions, T)
    """
    examples, length = hidden.shape[:2]
    rows: Array = hidden[positions // examples % examples, positions % examples % length]
    return rows


@MISCONCEPTIONS.add(clause="flat_positions", step="gather_rows")
def places_down_the_columns(c: Context, hidden: Array, positions: Array) -> Array:
    """Places run down the columns

    What it does:
        Place 1 is taken for position 0 of example 1: examples are counted first, then positions.
    Why it is wrong:
        Place n * T + t goes through a whole example before the next one begins.
    How it looks:
        rows = hidden.transpose(1, 0, 2).reshape(-1, D)[flat_positions]
    What to write instead:
        rows = hidden.reshape(-1, D)[flat_positions]
    """
    rows: Array = hidden.swapaxes(0, 1).reshape(-1, hidden.shape[-1])[positions]
    return rows


@MISCONCEPTIONS.add(clause="flat_positions", step="gather_rows")
def places_sorted(c: Context, hidden: Array, positions: Array) -> Array:
    """Places are sorted, targets are not

    What it does:
        The selected rows are taken in ascending order, with a truth array or a sorted list of places, and
        meet the targets of other places.
    Why it is wrong:
        Row and target belong together by their number in flat_positions and targets, whatever the order.
    How it looks:
        rows = hidden.reshape(-1, D)[np.sort(flat_positions)]
    What to write instead:
        rows = hidden.reshape(-1, D)[flat_positions]
    """
    rows: Array = hidden.reshape(-1, hidden.shape[-1])[np.sort(positions)]
    return rows


@MISCONCEPTIONS.add(clause="flat_positions", step="gather_rows")
def places_among_real_positions(c: Context, hidden: Array, positions: Array) -> Array:
    """Places are counted among the real positions

    What it does:
        Padding is taken out of the hidden states before the selected rows are looked up.
    Why it is wrong:
        Place n * T + t counts padding too: T is the padded length.
    How it looks:
        rows = hidden[valid][flat_positions]
    What to write instead:
        rows = hidden.reshape(-1, D)[flat_positions]
    """
    rows: Array = hidden[c.valid][positions]
    return rows


@MISCONCEPTIONS.add(clause="cross_entropy", step="target_logits")
def targets_of_the_first_rows(c: Context, logits: Array, targets: Array) -> Array:
    """Every row is held against the first target

    What it does:
        All rows use the logit of targets[0].
    Why it is wrong:
        Each selected position has a target of its own.
    How it looks:
        chosen = logits[:, targets[0]]
    What to write instead:
        chosen = logits[np.arange(M), targets]
    """
    chosen: Array = logits[:, targets[0]]
    return chosen


@MISCONCEPTIONS.add(clause="cross_entropy")
def all_targets_of_all_rows() -> Changes:
    """Every row is held against every target

    What it does:
        logits[:, targets] has the shape (M, M): each row with all targets, of which the mean is taken.
    Why it is wrong:
        Row m goes with target m alone. Index both axes at once.
    How it looks:
        chosen = logits[:, targets]
    What to write instead:
        chosen = logits[np.arange(M), targets]
    """

    def chosen(c: Context, logits: Array, targets: Array) -> Array:
        return np.asarray(logits[:, targets])

    def losses(c: Context, normalizer: Array, chosen: Array) -> Array:
        return normalizer[:, None] - chosen

    return {"target_logits": chosen, "position_losses": losses}


@MISCONCEPTIONS.add(clause="cross_entropy", step="target_logits")
def target_is_the_best(c: Context, logits: Array, targets: Array) -> Array:
    """The most probable token is taken for the target

    What it does:
        The loss is that of the largest logit of each row, whatever the target.
    Why it is wrong:
        The loss says how probable the right token is, not the model's favourite.
    How it looks:
        chosen = logits.max(axis=-1)
    What to write instead:
        chosen = logits[np.arange(M), targets]
    """
    return np.asarray(logits.max(axis=-1))


@MISCONCEPTIONS.add(clause="cross_entropy", step="position_losses")
def sign_missing(c: Context, normalizer: Array, chosen: Array) -> Array:
    """The log probability has its own sign

    What it does:
        The mean of log p(target) is returned, which is negative.
    Why it is wrong:
        A loss is minus the log probability: the less probable the target, the larger.
    How it looks:
        loss = np.mean(chosen - log_z)
    What to write instead:
        loss = np.mean(log_z - chosen)
    """
    return chosen - normalizer


@MISCONCEPTIONS.add(clause="cross_entropy", step="position_losses")
def loss_in_bits(c: Context, normalizer: Array, chosen: Array) -> Array:
    """The loss is in bits

    What it does:
        Logarithms of base 2 are taken.
    Why it is wrong:
        The loss is in natural logarithms, to which exp is the inverse.
    How it looks:
        loss = -np.log2(p)
    What to write instead:
        loss = -np.log(p)
    """
    return (normalizer - chosen) / normalizer.dtype.type(np.log(2.0))


@MISCONCEPTIONS.add(clause="cross_entropy", step="score_vocabulary")
def tied_head(c: Context, rows: Array) -> Array:
    """Token embeddings are used as the head

    What it does:
        Logits are hidden @ token_embed.T, as in models whose weights are tied.
    Why it is wrong:
        This model has a head of its own.
    How it looks:
        logits = rows @ weights["token_embed"].T
    What to write instead:
        logits = rows @ weights["head"].T
    """
    return rows @ c.weights["token_embed"].T


@MISCONCEPTIONS.add(clause="cross_entropy", step="score_vocabulary")
def rows_normalized_before_head(c: Context, rows: Array) -> Array:
    """Hidden states are normalized before the head

    What it does:
        A layer normalization stands between the encoder and the head.
    Why it is wrong:
        The head takes the hidden states as encode_batch gives them.
    How it looks:
        logits = layer_norm(rows) @ head.T
    What to write instead:
        logits = rows @ head.T
    """
    return c.normalize(rows) @ c.weights["head"].T


@MISCONCEPTIONS.add(clause="range", step="largest_logit")
def logits_not_shifted(c: Context, logits: Array) -> Array:
    """The largest logit is not subtracted

    What it does:
        The log-sum-exp is log(sum(exp(logits))), of the logits as they are.
    Why it is wrong:
        exp is infinite beyond 709, and 0 below -745, whose logarithm is minus infinity.
    How it looks:
        log_z = np.log(np.exp(logits).sum(axis=-1))
    What to write instead:
        top = logits.max(axis=-1, keepdims=True)
        log_z = top[:, 0] + np.log(np.exp(logits - top).sum(axis=-1))
    """
    return np.zeros((len(logits), 1), logits.dtype)


@MISCONCEPTIONS.add(clause="range", step="largest_logit")
def largest_of_all_logits(c: Context, logits: Array) -> Array:
    """The largest logit of all rows is subtracted

    What it does:
        All rows are shifted by the same number.
    Why it is wrong:
        Where a row lies far below it, all its exponentials are 0, and the logarithm of 0 is minus infinity.
    How it looks:
        top = logits.max()
    What to write instead:
        top = logits.max(axis=-1, keepdims=True)
    """
    return np.full((len(logits), 1), logits.max())


@MISCONCEPTIONS.add(clause="range")
def log_of_softmax() -> Changes:
    """The logarithm is taken of the softmax

    What it does:
        Probabilities are computed first, and then the logarithm of the target's.
    Why it is wrong:
        A probability below 1e-308 is 0 as a float, and its logarithm minus infinity. The log-sum-exp has no
        such limit.
    How it looks:
        p = softmax(logits)
        loss = -np.log(p[np.arange(M), targets])
    What to write instead:
        loss = log_z - logits[np.arange(M), targets]
    """

    def chosen(c: Context, logits: Array, targets: Array) -> Array:
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares = powers / powers.sum(axis=-1, keepdims=True)
        return np.asarray(np.log(shares[np.arange(len(targets)), targets]))

    def nothing(c: Context, logits: Array, largest: Array) -> Array:
        return np.zeros(len(logits), logits.dtype)

    return {"log_normalizer": nothing, "target_logits": chosen}


@MISCONCEPTIONS.add(clause="range", step="position_losses")
def probability_padded(c: Context, normalizer: Array, chosen: Array) -> Array:
    """A small number is added to the probability

    What it does:
        The loss is -log(p + 1e-12), so that it never exceeds about 27.6.
    Why it is wrong:
        The loss of an improbable target is as large as it is. The log-sum-exp needs no such guard.
    How it looks:
        loss = -np.log(p + 1e-12)
    What to write instead:
        loss = log_z - logits[np.arange(M), targets]
    """
    return -np.log(np.exp(chosen - normalizer) + normalizer.dtype.type(1e-12))


@MISCONCEPTIONS.add(clause="selected_mean", step="average")
def mean_over_all_positions(c: Context, losses: Array) -> float:
    """The sum is divided by the number of all positions

    What it does:
        The losses of the selected positions are divided by N * T.
    Why it is wrong:
        The mean is over the selected positions; the others have no loss and do not count.
    How it looks:
        loss = losses.sum() / (N * T)
    What to write instead:
        loss = losses.sum() / M
    """
    return float(losses.sum() / c.token_ids.size)


@MISCONCEPTIONS.add(clause="selected_mean", step="average")
def mean_over_real_positions(c: Context, losses: Array) -> float:
    """The sum is divided by the number of real positions

    What it does:
        The losses of the selected positions are divided by the number of positions that are no padding.
    Why it is wrong:
        The mean is over the selected positions only.
    How it looks:
        loss = losses.sum() / valid.sum()
    What to write instead:
        loss = losses.sum() / M
    """
    return float(losses.sum() / c.valid.sum())


@MISCONCEPTIONS.add(clause="selected_mean", step="average")
def losses_summed(c: Context, losses: Array) -> float:
    """Losses are summed, not averaged

    What it does:
        The sum over the selected positions is returned.
    Why it is wrong:
        A sum grows with the number of positions. The mean is asked for.
    How it looks:
        loss = losses.sum()
    What to write instead:
        loss = losses.mean()
    """
    return float(losses.sum())


@MISCONCEPTIONS.add(clause="head_memory")
def whole_batch_scored() -> Changes:
    """The vocabulary is scored at every position

    What it does:
        hidden @ head.T is computed for the whole batch, and the selected rows are taken out of it.
    Why it is wrong:
        That is an array of N * T rows of V numbers, gigabytes for a large vocabulary, of which nearly
        nothing is used. Take the rows first.
    How it looks:
        logits = (hidden @ head.T).reshape(-1, V)[flat_positions]
    What to write instead:
        rows = hidden.reshape(-1, D)[flat_positions]
        logits = rows @ head.T
    """

    def all_rows(c: Context, hidden: Array, positions: Array) -> Array:
        return hidden.reshape(-1, hidden.shape[-1])

    def scored(c: Context, rows: Array) -> Array:
        chosen: Array = (rows @ c.weights["head"].T)[c.positions]
        return chosen

    return {"gather_rows": all_rows, "score_vocabulary": scored}


@MISCONCEPTIONS.add(clause="refusals", step="refuse_nothing")
def empty_selection_averaged(c: Context, positions: Array) -> None:
    """Without a selection there is a loss all the same

    What it does:
        NaN comes back for an empty selection, the mean of nothing, or 0.0.
    Why it is wrong:
        NaN is carried into everything that is computed from it, and 0 says that every target was certain.
        Raise ValueError, where the reason is known.
    How it looks:
        return losses.mean() if len(losses) else 0.0
    What to write instead:
        if len(flat_positions) == 0: raise ValueError("no position is selected")
    """


@MISCONCEPTIONS.add(clause="refusals", step="refuse_padding")
def padding_scored(c: Context, positions: Array) -> None:
    """A selected place at padding is scored

    What it does:
        The loss is computed at padding as at any other place.
    Why it is wrong:
        Hidden states at padding mean nothing, and neither does their target. It is a slip of the caller:
        raise ValueError.
    How it looks:
        rows = hidden.reshape(-1, D)[flat_positions]
    What to write instead:
        if not valid.reshape(-1)[flat_positions].all(): raise ValueError("padding is selected")
    """


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def head_kept() -> Changes:
    """The head of an earlier call is used

    What it does:
        The transposed head is kept for later calls, with its shape as the key.
    Why it is wrong:
        Another call may bring other numbers of the same shape. An answer depends on its own arguments alone.
    How it looks:
        if head.shape not in cache: cache[head.shape] = head.T
    What to write instead:
        logits = rows @ weights["head"].T
    """
    kept: dict[tuple[int, ...], Array] = {}

    def score(c: Context, rows: Array) -> Array:
        head = c.weights["head"]
        return rows @ kept.setdefault(head.shape, head.T.copy()).astype(rows.dtype)

    return {"score_vocabulary": score}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def dropout_left_on() -> Changes:
    """Dropout is left on

    What it does:
        A tenth of what attention gives is set to zero at random, and the rest is scaled up.
    Why it is wrong:
        This model has no dropout. The same call has to give the same answer.
    How it looks:
        x = layer_norm(x + attention(x) * (rng.random(x.shape) > 0.1) / 0.9)
    What to write instead:
        x = layer_norm(x + attention(x))
    """
    rng = np.random.default_rng(0)

    def add(c: Context, x: Array, attended: Array) -> Array:
        kept = (rng.random(x.shape) > 0.1).astype(x.dtype) / x.dtype.type(0.9)
        return np.asarray(x + attended * kept)

    return {"add_attention": add}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def one_buffer_for_all() -> Changes:
    """One buffer is handed out again and again

    What it does:
        Hidden states are written into an array that is kept for the next call of the same shape.
    Why it is wrong:
        The caller's earlier answer then changes under its hands. Return a new array from each call.
    How it looks:
        out = buffers.setdefault(x.shape, np.empty_like(x)); out[...] = x; return out
    What to write instead:
        return x
    """
    buffers: dict[tuple[Any, ...], Array] = {}

    def finish(c: Context, x: Array) -> Array:
        out = buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
        out[...] = x
        return out

    return {"finish": finish}
