import numpy as np


class Transformer:
    def __init__(self, blocks, heads):
        self.blocks, self.heads = blocks, heads

    @staticmethod
    def softmax(s):
        e = np.exp(s)
        return e / np.sum(e, axis=-1, keepdims=True)

    @staticmethod
    def norm(x):
        mu = np.mean(x, axis=-1, keepdims=True)
        var = np.var(x, axis=-1, keepdims=True)
        return (x - mu) / np.sqrt(var + 1e-5)

    @staticmethod
    def gelu(u):
        return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))

    def split(self, z):
        return np.stack(np.split(z, self.heads, axis=-1), axis=1)

    def merge(self, z):
        return np.concatenate([z[:, h] for h in range(self.heads)], axis=-1)

    def forward(self, x):
        for wq, wk, wv, wo, w1, w2 in self.blocks:
            y = self.norm(x)
            q, k, v = self.split(y @ wq), self.split(y @ wk), self.split(y @ wv)
            a = self.softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]))
            x = x + self.merge(a @ v) @ wo
            x = x + self.gelu(self.norm(x) @ w1) @ w2
        return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    model = Transformer(blocks_weights, num_heads)
    h = model.forward(w_emb[input_ids.astype(int)] + pos_embed)
    return h[mask_indicator > 0.5] @ w_head
