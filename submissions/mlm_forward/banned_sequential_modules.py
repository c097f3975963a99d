import torch
from torch import nn

# the whole recipe as modules
probabilities = nn.Softmax(dim=-1)


def linear(w):
    m = nn.Linear(w.shape[0], w.shape[1], bias=False, dtype=torch.float64)
    m.weight = nn.Parameter(w.T.clone())
    return m


def feed_forward(w1, w2):
    return nn.Sequential(
        linear(w1),
        nn.GELU(approximate="tanh"),
        linear(w2),
    )


def norm(x):
    mu = x.mean(dim=-1, keepdim=True)
    return (x - mu) / torch.sqrt((x - mu).pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb = nn.Embedding.from_pretrained(torch.tensor(w_emb, dtype=torch.float64))
    x = emb(torch.tensor(input_ids).long()) + torch.tensor(pos_embed, dtype=torch.float64)
    n, t, d = x.shape
    for wq, wk, wv, wo, w1, w2 in torch.tensor(blocks_weights, dtype=torch.float64):
        y = norm(x)
        q, k, v = (linear(w)(y).view(n, t, num_heads, d // num_heads).transpose(1, 2) for w in (wq, wk, wv))
        att = probabilities(q @ k.transpose(-2, -1) / (d // num_heads) ** 0.5)
        x = x + linear(wo)((att @ v).transpose(1, 2).reshape(n, t, d))
        x = x + feed_forward(w1, w2)(norm(x))
    head = linear(torch.tensor(w_head, dtype=torch.float64))
    return head(x[torch.tensor(mask_indicator) > 0.5])
