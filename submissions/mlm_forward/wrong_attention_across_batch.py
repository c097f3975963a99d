import numpy as np


def ln(x):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def softmax_rows(s):
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # work on one long 2-D array, it makes all the matmuls simple
    N, T = input_ids.shape
    x = w_emb[input_ids.astype(int).ravel()] + np.tile(pos_embed, (N, 1))
    D = x.shape[1]
    d_head = D // num_heads
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        h = ln(x)
        Q, K, V = h @ w_q, h @ w_k, h @ w_v
        parts = []
        for i in range(num_heads):
            q = Q[:, i * d_head:(i + 1) * d_head]
            k = K[:, i * d_head:(i + 1) * d_head]
            v = V[:, i * d_head:(i + 1) * d_head]
            parts.append(softmax_rows(q @ k.T / np.sqrt(d_head)) @ v)
        x = x + np.hstack(parts) @ w_o
        x = x + gelu(ln(x) @ w_mlp1) @ w_mlp2
    return x[mask_indicator.ravel() > 0.5] @ w_head
