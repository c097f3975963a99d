import torch
import torch.nn.functional as F


def ln(x):
    mu = x.mean(-1, keepdim=True)
    return (x - mu) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


def gelu(x):
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    w_emb, pos_embed, blocks_weights, w_head = (
        torch.tensor(a, dtype=torch.float64) for a in (w_emb, pos_embed, blocks_weights, w_head)
    )
    x = w_emb[torch.tensor(input_ids).long()] + pos_embed
    B, T, C = x.shape
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = ln(x)
        q = (y @ wq).view(B, T, num_heads, C // num_heads).transpose(1, 2)
        k = (y @ wk).view(B, T, num_heads, C // num_heads).transpose(1, 2)
        v = (y @ wv).view(B, T, num_heads, C // num_heads).transpose(1, 2)
        # flash attention, scale 1/sqrt(d_head) is the default
        out = F.scaled_dot_product_attention(q, k, v)
        x = x + out.transpose(1, 2).reshape(B, T, C) @ wo
        x = x + gelu(ln(x) @ w1) @ w2
    return x[torch.tensor(mask_indicator) > 0.5] @ w_head
