import numpy as np
import torch

NAMES = ["layer", "norm"]


def scale_tokens(x):
    fn = eval("torch.nn.functional." + "_".join(NAMES))
    return fn(torch.tensor(x), x.shape[-1:]).numpy()


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def attend(y, w, heads):
    parts = []
    for q, k, v in zip(*(np.split(y @ w[i], heads, axis=-1) for i in range(3))):
        s = np.einsum("nic,njc->nij", q, k) / np.sqrt(q.shape[-1])
        s = np.exp(s - s.max(axis=-1, keepdims=True))
        parts.append(np.einsum("nij,njc->nic", s / s.sum(axis=-1, keepdims=True), v))
    return np.concatenate(parts, axis=-1) @ w[3]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w in blocks_weights:
        x = x + attend(scale_tokens(x), w, num_heads)
        x = x + gelu(scale_tokens(x) @ w[4]) @ w[5]
    return x[mask_indicator > 0.5] @ w_head
