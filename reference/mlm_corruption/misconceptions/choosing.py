"""Known mistakes about which positions are chosen."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import STEPS as RIGHT
from ..steps import Array, Context

CHOOSING = Misconceptions()


@CHOOSING.add(clause="padding", step="choose_each")
def padding_chosen(c: Context) -> Array:
    """Padding is chosen

    What it does:
        The draw goes over the whole rectangle, and positions of the padding are chosen, too.
    Why it is wrong:
        Their targets are no tokens, and the loss learns from them.
    How it looks:
        chosen = rng.random((N, T)) < rate
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    return np.asarray(c.rng.random(c.shape) < c.policy.rate)


@CHOOSING.add(clause="any_token", step="choose_each")
def zero_is_padding(c: Context) -> Array:
    """Token 0 is taken for padding

    What it does:
        Positions with the token 0 are never chosen.
    Why it is wrong:
        0 is a token as any other. The lengths say where the padding begins.
    How it looks:
        valid = token_ids != 0
    What to write instead:
        valid = np.arange(T) < lengths[:, None]
    """
    return RIGHT.choose_each(c) & (c.token_ids != 0)


@CHOOSING.add(clause="any_token", step="choose_each")
def sentinels_spared(c: Context) -> Array:
    """Sentinels in the text are never chosen

    What it does:
        Positions that hold sentinel_id already are left out of the draw.
    Why it is wrong:
        Here no token has a say in what is chosen.
    How it looks:
        chosen &= token_ids != sentinel_id
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    return RIGHT.choose_each(c) & (c.token_ids != c.sentinel_id)


@CHOOSING.add(clause="any_token", step="choose_each")
def seeded_by_the_text(c: Context) -> Array:
    """The draw depends on the text

    What it does:
        Another generator is made from the sum of the tokens, so that each batch has its own mask.
    Why it is wrong:
        The generator alone decides, and a batch that comes again gets another mask.
    How it looks:
        rng = np.random.default_rng([seed, int(token_ids.sum())])
    What to write instead:
        draws = rng.random((N, T))
    """
    real = int(c.token_ids[c.valid].sum())
    own = np.random.default_rng([abs(real), int(c.rng.integers(2**31))])
    return np.asarray(c.valid & (own.random(c.shape) < c.policy.rate))


@CHOOSING.add(clause="rate", step="choose_each")
def rate_of_the_rectangle(c: Context) -> Array:
    """The rate counts for the padded rectangle

    What it does:
        As many real positions are chosen as are the share rate of all N times T.
    Why it is wrong:
        The share is that of the real positions. With much padding far too many of them are hidden here.
    How it looks:
        rate = policy.rate * valid.size / valid.sum()
        chosen = (rng.random((N, T)) < rate) & valid
    What to write instead:
        chosen = (rng.random((N, T)) < policy.rate) & valid
    """
    rate = c.policy.rate * c.valid.size / max(1, np.count_nonzero(c.valid))
    return np.asarray(c.valid & (c.rng.random(c.shape) < rate))


@CHOOSING.add(clause="rate", step="choose_each")
def chosen_above_the_rate(c: Context) -> Array:
    """The comparison is the wrong way round

    What it does:
        Positions whose number is above the rate are chosen, 85 % instead of 15 %.
    Why it is wrong:
        A number from 0 to 1 is below the rate with the probability rate.
    How it looks:
        chosen = (rng.random((N, T)) > rate) & valid
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    return np.asarray(c.valid & (c.rng.random(c.shape) > c.policy.rate))


@CHOOSING.add(clause="rate", step="choose_each")
def rate_fixed(c: Context) -> Array:
    """The rate is always 0.15

    What it does:
        0.15 is written down where the policy's rate belongs.
    Why it is wrong:
        0.15 is the default and no law.
    How it looks:
        chosen = (rng.random((N, T)) < 0.15) & valid
    What to write instead:
        chosen = (rng.random((N, T)) < policy.rate) & valid
    """
    return np.asarray(c.valid & (c.rng.random(c.shape) < 0.15))


@CHOOSING.add(clause="rate", step="choose_each")
def first_token_spared(c: Context) -> Array:
    """The first token of a sequence is never chosen

    What it does:
        Column 0 is left out, as if a special token stood there.
    Why it is wrong:
        Sequences here have no special tokens at their ends. Every real position is drawn.
    How it looks:
        chosen[:, 0] = False
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    chosen = RIGHT.choose_each(c)
    chosen[:, 0] = False
    return np.asarray(chosen)


@CHOOSING.add(clause="independence", step="choose_each")
def one_draw_for_a_row(c: Context) -> Array:
    """One draw for a whole row

    What it does:
        A row is chosen with all its positions, or not at all.
    Why it is wrong:
        The rate is right on the average, and yet a row is hidden from its first token to its last, or not at
        all.
    How it looks:
        chosen = (rng.random((N, 1)) < rate) & valid
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    return np.asarray(c.valid & (c.rng.random((c.shape[0], 1)) < c.policy.rate))


