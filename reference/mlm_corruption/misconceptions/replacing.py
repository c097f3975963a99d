"""Known mistakes about what replaces the chosen tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import STEPS as RIGHT
from ..steps import Array, Context

REPLACING = Misconceptions()


@REPLACING.add(clause="split", step="draw_kinds")
def sentinel_for_all(c: Context, chosen: Array) -> tuple[Array, Array]:
    """All chosen positions become the sentinel

    What it does:
        The proportions of the policy are not used.
    Why it is wrong:
        Sentinels occur in pretraining only. Some positions have to hold an ordinary token, right or wrong.
    How it looks:
        corrupted[chosen] = sentinel_id
    What to write instead:
        draws = rng.random((N, T))
        corrupted[chosen & (draws < policy.prob_sentinel)] = sentinel_id
    """
    return chosen, np.zeros(c.shape, bool)


@REPLACING.add(clause="forced", step="draw_kinds")
def forced_never_replaced(c: Context, chosen: Array) -> tuple[Array, Array]:
    """Forced positions are never replaced

    What it does:
        The numbers that chose the positions also say what replaces them. Those of forced positions are at or
        above the rate, so that they keep their tokens.
    Why it is wrong:
        What replaces a forced position is drawn as for any other: with prob_sentinel it becomes the sentinel.
    How it looks:
        draws = rng.random((N, T))
        chosen = (draws < rate) & valid
        use_sentinel = chosen & (draws < rate * policy.prob_sentinel)
    What to write instead:
        draws = rng.random((N, T))  # once more, after positions are forced
        use_sentinel = chosen & (draws < policy.prob_sentinel)
    """
    if c.nothing_drawn:
        return np.zeros(c.shape, bool), np.zeros(c.shape, bool)
    return RIGHT.draw_kinds(c, chosen)


@REPLACING.add(clause="forced", step="draw_kinds")
def forced_never_random(c: Context, chosen: Array) -> tuple[Array, Array]:
    """Forced positions never get a random token

    What it does:
        A forced position becomes the sentinel with probability prob_sentinel, and stays else.
    Why it is wrong:
        What replaces a forced position is drawn as for any other: with prob_random it gets a random token.
    How it looks:
        corrupted[n, last] = sentinel_id if rng.random() < policy.prob_sentinel else token_ids[n, last]
    What to write instead:
        chosen[n, last] = True  # before the kinds are drawn, for all chosen positions alike
    """
    use_sentinel, use_random = RIGHT.draw_kinds(c, chosen)
    return use_sentinel, use_random & (not c.nothing_drawn)


@REPLACING.add(clause="split", step="draw_kinds")
def nothing_left(c: Context, chosen: Array) -> tuple[Array, Array]:
    """Nothing is left unchanged

    What it does:
        What does not become the sentinel gets a random token.
    Why it is wrong:
        The rest, prob_unchanged of the chosen positions, keeps its token.
    How it looks:
        corrupted[chosen & (draws >= policy.prob_sentinel)] = random_tokens
    What to write instead:
        use_random = chosen & (draws >= p) & (draws < p + policy.prob_random)  # p is prob_sentinel
    """
    use_sentinel = chosen & (c.rng.random(c.shape) < c.policy.prob_sentinel)
    return use_sentinel, chosen & ~use_sentinel


@REPLACING.add(clause="split", step="draw_kinds")
def random_and_unchanged_swapped(c: Context, chosen: Array) -> tuple[Array, Array]:
    """The proportions of random and unchanged tokens are swapped

    What it does:
        prob_random stay, and the rest gets a random token. With the usual 10 % each it makes no difference.
    Why it is wrong:
        With other proportions it does.
    How it looks:
        use_random = chosen & (draws >= 1 - policy.prob_unchanged)
    What to write instead:
        use_random = chosen & (draws >= p) & (draws < p + policy.prob_random)  # p is prob_sentinel
    """
    draws = c.rng.random(c.shape)
    use_sentinel = chosen & (draws < c.policy.prob_sentinel)
    return use_sentinel, chosen & (draws >= c.policy.prob_sentinel + c.policy.prob_random)


@REPLACING.add(clause="split", step="draw_kinds")
def usual_thresholds(c: Context, chosen: Array) -> tuple[Array, Array]:
    """The thresholds are always 0.8 and 0.9

    What it does:
        The usual proportions are written down where the policy's belong.
    Why it is wrong:
        A policy can have others.
    How it looks:
        use_random = chosen & (draws >= 0.8) & (draws < 0.9)
    What to write instead:
        use_random = chosen & (draws >= p) & (draws < p + policy.prob_random)  # p is prob_sentinel
    """
    draws = c.rng.random(c.shape)
    return chosen & (draws < 0.8), chosen & (draws >= 0.8) & (draws < 0.9)


@REPLACING.add(clause="split", step="draw_kinds")
def random_in_the_rest(c: Context, chosen: Array) -> tuple[Array, Array]:
    """prob_random is taken of the rest

    What it does:
        A second number is drawn for what did not become the sentinel, and prob_random of these get a
        random token: 2 % in place of 10 %.
    Why it is wrong:
        prob_random is a share of all chosen positions.
    How it looks:
        rest = chosen & ~use_sentinel
        use_random = rest & (rng.random((N, T)) < policy.prob_random)
    What to write instead:
        use_random = chosen & (draws >= p) & (draws < p + policy.prob_random)  # p is prob_sentinel
    """
    use_sentinel = chosen & (c.rng.random(c.shape) < c.policy.prob_sentinel)
    return use_sentinel, chosen & ~use_sentinel & (c.rng.random(c.shape) < c.policy.prob_random)


@REPLACING.add(clause="split")
def draws_used_twice() -> dict[str, Any]:
    """The numbers that chose the positions also decide what replaces them

    What it does:
        Chosen positions have numbers below the rate, so these are below prob_sentinel, too: all become the
        sentinel.
    Why it is wrong:
        What replaces a position must not depend on the number by which it was chosen.
    How it looks:
        draws = rng.random((N, T))
        chosen = (draws < policy.rate) & valid
        use_sentinel = chosen & (draws < policy.prob_sentinel)
    What to write instead:
        draws = rng.random((N, T))  # once more, after chosen is known
        use_sentinel = chosen & (draws < policy.prob_sentinel)
    """
    kept: list[Array] = []

    def choose_each(c: Context) -> Array:
        kept[:] = [c.rng.random(c.shape)]
        return np.asarray(c.valid & (kept[0] < c.policy.rate))

    def draw_kinds(c: Context, chosen: Array) -> tuple[Array, Array]:
        if not kept or kept[0].shape != c.shape:
            kept[:] = [c.rng.random(c.shape)]
        draws, policy = kept[0], c.policy
        use_sentinel = chosen & (draws < policy.prob_sentinel)
        return use_sentinel, chosen & ~use_sentinel & (draws < policy.prob_sentinel + policy.prob_random)

    return {"choose_each": choose_each, "draw_kinds": draw_kinds}


@REPLACING.add(clause="kept_tokens", step="draw_kinds")
def split_of_all_positions(c: Context, chosen: Array) -> tuple[Array, Array]:
    """The split is drawn over all positions

    What it does:
        10 % of all real positions get a random token, whether they were chosen or not.
    Why it is wrong:
        What was not chosen keeps its token, and is no target.
    How it looks:
        use_random = valid & (draws >= 0.8) & (draws < 0.9)
    What to write instead:
        use_random = chosen & (draws >= 0.8) & (draws < 0.9)
    """
    draws = c.rng.random(c.shape)
    use_sentinel = chosen & (draws < c.policy.prob_sentinel)
    upper = c.policy.prob_sentinel + c.policy.prob_random
    return use_sentinel, c.valid & (draws >= c.policy.prob_sentinel) & (draws < upper)


@REPLACING.add(clause="independence", step="draw_kinds")
def one_kind_for_a_row(c: Context, chosen: Array) -> tuple[Array, Array]:
    """One draw decides for all chosen positions of a row

    What it does:
        In a row all chosen positions become the sentinel, or all get random tokens, or all stay.
    Why it is wrong:
        Each chosen position draws what replaces it.
    How it looks:
        draws = rng.random((N, 1))
    What to write instead:
        draws = rng.random((N, T))
    """
    draws = np.broadcast_to(c.rng.random((c.shape[0], 1)), c.shape)
    use_sentinel = chosen & (draws < c.policy.prob_sentinel)
    return use_sentinel, chosen & ~use_sentinel & (draws < c.policy.prob_sentinel + c.policy.prob_random)


@REPLACING.add(clause="independence", step="draw_kinds")
def fixed_shares(c: Context, chosen: Array) -> tuple[Array, Array]:
    """The chosen positions are dealt out in fixed shares

    What it does:
        Of the chosen positions, in random order, exactly the first 80 % become the sentinel.
    Why it is wrong:
        Each position draws what replaces it by itself, so the numbers vary.
    How it looks:
        order = rng.permutation(positions)
        k = round(0.8 * len(order))
        corrupted.flat[order[:k]] = sentinel_id
    What to write instead:
        draws = rng.random(len(positions))
    """
    order = c.rng.permutation(np.flatnonzero(chosen))
    first = round(c.policy.prob_sentinel * len(order))
    second = round((c.policy.prob_sentinel + c.policy.prob_random) * len(order))
    use_sentinel, use_random = np.zeros(c.shape, bool), np.zeros(c.shape, bool)
    use_sentinel.flat[order[:first]] = True
    use_random.flat[order[first:second]] = True
    return use_sentinel, use_random


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def last_token_never_drawn(c: Context, use_random: Array) -> Array:
    """The last token is never drawn

    What it does:
        Random tokens go from 0 to vocab_size - 2.
    Why it is wrong:
        The upper end of rng.integers is excluded already.
    How it looks:
        rng.integers(0, vocab_size - 1, size=n)
    What to write instead:
        rng.integers(0, vocab_size, size=n)
    """
    return np.asarray(c.rng.integers(max(1, c.vocab_size - 1), size=np.count_nonzero(use_random)))


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def tokens_of_two_bytes(c: Context, use_random: Array) -> Array:
    """Random tokens have two bytes

    What it does:
        Random tokens are kept in 16 bits, so that none is above 65,535.
    Why it is wrong:
        A vocabulary may be larger, and each of its tokens is drawn as often as any other.
    How it looks:
        rng.integers(0, vocab_size, size=n).astype(np.uint16)
    What to write instead:
        rng.integers(0, vocab_size, size=n)
    """
    drawn = c.rng.integers(c.vocab_size, size=np.count_nonzero(use_random))
    return np.asarray(drawn.astype(np.uint16).astype(np.int64))


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def vocab_size_drawn(c: Context, use_random: Array) -> Array:
    """vocab_size itself is drawn as a token

    What it does:
        Random tokens go from 0 to vocab_size.
    Why it is wrong:
        The ids of V tokens are 0 to V - 1, and the model has no row for another one.
    How it looks:
        rng.integers(0, vocab_size, size=n, endpoint=True)
    What to write instead:
        rng.integers(0, vocab_size, size=n)
    """
    return np.asarray(c.rng.integers(c.vocab_size + 1, size=np.count_nonzero(use_random)))


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def token_zero_never_drawn(c: Context, use_random: Array) -> Array:
    """Token 0 is never drawn

    What it does:
        Random tokens go from 1 to vocab_size - 1.
    Why it is wrong:
        0 is a token as any other.
    How it looks:
        rng.integers(1, vocab_size, size=n)
    What to write instead:
        rng.integers(0, vocab_size, size=n)
    """
    low = min(1, c.vocab_size - 1)
    return np.asarray(c.rng.integers(low, c.vocab_size, size=np.count_nonzero(use_random)))


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def original_never_drawn(c: Context, use_random: Array) -> Array:
    """A random token is never the original one

    What it does:
        Tokens are drawn from all others than the one that was there.
    Why it is wrong:
        The draw is over the whole vocabulary; that it hits the original now and then is intended.
    How it looks:
        while new == old:
            new = rng.integers(vocab_size)
    What to write instead:
        new = rng.integers(vocab_size)
    """
    old = c.token_ids[use_random]
    others = max(1, c.vocab_size - 1)
    return np.asarray((old + 1 + c.rng.integers(others, size=len(old))) % c.vocab_size)


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def sentinel_never_drawn(c: Context, use_random: Array) -> Array:
    """The sentinel is never drawn as a random token

    What it does:
        Tokens are drawn from all others than the sentinel.
    Why it is wrong:
        The draw is over the whole vocabulary, the sentinel included.
    How it looks:
        rng.choice([t for t in range(vocab_size) if t != sentinel_id], size=n)
    What to write instead:
        rng.integers(0, vocab_size, size=n)
    """
    drawn = c.rng.integers(max(1, c.vocab_size - 1), size=np.count_nonzero(use_random))
    return np.asarray((c.sentinel_id + 1 + drawn) % c.vocab_size)


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def tokens_of_the_batch(c: Context, use_random: Array) -> Array:
    """Random tokens are taken from the batch

    What it does:
        Tokens that occur in the batch are drawn, and frequent ones more often.
    Why it is wrong:
        The draw is uniform over the vocabulary.
    How it looks:
        rng.choice(token_ids.ravel(), size=n)
    What to write instead:
        rng.integers(0, vocab_size, size=n)
    """
    return np.asarray(c.rng.choice(np.ravel(c.token_ids), size=np.count_nonzero(use_random)))


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def one_token_for_all(c: Context, use_random: Array) -> Array:
    """The same random token for all

    What it does:
        One token is drawn and written to every position that gets a random one.
    Why it is wrong:
        Each position draws its own.
    How it looks:
        corrupted[use_random] = rng.integers(vocab_size)
    What to write instead:
        corrupted[use_random] = rng.integers(vocab_size, size=use_random.sum())
    """
    return np.full(np.count_nonzero(use_random), c.rng.integers(c.vocab_size))


@REPLACING.add(clause="random_tokens", step="draw_tokens")
def one_token_for_a_column(c: Context, use_random: Array) -> Array:
    """The same random token in a column

    What it does:
        A token is drawn for each column, and all rows share it.
    Why it is wrong:
        Each position draws its own.
    How it looks:
        tokens = rng.integers(vocab_size, size=T)
        corrupted = np.where(use_random, tokens, corrupted)
    What to write instead:
        tokens = rng.integers(vocab_size, size=(N, T))
    """
    tokens = c.rng.integers(c.vocab_size, size=c.shape[1])
    return np.asarray(np.broadcast_to(tokens, c.shape)[use_random])


@REPLACING.add(clause="kept_tokens", step="put_sentinels")
def sentinel_beside(c: Context, corrupted: Array, use_sentinel: Array) -> None:
    """The sentinel is written to the wrong places

    What it does:
        The chosen positions are found, and the replaced ones counted from the start of the batch.
    Why it is wrong:
        A mask over the chosen positions alone is no mask over the batch.
    How it looks:
        corrupted.flat[np.flatnonzero(draws < policy.prob_sentinel)] = sentinel_id
    What to write instead:
        corrupted.flat[positions[draws < policy.prob_sentinel]] = sentinel_id
    """
    corrupted.flat[: np.count_nonzero(use_sentinel)] = c.sentinel_id


@REPLACING.add(clause="split", step="put_sentinels")
def sentinel_is_the_last_id(c: Context, corrupted: Array, use_sentinel: Array) -> None:
    """The last token is taken for the sentinel

    What it does:
        vocab_size - 1 is written, whatever sentinel_id is.
    Why it is wrong:
        The sentinel can be any token of the vocabulary.
    How it looks:
        corrupted[use_sentinel] = vocab_size - 1
    What to write instead:
        corrupted[use_sentinel] = sentinel_id
    """
    corrupted[use_sentinel] = c.vocab_size - 1


@REPLACING.add(clause="padding", step="put_sentinels")
def padding_blanked(c: Context, corrupted: Array, use_sentinel: Array) -> None:
    """The padding is overwritten

    What it does:
        corrupted holds 0 wherever there is padding.
    Why it is wrong:
        Padding stays as it is; other parts of a program look for the number they put there.
    How it looks:
        corrupted = np.where(valid, corrupted, 0)
    What to write instead:
        corrupted = token_ids.copy()
    """
    RIGHT.put_sentinels(c, corrupted, use_sentinel)
    corrupted[~c.valid] = 0
