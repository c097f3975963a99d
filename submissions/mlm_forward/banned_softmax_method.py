import torch as th


def normalise(x, eps=1e-5):
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    var = (x - mean).pow(2).sum(-1, keepdim=True) / x.shape[-1]
    return (x - mean) / (var + eps) ** 0.5


def gelu_tanh(u):
    return u / 2 * (1 + (((2 / th.pi) ** 0.5) * (u + 0.044715 * u ** 3)).tanh())


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    E, P, B, H = (th.tensor(a).double() for a in (w_emb, pos_embed, blocks_weights, w_head))
    x = E[th.tensor(input_ids).long()] + P
    n, t, d = x.shape
    for l in range(B.shape[0]):
        y = normalise(x)
        q = (y @ B[l, 0]).view(n, t, num_heads, -1)
        k = (y @ B[l, 1]).view(n, t, num_heads, -1)
        v = (y @ B[l, 2]).view(n, t, num_heads, -1)
        scores = th.einsum("nihc,njhc->nhij", q, k) / q.shape[-1] ** 0.5
        probs = scores.softmax(-1)
        x = x + th.einsum("nhij,njhc->nihc", probs, v).reshape(n, t, d) @ B[l, 3]
        x = x + gelu_tanh(normalise(x) @ B[l, 4]) @ B[l, 5]
    return x[th.tensor(mask_indicator) > 0.5] @ H
