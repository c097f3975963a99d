import torch


def t64(a):
    return torch.tensor(a, dtype=torch.float64)


def ln(v):
    m = v.mean(-1, True)
    return (v - m) / ((v - m).square().mean(-1, True) + 1e-5).sqrt()


def attend_one(y, w, heads):
    # y: (T, D), a single example
    out = []
    for q, k, v in zip(*((y @ w[i]).tensor_split(heads, dim=1) for i in range(3))):
        s = q @ k.T / q.shape[1] ** 0.5
        e = torch.exp(s - s.max(1, True).values)
        out.append(e / e.sum(1, True) @ v)
    return torch.cat(out, 1) @ w[3]


def gelu(u):
    return u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u.pow(3)))) / 2


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb, pos, blocks, head = t64(w_emb), t64(pos_embed), t64(blocks_weights), t64(w_head)
    rows = [torch.zeros(0, head.shape[1], dtype=torch.float64)]
    for ids, sel in zip(torch.tensor(input_ids).long(), torch.tensor(mask_indicator)):
        x = emb[ids] + pos
        for w in blocks:
            x = x + attend_one(ln(x), w, num_heads)
            x = gelu(ln(x) @ w[4]) @ w[5]
        rows.append(x[sel > 0.5] @ head)
    return torch.cat(rows).numpy()
