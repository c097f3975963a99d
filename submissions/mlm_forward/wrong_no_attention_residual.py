from dataclasses import dataclass

import numpy as np


@dataclass
class Layer:
    weights: np.ndarray
    heads: int

    def normalize(self, x):
        mu = x.mean(-1, keepdims=True)
        return (x - mu) / np.sqrt(((x - mu) ** 2).mean(-1, keepdims=True) + 1e-5)

    def self_attention(self, x):
        wq, wk, wv, wo = self.weights[:4]
        parts = []
        for q, k, v in zip(
            np.split(x @ wq, self.heads, -1), np.split(x @ wk, self.heads, -1), np.split(x @ wv, self.heads, -1)
        ):
            s = np.einsum("bid,bjd->bij", q, k) / np.sqrt(q.shape[-1])
            s = np.exp(s - s.max(-1, keepdims=True))
            parts.append(np.einsum("bij,bjd->bid", s / s.sum(-1, keepdims=True), v))
        return np.concatenate(parts, -1) @ wo

    def mlp(self, x):
        u = x @ self.weights[4]
        u = 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
        return u @ self.weights[5]

    def apply(self, x):
        x = self.self_attention(self.normalize(x))
        return x + self.mlp(self.normalize(x))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w in blocks_weights:
        x = Layer(w, num_heads).apply(x)
    return x[mask_indicator > 0.5] @ w_head
