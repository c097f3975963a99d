import numpy as np


def layernorm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[1])
    s = np.exp(s - s.max(axis=1)[:, None])
    s = s / s.sum(axis=1)[:, None]
    return s @ v


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    N, T = input_ids.shape
    D = w_emb.shape[1]
    states = np.zeros((N, T, D))
    for n in range(N):
        x = w_emb[input_ids[n].astype(int)] + pos_embed
        for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
            nx = layernorm(x)
            pieces = [
                attention(q, k, v)
                for q, k, v in zip(
                    np.hsplit(nx @ w_q, num_heads), np.hsplit(nx @ w_k, num_heads), np.hsplit(nx @ w_v, num_heads)
                )
            ]
            x = x + np.hstack(pieces) @ w_o
            x = x + gelu(x @ w_mlp1) @ w_mlp2
        states[n] = x
    return states[mask_indicator > 0.5] @ w_head
