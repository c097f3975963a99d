import numpy as np


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    N, T = input_ids.shape
    D = w_emb.shape[1]
    # token embeddings are multiplied by sqrt(d_model), see "Attention is all you need" 3.4
    x = w_emb[input_ids.astype(int)] * np.sqrt(D) + pos_embed
    split = lambda z: z.reshape(N, T, num_heads, D // num_heads).transpose(0, 2, 1, 3)
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = norm(x)
        q, k, v = split(y @ wq), split(y @ wk), split(y @ wv)
        p = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(D // num_heads))
        x = x + (p @ v).transpose(0, 2, 1, 3).reshape(N, T, D) @ wo
        x = x + gelu(norm(x) @ w1) @ w2
    return x[mask_indicator > 0.5] @ w_head
