from collections import namedtuple

import numpy as np

SequenceTooLong = type("SequenceTooLong", (ValueError,), {})
TokenizerMismatch = type("TokenizerMismatch", (ValueError, IndexError), {})
LikelihoodUnavailable = type("LikelihoodUnavailable", (NotImplementedError,), {})


class TokenizerContract(namedtuple("TokenizerContract", "vocab_size sentinel_id max_positions")):
    def __new__(cls, vocab_size, sentinel_id, max_positions):
        if min(vocab_size, max_positions) < 1 or not 0 <= sentinel_id < vocab_size:
            raise ValueError(f"no contract of {(vocab_size, sentinel_id, max_positions)}")
        return super().__new__(cls, vocab_size, sentinel_id, max_positions)

    def validate(self, token_ids):
        ids = np.array(token_ids, dtype=np.int64)
        if ids.size == 0:
            raise ValueError("no ids")
        if ids.size > self.max_positions:
            raise SequenceTooLong(f"{ids.size} > {self.max_positions}")
        outside = (ids < 0) | (ids >= self.vocab_size)
        if outside.any():
            raise TokenizerMismatch(f"{outside.sum()} ids outside (vocab_size {self.vocab_size}): {ids[outside]}")


class FillMask:
    """All masks at once, in float32."""

    def __call__(self, token_ids, weights, contract, top_k=5):
        contract.validate(token_ids)
        if top_k < 1:
            raise ValueError(f"{top_k} ids can't be given")
        ids = np.array(token_ids)
        embed, places, head = (np.asarray(weights[k], np.float32) for k in ("token_embed", "pos_embed", "head"))
        rows = embed[ids] + places[: ids.size]
        masked = np.flatnonzero(ids == contract.sentinel_id)
        logits = np.einsum("md,vd->mv", rows[masked] + rows.sum(0), head)
        every = np.broadcast_to(np.arange(len(head)), logits.shape)
        best = np.lexsort((every, -logits), axis=-1)[:, :top_k]
        return dict(zip(masked, best))


fill_mask = FillMask()


def sequence_log_prob(token_ids):
    raise LikelihoodUnavailable("no joint probability of " + str(len(token_ids)) + " tokens")


def masking_rate_efficiency(rate, n_positions, width, vocab_size):
    if not 0 < rate < 1:
        raise ValueError(f"rate: {rate}")
    if not all(size >= 1 for size in (n_positions, width, vocab_size)):
        raise ValueError(f"sizes: {n_positions}, {width}, {vocab_size}")
    rate = np.float32(rate)
    encoder = np.float32(12 * n_positions * width * width)
    head = np.float32(2 * n_positions * width * vocab_size)
    naive, gathered = (part / (encoder + part) for part in (head, rate * head))
    return {
        "signal_fraction": rate,
        "head_flops_saved_fraction": np.float32(1) - rate,
        "head_share_of_naive": naive,
        "head_share_of_gathered": gathered,
    }
