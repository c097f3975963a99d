import numpy as np

def ln(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = input_ids.astype(np.int64)
    x = w_emb[ids] + pos_embed[None, :, :]
    B, T, D = x.shape
    d = D // num_heads
    for layer in range(blocks_weights.shape[0]):
        Wq, Wv, Wk, Wo, W1, W2 = blocks_weights[layer]
        h = ln(x)
        q = np.einsum("btd,de->bte", h, Wq).reshape(B, T, num_heads, d)
        k = np.einsum("btd,de->bte", h, Wk).reshape(B, T, num_heads, d)
        v = np.einsum("btd,de->bte", h, Wv).reshape(B, T, num_heads, d)
        s = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(d)
        s -= s.max(axis=-1, keepdims=True)
        p = np.exp(s)
        p /= p.sum(axis=-1, keepdims=True)
        c = np.einsum("bhij,bjhd->bihd", p, v).reshape(B, T, D)
        x = x + c @ Wo
        u = ln(x) @ W1
        x = x + (0.5 * u * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (u + 0.044715 * u**3)))) @ W2
    return (x @ w_head)[mask_indicator > 0.5]
