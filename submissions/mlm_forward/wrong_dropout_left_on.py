import numpy as np


class Dropout:
    def __init__(self, p=0.1):
        self.p = p
        self.training = True

    def __call__(self, x):
        if not self.training:
            return x
        keep = np.random.rand(*x.shape) >= self.p
        return x * keep / (1 - self.p)


dropout = Dropout()


def ln(x):
    mu = x.mean(-1, keepdims=True)
    return (x - mu) / np.sqrt(((x - mu) ** 2).mean(-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def attend(y, wq, wk, wv, wo, h):
    n, t, d = y.shape
    q, k, v = ((y @ w).reshape(n, t, h, d // h).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // h)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = dropout(p / p.sum(-1, keepdims=True))
    return (p @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ wo


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        x = x + dropout(attend(ln(x), wq, wk, wv, wo, num_heads))
        x = x + dropout(gelu(ln(x) @ w1) @ w2)
    return x[mask_indicator > 0.5] @ w_head
