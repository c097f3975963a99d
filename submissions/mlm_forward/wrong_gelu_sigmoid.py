import torch


def quick_gelu(x):
    # the CLIP version, x * sigmoid(1.702 x)
    return x * torch.sigmoid(1.702 * x)


def layer_norm(x):
    mean = torch.mean(x, -1, keepdim=True)
    return (x - mean) / torch.sqrt(torch.mean((x - mean) ** 2, -1, keepdim=True) + 1e-5)


def attention_pattern(q, k):
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    logits = logits - torch.amax(logits, -1, keepdim=True)
    num = torch.exp(logits)
    return num / torch.sum(num, -1, keepdim=True)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    w_emb, pos_embed, blocks_weights, w_head = (torch.tensor(a) for a in (w_emb, pos_embed, blocks_weights, w_head))
    x = w_emb[torch.tensor(input_ids).long()] + pos_embed
    shape = (*x.shape[:2], num_heads, x.shape[2] // num_heads)
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = layer_norm(x)
        pattern = attention_pattern((y @ wq).view(shape), (y @ wk).view(shape))
        mixed = torch.einsum("bhqk,bkhd->bqhd", pattern, (y @ wv).view(shape))
        x = x + mixed.reshape(x.shape) @ wo
        x = x + quick_gelu(layer_norm(x) @ w1) @ w2
    return x[torch.tensor(mask_indicator) > 0.5] @ w_head