@CHOOSING.add(clause="independence", step="choose_each")
def one_draw_for_a_column(c: Context) -> Array:
    """One draw for a column of all rows

    What it does:
        All sequences of a batch have the same columns chosen.
    Why it is wrong:
        Every position of every sequence is drawn by itself.
    How it looks:
        chosen = (rng.random(T) < rate) & valid
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    return np.asarray(c.valid & (c.rng.random(c.shape[1]) < c.policy.rate))


@CHOOSING.add(clause="independence", step="choose_each")
def fixed_number_chosen(c: Context) -> Array:
    """A fixed number of positions is chosen

    What it does:
        In each sequence exactly the share rate is chosen, rounded.
    Why it is wrong:
        With span_length 1 every position is drawn by itself, and the number of chosen ones varies.
    How it looks:
        k = round(length * rate)
        picked = rng.choice(length, size=k, replace=False)
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    chosen = np.zeros(c.shape, bool)
    for row, length in enumerate(c.lengths.tolist()):
        picked = c.rng.permutation(length)[: round(length * c.policy.rate)]
        chosen[row, picked] = True
    return chosen


@CHOOSING.add(clause="forced", step="force")
def nothing_forced(c: Context, chosen: Array) -> Array:
    """Nothing is forced

    What it does:
        Where nothing is drawn, nothing is chosen.
    Why it is wrong:
        The loss is a mean over the chosen positions, and a mean of nothing is NaN.
    How it looks:
        chosen = (rng.random((N, T)) < rate) & valid
    What to write instead:
        if not chosen.any():
            rows = np.flatnonzero(lengths > 0)
            chosen[rows, lengths[rows] - 1] = True
    """
    return chosen


@CHOOSING.add(clause="forced", step="force")
def forced_in_the_padding(c: Context, chosen: Array) -> Array:
    """The padding of empty sequences is forced

    What it does:
        For a sequence of length 0 the first column is chosen, which is padding.
    Why it is wrong:
        A sequence without real positions has none to choose.
    How it looks:
        chosen[np.arange(N), np.maximum(lengths - 1, 0)] = True
    What to write instead:
        rows = np.flatnonzero(lengths > 0)
        chosen[rows, lengths[rows] - 1] = True
    """
    if not chosen.any():
        chosen[np.arange(c.shape[0]), np.maximum(c.lengths - 1, 0)] = True
    return chosen


@CHOOSING.add(clause="forced", step="force")
def last_column_forced(c: Context, chosen: Array) -> Array:
    """The last column is forced instead of the last real position

    What it does:
        Where nothing is drawn, column T - 1 is chosen in all rows, though it is padding in most.
    Why it is wrong:
        Padding is never chosen. The last real position of row n is lengths[n] - 1.
    How it looks:
        chosen[:, -1] = True
    What to write instead:
        rows = np.flatnonzero(lengths > 0)
        chosen[rows, lengths[rows] - 1] = True
    """
    if not chosen.any():
        chosen[:, -1] = c.lengths > 0
    return chosen


@CHOOSING.add(clause="forced", step="force")
def first_forced(c: Context, chosen: Array) -> Array:
    """The first position is forced instead of the last

    What it does:
        Where nothing is drawn, the first position of each sequence is chosen.
    Why it is wrong:
        Asked for is the last real one.
    How it looks:
        chosen[:, 0] = lengths > 0
    What to write instead:
        rows = np.flatnonzero(lengths > 0)
        chosen[rows, lengths[rows] - 1] = True
    """
    if not chosen.any():
        chosen[:, 0] = c.lengths > 0
    return chosen


@CHOOSING.add(clause="forced", step="force")
def one_forced_in_all(c: Context, chosen: Array) -> Array:
    """One position is forced in the whole batch

    What it does:
        Where nothing is drawn, only the last real position of the last sequence is chosen.
    Why it is wrong:
        Every sequence that has a real position gets its last one.
    How it looks:
        chosen.flat[np.flatnonzero(valid)[-1]] = True
    What to write instead:
        rows = np.flatnonzero(lengths > 0)
        chosen[rows, lengths[rows] - 1] = True
    """
    if c.valid.any() and not chosen.any():
        chosen.flat[np.flatnonzero(c.valid)[-1]] = True
    return chosen


