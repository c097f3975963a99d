import numpy as np


def _norm(h):
    return (h - h.mean(2, keepdims=True)) / (h.var(2, keepdims=True) + 1e-5) ** 0.5


def _gelu(h):
    return 0.5 * h * (1.0 + np.tanh((2.0 / np.pi) ** 0.5 * (h + 0.044715 * h ** 3)))


class Attention:
    def __init__(self, num_heads):
        self.num_heads = num_heads

    def split(self, z):
        b, t, d = z.shape
        return z.reshape(b, t, self.num_heads, d // self.num_heads).transpose(0, 2, 1, 3)

    def __call__(self, z, w_q, w_k, w_v, w_o):
        q, k, v = self.split(z @ w_q), self.split(z @ w_k), self.split(z @ w_v)
        att = q @ k.transpose(0, 1, 3, 2)
        att = att / np.sqrt(q.shape[3])
        att = np.exp(att - att.max(3, keepdims=True))
        att = att / att.sum(3, keepdims=True)
        out = att @ v
        out = out.reshape(z.shape)   # back to (batch, time, width)
        return out @ w_o


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    attention = Attention(num_heads)
    h = w_emb[input_ids.astype(int)] + pos_embed
    for pack in blocks_weights:
        h = h + attention(_norm(h), *pack[:4])
        h = h + _gelu(_norm(h) @ pack[4]) @ pack[5]
    return h[mask_indicator > 0.5] @ w_head
