import numpy as np

Q, K, V, O, DOWN, UP = range(6)      # index of each matrix in the pack


def layernorm(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attend(x, w, heads):
    parts = []
    step = x.shape[-1] // heads
    for start in range(0, x.shape[-1], step):
        cols = slice(start, start + step)
        q, k, v = x @ w[Q][:, cols], x @ w[K][:, cols], x @ w[V][:, cols]
        score = q @ np.swapaxes(k, -1, -2) / np.sqrt(step)
        prob = np.exp(score - score.max(axis=-1, keepdims=True))
        prob = prob / prob.sum(axis=-1, keepdims=True)
        parts.append(prob @ v)
    return np.concatenate(parts, axis=-1) @ w[O]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    logits = []
    for ids, mask in zip(input_ids.astype(int), mask_indicator):
        x = w_emb[ids] + pos_embed
        for w in blocks_weights:
            x = x + attend(layernorm(x), w, num_heads)
            x = x + gelu(layernorm(x) @ w[UP]) @ w[DOWN]
        logits.append(x[mask > 0.5] @ w_head)
    return np.concatenate(logits, axis=0)
