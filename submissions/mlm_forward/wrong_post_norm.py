"""Encoder as in the original transformer paper: LayerNorm(x + Sublayer(x))."""
import numpy as np


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    var = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def attention(x, wq, wk, wv, wo, h):
    b, s, m = x.shape
    q = (x @ wq).reshape(b, s, h, m // h)
    k = (x @ wk).reshape(b, s, h, m // h)
    v = (x @ wv).reshape(b, s, h, m // h)
    e = np.einsum("bihd,bjhd->bijh", q, k) / np.sqrt(m // h)
    e = np.exp(e - e.max(axis=2, keepdims=True))
    e = e / e.sum(axis=2, keepdims=True)
    return np.einsum("bijh,bjhd->bihd", e, v).reshape(b, s, m) @ wo


def ffn(x, w1, w2):
    z = x @ w1
    return (0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))) @ w2


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        x = layer_norm(x + attention(x, wq, wk, wv, wo, num_heads))
        x = layer_norm(x + ffn(x, w1, w2))
    return x[mask_indicator > 0.5] @ w_head
