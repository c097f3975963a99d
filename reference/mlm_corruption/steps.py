"""The steps of the reference, each of which a known mistake can replace.

Corruption as in J. Devlin et al. 2019, "BERT: Pre-training of deep bidirectional transformers for language
understanding", section 3.1; spans as in M. Joshi et al. 2020, "SpanBERT", with one length for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DEFAULTS = (0.15, 0.8, 0.1, 1)


@dataclass(frozen=True)
class Policy:
    """The four values of a policy."""

    rate: Any
    prob_sentinel: Any
    prob_random: Any
    span_length: Any


@dataclass
class Context:
    """What the steps of one call can see.

    Attributes:
        token_ids: (N, T) integers.
        lengths: (N,) integers.
        sentinel_id, vocab_size: Integers.
        policy: The policy.
        rng: numpy's generator.
        valid: (N, T) booleans, True at real positions; known after `find_valid`.
        nothing_drawn: Whether positions are forced, as none was drawn; known after `choose_each`.
    """

    token_ids: Array
    lengths: Array
    sentinel_id: int
    vocab_size: int
    policy: Policy
    rng: np.random.Generator
    valid: Array = field(default_factory=lambda: np.zeros(0, bool))
    nothing_drawn: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """N and T."""
        rows, columns = self.token_ids.shape
        return rows, columns

    @property
    def in_spans(self) -> bool:
        """Whether spans are chosen rather than single positions."""
        return bool(self.policy.span_length > 1)


# --- the policy ---------------------------------------------------------------------------------


def in_order(given: tuple[Any, ...], by_position: bool) -> tuple[Any, ...]:
    """rate, prob_sentinel, prob_random, span_length, by position too."""
    return given


def fill_in(given: tuple[Any, ...]) -> list[Any]:
    """The values, with the defaults of those that are None."""
    return [default if value is None else value for value, default in zip(given, DEFAULTS, strict=True)]


def check_rate(policy: Policy) -> None:
    """Raises ValueError unless 0 < rate < 1; NaN is neither."""
    if not 0 < policy.rate < 1:
        raise ValueError(f"the rate is {policy.rate}; expected above 0 and below 1")


def check_proportions(policy: Policy) -> None:
    """Raises ValueError where a proportion is negative, or both together are more than everything."""
    sentinel, random = policy.prob_sentinel, policy.prob_random
    if not (sentinel >= 0 and random >= 0 and sentinel + random <= 1):
        raise ValueError(f"{sentinel} and {random}; expected at least 0 each, at most 1 together")


def check_span(policy: Policy) -> None:
    """Raises ValueError unless the span length is a whole number, at least 1."""
    span = policy.span_length
    if not (isinstance(span, int) and span >= 1):
        raise ValueError(f"the span_length is {span}; expected a whole number, at least 1")


def unchanged(policy: Policy) -> float:
    """The proportion that stays: 1 - prob_sentinel - prob_random."""
    return float(1 - policy.prob_sentinel - policy.prob_random)


def assign(policy: Policy, name: str, to: Any) -> Any:
    """What the field is after the assignment; raises AttributeError, as the policy is frozen."""
    setattr(policy, name, to)
    return getattr(policy, name)


# --- what is refused ----------------------------------------------------------------------------


def check_lengths(c: Context) -> None:
    """Raises ValueError unless there is one length a row, each from 0 to T."""
    rows, columns = c.shape
    if c.lengths.shape != (rows,):
        raise ValueError(f"lengths have the shape {c.lengths.shape}; expected ({rows},)")
    for length in c.lengths:
        if not 0 <= length <= columns:
            raise ValueError(f"a length is {length}; expected 0 to {columns}")


def check_sentinel(c: Context) -> None:
    """Raises ValueError unless the sentinel is in the vocabulary."""
    if not 0 <= c.sentinel_id < c.vocab_size:
        raise ValueError(f"sentinel_id is {c.sentinel_id}; expected 0 to {c.vocab_size - 1}")


def check_ids(c: Context) -> None:
    """Raises ValueError where a real token is not in the vocabulary."""
    for token in c.token_ids[c.valid]:
        if not 0 <= token < c.vocab_size:
            raise ValueError(f"a token id is {token}; expected 0 to {c.vocab_size - 1}")


# --- choosing -----------------------------------------------------------------------------------


def find_valid(c: Context) -> Array:
    """(N, T): column below the length of its row."""
    return np.asarray(np.arange(c.shape[1]) < c.lengths[:, None])


def hand_valid(c: Context) -> Array:
    """(N, T): the real positions, as they are returned."""
    return c.valid


def pick_generator(c: Context) -> np.random.Generator:
    """The generator that was passed in."""
    return c.rng


def choose_each(c: Context) -> Array:
    """(N, T): each real position with probability rate, independently."""
    return np.asarray(c.valid & (c.rng.random(c.shape) < c.policy.rate))


def count_spans(c: Context, length: int) -> int:
    """How many spans a sequence gets: its length times the rate by the span length, rounded, at least 1."""
    return max(1, round(length * c.policy.rate / c.policy.span_length))


def draw_starts(c: Context, length: int, count: int) -> Array:
    """(count,): different starts among those at which a whole span fits; only 0 in a shorter sequence."""
    return np.asarray(c.rng.choice(max(1, length - c.policy.span_length + 1), size=count, replace=False))


def cover(c: Context, row: Array, start: int, length: int) -> None:
    """Choose the positions of one span in a row (T,), as far as the sequence goes."""
    row[start : min(start + c.policy.span_length, length)] = True


def choose_spans(c: Context, steps: Steps) -> Array:
    """(N, T): the positions in the spans of each sequence."""
    chosen = np.zeros(c.shape, bool)
    for row, length in zip(chosen, c.lengths.tolist(), strict=True):
        if length > 0:
            for start in steps.draw_starts(c, length, steps.count_spans(c, length)):
                steps.cover(c, row, start, length)
    return chosen


def force(c: Context, chosen: Array) -> Array:
    """(N, T): the same, or where nothing at all is chosen the last real position of each sequence."""
    if not chosen.any():
        rows = np.flatnonzero(c.lengths)
        chosen[rows, c.lengths[rows] - 1] = True
    return chosen


# --- replacing ----------------------------------------------------------------------------------


def copy_ids(c: Context) -> Array:
    """(N, T): the ids, to be written into."""
    return np.array(c.token_ids)


def draw_kinds(c: Context, chosen: Array) -> tuple[Array, Array]:
    """Twice (N, T): which chosen positions get the sentinel, and which a random token."""
    draws = c.rng.random(c.shape)
    use_sentinel = chosen & (draws < c.policy.prob_sentinel)
    use_random = chosen & ~use_sentinel & (draws < c.policy.prob_sentinel + c.policy.prob_random)
    return use_sentinel, use_random


def put_sentinels(c: Context, corrupted: Array, use_sentinel: Array) -> None:
    """Write the sentinel where it belongs."""
    corrupted[use_sentinel] = c.sentinel_id


def draw_tokens(c: Context, use_random: Array) -> Array:
    """A token for each of the positions, uniform over the vocabulary."""
    return np.asarray(c.rng.integers(c.vocab_size, size=np.count_nonzero(use_random)))


def put_random(c: Context, corrupted: Array, use_random: Array, tokens: Array) -> None:
    """Write the random tokens where they belong."""
    corrupted[use_random] = tokens


# --- the answer ---------------------------------------------------------------------------------


def locate(c: Context, chosen: Array) -> Array:
    """(M,): row * T + column of each chosen position, ascending."""
    return np.flatnonzero(chosen)


def read_targets(c: Context, corrupted: Array, positions: Array) -> Array:
    """(M,): the original tokens at the positions."""
    return np.asarray(np.ravel(c.token_ids)[positions])


def find_rows(c: Context, positions: Array) -> Array:
    """(M,): the row of each position."""
    return np.asarray(positions // c.shape[1])


@dataclass(frozen=True)
class Steps:
    """The steps in the order of their use."""

    in_order: Callable[..., Any] = in_order
    fill_in: Callable[..., Any] = fill_in
    check_rate: Callable[..., Any] = check_rate
    check_proportions: Callable[..., Any] = check_proportions
    check_span: Callable[..., Any] = check_span
    unchanged: Callable[..., Any] = unchanged
    assign: Callable[..., Any] = assign
    check_lengths: Callable[..., Any] = check_lengths
    find_valid: Callable[..., Any] = find_valid
    check_sentinel: Callable[..., Any] = check_sentinel
    check_ids: Callable[..., Any] = check_ids
    pick_generator: Callable[..., Any] = pick_generator
    choose_each: Callable[..., Any] = choose_each
    count_spans: Callable[..., Any] = count_spans
    draw_starts: Callable[..., Any] = draw_starts
    cover: Callable[..., Any] = cover
    choose_spans: Callable[..., Any] = choose_spans
    force: Callable[..., Any] = force
    copy_ids: Callable[..., Any] = copy_ids
    draw_kinds: Callable[..., Any] = draw_kinds
    put_sentinels: Callable[..., Any] = put_sentinels
    draw_tokens: Callable[..., Any] = draw_tokens
    put_random: Callable[..., Any] = put_random
    locate: Callable[..., Any] = locate
    hand_valid: Callable[..., Any] = hand_valid
    read_targets: Callable[..., Any] = read_targets
    find_rows: Callable[..., Any] = find_rows


STEPS = Steps()
