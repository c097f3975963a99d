import torch


def zscore(x):
    d = x - x.mean(-1, keepdim=True)
    return d / torch.sqrt(d.square().mean(-1, keepdim=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb = torch.from_numpy(w_emb).double()
    pos = torch.from_numpy(pos_embed).double()
    head = torch.from_numpy(w_head).double()
    blocks = torch.from_numpy(blocks_weights)
    d_head = emb.shape[1] // num_heads
    # fold 1/sqrt(d_head) into w_q once, saves a division per block
    blocks[:, 0].div_(d_head**0.5)
    x = emb[torch.from_numpy(input_ids).long()] + pos
    n, t, d = x.shape
    for w in blocks.double():
        y = zscore(x)
        q, k, v = ((y @ w[i]).view(n, t, num_heads, d_head).transpose(1, 2) for i in range(3))
        s = q @ k.transpose(2, 3)
        e = torch.exp(s - s.amax(-1, keepdim=True))
        x = x + (e / e.sum(-1, keepdim=True) @ v).transpose(1, 2).reshape(n, t, d) @ w[3]
        x = x + gelu(zscore(x) @ w[4]) @ w[5]
    return x[torch.from_numpy(mask_indicator) > 0.5] @ head
