import numpy as np


def standardize(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def self_attention(x, wq, wk, wv, wo, num_heads):
    heads = []
    for q, k, v in zip(np.split(x @ wq, num_heads, 1), np.split(x @ wk, num_heads, 1), np.split(x @ wv, num_heads, 1)):
        scores = q @ k.T / np.sqrt(q.shape[1])
        scores = np.exp(scores - scores.max(1, keepdims=True))
        heads.append((scores / scores.sum(1, keepdims=True)) @ v)
    return np.concatenate(heads, 1) @ wo


def mlp(x, w1, w2):
    h = x @ w1
    h = h * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    return h @ w2


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    where = [(n, t) for n in range(len(mask_indicator)) for t in range(len(pos_embed)) if int(mask_indicator[n][t]) > 0.5]
    encoded = {}
    for n in {n for n, _ in where}:
        x = w_emb[input_ids[n].astype(int)] + pos_embed
        for w in blocks_weights:
            x = x + self_attention(standardize(x), w[0], w[1], w[2], w[3], num_heads)
            x = x + mlp(standardize(x), w[4], w[5])
        encoded[n] = x
    logits = np.zeros((len(where), w_head.shape[1]))
    for row, (n, t) in enumerate(where):
        logits[row] = encoded[n][t] @ w_head
    return logits
