"""The numpy reference of ``mlm_corruption``: the steps put together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .steps import STEPS, Array, Context, Policy, Steps

__all__ = ["STEPS", "run"]


def build_policy(steps: Steps, given: tuple[Any, ...]) -> Policy:
    """The policy of these four values, of which those that are None are left out.

    Raises:
        ValueError: A value is out of its range.
    """
    policy = Policy(*steps.fill_in(given))
    steps.check_rate(policy)
    steps.check_proportions(policy)
    steps.check_span(policy)
    return policy


def run_make_policy(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The attributes of a policy; given by position or by name is the same here."""
    policy = build_policy(steps, steps.in_order(arguments[:4], arguments[4]))
    return {
        "rate": policy.rate,
        "prob_sentinel": policy.prob_sentinel,
        "prob_random": policy.prob_random,
        "span_length": policy.span_length,
        "prob_unchanged": steps.unchanged(policy),
    }


def run_change_policy(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """What a field is after something was assigned to it."""
    *given, field, to = arguments
    return steps.assign(build_policy(steps, tuple(given)), field, to)


def corrupt(steps: Steps, arguments: tuple[Any, ...]) -> dict[str, Array]:
    """A corrupted batch.

    Args:
        steps: The steps; `STEPS` for the right ones.
        arguments: token_ids (N, T), lengths (N,), sentinel_id, vocab_size, the four values of the policy,
            and the generator.

    Returns:
        corrupted (N, T), valid (N, T), positions, targets and row_of (M,).
    """
    token_ids, lengths, sentinel_id, vocab_size, *given, rng = arguments
    policy = build_policy(steps, tuple(given))
    c = Context(token_ids, lengths, sentinel_id, vocab_size, policy, rng)
    steps.check_lengths(c)
    c.valid = steps.find_valid(c)
    steps.check_sentinel(c)
    steps.check_ids(c)
    c.rng = steps.pick_generator(c)
    drawn = steps.choose_spans(c, steps) if c.in_spans else steps.choose_each(c)
    c.nothing_drawn = not drawn.any()
    chosen = steps.force(c, drawn)
    corrupted = steps.copy_ids(c)
    use_sentinel, use_random = steps.draw_kinds(c, chosen)
    steps.put_sentinels(c, corrupted, use_sentinel)
    steps.put_random(c, corrupted, use_random, steps.draw_tokens(c, use_random))
    positions = steps.locate(c, chosen)
    return {
        "corrupted": corrupted,
        "valid": steps.hand_valid(c),
        "positions": positions,
        "targets": steps.read_targets(c, corrupted, positions),
        "row_of": steps.find_rows(c, positions),
    }


def run_corrupt_batch(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The corrupted batch; nothing in it is computed with floats."""
    return corrupt(steps, arguments)


def run_corrupt_for_certain(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The corrupted batch with a generator that starts from the given seed."""
    *given, start = arguments
    return corrupt(steps, (*given, np.random.default_rng(start)))


def run_corrupt_twice(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The positions that two calls with one generator choose."""
    first = corrupt(steps, arguments)
    second = corrupt(steps, arguments)
    return {"first": first["positions"], "second": second["positions"]}


run = {
    "corrupt_for_certain": run_corrupt_for_certain,
    "corrupt_batch": run_corrupt_batch,
    "corrupt_twice": run_corrupt_twice,
    "make_policy": run_make_policy,
    "change_policy": run_change_policy,
}


def corrupt_for_certain(*arguments: Any) -> Any:
    """See `run_corrupt_for_certain`."""
    return run_corrupt_for_certain(STEPS, arguments)


def corrupt_batch(*arguments: Any) -> Any:
    """See `corrupt`."""
    return run_corrupt_batch(STEPS, arguments)


def corrupt_twice(*arguments: Any) -> Any:
    """See `run_corrupt_twice`."""
    return run_corrupt_twice(STEPS, arguments)


def make_policy(*arguments: Any) -> Any:
    """See `run_make_policy`."""
    return run_make_policy(STEPS, arguments)


def change_policy(*arguments: Any) -> Any:
    """See `run_change_policy`."""
    return run_change_policy(STEPS, arguments)
