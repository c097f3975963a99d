import numpy as np
import torch
import torch.nn.functional as F


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(x):
    # numpy -> torch -> numpy
    return F.layer_norm(torch.tensor(x), (x.shape[-1],), eps=1e-5).numpy()


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w in blocks_weights:
        y = normed(x)
        ctx = []
        for q, k, v in zip(*(np.split(y @ w[i], num_heads, axis=-1) for i in range(3))):
            ctx.append(softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v)
        x = x + np.concatenate(ctx, axis=-1) @ w[3]
        x = x + gelu(normed(x) @ w[4]) @ w[5]
    return x[mask_indicator > 0.5] @ w_head
