import numpy as np


def normalise_tokens(x):
    mu, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mu) / np.sqrt(var + 1e-5)


def gelu_tanh(u):
    k = np.sqrt(2 / np.pi)
    return 0.5 * u * (1 + np.tanh(k * u + k * 0.044715 * u**3))


def mha(y, weights, num_heads):
    w_q, w_k, w_v, w_o = weights
    n, t, d = y.shape
    hd = d // num_heads
    context = np.empty((n, t, d))
    for h in range(num_heads):
        lo, hi = h * hd, h * hd + hd
        q, k, v = (y @ w_q)[..., lo:hi], (y @ w_k)[..., lo:hi], (y @ w_v)[..., lo:hi]
        z = q @ k.transpose(0, 2, 1) / np.sqrt(hd)
        z = np.exp(z - z.max(-1, keepdims=True))
        context[..., lo:hi] = (z / z.sum(-1, keepdims=True)) @ v
    return context @ w_o


def mlp(y, w_mlp1, w_mlp2):
    return gelu_tanh(y @ w_mlp1 @ w_mlp2)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(np.int32)] + pos_embed
    for layer in blocks_weights:
        x = x + mha(normalise_tokens(x), layer[:4], num_heads)
        x = x + mlp(normalise_tokens(x), layer[4], layer[5])
    return x[mask_indicator > 0.5] @ w_head
