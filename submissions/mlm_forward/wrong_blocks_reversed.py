import numpy as np


def ln(x, e=1e-5):
    return (x - x.mean(-1, keepdims=True)) * (x.var(-1, keepdims=True) + e) ** -0.5


def att(y, q, k, v, o, h):
    a, b, c = (np.stack(np.split(y @ m, h, -1), 1) for m in (q, k, v))
    s = a @ b.swapaxes(-1, -2) / a.shape[-1] ** 0.5
    s = np.exp(s - s.max(-1, keepdims=True))
    r = s / s.sum(-1, keepdims=True) @ c
    return np.concatenate(np.moveaxis(r, 1, 0), -1) @ o


def mlp(y, w1, w2):
    u = y @ w1
    return (0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))) @ w2


def encode(x, stack, h):
    """recursive: the last block works on what the blocks below it give"""
    if len(stack) == 0:
        return x
    first, rest = stack[0], stack[1:]
    x = encode(x, rest, h)
    x = x + att(ln(x), *first[:4], h)
    return x + mlp(ln(x), *first[4:])


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = encode(w_emb[input_ids.astype(int)] + pos_embed, blocks_weights, num_heads)
    return x[mask_indicator > 0.5] @ w_head
