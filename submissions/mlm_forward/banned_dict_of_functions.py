import torch
import torch.nn.functional as F

OPS = {
    "mix": F.softmax,
    "squash": torch.tanh,
    "norm": F.layer_norm,
}


def act(u):
    return 0.5 * u * (1 + OPS["squash"]((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))


def step(x, W, heads):
    n, t, d = x.shape
    y = OPS["norm"](x, (d,))
    q, k, v = torch.einsum("ntd,kde->knte", y, W[:3]).reshape(3, n, t, heads, d // heads)
    p = OPS["mix"](torch.einsum("nihc,njhc->nhij", q, k) / (d // heads) ** 0.5, dim=-1)
    x = x + torch.einsum("nhij,njhc->nihc", p, v).reshape(n, t, d) @ W[3]
    return x + act(OPS["norm"](x, (d,)) @ W[4]) @ W[5]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb, pos, blocks, head = (torch.tensor(a, dtype=torch.float64) for a in (w_emb, pos_embed, blocks_weights, w_head))
    x = emb[torch.tensor(input_ids).long()] + pos
    for W in blocks:
        x = step(x, W, num_heads)
    return x[torch.tensor(mask_indicator) > 0.5] @ head
