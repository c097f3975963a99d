import numpy as np


class Gelu:
    a = np.sqrt(2 / np.pi)
    b = 0.44715

    def __call__(self, u):
        return 0.5 * u * (1 + np.tanh(self.a * (u + self.b * u ** 3)))


class Norm:
    def __call__(self, x):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


class Head:
    def __init__(self, wq, wk, wv):
        self.wq, self.wk, self.wv = wq, wk, wv

    def __call__(self, y):
        q, k, v = y @ self.wq, y @ self.wk, y @ self.wv
        s = q @ k.swapaxes(1, 2) / np.sqrt(self.wq.shape[1])
        e = np.exp(s - s.max(2, keepdims=True))
        return e / e.sum(2, keepdims=True) @ v


class Block:
    def __init__(self, w, num_heads):
        d = w.shape[-1] // num_heads
        # each head owns a slice of columns
        self.heads = [Head(*(w[i][:, j * d:j * d + d] for i in range(3))) for j in range(num_heads)]
        self.wo, self.w1, self.w2 = w[3], w[4], w[5]
        self.norm, self.gelu = Norm(), Gelu()

    def __call__(self, x):
        y = self.norm(x)
        x = x + np.concatenate([head(y) for head in self.heads], axis=2) @ self.wo
        return x + self.gelu(self.norm(x) @ self.w1) @ self.w2


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w in blocks_weights:
        x = Block(w, num_heads)(x)
    return x[mask_indicator > 0.5] @ w_head
