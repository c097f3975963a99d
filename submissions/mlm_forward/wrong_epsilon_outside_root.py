import numpy as np


def layer_norm(v):
    eps = 1e-5
    return (v - v.mean(axis=-1, keepdims=True)) / (v.std(axis=-1, keepdims=True) + eps)


def softmax(scores):
    scores = scores - scores.max(axis=-1, keepdims=True)
    return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def encode(tokens, emb, pos, blocks, heads):
    """one example: (T,) -> (T, D)"""
    x = emb[tokens] + pos
    width = x.shape[1] // heads
    for wq, wk, wv, wo, w1, w2 in blocks:
        y = layer_norm(x)
        q = (y @ wq).reshape(-1, heads, width).swapaxes(0, 1)
        k = (y @ wk).reshape(-1, heads, width).swapaxes(0, 1)
        v = (y @ wv).reshape(-1, heads, width).swapaxes(0, 1)
        a = softmax(q @ k.swapaxes(1, 2) / np.sqrt(width)) @ v
        x = x + a.swapaxes(0, 1).reshape(x.shape) @ wo
        x = x + gelu(layer_norm(x) @ w1) @ w2
    return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    hidden = np.array([encode(row.astype(int), w_emb, pos_embed, blocks_weights, num_heads) for row in input_ids])
    return hidden[mask_indicator > 0.5] @ w_head
