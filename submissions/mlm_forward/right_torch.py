import math

import torch


def to_t(a):
    # torch.tensor copies, so a read-only numpy array is no problem
    return torch.tensor(a, dtype=torch.float64)


def layernorm(x):
    mu = x.mean(dim=-1, keepdim=True)
    sigma2 = ((x - mu) ** 2).mean(dim=-1, keepdim=True)
    return (x - mu) * torch.rsqrt(sigma2 + 1e-5)


def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


def self_attention(x, wq, wk, wv, wo, heads):
    n, t, d = x.shape
    dh = d // heads

    def split(z):
        return z.view(n, t, heads, dh).transpose(1, 2)

    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    att = (q @ k.transpose(-2, -1)) / math.sqrt(dh)
    att = torch.exp(att - att.amax(dim=-1, keepdim=True))
    att = att / att.sum(dim=-1, keepdim=True)
    out = (att @ v).transpose(1, 2).contiguous().view(n, t, d)
    return out @ wo


@torch.no_grad()
def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = torch.tensor(input_ids).long()
    x = to_t(w_emb)[ids] + to_t(pos_embed)
    for W in to_t(blocks_weights):
        x = x + self_attention(layernorm(x), W[0], W[1], W[2], W[3], num_heads)
        x = x + gelu(layernorm(x) @ W[4]) @ W[5]
    keep = torch.tensor(mask_indicator) > 0.5
    logits = x @ to_t(w_head)
    return logits[keep].numpy()
