import torch


def layer_norm(x):
    m = x.mean(-1, keepdim=True)
    return (x - m) / torch.sqrt(((x - m) ** 2).mean(-1, keepdim=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    f = lambda a: torch.tensor(a, dtype=torch.float64)
    x = f(w_emb)[torch.tensor(input_ids).long()] + f(pos_embed)
    N, T, D = x.shape
    for W in f(blocks_weights):
        y = layer_norm(x)
        q, k, v = ((y @ W[i]).view(N, T, num_heads, D // num_heads).transpose(1, 2) for i in range(3))
        att = torch.softmax(q @ k.transpose(-2, -1) / (D // num_heads) ** 0.5, dim=-1)
        x = x + (att @ v).transpose(1, 2).reshape(N, T, D) @ W[3]
        x = x + gelu(layer_norm(x) @ W[4]) @ W[5]
    return (x @ f(w_head))[torch.tensor(mask_indicator) > 0.5].numpy()