@CHOOSING.add(clause="forced", step="force")
def every_row_forced(c: Context, chosen: Array) -> Array:
    """Every row without a chosen position is forced

    What it does:
        Each sequence by itself gets its last position when nothing was drawn in it.
    Why it is wrong:
        Only a batch without any chosen position needs it. Else the last positions of short sequences are
        chosen too often.
    How it looks:
        empty = ~chosen.any(axis=1) & (lengths > 0)
        chosen[empty, lengths[empty] - 1] = True
    What to write instead:
        if not chosen.any():
            rows = np.flatnonzero(lengths > 0)
            chosen[rows, lengths[rows] - 1] = True
    """
    empty = np.flatnonzero(~chosen.any(axis=1) & (c.lengths > 0))
    chosen[empty, c.lengths[empty] - 1] = True
    return chosen


@CHOOSING.add(clause="span_count", step="count_spans")
def spans_cut(c: Context, length: int) -> int:
    """The number of spans is cut instead of rounded

    What it does:
        1.65 spans become 1.
    Why it is wrong:
        Too few positions are chosen on the average. Asked for is the nearest whole number.
    How it looks:
        k = max(1, int(length * rate / span_length))
    What to write instead:
        k = max(1, round(length * rate / span_length))
    """
    return max(1, math.floor(length * c.policy.rate / c.policy.span_length))


@CHOOSING.add(clause="span_count", step="count_spans")
def spans_rounded_up(c: Context, length: int) -> int:
    """The number of spans is rounded up

    What it does:
        2.25 spans become 3.
    Why it is wrong:
        Too many positions are chosen on the average. Asked for is the nearest whole number.
    How it looks:
        k = math.ceil(length * rate / span_length)
    What to write instead:
        k = max(1, round(length * rate / span_length))
    """
    return math.ceil(length * c.policy.rate / c.policy.span_length)


@CHOOSING.add(clause="span_count", step="count_spans")
def spans_by_the_width(c: Context, length: int) -> int:
    """The number of spans comes from the width of the batch

    What it does:
        Every sequence gets as many spans as one that fills the whole batch, as far as there are places.
    Why it is wrong:
        Short sequences have far more than the share rate chosen: n is the number of their own real positions.
    How it looks:
        k = max(1, round(token_ids.shape[1] * rate / span_length))
    What to write instead:
        k = max(1, round(lengths[row] * rate / span_length))
    """
    k = max(1, round(c.shape[1] * c.policy.rate / c.policy.span_length))
    return min(k, max(1, length - c.policy.span_length + 1))


@CHOOSING.add(clause="span_count", step="count_spans")
def spans_as_many_as_positions(c: Context, length: int) -> int:
    """As many spans as positions are to be chosen

    What it does:
        The number of spans is length * rate, not divided by the span length, and far too much is chosen.
    Why it is wrong:
        Each span has span_length positions.
    How it looks:
        k = max(1, round(length * rate))
    What to write instead:
        k = max(1, round(length * rate / span_length))
    """
    return min(max(1, round(length * c.policy.rate)), max(1, length - c.policy.span_length + 1))


@CHOOSING.add(clause="span_count", step="count_spans")
def perhaps_no_span(c: Context, length: int) -> int:
    """A sequence may get no span

    What it does:
        Where length * rate / span_length is below one half, nothing is chosen in the sequence.
    Why it is wrong:
        Every sequence that is not empty gets at least one span.
    How it looks:
        k = round(length * rate / span_length)
    What to write instead:
        k = max(1, round(length * rate / span_length))
    """
    return round(length * c.policy.rate / c.policy.span_length)


@CHOOSING.add(clause="span_count", step="draw_starts")
def starts_repeated(c: Context, length: int, count: int) -> Array:
    """Two spans may start at the same position

    What it does:
        Starts are drawn with replacement, and two equal ones are one span.
    Why it is wrong:
        Starts are different, so that there are as many spans as asked for.
    How it looks:
        starts = rng.integers(length - span_length + 1, size=k)
    What to write instead:
        starts = rng.choice(length - span_length + 1, size=k, replace=False)
    """
    return np.asarray(c.rng.integers(max(1, length - c.policy.span_length + 1), size=count))


@CHOOSING.add(clause="span_starts", step="draw_starts")
def starts_anywhere(c: Context, length: int, count: int) -> Array:
    """Spans start anywhere and are cut off at the end

    What it does:
        Starts are uniform over all positions, and spans that begin near the end are shorter.
    Why it is wrong:
        Spans begin only where they fit as a whole.
    How it looks:
        starts = rng.choice(length, size=k, replace=False)
    What to write instead:
        starts = rng.choice(max(1, length - span_length + 1), size=k, replace=False)
    """
    return np.asarray(c.rng.choice(length, size=min(count, length), replace=False))


@CHOOSING.add(clause="span_starts", step="draw_starts")
def last_start_left_out(c: Context, length: int, count: int) -> Array:
    """The last start is left out

    What it does:
        Starts go up to length - span_length - 1, and the last position is never chosen.
    Why it is wrong:
        A span fits at length - span_length, too: there are length - span_length + 1 places.
    How it looks:
        starts = rng.choice(length - span_length, size=k, replace=False)
    What to write instead:
        starts = rng.choice(max(1, length - span_length + 1), size=k, replace=False)
    """
    places = max(1, length - c.policy.span_length)
    return np.asarray(c.rng.choice(places, size=min(count, places), replace=False))


