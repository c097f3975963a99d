from dataclasses import dataclass

import numpy as np


class SequenceTooLong(ValueError):
    pass


class TokenizerMismatch(ValueError):
    pass


class LikelihoodUnavailable(NotImplementedError):
    pass


@dataclass(frozen=True)
class TokenizerContract:
    vocab_size: int
    sentinel_id: int
    max_positions: int

    def __post_init__(self):
        if self.vocab_size < 1:
            raise ValueError(f"vocab_size must be at least 1, got {self.vocab_size}")
        if self.max_positions < 1:
            raise ValueError(f"max_positions must be at least 1, got {self.max_positions}")
        if not 0 <= self.sentinel_id < self.vocab_size:
            raise ValueError(f"sentinel {self.sentinel_id} not in a vocabulary of {self.vocab_size}")

    def validate(self, token_ids):
        if len(token_ids) == 0:
            raise ValueError("empty sequence")
        if len(token_ids) > self.max_positions:
            raise SequenceTooLong(f"{len(token_ids)} tokens, at most {self.max_positions} fit")
        for token in token_ids:
            if token < 0 or token >= self.vocab_size:
                raise TokenizerMismatch(f"token id {token}, but vocab_size is {self.vocab_size}")


def fill_mask(token_ids, weights, contract, top_k=5):
    contract.validate(token_ids)
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    rows = weights["token_embed"][token_ids] + weights["pos_embed"][: len(token_ids)]
    predictions = {}
    for position, token in enumerate(token_ids):
        if token == contract.sentinel_id:
            logits = weights["head"] @ (rows[position] + rows[: position + 1].sum(axis=0))
            predictions[position] = np.argsort(-logits, kind="stable")[:top_k].tolist()
    return predictions


def sequence_log_prob(token_ids):
    raise LikelihoodUnavailable(f"there is no joint probability of {len(token_ids)} tokens")


def masking_rate_efficiency(rate, n_positions, width, vocab_size):
    if not 0 < rate < 1:
        raise ValueError(f"rate must be in (0, 1), got {rate}")
    for name, size in (("n_positions", n_positions), ("width", width), ("vocab_size", vocab_size)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    encoder = 12 * n_positions * width**2
    head = 2 * n_positions * width * vocab_size
    return {
        "signal_fraction": rate,
        "head_flops_saved_fraction": 1 - rate,
        "head_share_of_naive": head / (encoder + head),
        "head_share_of_gathered": rate * head / (encoder + rate * head),
    }
