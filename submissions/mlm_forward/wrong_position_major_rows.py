import numpy as np


def LN(x):
    m = x.mean(axis=-1, keepdims=True)
    s = np.sqrt(((x - m) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    return (x - m) / s


def GELU(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # time first, like the torch RNN and transformer layers: (T, N, D)
    ids = input_ids.T.astype(int)
    mask = mask_indicator.T > 0.5
    x = w_emb[ids] + pos_embed[:, None, :]
    T, N, D = x.shape
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = LN(x)
        q = (y @ wq).reshape(T, N * num_heads, D // num_heads).swapaxes(0, 1)
        k = (y @ wk).reshape(T, N * num_heads, D // num_heads).swapaxes(0, 1)
        v = (y @ wv).reshape(T, N * num_heads, D // num_heads).swapaxes(0, 1)
        a = q @ k.swapaxes(1, 2) / np.sqrt(D // num_heads)
        a = np.exp(a - a.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        x = x + (a @ v).swapaxes(0, 1).reshape(T, N, D) @ wo
        x = x + GELU(LN(x) @ w1) @ w2
    return x[mask] @ w_head
