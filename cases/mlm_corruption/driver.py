"""How a submission is called: what is handed to it, and how its answers are read."""

from collections.abc import Mapping

import numpy as np

FIELDS = ("rate", "prob_sentinel", "prob_random", "span_length")
ITEMS = ("corrupted", "valid", "positions", "targets", "row_of")


def policy_of(submission, *given):
    """The policy of these values; those that are None are left out."""
    named = {name: value for name, value in zip(FIELDS, given, strict=True) if value is not None}
    return submission.CorruptionPolicy(**named)


def read(answer, names):
    """The items of a dictionary or the attributes of an object; what is missing is left out."""
    if isinstance(answer, Mapping):
        found = {name: answer[name] for name in names if name in answer}
    else:
        found = {name: getattr(answer, name) for name in names if hasattr(answer, name)}
    return found or answer


def make_policy(submission, rate, prob_sentinel, prob_random, span_length, by_position):
    given = rate, prob_sentinel, prob_random, span_length
    policy = submission.CorruptionPolicy(*given) if by_position else policy_of(submission, *given)
    return read(policy, (*FIELDS, "prob_unchanged"))


def change_policy(submission, rate, prob_sentinel, prob_random, span_length, field, to):
    policy = policy_of(submission, rate, prob_sentinel, prob_random, span_length)
    setattr(policy, field, to)
    return getattr(policy, field)


def corrupt_batch(submission, token_ids, lengths, sentinel_id, vocab_size, *rest):
    *given, rng = rest
    policy = policy_of(submission, *given)
    answer = submission.corrupt_batch(token_ids, lengths, sentinel_id, vocab_size, policy, rng)
    return read(answer, ITEMS)


def corrupt_for_certain(submission, *arguments):
    *given, start = arguments
    return corrupt_batch(submission, *given, np.random.default_rng(start))


def corrupt_twice(submission, token_ids, lengths, sentinel_id, vocab_size, *rest):
    first = corrupt_batch(submission, token_ids, lengths, sentinel_id, vocab_size, *rest)
    second = corrupt_batch(submission, token_ids, lengths, sentinel_id, vocab_size, *rest)
    return {"first": first["positions"], "second": second["positions"]}
