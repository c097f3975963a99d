from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class CorruptionPolicy:
    rate: float = 0.15
    prob_sentinel: float = 0.8
    prob_random: float = 0.1
    span_length: int = 1
    prob_unchanged: float = field(init=False)

    def __post_init__(self):
        if not 0.0 < self.rate < 1.0:
            raise ValueError(f"rate {self.rate} is not in (0, 1)")
        shares = np.array([self.prob_sentinel, self.prob_random])
        if (shares < 0).any() or shares.sum() > 1:
            raise ValueError(f"shares {shares}")
        if self.span_length < 1 or self.span_length % 1:
            raise ValueError(f"span_length {self.span_length}")
        object.__setattr__(self, "prob_unchanged", float(1 - shares.sum()))


@dataclass
class BatchedMask:
    corrupted: np.ndarray
    valid: np.ndarray
    positions: np.ndarray
    targets: np.ndarray
    row_of: np.ndarray


def choose(length, policy, rng):
    """Columns of one row, in single precision and by counts rather than comparisons."""
    if policy.span_length == 1:
        return np.flatnonzero(rng.binomial(1, policy.rate, size=length))
    if length == 0:
        return np.zeros(0, int)
    places = max(0, length - policy.span_length) + 1
    k = max(1, int(np.rint(length * policy.rate / policy.span_length)))
    starts = np.argsort(rng.random(places, dtype=np.float32))[:k]
    inside = (starts[:, None] + np.arange(policy.span_length)).ravel()
    return np.unique(inside[inside < length])


def corrupt_batch(token_ids, lengths, sentinel_id, vocab_size, policy, rng):
    N, T = token_ids.shape
    if np.shape(lengths) != (N,) or np.any((lengths < 0) | (lengths > T)):
        raise ValueError("lengths")
    for row, length in zip(token_ids, lengths, strict=True):
        if length and not 0 <= row[:length].min() <= row[:length].max() < vocab_size:
            raise ValueError("ids")
    if sentinel_id < 0 or sentinel_id >= vocab_size:
        raise ValueError("sentinel")
    columns = [choose(int(length), policy, rng) for length in lengths]
    if sum(map(len, columns)) == 0:
        columns = [np.arange(int(length))[-1:] for length in lengths]
    row_of = np.repeat(np.arange(N, dtype=np.int32), [len(c) for c in columns])
    positions = row_of * T + np.concatenate(columns)
    corrupted = token_ids.astype(np.int32, order="C")
    targets = corrupted.reshape(-1)[positions]
    shares = [policy.prob_sentinel, policy.prob_random, max(0.0, policy.prob_unchanged)]
    kinds = np.searchsorted(np.cumsum(shares), rng.random(len(positions)), side="right")
    new = np.choose(np.minimum(kinds, 2), [sentinel_id, rng.integers(vocab_size, size=len(positions)), targets])
    corrupted.reshape(-1)[positions] = new
    return BatchedMask(corrupted, np.tri(T + 1, T, -1, bool)[lengths], positions, targets, row_of)
