import numpy as np


def normalize(x):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    N, T = input_ids.shape
    V, D = w_emb.shape
    dh = D // num_heads

    x = w_emb[input_ids.astype(int)] + pos_embed
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        norm_x = normalize(x)
        # queries look for something, so only they need the normalized input
        q = norm_x @ w_q
        k = x @ w_k
        v = x @ w_v

        def heads(m):
            return m.reshape(N, T, num_heads, dh).transpose(0, 2, 1, 3)

        scores = heads(q) @ heads(k).transpose(0, 1, 3, 2) / np.sqrt(dh)
        scores = scores - scores.max(axis=-1, keepdims=True)
        probs = np.exp(scores)
        probs = probs / probs.sum(axis=-1, keepdims=True)
        attn = (probs @ heads(v)).transpose(0, 2, 1, 3).reshape(N, T, D) @ w_o
        x = x + attn

        u = normalize(x) @ w_mlp1
        x = x + (0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))) @ w_mlp2

    return x[mask_indicator > 0.5] @ w_head
