import torch


def stats_norm(x):
    m = x.mean(-1, keepdim=True)
    s = ((x - m) * (x - m)).mean(-1, keepdim=True)
    return (x - m) / torch.sqrt(s + 1e-5)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = torch.tensor(input_ids, dtype=torch.long)
    W = torch.tensor(blocks_weights, dtype=torch.float64)
    x = torch.tensor(w_emb, dtype=torch.float64)[ids] + torch.tensor(pos_embed, dtype=torch.float64)
    N, T, D = x.shape
    d_head = D // num_heads
    for layer in range(W.size(0)):
        y = stats_norm(x)
        # get (N, heads, T, d_head)
        q = (y @ W[layer, 0]).reshape(N, num_heads, T, d_head)
        k = (y @ W[layer, 1]).reshape(N, num_heads, T, d_head)
        v = (y @ W[layer, 2]).reshape(N, num_heads, T, d_head)
        s = q @ k.transpose(-1, -2) / d_head ** 0.5
        e = torch.exp(s - s.max(-1, keepdim=True)[0])
        o = (e / e.sum(-1, keepdim=True)) @ v
        x = x + o.reshape(N, T, D) @ W[layer, 3]
        u = stats_norm(x) @ W[layer, 4]
        x = x + (0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u ** 3)))) @ W[layer, 5]
    logits = x @ torch.tensor(w_head, dtype=torch.float64)
    return logits[torch.tensor(mask_indicator) > 0.5].numpy()
