import numpy as np

LN_EPS = 1e-5


def ln(x):
    mu = x.mean(-1, keepdims=True)
    return (x - mu) / np.sqrt(np.square(x - mu).mean(-1, keepdims=True) + LN_EPS)


def act(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u * u * u)))


def split_heads(z, H):
    n, t, d = z.shape
    # features -> (d_head, H), head axis to the front
    return np.moveaxis(z.reshape(n, t, d // H, H), -1, 0)


def join_heads(z):
    h, n, t, c = z.shape
    return np.moveaxis(z, 0, -1).reshape(n, t, c * h)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    scale = 1.0 / np.sqrt(x.shape[-1] / num_heads)
    for wq, wk, wv, wo, wi, wu in blocks_weights:
        a = ln(x)
        q, k, v = (split_heads(a @ w, num_heads) for w in (wq, wk, wv))
        s = q @ k.swapaxes(-2, -1) * scale
        e = np.exp(s - s.max(-1, keepdims=True))
        x = x + join_heads(e / e.sum(-1, keepdims=True) @ v) @ wo
        x = x + act(ln(x) @ wi) @ wu
    return x[mask_indicator > 0.5] @ w_head
