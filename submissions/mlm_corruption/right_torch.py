from typing import NamedTuple

import torch


class CorruptionPolicy:
    __slots__ = ("prob_random", "prob_sentinel", "prob_unchanged", "rate", "span_length")

    def __init__(self, rate=0.15, prob_sentinel=0.8, prob_random=0.1, span_length=1):
        if not (rate > 0 and rate < 1):
            raise ValueError(f"{rate=}")
        if min(prob_sentinel, prob_random) < 0 or prob_sentinel + prob_random > 1 + 1e-12:
            raise ValueError(f"{prob_sentinel=} {prob_random=}")
        if int(span_length) != span_length or span_length < 1:
            raise ValueError(f"{span_length=}")
        for name, value in [
            ("rate", rate),
            ("prob_sentinel", prob_sentinel),
            ("prob_random", prob_random),
            ("span_length", int(span_length)),
            ("prob_unchanged", 1 - prob_sentinel - prob_random),
        ]:
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError(f"a policy is fixed, {name} too")


class Batch(NamedTuple):
    corrupted: torch.Tensor
    valid: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor
    row_of: torch.Tensor


def corrupt_batch(token_ids, lengths, sentinel_id, vocab_size, policy, rng):
    """Single precision draws of torch, by a generator that is seeded from the one passed in."""
    ids = torch.tensor(token_ids.tolist())
    widths = torch.tensor(lengths.tolist())
    N, T = ids.shape
    if widths.shape != (N,) or widths.min() < 0 or widths.max() > T:
        raise ValueError("lengths")
    valid = torch.arange(T).expand(N, T) < widths[:, None]
    real = torch.cat([ids[valid], torch.tensor([sentinel_id])])
    if real.min() < 0 or real.max() >= vocab_size:
        raise ValueError("ids")
    g = torch.Generator().manual_seed(int(rng.integers(2**60)))

    if policy.span_length == 1:
        chosen = (torch.rand((N, T), generator=g) < policy.rate) & valid
        if not chosen.any():
            chosen = torch.arange(T).expand(N, T) == widths[:, None] - 1
    else:
        s = policy.span_length
        chosen = torch.zeros((N, T), dtype=torch.bool)
        for n, width in enumerate(widths.tolist()):
            if width:
                k = max(1, round(width * policy.rate / s))
                starts = torch.randperm(max(1, width - s + 1), generator=g)[:k]
                for start in starts.tolist():
                    chosen[n, start : start + s] = True
        chosen &= valid

    u = torch.rand((N, T), generator=g)
    anything = torch.randint(vocab_size, (N, T), generator=g)
    replaced = torch.where(u < policy.prob_sentinel, sentinel_id, anything)
    stay = u >= policy.prob_sentinel + policy.prob_random
    corrupted = torch.where(chosen & ~stay, replaced, ids)
    positions = chosen.flatten().nonzero().flatten()
    return Batch(corrupted, valid, positions, ids.flatten()[positions], positions // T)
