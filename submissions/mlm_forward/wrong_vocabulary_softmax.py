import numpy as np


def softmax(z):
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    return z / z.sum(axis=-1, keepdims=True)


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    """Returns P(token) for every masked position."""
    x = w_emb[input_ids.astype(int)] + pos_embed
    for W in blocks_weights:
        y = norm(x)
        heads = [
            softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])) @ v
            for q, k, v in zip(*[np.split(y @ W[i], num_heads, axis=2) for i in range(3)])
        ]
        x = x + np.concatenate(heads, axis=2) @ W[3]
        x = x + gelu(norm(x) @ W[4]) @ W[5]
    return softmax(x[mask_indicator > 0.5] @ w_head)
