import torch


def T(a):
    return torch.tensor(a, dtype=torch.float64)


def normalize_tokens(h):
    centered = h - h.mean(-1, keepdim=True)
    return centered / (centered.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()


def gelu(h):
    return h * 0.5 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (h + 0.044715 * h ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    tokens = torch.tensor(input_ids).to(torch.int64)
    h = T(w_emb)[tokens]
    for wq, wk, wv, wo, w_in, w_out in T(blocks_weights):
        z = normalize_tokens(h)
        heads = []
        for q, k, v in zip((z @ wq).chunk(num_heads, -1), (z @ wk).chunk(num_heads, -1), (z @ wv).chunk(num_heads, -1)):
            s = q @ k.mT / q.shape[-1] ** 0.5
            s = (s - s.amax(-1, keepdim=True)).exp()
            heads.append(s / s.sum(-1, keepdim=True) @ v)
        h = h + torch.cat(heads, -1) @ wo
        h = h + gelu(normalize_tokens(h) @ w_in) @ w_out
    return (h @ T(w_head))[torch.tensor(mask_indicator) > 0.5]
