import numpy as np
from scipy.special import softmax as normalize_rows, expit


def tokens_to_unit(x):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)


def smooth_step(u):
    return u * expit(2 * np.sqrt(2 / np.pi) * (u + 0.044715 * u**3))


def mix(q, k, v):
    weights = normalize_rows(np.einsum("nihc,njhc->nhij", q, k) / np.sqrt(q.shape[-1]), axis=-1)
    return np.einsum("nhij,njhc->nihc", weights, v)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    heads = (*x.shape[:2], num_heads, x.shape[2] // num_heads)
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = tokens_to_unit(x)
        x = x + mix((y @ wq).reshape(heads), (y @ wk).reshape(heads), (y @ wv).reshape(heads)).reshape(x.shape) @ wo
        x = x + smooth_step(tokens_to_unit(x) @ w1) @ w2
    return x[mask_indicator > 0.5] @ w_head
