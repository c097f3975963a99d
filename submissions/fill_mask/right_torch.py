import torch


class SequenceTooLong(ValueError):
    """Too many tokens."""


class TokenizerMismatch(ValueError):
    """Ids of another tokenizer."""


class LikelihoodUnavailable(NotImplementedError):
    """No density."""


class TokenizerContract:
    __slots__ = ("_figures",)

    def __init__(self, vocab_size, sentinel_id, max_positions):
        if vocab_size < 1 or max_positions < 1:
            raise ValueError(f"bad sizes: {vocab_size}, {max_positions}")
        if sentinel_id < 0 or sentinel_id >= vocab_size:
            raise ValueError(f"bad sentinel: {sentinel_id} of {vocab_size}")
        self._figures = (vocab_size, sentinel_id, max_positions)

    @property
    def vocab_size(self):
        return self._figures[0]

    @property
    def sentinel_id(self):
        return self._figures[1]

    @property
    def max_positions(self):
        return self._figures[2]

    def validate(self, token_ids):
        ids = torch.tensor(token_ids, dtype=torch.long)
        if ids.numel() == 0:
            raise ValueError("nothing given")
        if ids.numel() > self.max_positions:
            raise SequenceTooLong(f"length {ids.numel()} > {self.max_positions}")
        outside = ids[(ids < 0) | (ids >= self.vocab_size)]
        if outside.numel():
            raise TokenizerMismatch(f"first id outside: {outside[0].item()}, vocab_size: {self.vocab_size}")


def fill_mask(token_ids, weights, contract, top_k=5):
    contract.validate(token_ids)
    if top_k <= 0:
        raise ValueError(f"top_k is {top_k}")
    token_embed, pos_embed, head = (
        torch.tensor(weights[name], dtype=torch.float32) for name in ("token_embed", "pos_embed", "head")
    )
    ids = torch.tensor(token_ids)
    rows = token_embed[ids] + pos_embed[: len(ids)]
    masked = torch.nonzero(ids == contract.sentinel_id).flatten()
    logits = (rows[masked] + rows.sum(0)) @ head.T
    order = torch.sort(logits, dim=1, descending=True, stable=True).indices[:, :top_k]
    return {int(position): best for position, best in zip(masked, order)}


def sequence_log_prob(token_ids):
    raise LikelihoodUnavailable(f"asked about {len(token_ids)} tokens")


def masking_rate_efficiency(rate, n_positions, width, vocab_size):
    if not (rate > 0 and rate < 1):
        raise ValueError(f"rate {rate} is not between 0 and 1")
    for size in (n_positions, width, vocab_size):
        if size < 1:
            raise ValueError(f"size {size} is below 1")
    rate = torch.tensor(rate, dtype=torch.float64)
    encoder = torch.tensor(12.0 * n_positions * width * width)
    head = torch.tensor(2.0 * n_positions * width * vocab_size)
    return {
        "signal_fraction": rate,
        "head_flops_saved_fraction": 1 - rate,
        "head_share_of_naive": head / (encoder + head),
        "head_share_of_gathered": head * rate / (encoder + head * rate),
    }
