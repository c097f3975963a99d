import numpy as np

EPS = 1e-5


class Net:
    def __init__(self, blocks, pos, H):
        self.blocks = blocks
        self.pos = pos
        self.H = H

    def ln(self, x):
        mu = x.mean(axis=2)[:, :, None]
        sd = np.sqrt(((x - mu) ** 2).mean(axis=2)[:, :, None] + EPS)
        return (x - mu) / sd

    def attention(self, y, Wq, Wk, Wv, Wo):
        B, S, D = y.shape
        dh = D // self.H
        out = np.zeros((B, S, D))
        for h in range(self.H):
            c = slice(h * dh, (h + 1) * dh)
            s = (y @ Wq[:, c]) @ (y @ Wk[:, c]).transpose(0, 2, 1) / dh ** 0.5
            p = np.exp(s - s.max(axis=2, keepdims=True))
            out[:, :, c] = (p / p.sum(axis=2, keepdims=True)) @ (y @ Wv[:, c])
        return out @ Wo

    def mlp(self, y, W1, W2):
        u = y @ W1
        return (0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))) @ W2

    def run(self, x):
        for W in self.blocks:
            x = x + self.pos          # tell the block where each token sits
            x = x + self.attention(self.ln(x), *W[:4])
            x = x + self.mlp(self.ln(x), *W[4:])
        return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    net = Net(blocks_weights, pos_embed, num_heads)
    x = net.run(w_emb[input_ids.astype(int)])
    return x[mask_indicator > 0.5] @ w_head
