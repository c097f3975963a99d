class CorruptionPolicy:
    """How positions are chosen and what replaces them; can't be changed once it is made.

    Has the attributes rate, prob_sentinel, prob_random, span_length and prob_unchanged.
    """

    def __init__(self, rate=0.15, prob_sentinel=0.8, prob_random=0.1, span_length=1):
        raise NotImplementedError


def corrupt_batch(token_ids, lengths, sentinel_id, vocab_size, policy, rng):
    """Choose positions of a padded batch (N, T) and replace what stands there.

    Returns a dictionary, or an object with attributes, of corrupted (N, T), valid (N, T), positions (M,),
    targets (M,) and row_of (M,).
    """
    raise NotImplementedError
