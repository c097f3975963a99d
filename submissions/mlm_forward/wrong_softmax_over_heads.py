import torch

f64 = torch.float64


def my_softmax(t, dim=1):
    t = t - t.amax(dim=dim, keepdim=True)
    t = torch.exp(t)
    return t / t.sum(dim=dim, keepdim=True)


def my_layernorm(t):
    mu = t.mean(-1, keepdim=True)
    return (t - mu) / torch.sqrt(((t - mu) ** 2).mean(-1, keepdim=True) + 1e-5)


def my_gelu(t):
    return 0.5 * t * (1 + torch.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = torch.tensor(w_emb, dtype=f64)[torch.tensor(input_ids).long()]
    x = x + torch.tensor(pos_embed, dtype=f64)
    n, t, d = x.size()
    for block in torch.tensor(blocks_weights, dtype=f64):
        normed = my_layernorm(x)
        q, k, v = [(normed @ block[i]).view(n, t, num_heads, d // num_heads).transpose(1, 2) for i in range(3)]
        att = my_softmax(q @ k.transpose(-2, -1) / (d // num_heads) ** 0.5)
        y = (att @ v).transpose(1, 2).reshape(n, t, d)
        x = x + y @ block[3]
        x = x + my_gelu(my_layernorm(x) @ block[4]) @ block[5]
    return x[torch.tensor(mask_indicator) > 0.5] @ torch.tensor(w_head, dtype=f64)
