"""Known mistakes about the policy, and about what is refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Context, Policy

POLICIES = Misconceptions()


@POLICIES.add(clause="policy", step="in_order")
def span_length_second(given: tuple[Any, ...], by_position: bool) -> tuple[Any, ...]:
    """The parameters stand in another order

    What it does:
        span_length comes second, so by position the proportions end up in the wrong fields.
    Why it is wrong:
        Callers who pass values by position rely on the order of the statement.
    How it looks:
        def __init__(self, rate=0.15, span_length=1, prob_sentinel=0.8, prob_random=0.1):
    What to write instead:
        def __init__(self, rate=0.15, prob_sentinel=0.8, prob_random=0.1, span_length=1):
    """
    rate, second, third, fourth = given
    return (rate, third, fourth, second) if by_position else given


@POLICIES.add(clause="policy", step="fill_in")
def other_defaults(given: tuple[Any, ...]) -> list[Any]:
    """Defaults of a third each

    What it does:
        A policy without values replaces a third of the chosen positions by sentinels, and another third by
        random tokens.
    Why it is wrong:
        The usual recipe is 80 % sentinels and 10 % random tokens.
    How it looks:
        prob_sentinel: float = 1 / 3
    What to write instead:
        prob_sentinel: float = 0.8
        prob_random: float = 0.1
    """
    defaults = (0.15, 1 / 3, 1 / 3, 1)
    return [default if value is None else value for value, default in zip(given, defaults, strict=True)]


@POLICIES.add(clause="remainder", step="unchanged")
def unchanged_is_fixed(policy: Policy) -> float:
    """prob_unchanged is always 0.1

    What it does:
        The proportion that stays is written down as 0.1, whatever the policy says.
    Why it is wrong:
        It is what the two other proportions leave of 1.
    How it looks:
        prob_unchanged = 0.1
    What to write instead:
        return 1 - self.prob_sentinel - self.prob_random
    """
    return 0.1


@POLICIES.add(clause="remainder", step="unchanged")
def unchanged_without_random(policy: Policy) -> float:
    """prob_unchanged leaves random tokens out

    What it does:
        It is 1 - prob_sentinel, everything that does not become the sentinel.
    Why it is wrong:
        A position that gets a random token is changed, too.
    How it looks:
        return 1 - self.prob_sentinel
    What to write instead:
        return 1 - self.prob_sentinel - self.prob_random
    """
    return float(1 - policy.prob_sentinel)


@POLICIES.add(clause="rate_range", step="check_rate")
def rate_ends_allowed(policy: Policy) -> None:
    """Rates of 0 and 1 are allowed

    What it does:
        Only what is below 0 or above 1 is refused.
    Why it is wrong:
        With a rate of 0 there is nothing to learn, with 1 no context to learn from: both ends are refused.
    How it looks:
        if not 0 <= rate <= 1:
    What to write instead:
        if not 0 < rate < 1:
    """
    if not 0 <= policy.rate <= 1:
        raise ValueError(f"the rate is {policy.rate}")


@POLICIES.add(clause="rate_range", step="check_rate")
def rate_asserted(policy: Policy) -> None:
    """A bad rate ends in an AssertionError

    What it does:
        The rate is checked by assert.
    Why it is wrong:
        assert is for what can't happen, and is left out under python -O. A bad argument is a ValueError.
    How it looks:
        assert 0 < rate < 1, f"bad rate {rate}"
    What to write instead:
        if not 0 < rate < 1:
            raise ValueError(f"rate must be above 0 and below 1, got {rate}")
    """
    if not 0 < policy.rate < 1:
        raise AssertionError(f"bad rate {policy.rate}")


@POLICIES.add(clause="proportions", step="check_proportions")
def only_sum_checked(policy: Policy) -> None:
    """Only the sum of the proportions is checked

    What it does:
        Proportions such as 1 and -0.25 pass, as they are not above 1 together.
    Why it is wrong:
        A negative proportion makes no sense, and hides that the other one is too large.
    How it looks:
        if prob_sentinel + prob_random > 1:
    What to write instead:
        if prob_sentinel < 0 or prob_random < 0 or prob_sentinel + prob_random > 1:
    """
    if policy.prob_sentinel + policy.prob_random > 1:
        raise ValueError("proportions above 1")


@POLICIES.add(clause="proportions", step="check_proportions")
def only_each_checked(policy: Policy) -> None:
    """Each proportion is checked by itself alone

    What it does:
        Proportions of 0.75 and 0.5 pass, as each is between 0 and 1.
    Why it is wrong:
        Together they would be 1.25, and prob_unchanged below 0.
    How it looks:
        if not 0 <= prob_sentinel <= 1 or not 0 <= prob_random <= 1:
    What to write instead:
        if prob_sentinel < 0 or prob_random < 0 or prob_sentinel + prob_random > 1:
    """
    if not (0 <= policy.prob_sentinel <= 1 and 0 <= policy.prob_random <= 1):
        raise ValueError("a proportion that is no probability")


@POLICIES.add(clause="proportions", step="check_proportions")
def one_together_refused(policy: Policy) -> None:
    """Proportions that are 1 together are refused

    What it does:
        It insists that some of the chosen positions stay.
    Why it is wrong:
        Together the proportions may be 1. Then no position stays.
    How it looks:
        if prob_sentinel + prob_random >= 1:
    What to write instead:
        if prob_sentinel + prob_random > 1:
    """
    sentinel, random = policy.prob_sentinel, policy.prob_random
    if sentinel < 0 or random < 0 or sentinel + random >= 1:
        raise ValueError("proportions of 1")


@POLICIES.add(clause="span_range", step="check_span")
def span_not_checked(policy: Policy) -> None:
    """The span length is not checked

    What it does:
        A span_length of 0, or a negative one, makes a policy.
    Why it is wrong:
        It shows much later, as a division by zero or as empty spans.
    How it looks:
        self.span_length = span_length
    What to write instead:
        if span_length < 1:
            raise ValueError(f"span_length must be at least 1, got {span_length}")
    """


@POLICIES.add(clause="span_range", step="check_span")
def span_of_any_number(policy: Policy) -> None:
    """A span length need not be a whole number

    What it does:
        A span_length of 2.5 makes a policy.
    Why it is wrong:
        No span has two and a half positions.
    How it looks:
        if span_length < 1:
            raise ValueError(f"span_length must be at least 1, got {span_length}")
    What to write instead:
        if span_length != int(span_length) or span_length < 1:
            raise ValueError(f"span_length must be a whole number of at least 1, got {span_length}")
    """
    if policy.span_length < 1:
        raise ValueError(f"the span_length is {policy.span_length}")


@POLICIES.add(clause="messages")
def silent_messages() -> dict[str, Any]:
    """The message does not say what was given

    What it does:
        A ValueError says that a value is wrong, and not which one it is.
    Why it is wrong:
        The value often comes from far away, a file of settings say, and who reads the message looks for it.
    How it looks:
        raise ValueError("rate must be in (0, 1)")
    What to write instead:
        raise ValueError(f"rate must be in (0, 1), got {rate}")
    """

    def check_rate(policy: Policy) -> None:
        if not 0 < policy.rate < 1:
            raise ValueError("the rate is out of range")

    def check_span(policy: Policy) -> None:
        if not isinstance(policy.span_length, int) or policy.span_length < 1:
            raise ValueError("the span length is out of range")

    return {"check_rate": check_rate, "check_span": check_span}


@POLICIES.add(clause="fixed", step="assign")
def policy_can_be_changed(policy: Policy, name: str, to: Any) -> Any:
    """A policy can be changed after it is made

    What it does:
        Its fields are ordinary attributes: policy.rate = 0.5 works, unchecked, in the middle of a run.
    Why it is wrong:
        The policy is a part of what is learned, and all who hold it see the change.
    How it looks:
        @dataclass
        class CorruptionPolicy:
    What to write instead:
        @dataclass(frozen=True)
        class CorruptionPolicy:
    """
    return {**asdict(policy), name: to}[name]


@POLICIES.add(clause="bad_ids", step="check_ids")
def ids_not_checked(c: Context) -> None:
    """Token ids are not checked

    What it does:
        Ids of vocab_size and beyond, and negative ones, are taken.
    Why it is wrong:
        They come from another tokenizer, and a table of tokens gives the wrong row, or none, much later.
    How it looks:
        corrupted = token_ids.copy()
    What to write instead:
        real = token_ids[valid]
        if ((real < 0) | (real >= vocab_size)).any():
            raise ValueError("token ids outside the vocabulary")
    """


@POLICIES.add(clause="bad_ids", step="check_ids")
def id_of_vocab_size_allowed(c: Context) -> None:
    """An id of vocab_size is allowed

    What it does:
        It takes ids up to vocab_size, itself included.
    Why it is wrong:
        The ids of V tokens are 0 to V - 1.
    How it looks:
        if (ids > vocab_size).any() or (ids < 0).any():
    What to write instead:
        if (ids >= vocab_size).any() or (ids < 0).any():
    """
    real = c.token_ids[c.valid]
    if ((real < 0) | (real > c.vocab_size)).any():
        raise ValueError("a token id")


@POLICIES.add(clause="bad_ids", step="check_sentinel")
def sentinel_not_checked(c: Context) -> None:
    """The sentinel is not checked

    What it does:
        A sentinel_id outside the vocabulary is written into the batch.
    Why it is wrong:
        The batch then holds a token that the model does not have.
    How it looks:
        corrupted[use_sentinel] = sentinel_id
    What to write instead:
        if not 0 <= sentinel_id < vocab_size:
            raise ValueError(f"sentinel_id {sentinel_id} is outside the vocabulary of {vocab_size}")
    """


@POLICIES.add(clause="padding", step="check_ids")
def padding_checked(c: Context) -> None:
    """Ids in the padding are checked, too

    What it does:
        A batch whose padding holds -100 is refused.
    Why it is wrong:
        What stands in the padding is no token, and many libraries fill it with a number that can't be one.
    How it looks:
        if token_ids.min() < 0 or token_ids.max() >= vocab_size:
    What to write instead:
        real = token_ids[valid]
        if ((real < 0) | (real >= vocab_size)).any():
    """
    if ((c.token_ids < 0) | (c.token_ids >= c.vocab_size)).any():
        raise ValueError("a token id")


@POLICIES.add(clause="bad_lengths", step="check_lengths")
def lengths_not_checked(c: Context) -> None:
    """Lengths are not checked

    What it does:
        A length above T or below 0 is taken as if it were T or 0.
    Why it is wrong:
        Such a length says that something was lost on the way, and nobody is told.
    How it looks:
        valid = np.arange(T) < lengths[:, None]
    What to write instead:
        if (lengths < 0).any() or (lengths > T).any():
            raise ValueError(f"lengths must be between 0 and {T}")
    """


@POLICIES.add(clause="bad_lengths", step="check_lengths")
def lengths_broadcast(c: Context) -> None:
    """One length counts for all rows

    What it does:
        The range of the lengths is checked, their number is not, and broadcasting takes one for all rows.
    Why it is wrong:
        There has to be a length for each row. A single one for several rows is a mistake of the caller's.
    How it looks:
        valid = np.arange(T) < lengths[:, None]
    What to write instead:
        if lengths.shape != (N,):
            raise ValueError(f"expected {N} lengths, got shape {lengths.shape}")
    """
    if ((c.lengths < 0) | (c.lengths > c.shape[1])).any():
        raise ValueError("a length")
    if len(c.lengths) == 1:
        c.lengths = np.resize(c.lengths, c.shape[0])


@POLICIES.add(clause="valid", step="find_valid")
def valid_one_too_many(c: Context) -> Array:
    """One position too many is real

    What it does:
        The column that equals the length counts as real.
    Why it is wrong:
        Columns count from 0, so those of a row of length 3 are 0, 1 and 2.
    How it looks:
        valid = np.arange(T) <= lengths[:, None]
    What to write instead:
        valid = np.arange(T) < lengths[:, None]
    """
    return np.asarray(np.arange(c.shape[1]) <= c.lengths[:, None])


@POLICIES.add(clause="valid", step="hand_valid")
def padding_marked(c: Context) -> Array:
    """valid is True at the padding

    What it does:
        The mask that is returned marks what is to be ignored, as in some other libraries.
    Why it is wrong:
        valid is True where a token is real.
    How it looks:
        valid = np.arange(T) >= lengths[:, None]
    What to write instead:
        valid = np.arange(T) < lengths[:, None]
    """
    return ~c.valid
