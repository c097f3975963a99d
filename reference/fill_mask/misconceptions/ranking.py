"""Mistakes of order, ties and number of the ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..model import Array

MISCONCEPTIONS = Misconceptions()


# --- order ----------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="ranking", step="rank")
def rising_logits(logits: Array) -> list[int]:
    """The worst ids come first

    What it does:
        The ids are sorted by rising logit, and the first ones are taken.
    Why it is wrong:
        argsort and sorted begin with the smallest. The best ones are asked for, best first.
    How it looks:
        np.argsort(logits)[:top_k]
    What to write instead:
        np.argsort(-logits, kind="stable")[:top_k]
    """
    return [int(token) for token in np.argsort(logits, kind="stable")]


@MISCONCEPTIONS.add(clause="ranking")
def best_ones_rising() -> dict[str, Callable[..., Any]]:
    """The best ids, but the best one last

    What it does:
        The last top_k of a rising order are taken and left in it.
    Why it is wrong:
        The best id comes first.
    How it looks:
        np.argsort(logits)[-top_k:]
    What to write instead:
        np.argsort(-logits, kind="stable")[:top_k]
    """
    return {"cut": lambda ranked, top_k: ranked[:top_k][::-1]}


@MISCONCEPTIONS.add(clause="ranking", step="rank")
def ranked_by_magnitude(logits: Array) -> list[int]:
    """The sign of the logits is lost

    What it does:
        Ids are ranked by the magnitude of their logits.
    Why it is wrong:
        A logit of -9 speaks against a token as much as 9 speaks for it.
    How it looks:
        np.argsort(-np.abs(logits))
    What to write instead:
        np.argsort(-logits, kind="stable")
    """
    return [int(token) for token in np.argsort(-np.abs(logits), kind="stable")]


@MISCONCEPTIONS.add(clause="ranking")
def best_ones_by_id() -> dict[str, Callable[..., Any]]:
    """The best ids, in the order of the ids

    What it does:
        The right ids are chosen and then left in the order of the vocabulary.
    Why it is wrong:
        They are to come by falling logit. np.argpartition gives the best ones, but in no order.
    How it looks:
        sorted(np.argpartition(-logits, top_k)[:top_k])
    What to write instead:
        np.argsort(-logits, kind="stable")[:top_k]
    """
    return {"cut": lambda ranked, top_k: sorted(ranked[:top_k])}


@MISCONCEPTIONS.add(clause="ranking", step="rank")
def ranks_in_place_of_ids(logits: Array) -> list[int]:
    """The rank of each id in place of the ids by rank

    What it does:
        argsort is applied twice, which gives for each id its place in the order.
    Why it is wrong:
        Asked for is which id stands at the first place, not at which place id 0 stands.
    How it looks:
        np.argsort(np.argsort(-logits))[:top_k]
    What to write instead:
        np.argsort(-logits, kind="stable")[:top_k]
    """
    order = np.argsort(-logits, kind="stable")
    return [int(place) for place in np.argsort(order, kind="stable")]


# --- ties -----------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="ties", step="rank")
def larger_id_first(logits: Array) -> list[int]:
    """Of equal logits the larger id comes first

    What it does:
        A rising order is turned round, and with it the order of ids with equal logits.
    Why it is wrong:
        Of equal logits the smaller id comes first.
    How it looks:
        np.argsort(logits)[::-1]
    What to write instead:
        np.argsort(-logits, kind="stable")
    """
    return [int(token) for token in np.argsort(logits, kind="stable")[::-1]]


@MISCONCEPTIONS.add(clause="ties", step="rank")
def sorted_unstably(logits: Array) -> list[int]:
    """Equal logits come in an order of their own

    What it does:
        The sort is not stable: in a large vocabulary ids with equal logits come in any order.
    Why it is wrong:
        Of equal logits the smaller id comes first. np.argsort keeps the order of equal ones only with
        kind="stable", and short arrays hide it.
    How it looks:
        np.argsort(-logits)
    What to write instead:
        np.argsort(-logits, kind="stable")
    """
    size = len(logits)
    # Of few elements a quicksort keeps the order; of many it does not. Here all machines do the same.
    turned = np.arange(size) if size <= 16 else np.roll(np.arange(size)[::-1], size // 3)
    return [int(turned[place]) for place in np.argsort(-logits[turned], kind="stable")]


@MISCONCEPTIONS.add(clause="ties")
def larger_id_at_the_edge() -> dict[str, Callable[..., Any]]:
    """At the edge the larger of equal ids is kept

    What it does:
        The ids that are kept are chosen from a rising order and only then ranked by the rule.
    Why it is wrong:
        The rule for ties also says which of two equal ids is kept.
    How it looks:
        best = np.argsort(logits, kind="stable")[-top_k:]
        sorted(best, key=lambda i: (-logits[i], i))
    What to write instead:
        sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]
    """
    seen: list[Array] = []

    def rank(logits: Array) -> list[int]:
        seen[:] = [logits]
        return [int(token) for token in np.argsort(logits, kind="stable")[::-1]]

    def cut(ranked: list[int], top_k: int) -> list[int]:
        return sorted(ranked[:top_k], key=lambda token: (-seen[0][token], token))

    return {"rank": rank, "cut": cut}


@MISCONCEPTIONS.add(clause="ties", step="rank")
def equal_ones_dropped(logits: Array) -> list[int]:
    """Of equal logits only one id is returned

    What it does:
        Ids are looked up by their logit, and a dictionary keeps one id for each.
    Why it is wrong:
        Every id has a place of its own in the order.
    How it looks:
        by_logit = {logit: i for i, logit in enumerate(logits)}
    What to write instead:
        sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    """
    distinct = sorted({float(logit) for logit in logits}, reverse=True)
    return [int(np.flatnonzero(logits == logit)[0]) for logit in distinct]


# --- number ---------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="top_k", step="cut")
def best_one_alone(ranked: list[int], top_k: int) -> list[int]:
    """Only the best id is returned

    What it does:
        argmax gives one id, whatever top_k is.
    Why it is wrong:
        top_k ids are asked for.
    How it looks:
        [int(np.argmax(logits))]
    What to write instead:
        np.argsort(-logits, kind="stable")[:top_k]
    """
    return ranked[:1]


@MISCONCEPTIONS.add(clause="top_k", step="cut")
def one_id_too_many(ranked: list[int], top_k: int) -> list[int]:
    """One id too many

    What it does:
        The slice ends one place too late.
    Why it is wrong:
        A slice up to top_k holds top_k ids.
    How it looks:
        order[:top_k + 1]
    What to write instead:
        order[:top_k]
    """
    return ranked[: top_k + 1]


@MISCONCEPTIONS.add(clause="top_k", step="cut")
def padded_to_top_k(ranked: list[int], top_k: int) -> list[int]:
    """A short list is filled up

    What it does:
        Where the vocabulary has fewer than top_k tokens the last id is repeated, or -1 is put in.
    Why it is wrong:
        There are no more ids: the list is as long as the vocabulary.
    How it looks:
        ids + [-1] * (top_k - len(ids))
    What to write instead:
        order[:top_k]
    """
    return ranked[:top_k] + [-1] * (top_k - len(ranked))


@MISCONCEPTIONS.add(clause="top_k", step="check_top_k")
def top_k_unchecked(top_k: int, positions: Sequence[int]) -> None:
    """top_k is not checked

    What it does:
        0 gives empty lists, and -2 all ids but the last two.
    Why it is wrong:
        A top_k below 1 is a slip of the caller's and raises ValueError.
    How it looks:
        order[:top_k]
    What to write instead:
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {top_k}")
    """


@MISCONCEPTIONS.add(clause="top_k", step="check_top_k")
def zero_allowed(top_k: int, positions: Sequence[int]) -> None:
    """A top_k of 0 is allowed

    What it does:
        Only negative numbers are refused.
    Why it is wrong:
        At least one id has to be asked for.
    How it looks:
        if top_k < 0: raise ValueError(...)
    What to write instead:
        if top_k < 1: raise ValueError(...)
    """
    if top_k < 0:
        raise ValueError(f"top_k is {top_k}")


@MISCONCEPTIONS.add(clause="top_k", step="check_top_k")
def top_k_checked_at_masks(top_k: int, positions: Sequence[int]) -> None:
    """top_k is checked only where something is masked

    What it does:
        The check stands inside of the loop over the masks, or after an early return.
    Why it is wrong:
        A call that is wrong has to fail for every sequence, not only for those with a mask.
    How it looks:
        for position in positions:
            if top_k < 1: raise ValueError(...)
    What to write instead:
        the check before the loop
    """
    if positions and top_k < 1:
        raise ValueError(f"top_k is {top_k}")


@MISCONCEPTIONS.add(clause="top_k", step="default_top_k")
def one_by_default() -> int:
    """Another default of top_k

    What it does:
        Without a fourth argument one id is returned, or as many as another default says.
    Why it is wrong:
        The default is 5.
    How it looks:
        def fill_mask(token_ids, weights, contract, top_k=1): ...
    What to write instead:
        def fill_mask(token_ids, weights, contract, top_k=5): ...
    """
    return 1


# --- candidates -----------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="candidates", step="choose")
def sentinel_left_out(ranked: list[int], token_ids: Sequence[int], contract: Any) -> list[int]:
    """The sentinel is never predicted

    What it does:
        The sentinel's id is taken out of the ranking.
    Why it is wrong:
        Every id of the vocabulary is a candidate here; what to do with a predicted sentinel is the caller's
        affair.
    How it looks:
        [i for i in order if i != contract.sentinel_id]
    What to write instead:
        rank all logits as they are
    """
    return [token for token in ranked if token != contract.sentinel_id]


@MISCONCEPTIONS.add(clause="candidates", step="choose")
def sentinel_put_last(ranked: list[int], token_ids: Sequence[int], contract: Any) -> list[int]:
    """The sentinel is predicted last of all

    What it does:
        The sentinel's logit is set to minus infinity before the ids are ranked.
    Why it is wrong:
        Every id of the vocabulary is a candidate here; what to do with a predicted sentinel is the caller's
        affair.
    How it looks:
        logits[contract.sentinel_id] = -np.inf
    What to write instead:
        rank all logits as they are
    """
    others = [token for token in ranked if token != contract.sentinel_id]
    return [*others, contract.sentinel_id]


@MISCONCEPTIONS.add(clause="candidates", step="choose")
def present_tokens_left_out(ranked: list[int], token_ids: Sequence[int], contract: Any) -> list[int]:
    """Tokens of the sequence are not predicted

    What it does:
        Ids that stand in the sequence are taken out of the ranking, except for the sentinel.
    Why it is wrong:
        Words may come twice.
    How it looks:
        [i for i in order if i not in token_ids]
    What to write instead:
        rank all logits as they are
    """
    return [token for token in ranked if token == contract.sentinel_id or token not in token_ids]


# --- range ----------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="range", step="finish_logits")
def ranked_by_probability(logits: Array) -> Array:
    """Probabilities are ranked in place of logits

    What it does:
        A softmax turns logits into probabilities, and these are ranked. Those of far-off tokens are all 0.
    Why it is wrong:
        The order of the logits is lost where the probabilities underflow, and ids come in the order of ties.
    How it looks:
        p = np.exp(logits - logits.max())
        np.argsort(-p / p.sum(), kind="stable")
    What to write instead:
        np.argsort(-logits, kind="stable")
    """
    powers = np.exp(logits - logits.max())
    probabilities: Array = powers / powers.sum()
    return probabilities


@MISCONCEPTIONS.add(clause="range", step="finish_logits")
def logits_rounded(logits: Array) -> Array:
    """Logits are rounded before they are ranked

    What it does:
        Logits become whole numbers, and those that are close together become equal.
    Why it is wrong:
        Any difference decides, however small.
    How it looks:
        logits.round()
    What to write instead:
        np.argsort(-logits, kind="stable")
    """
    return np.round(logits)


@MISCONCEPTIONS.add(clause="range", step="finish_logits")
def half_precision_logits(logits: Array) -> Array:
    """Logits are kept in half precision

    What it does:
        float16 keeps three digits: 1024.25 and 1024.125 become equal, and what is above 65504 infinite.
    Why it is wrong:
        Logits that are different have to stay different.
    How it looks:
        logits.astype(np.float16)
    What to write instead:
        logits as they are, in float32 or float64
    """
    with np.errstate(over="ignore"):
        return logits.astype(np.float16).astype(np.float64)
