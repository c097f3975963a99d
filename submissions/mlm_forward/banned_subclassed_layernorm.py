import torch
import torch.nn as nn


class TokenScaler(nn.LayerNorm):
    """my own normalisation: no learned parameters, eps 1e-5"""

    def __init__(self, width):
        super().__init__(width, eps=1e-5, elementwise_affine=False)


class Heads:
    def __init__(self, n):
        self.n = n

    def split(self, z):
        return torch.stack(z.split(z.shape[-1] // self.n, dim=-1), dim=1)

    def join(self, z):
        return torch.cat(list(z.unbind(1)), dim=-1)


def attention(y, w, heads):
    q, k, v = (heads.split(y @ w[i]) for i in range(3))
    s = torch.matmul(q, k.transpose(2, 3)) / q.shape[-1] ** 0.5
    e = torch.exp(s - torch.amax(s, 3, keepdim=True))
    return heads.join(torch.matmul(e / torch.sum(e, 3, keepdim=True), v)) @ w[3]


def gelu(u):
    return 0.5 * u * (1.0 + torch.tanh((2.0 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = torch.tensor(w_emb, dtype=torch.float64)[torch.tensor(input_ids).long()]
    x = x + torch.tensor(pos_embed, dtype=torch.float64)
    scale = TokenScaler(x.shape[-1])
    heads = Heads(num_heads)
    for w in torch.tensor(blocks_weights, dtype=torch.float64):
        x = x + attention(scale(x), w, heads)
        x = x + gelu(scale(x) @ w[4]) @ w[5]
    return (x @ torch.tensor(w_head, dtype=torch.float64))[torch.tensor(mask_indicator) > 0.5].numpy()
