import torch


def norm(x):
    c = x - x.mean(-1, keepdim=True)
    return c / torch.sqrt((c**2).mean(-1, keepdim=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = torch.tensor(input_ids).long()
    masked = torch.tensor(mask_indicator) > 0.5
    emb = torch.tensor(w_emb, dtype=torch.float64)[ids]
    # hide the tokens that have to be predicted
    emb[masked] = 0.0
    x = emb + torch.tensor(pos_embed, dtype=torch.float64)
    n, t, d = x.shape
    for W in torch.tensor(blocks_weights, dtype=torch.float64):
        y = norm(x)
        q, k, v = torch.einsum("ntd,kde->knte", y, W[:3]).reshape(3, n, t, num_heads, -1).unbind(0)
        s = torch.einsum("nihc,njhc->nhij", q, k) / (d // num_heads) ** 0.5
        s = torch.exp(s - s.amax(-1, keepdim=True))
        p = s / s.sum(-1, keepdim=True)
        x = x + torch.einsum("nhij,njhc->nihc", p, v).reshape(n, t, d) @ W[3]
        x = x + gelu(norm(x) @ W[4]) @ W[5]
    return x[masked] @ torch.tensor(w_head, dtype=torch.float64)
