# my own little "nn.functional", same names so the formulas read like the lecture slides
import numpy as np
from scipy.special import expit


class F:
    @staticmethod
    def softmax(x, dim):
        z = np.exp(x - np.amax(x, axis=dim, keepdims=True))
        return z / np.add.reduce(z, axis=dim, keepdims=True)

    @staticmethod
    def layer_norm(x):
        m = np.average(x, axis=-1)[..., None]
        return (x - m) / np.sqrt(np.average((x - m) ** 2, axis=-1)[..., None] + 1e-5)

    @staticmethod
    def gelu(x):
        # 1 + tanh(z) == 2 * sigmoid(2 z)
        z = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        return x * expit(2 * z)

    @staticmethod
    def scaled_dot_product_attention(q, k, v):
        return F.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), dim=-1) @ v


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    idx = np.rint(input_ids).astype(np.int64)
    x = w_emb[idx] + pos_embed[np.newaxis, :, :]
    batch, time, width = x.shape

    def to_heads(y):
        return y.reshape(batch, time, num_heads, -1).swapaxes(1, 2)

    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        n1 = F.layer_norm(x)
        mixed = F.scaled_dot_product_attention(to_heads(n1 @ w_q), to_heads(n1 @ w_k), to_heads(n1 @ w_v))
        x = x + mixed.swapaxes(1, 2).reshape(batch, time, width) @ w_o
        x = x + F.gelu(F.layer_norm(x) @ w_mlp1) @ w_mlp2

    return np.compress((mask_indicator > 0.5).ravel(), (x @ w_head).reshape(batch * time, -1), axis=0)
