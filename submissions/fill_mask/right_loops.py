"""Plain Python throughout: no numpy, and a class that guards its attributes by itself."""

import heapq


class ModelError(ValueError):
    """What is wrong with token ids."""


class SequenceTooLong(ModelError):
    def __init__(self, found, allowed):
        super().__init__(f"found {found} tokens where {allowed} are allowed")


class TokenizerMismatch(ModelError):
    def __init__(self, token, size):
        super().__init__(f"no token has the id {token} (vocab_size={size})")


class LikelihoodUnavailable(NotImplementedError):
    pass


class TokenizerContract:
    def __init__(self, vocab_size, sentinel_id, max_positions):
        for name, least in (("vocab_size", vocab_size), ("max_positions", max_positions)):
            if least <= 0:
                raise ValueError(f"{name}={least}")
        if sentinel_id not in range(vocab_size):
            raise ValueError(f"sentinel_id={sentinel_id}, vocab_size={vocab_size}")
        self.__dict__.update(vocab_size=vocab_size, sentinel_id=sentinel_id, max_positions=max_positions)

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} is fixed")

    def validate(self, token_ids):
        if not token_ids:
            raise ValueError("no tokens")
        if len(token_ids) > self.max_positions:
            raise SequenceTooLong(len(token_ids), self.max_positions)
        strangers = [token for token in token_ids if token not in range(self.vocab_size)]
        if strangers:
            raise TokenizerMismatch(strangers[0], self.vocab_size)
        return True


def fill_mask(token_ids, weights, contract, top_k=5):
    contract.validate(token_ids)
    if top_k < 1:
        raise ValueError(f"top_k={top_k}")
    tokens, places, head = (weights[name].tolist() for name in ("token_embed", "pos_embed", "head"))
    rows = [[a + b for a, b in zip(tokens[token], places[i])] for i, token in enumerate(token_ids)]
    total = [sum(column) for column in zip(*rows)]
    found = {}
    for i in range(len(token_ids)):
        if token_ids[i] != contract.sentinel_id:
            continue
        state = [own + all_of_them for own, all_of_them in zip(rows[i], total)]
        logits = [sum(w * x for w, x in zip(line, state)) for line in head]
        found[i] = heapq.nsmallest(top_k, range(len(logits)), key=lambda v: (-logits[v], v))
    return found


def sequence_log_prob(token_ids):
    raise LikelihoodUnavailable(f"{len(token_ids)} tokens: no joint density")


def masking_rate_efficiency(rate, n_positions, width, vocab_size):
    if rate <= 0 or rate >= 1:
        raise ValueError(f"rate={rate}")
    if min(n_positions, width, vocab_size) < 1:
        raise ValueError(f"sizes {n_positions}, {width}, {vocab_size}")
    # For one position and one feature: the others cancel.
    encoder, head = 6.0 * width, float(vocab_size)
    return dict(
        head_share_of_gathered=1 - encoder / (encoder + rate * head),
        head_share_of_naive=1 - encoder / (encoder + head),
        head_flops_saved_fraction=1 - rate,
        signal_fraction=rate,
    )
