def encode_batch(token_ids, valid, weights, num_heads):
    """Hidden states of a padded batch: an array of shape (N, T, D).

    token_ids: (N, T) whole numbers. valid: (N, T), True at real positions, False at padding.
    weights: a dictionary with token_embed (V, D), pos_embed (P, D), w_q, w_k, w_v, w_o (L, D, D),
    w_in (L, 4 * D, D), w_out (L, D, 4 * D) and head (V, D).
    """
    raise NotImplementedError


def masked_loss(token_ids, valid, weights, num_heads, flat_positions, targets):
    """Mean cross entropy at the selected positions, a number; ValueError for none and for padding.

    flat_positions: (M,) places n * T + t. targets: (M,) the token to be predicted at each.
    """
    raise NotImplementedError


def evaluate(loss_sums, token_counts):
    """{"loss": ..., "perplexity": ..., "tokens": ...} of all batches together; ValueError without tokens.

    loss_sums: (B,) added-up losses. token_counts: (B,) over how many tokens each was added up.
    """
    raise NotImplementedError
