import math

import torch


class Block:
    def __init__(self, weights, n_head):
        self.wq, self.wk, self.wv, self.wo, self.w1, self.w2 = weights
        self.n_head = n_head

    def ln(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        return (x - mean) / torch.sqrt(var + 1e-5)

    def attn(self, x):
        B, T, C = x.size()
        k = (x @ self.wk).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = (x @ self.wq).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = (x @ self.wv).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        bias = torch.tril(torch.ones(T, T)).view(1, 1, T, T)
        att = att.masked_fill(bias == 0, float("-inf"))
        att = torch.exp(att - att.max(dim=-1, keepdim=True).values)
        att = att / att.sum(dim=-1, keepdim=True)
        y = att @ v
        return y.transpose(1, 2).contiguous().view(B, T, C) @ self.wo

    def mlp(self, x):
        x = x @ self.w1
        x = 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
        return x @ self.w2

    def __call__(self, x):
        x = x + self.attn(self.ln(x))
        x = x + self.mlp(self.ln(x))
        return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    wte, wpe, blocks, lm_head = (torch.tensor(a, dtype=torch.float64) for a in (w_emb, pos_embed, blocks_weights, w_head))
    idx = torch.tensor(input_ids).long()
    x = wte[idx] + wpe
    for weights in blocks:
        x = Block(weights, num_heads)(x)
    return (x @ lm_head)[torch.tensor(mask_indicator) > 0.5].numpy()