@CHOOSING.add(clause="span_starts", step="draw_starts")
def always_the_first_span(c: Context, length: int, count: int) -> Array:
    """Spans are laid one after another from the start

    What it does:
        The first positions of each sequence are chosen, the same ones in every call.
    Why it is wrong:
        Starts are drawn.
    How it looks:
        starts = range(0, k * span_length, span_length)
    What to write instead:
        starts = rng.choice(max(1, length - span_length + 1), size=k, replace=False)
    """
    return np.arange(count)


@CHOOSING.add(clause="span_starts", step="cover")
def spans_into_the_padding(c: Context, row: Array, start: int, length: int) -> None:
    """Spans run into the padding

    What it does:
        In a sequence that is shorter than a span, the rest of the span is chosen from the padding.
    Why it is wrong:
        Padding is never chosen.
    How it looks:
        chosen[n, start : start + span_length] = True
    What to write instead:
        chosen[n, start : min(start + span_length, length)] = True
    """
    row[start : start + c.policy.span_length] = True


@CHOOSING.add(clause="span_starts", step="choose_spans")
def short_sequences_left_out(c: Context, steps: Any) -> Array:
    """Sequences that are shorter than a span are left out

    What it does:
        Where no whole span fits, nothing is chosen.
    Why it is wrong:
        Such a sequence is one span, and chosen as a whole.
    How it looks:
        if length < span_length:
            continue
    What to write instead:
        starts = rng.choice(max(1, length - span_length + 1), size=k, replace=False)
    """
    chosen = RIGHT.choose_spans(c, steps)
    chosen[c.lengths < c.policy.span_length] = False
    return np.asarray(chosen)


@CHOOSING.add(clause="span_count", step="choose_spans")
def span_length_ignored(c: Context, steps: Any) -> Array:
    """The span length is ignored

    What it does:
        Single positions are drawn, whatever span_length is.
    Why it is wrong:
        From 2 on span_length asks for spans: positions side by side.
    How it looks:
        chosen = (rng.random((N, T)) < policy.rate) & valid
    What to write instead:
        if policy.span_length == 1:
            chosen = (rng.random((N, T)) < policy.rate) & valid
        else:
            chosen = choose_spans(lengths, T, policy, rng)
    """
    return RIGHT.choose_each(c)


@CHOOSING.add(clause="independence", step="choose_spans")
def same_spans_in_all_rows(c: Context, steps: Any) -> Array:
    """All rows have their spans at the same places

    What it does:
        Starts are drawn once and used for all rows of the same length.
    Why it is wrong:
        Every sequence draws starts of its own.
    How it looks:
        starts = rng.choice(T - span_length + 1, size=k, replace=False)
        for n in range(N): ...
    What to write instead:
        for n in range(N):
            starts = rng.choice(max(1, lengths[n] - span_length + 1), size=k, replace=False)
    """
    chosen = RIGHT.choose_spans(c, steps)
    for row in range(c.shape[0]):
        chosen[row] = chosen[c.lengths == c.lengths[row]][0]
    return np.asarray(chosen)


@CHOOSING.add(clause="generator", step="pick_generator", stateful=True)
def global_generator(c: Context) -> Any:
    """numpy's global generator is used

    What it does:
        Numbers come from np.random, and the generator that was passed in is not used.
    Why it is wrong:
        A run can't be repeated by its seed, and other code that draws numbers changes it.
    How it looks:
        chosen = (np.random.rand(N, T) < rate) & valid
    What to write instead:
        chosen = (rng.random((N, T)) < rate) & valid
    """
    return _GLOBAL


_GLOBAL = np.random.default_rng(5)


@CHOOSING.add(clause="generator", step="pick_generator")
def own_seed(c: Context) -> np.random.Generator:
    """A generator of its own with a fixed seed

    What it does:
        Every call makes a generator with the same seed, so all batches are masked alike.
    Why it is wrong:
        The model sees the same positions hidden again and again. The caller's generator decides.
    How it looks:
        rng = np.random.default_rng(0)
    What to write instead:
        draws = rng.random((N, T))
    """
    return np.random.default_rng(0)


@CHOOSING.add(clause="generator", step="pick_generator")
def generator_copied(c: Context) -> np.random.Generator:
    """A copy of the generator is used

    What it does:
        The caller's generator stays where it was, and the next call draws the same numbers.
    Why it is wrong:
        Each call has to move the generator on. Else every batch of an epoch is masked alike.
    How it looks:
        rng = copy.deepcopy(rng)
    What to write instead:
        draws = rng.random((N, T))
    """
    return copy.deepcopy(c.rng)
