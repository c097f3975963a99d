import torch


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    tensor = lambda a: torch.tensor(a, dtype=torch.float64)
    x = tensor(w_emb)[torch.tensor(input_ids).long()] + tensor(pos_embed)
    batch, seq, dim = x.shape
    for block in tensor(blocks_weights):
        mean = x.mean(dim=2, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=2, keepdim=True)
        norm_x = (x - mean) / torch.sqrt(var + 1e-5)

        q = (norm_x @ block[0]).reshape(batch, seq, num_heads, dim // num_heads).transpose(1, 2)
        k = (norm_x @ block[1]).reshape(batch, seq, num_heads, dim // num_heads).transpose(1, 2)
        v = (norm_x @ block[2]).reshape(batch, seq, num_heads, dim // num_heads).transpose(1, 2)
        scores = q.matmul(k.transpose(2, 3)).div((dim // num_heads) ** 0.5)
        scores = scores.sub(scores.amax(dim=3, keepdim=True)).exp()
        probs = scores.div(scores.sum(dim=3, keepdim=True))
        attn = probs.matmul(v).transpose(1, 2).reshape(batch, seq, dim)
        x = x + attn @ block[3]

        u = norm_x @ block[4]
        gelu = 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u ** 3)))
        x = x + gelu @ block[5]
    return (x @ tensor(w_head))[torch.tensor(mask_indicator) > 0.5].numpy()
