import numpy as np

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = input_ids.astype(np.int64)
    keep = mask_indicator.astype(bool)

    def ln(x):
        c = x - x.mean(axis=-1, keepdims=True)
        return c / np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + 1e-5)

    def gelu(x):
        return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x ** 3)))

    x = w_emb[ids] + pos_embed
    n, t, d = x.shape
    dh = d // num_heads
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        h = ln(x)
        q = np.einsum('ntd,dhe->hnte', h, wq.reshape(d, num_heads, dh))
        k = np.einsum('ntd,dhe->hnte', h, wk.reshape(d, num_heads, dh))
        v = np.einsum('ntd,dhe->hnte', h, wv.reshape(d, num_heads, dh))
        a = np.einsum('hnie,hnje->hnij', q, k) / np.sqrt(dh)
        a = np.exp(a - a.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        x = x + np.einsum('hnij,hnje->nihe', a, v).reshape(n, t, d) @ wo
        x = x + gelu(ln(x) @ w1) @ w2
    return x[keep] @ w_head
