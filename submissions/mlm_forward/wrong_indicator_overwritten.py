import numpy as np


class MLM:
    """holds the weights of the model"""

    def __init__(self, w_emb, pos_embed, blocks_weights, w_head, num_heads):
        self.E, self.P, self.W, self.H, self.h = w_emb, pos_embed, blocks_weights, w_head, num_heads

    def _ln(self, x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def _attn(self, y, w):
        q, k, v = (np.array_split(y @ w[i], self.h, axis=-1) for i in range(3))
        out = []
        for i in range(self.h):
            s = q[i] @ k[i].transpose(0, 2, 1) / np.sqrt(q[i].shape[-1])
            s = np.exp(s - s.max(-1, keepdims=True))
            out.append(s / s.sum(-1, keepdims=True) @ v[i])
        return np.concatenate(out, -1) @ w[3]

    def _mlp(self, y, w):
        u = y @ w[4]
        return (u * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))) @ w[5]

    def hidden(self, ids):
        x = self.E[ids] + self.P
        for w in self.W:
            x = x + self._attn(self._ln(x), w)
            x = x + self._mlp(self._ln(x), w)
        return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # binarize the indicator
    mask_indicator[mask_indicator > 0.5] = 1
    mask_indicator[mask_indicator <= 0.5] = 0
    model = MLM(w_emb, pos_embed, blocks_weights, w_head, num_heads)
    return model.hidden(input_ids.astype(int))[mask_indicator == 1] @ w_head
