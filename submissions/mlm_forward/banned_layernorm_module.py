import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, weights, num_heads):
        super().__init__()
        self.w = weights
        self.h = num_heads
        dim = weights.shape[-1]
        self.ln_1 = nn.LayerNorm(dim, elementwise_affine=False)
        self.ln_2 = nn.LayerNorm(dim, elementwise_affine=False)

    def attention(self, y):
        n, t, d = y.shape
        q, k, v = ((y @ self.w[i]).view(n, t, self.h, d // self.h).transpose(1, 2) for i in range(3))
        s = q @ k.transpose(-2, -1) / (d // self.h) ** 0.5
        e = (s - s.max(dim=-1, keepdim=True).values).exp()
        return (e / e.sum(dim=-1, keepdim=True) @ v).transpose(1, 2).reshape(n, t, d) @ self.w[3]

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        u = self.ln_2(x) @ self.w[4]
        return x + (0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))) @ self.w[5]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    weights = torch.tensor(blocks_weights, dtype=torch.float64)
    x = torch.tensor(w_emb, dtype=torch.float64)[torch.tensor(input_ids).long()]
    x = x + torch.tensor(pos_embed, dtype=torch.float64)
    for w in weights:
        x = Block(w, num_heads)(x)
    return x[torch.tensor(mask_indicator) > 0.5] @ torch.tensor(w_head, dtype=torch.float64)
