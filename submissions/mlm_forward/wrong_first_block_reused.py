import numpy as np


def norm(x):
    mean = np.mean(x, axis=-1, keepdims=True)
    std = np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5)
    return (x - mean) / std


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    N, T = input_ids.shape
    D = w_emb.shape[1]
    d_head = D // num_heads
    L = blocks_weights.shape[0]

    x = w_emb[input_ids.astype(int)] + pos_embed
    if L > 0:
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[0]
    for layer in range(L):
        nx = norm(x)
        Q = (nx @ w_q).reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        K = (nx @ w_k).reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        V = (nx @ w_v).reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        S = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(d_head)
        P = np.exp(S - S.max(axis=-1, keepdims=True))
        P = P / P.sum(axis=-1, keepdims=True)
        A = (P @ V).transpose(0, 2, 1, 3).reshape(N, T, D)
        x = x + A @ w_o
        x = x + gelu(norm(x) @ w_mlp1) @ w_mlp2

    return x[mask_indicator > 0.5] @ w_head
