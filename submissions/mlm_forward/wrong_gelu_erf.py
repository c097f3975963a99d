import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])


def gelu(x):
    """x * Phi(x), Phi the cdf of the normal distribution"""
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def norm(x):
    m = x.mean(axis=-1, keepdims=True)
    return (x - m) / np.sqrt(np.mean(np.square(x - m), axis=-1, keepdims=True) + 1e-5)


def attend(x, w, num_heads):
    n, t, d = x.shape
    q, k, v = (np.swapaxes((x @ w[i]).reshape(n, t, num_heads, -1), 1, 2) for i in range(3))
    s = np.matmul(q, np.swapaxes(k, 2, 3)) / math.sqrt(d // num_heads)
    p = np.exp(s - np.amax(s, axis=-1, keepdims=True))
    p /= np.sum(p, axis=-1, keepdims=True)
    return np.swapaxes(np.matmul(p, v), 1, 2).reshape(n, t, d) @ w[3]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    h = w_emb[input_ids.astype(int)] + pos_embed
    for w in blocks_weights:
        h = h + attend(norm(h), w, num_heads)
        h = h + gelu(norm(h) @ w[4]) @ w[5]
    return h[mask_indicator > 0.5] @ w_head
