import numpy as np
import torch


def layer_norm(x):
    # after taking the mean away the rest is an RMS norm
    centred = torch.tensor(x - x.mean(axis=-1, keepdims=True))
    return torch.rms_norm(centred, (x.shape[-1],), eps=1e-5).numpy()


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def softmax(s):
    s = np.exp(s - s.max(axis=-1, keepdims=True))
    return s / s.sum(axis=-1, keepdims=True)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    N, T = input_ids.shape
    V, D = w_emb.shape
    x = w_emb[input_ids.astype(int)] + pos_embed
    for W in blocks_weights:
        y = layer_norm(x)
        q = np.einsum("ntd,dhc->nhtc", y, W[0].reshape(D, num_heads, -1))
        k = np.einsum("ntd,dhc->nhct", y, W[1].reshape(D, num_heads, -1))
        v = np.einsum("ntd,dhc->nhtc", y, W[2].reshape(D, num_heads, -1))
        a = softmax(q @ k / np.sqrt(D // num_heads)) @ v
        x = x + np.moveaxis(a, 1, 2).reshape(N, T, D) @ W[3]
        x = x + gelu(layer_norm(x) @ W[4]) @ W[5]
    return x[mask_indicator > 0.5] @ w_head
