import torch
import torch.nn as nn


class LN(nn.Module):
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        return (x - mu) / torch.sqrt((x - mu).pow(2).mean(-1, keepdim=True) + 1e-5)


class Attn(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.w, self.heads = w, heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = ((x @ self.w[i]).view(b, t, self.heads, d // self.heads).transpose(1, 2) for i in range(3))
        s = q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5
        p = (s - s.amax(-1, keepdim=True)).exp()
        p = p / p.sum(-1, keepdim=True)
        return (p @ v).transpose(1, 2).reshape(b, t, d) @ self.w[3]


class MLP(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w, self.tanh = w, nn.Tanh()

    def forward(self, x):
        u = x @ self.w[4]
        return (0.5 * u * (1 + self.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))) @ self.w[5]


class Model(nn.Module):
    def __init__(self, blocks, heads):
        super().__init__()
        self.attn = [Attn(w, heads) for w in blocks]
        self.mlp = [MLP(w) for w in blocks]
        self.ln = LN()
        self.ln_f = LN()

    def forward(self, x):
        for attn, mlp in zip(self.attn, self.mlp):
            x = x + attn(self.ln(x))
            x = x + mlp(self.ln(x))
        return self.ln_f(x)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb, pos, blocks, head = (torch.tensor(a, dtype=torch.float64) for a in (w_emb, pos_embed, blocks_weights, w_head))
    x = Model(blocks, num_heads)(emb[torch.tensor(input_ids).long()] + pos)
    return x[torch.tensor(mask_indicator) > 0.5] @ head
