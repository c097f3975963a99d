"""Filling masked positions: a tokenizer contract, ranked predictions, and what a masked model can't do."""

# Define the exceptions here: SequenceTooLong and TokenizerMismatch derive from ValueError,
# LikelihoodUnavailable from NotImplementedError.


class TokenizerContract:
    """What a model expects of token ids: vocab_size, sentinel_id, max_positions."""

    def __init__(self, vocab_size, sentinel_id, max_positions):
        raise NotImplementedError("to be written")

    def validate(self, token_ids):
        """Raise where token_ids are empty, too many, or outside the vocabulary."""
        raise NotImplementedError("to be written")


def fill_mask(token_ids, weights, contract, top_k=5):
    """A dictionary from each masked position to its top_k token ids, best first."""
    raise NotImplementedError("to be written")


def sequence_log_prob(token_ids):
    """Raise LikelihoodUnavailable."""
    raise NotImplementedError("to be written")


def masking_rate_efficiency(rate, n_positions, width, vocab_size):
    """A dictionary of four fractions."""
    raise NotImplementedError("to be written")
