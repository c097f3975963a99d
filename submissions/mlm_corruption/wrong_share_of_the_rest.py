from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CorruptionPolicy:
    rate: float = 0.15
    prob_sentinel: float = 0.8
    prob_random: float = 0.1
    span_length: int = 1

    def __post_init__(self):
        if not 0 < self.rate < 1:
            raise ValueError(f"rate must be in (0, 1), got {self.rate}")
        if self.prob_sentinel < 0 or self.prob_random < 0 or self.prob_sentinel + self.prob_random > 1:
            raise ValueError(f"bad proportions {self.prob_sentinel} and {self.prob_random}")
        if self.span_length != int(self.span_length) or self.span_length < 1:
            raise ValueError(f"span_length must be a whole number >= 1, got {self.span_length}")

    @property
    def prob_unchanged(self):
        return 1 - self.prob_sentinel - self.prob_random


def choose_spans(lengths, T, policy, rng):
    chosen = np.zeros((len(lengths), T), bool)
    s = policy.span_length
    for n, length in enumerate(lengths):
        if length == 0:
            continue
        k = max(1, round(length * policy.rate / s))
        for start in rng.choice(max(1, length - s + 1), size=k, replace=False):
            chosen[n, start : min(start + s, length)] = True
    return chosen


def corrupt_batch(token_ids, lengths, sentinel_id, vocab_size, policy, rng):
    N, T = token_ids.shape
    if lengths.shape != (N,) or (lengths < 0).any() or (lengths > T).any():
        raise ValueError(f"bad lengths {lengths}")
    if not 0 <= sentinel_id < vocab_size:
        raise ValueError(f"bad sentinel {sentinel_id}")
    valid = np.arange(T) < lengths[:, None]
    real = token_ids[valid]
    if ((real < 0) | (real >= vocab_size)).any():
        raise ValueError("token ids outside the vocabulary")
    if policy.span_length == 1:
        chosen = (rng.random((N, T)) < policy.rate) & valid
        if not chosen.any():
            rows = np.flatnonzero(lengths > 0)
            chosen[rows, lengths[rows] - 1] = True
    else:
        chosen = choose_spans(lengths, T, policy, rng)
    draws = rng.random((N, T))
    use_sentinel = chosen & (draws < policy.prob_sentinel)
    use_random = chosen & ~use_sentinel & (rng.random((N, T)) < policy.prob_random)
    corrupted = token_ids.copy()
    corrupted[use_sentinel] = sentinel_id
    corrupted[use_random] = rng.integers(0, vocab_size, size=use_random.sum())
    rows, cols = np.nonzero(chosen)
    return {
        "corrupted": corrupted,
        "valid": valid,
        "positions": rows * T + cols,
        "targets": token_ids[rows, cols],
        "row_of": rows,
    }
