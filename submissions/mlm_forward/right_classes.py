"""Masked LM forward pass, object oriented version.

LayerNorm, Attention, FeedForward and Block mirror the names from the lecture.
"""
import numpy as np


class LayerNorm:
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x):
        centred = x - np.mean(x, axis=-1, keepdims=True)
        var = np.mean(np.square(centred), axis=-1, keepdims=True)
        return centred / np.sqrt(var + self.eps)


class Softmax:
    @staticmethod
    def forward(s):
        e = np.exp(s - np.max(s, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)


class GELU:
    COEF = np.sqrt(2.0 / np.pi)

    def forward(self, u):
        return 0.5 * u * (1.0 + np.tanh(self.COEF * (u + 0.044715 * u ** 3)))


class MultiHeadAttention:
    def __init__(self, w_q, w_k, w_v, w_o, num_heads):
        self.w_q, self.w_k, self.w_v, self.w_o = w_q, w_k, w_v, w_o
        self.num_heads = num_heads
        self.softmax = Softmax()

    def _heads(self, z):
        n, t, d = z.shape
        return z.reshape(n, t, self.num_heads, d // self.num_heads).swapaxes(1, 2)

    def forward(self, x):
        q = self._heads(x @ self.w_q)
        k = self._heads(x @ self.w_k)
        v = self._heads(x @ self.w_v)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        mixed = self.softmax.forward(scores) @ v
        return mixed.swapaxes(1, 2).reshape(x.shape) @ self.w_o


class FeedForward:
    def __init__(self, w1, w2):
        self.w1, self.w2 = w1, w2
        self.act = GELU()

    def forward(self, x):
        return self.act.forward(x @ self.w1) @ self.w2


class Block:
    def __init__(self, packed, num_heads):
        self.attn = MultiHeadAttention(packed[0], packed[1], packed[2], packed[3], num_heads)
        self.ffn = FeedForward(packed[4], packed[5])
        self.ln1 = LayerNorm()
        self.ln2 = LayerNorm()

    def forward(self, x):
        x = x + self.attn.forward(self.ln1.forward(x))
        return x + self.ffn.forward(self.ln2.forward(x))


class MaskedLM:
    def __init__(self, w_emb, pos_embed, blocks_weights, w_head, num_heads):
        self.w_emb = w_emb
        self.pos_embed = pos_embed
        self.w_head = w_head
        self.blocks = [Block(p, num_heads) for p in blocks_weights]

    def encode(self, ids):
        x = np.take(self.w_emb, ids.astype(np.intp), axis=0) + self.pos_embed
        for block in self.blocks:
            x = block.forward(x)
        return x

    def logits(self, ids, selected):
        return self.encode(ids)[selected] @ self.w_head


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    model = MaskedLM(w_emb, pos_embed, blocks_weights, w_head, num_heads)
    return model.logits(input_ids, mask_indicator > 0.5)
