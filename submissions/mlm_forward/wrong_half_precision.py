import torch

HALF = torch.bfloat16   # mixed precision is standard now


def cast(a):
    return torch.tensor(a, dtype=HALF)


def norm(x):
    m = x.mean(-1, keepdim=True)
    v = ((x - m) ** 2).mean(-1, keepdim=True)
    return (x - m) / torch.sqrt(v + 1e-5)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = cast(w_emb)[torch.tensor(input_ids).long()] + cast(pos_embed)
    b, t, d = x.shape
    for w in cast(blocks_weights):
        y = norm(x)
        q, k, v = [(y @ w[i]).reshape(b, t, num_heads, -1).transpose(1, 2) for i in range(3)]
        s = q @ k.transpose(-1, -2) / (d // num_heads) ** 0.5
        s = torch.exp(s - s.amax(-1, keepdim=True))
        s = s / s.sum(-1, keepdim=True)
        x = x + (s @ v).transpose(1, 2).reshape(b, t, d) @ w[3]
        u = norm(x) @ w[4]
        g = 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))
        x = x + g @ w[5]
    logits = x[torch.tensor(mask_indicator) > 0.5] @ cast(w_head)
    return logits.float().numpy()
