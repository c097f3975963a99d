import math
import torch


def linear(x, w):
    """same convention as torch.nn.Linear: y = x W^T"""
    return x @ w.T


def layer_norm(x, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, correction=0)
    return (x - mean) / (var + eps) ** 0.5


def softmax(x):
    e = torch.exp(x - torch.amax(x, -1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb, pos, blocks, head = [torch.tensor(a, dtype=torch.float64) for a in (w_emb, pos_embed, blocks_weights, w_head)]
    x = emb[torch.tensor(input_ids).long()] + pos
    B, T, D = x.shape
    dk = D // num_heads
    for wq, wk, wv, wo, w1, w2 in blocks:
        h = layer_norm(x)
        q, k, v = (linear(h, w).view(B, T, num_heads, dk).transpose(1, 2) for w in (wq, wk, wv))
        a = softmax(q @ k.transpose(2, 3) / math.sqrt(dk)) @ v
        x = x + linear(a.transpose(1, 2).reshape(B, T, D), wo)
        x = x + linear(gelu(linear(layer_norm(x), w1)), w2)
    return (x[torch.tensor(mask_indicator) > 0.5] @ head).numpy()
