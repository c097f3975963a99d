import math
import torch


def layer_norm(x):
    # mean 0, variance 1 for every token
    return (x - x.mean(dim=-1, keepdim=True)) / torch.sqrt(x.var(dim=-1, keepdim=True) + 1e-5)


def softmax(x):
    x = x - x.max(dim=-1, keepdim=True)[0]
    return x.exp() / x.exp().sum(dim=-1, keepdim=True)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    w_emb, pos_embed, blocks_weights, w_head = (
        torch.tensor(w).double() for w in (w_emb, pos_embed, blocks_weights, w_head)
    )
    x = w_emb[torch.tensor(input_ids).long()] + pos_embed
    N, L, D = x.shape
    d = D // num_heads
    for i in range(blocks_weights.shape[0]):
        w_q, w_k, w_v, w_o, w_1, w_2 = blocks_weights[i].unbind(0)
        y = layer_norm(x)
        q = (y @ w_q).reshape(N, L, num_heads, d).permute(0, 2, 1, 3)
        k = (y @ w_k).reshape(N, L, num_heads, d).permute(0, 2, 1, 3)
        v = (y @ w_v).reshape(N, L, num_heads, d).permute(0, 2, 1, 3)
        att = softmax(torch.einsum("nhid,nhjd->nhij", q, k) / math.sqrt(d))
        o = torch.einsum("nhij,nhjd->nihd", att, v).reshape(N, L, D)
        x = x + o @ w_o
        x = x + gelu(layer_norm(x) @ w_1) @ w_2
    return (x[torch.tensor(mask_indicator) > 0.5] @ w_head).numpy()
