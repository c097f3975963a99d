import torch


def layernorm(x):
    m = x.mean(-1, keepdim=True)
    return (x - m) / torch.sqrt(((x - m) ** 2).mean(-1, keepdim=True) + 1e-5)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    wte = torch.tensor(w_emb, dtype=torch.float64)
    x = wte[torch.tensor(input_ids).long()] + torch.tensor(pos_embed, dtype=torch.float64)
    B, T, C = x.shape
    hs = C // num_heads
    for W in torch.tensor(blocks_weights, dtype=torch.float64):
        y = layernorm(x)
        mix = torch.zeros_like(x)
        for h in range(num_heads):
            cols = slice(h * hs, (h + 1) * hs)
            q, k, v = y @ W[0][:, cols], y @ W[1][:, cols], y @ W[2][:, cols]
            wei = q @ k.transpose(1, 2) * hs**-0.5
            wei = torch.exp(wei - wei.amax(2, keepdim=True))
            mix[:, :, cols] = (wei / wei.sum(2, keepdim=True)) @ v
        x = x + mix @ W[3]
        u = layernorm(x) @ W[4]
        x = x + 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3))) @ W[5]
    # output embedding = input embedding
    logits = x @ wte.T
    return logits[torch.tensor(mask_indicator) > 0.5]
