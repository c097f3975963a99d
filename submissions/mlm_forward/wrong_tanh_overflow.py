import numpy as np


def tanh(z):
    up, down = np.exp(z), np.exp(-z)
    return (up - down) / (up + down)


def gelu(u):
    return 0.5 * u * (1 + tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def heads(z, num_heads):
    return np.stack(np.split(z, num_heads, axis=-1))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        y = layer_norm(x)
        q, k, v = heads(y @ w_q, num_heads), heads(y @ w_k, num_heads), heads(y @ w_v, num_heads)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
        x = x + np.concatenate(list(mixed), axis=-1) @ w_o
        x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    return x[mask_indicator > 0.5] @ w_head
