import torch


def ln(row):
    c = row - row.mean()
    return c / torch.sqrt((c * c).mean() + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))


norm_tokens = torch.vmap(torch.vmap(ln))
row_softmax = torch.vmap(lambda s: torch.nn.functional.softmax(s, -1))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    E, P, B, H = (torch.tensor(a, dtype=torch.float64) for a in (w_emb, pos_embed, blocks_weights, w_head))
    x = E[torch.tensor(input_ids).long()] + P
    hs = x.shape[-1] // num_heads
    for w in B:
        y = norm_tokens(x)
        parts = []
        for i in range(num_heads):
            c = slice(i * hs, i * hs + hs)
            q, k, v = y @ w[0][:, c], y @ w[1][:, c], y @ w[2][:, c]
            parts.append(row_softmax(q @ k.transpose(1, 2) / hs**0.5) @ v)
        x = x + torch.cat(parts, -1) @ w[3]
        x = x + gelu(norm_tokens(x) @ w[4]) @ w[5]
    return x[torch.tensor(mask_indicator) > 0.5] @ H
