"""The same exercise built independently: one position at a time, with Python's own numbers and lists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np


class Frozen(AttributeError):
    """A policy was assigned to."""


class CorruptionPolicy:
    """Four values that stay as they are."""

    rate: float
    prob_sentinel: float
    prob_random: float
    span_length: int

    def __init__(
        self,
        rate: float = 0.15,
        prob_sentinel: float = 0.8,
        prob_random: float = 0.1,
        span_length: float = 1,
    ) -> None:
        if math.isnan(rate) or rate <= 0 or rate >= 1:
            raise ValueError(f"rate={rate} is not in (0, 1)")
        if min(prob_sentinel, prob_random) < 0 or prob_random > 1 - prob_sentinel:
            raise ValueError(f"proportions {prob_sentinel}, {prob_random}")
        if span_length != math.floor(span_length) or span_length < 1:
            raise ValueError(f"span_length={span_length} is no whole number from 1 on")
        vars(self).update(
            rate=rate, prob_sentinel=prob_sentinel, prob_random=prob_random, span_length=span_length
        )

    @property
    def prob_unchanged(self) -> float:
        """What is left of 1."""
        return 1.0 - (self.prob_sentinel + self.prob_random)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Frozen(f"{name} can't be changed")


def policy_of(given: tuple[Any, ...]) -> CorruptionPolicy:
    """A policy of the values that are not None."""
    names = "rate", "prob_sentinel", "prob_random", "span_length"
    return CorruptionPolicy(**{n: v for n, v in zip(names, given, strict=True) if v is not None})


def make_policy(*arguments: Any) -> Any:
    """The attributes of a policy."""
    policy = policy_of(arguments[:4])
    return {**vars(policy), "prob_unchanged": policy.prob_unchanged}


def change_policy(*arguments: Any) -> Any:
    """What a field is after an assignment; it raises Frozen."""
    *given, field, to = arguments
    policy = policy_of(tuple(given))
    setattr(policy, field, to)
    return getattr(policy, field)


def corrupt_batch(*arguments: Any) -> dict[str, Any]:
    """The corrupted batch, drawn position by position."""
    token_ids, lengths, sentinel_id, vocab_size, *given, rng = arguments
    policy = policy_of(tuple(given))
    rows, widths = token_ids.tolist(), lengths.tolist()
    columns = len(rows[0])
    if len(widths) != len(rows) or min(widths) < 0 or max(widths) > columns:
        raise ValueError(f"lengths {widths} for {len(rows)} rows of {columns}")
    real = [(n, t) for n, width in enumerate(widths) for t in range(width)]
    vocabulary = range(vocab_size)
    if sentinel_id not in vocabulary or any(rows[n][t] not in vocabulary for n, t in real):
        raise ValueError(f"an id is not in {vocabulary}")
    if policy.span_length == 1:
        chosen = {place for place in real if rng.random() < policy.rate}
    else:
        chosen = {place for n, width in enumerate(widths) for place in spans(policy, rng, n, width)}
    if not chosen:
        chosen = {(n, width - 1) for n, width in enumerate(widths) if width}
    ordered = sorted(chosen)
    targets = [rows[n][t] for n, t in ordered]
    for n, t in ordered:
        kind = rng.random() - policy.prob_sentinel
        if kind < 0:
            rows[n][t] = sentinel_id
        elif kind < policy.prob_random:
            rows[n][t] = math.floor(rng.random() * vocab_size)
    whole = {
        "corrupted": rows,
        "positions": [n * columns + t for n, t in ordered],
        "targets": targets,
        "row_of": [n for n, _ in ordered],
    }
    valid = [[t < width for t in range(columns)] for width in widths]
    return {**{name: np.array(v, np.int64) for name, v in whole.items()}, "valid": np.array(valid)}


def spans(
    policy: CorruptionPolicy, rng: np.random.Generator, n: int, width: int
) -> Iterator[tuple[int, int]]:
    """The places in the spans of one sequence: the first of all starts in random order."""
    if not width:
        return
    starts = rng.permutation(max(width - policy.span_length, 0) + 1).tolist()
    for start in starts[: max(1, round(width * (policy.rate / policy.span_length)))]:
        yield from ((n, t) for t in range(start, start + policy.span_length) if t < width)


def corrupt_for_certain(*arguments: Any) -> dict[str, Any]:
    """The same, with a generator that starts from the last argument."""
    return corrupt_batch(*arguments[:-1], np.random.default_rng(arguments[-1]))


def corrupt_twice(*arguments: Any) -> dict[str, Any]:
    """The positions of two calls with one generator."""
    return {name: corrupt_batch(*arguments)["positions"] for name in ("first", "second")}
