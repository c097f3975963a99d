"""BERT uses layer_norm_eps = 1e-12, so the same here."""
import torch

LAYER_NORM_EPS = 1e-12


class SelfAttention:
    def __init__(self, wq, wk, wv, wo, num_heads):
        self.w = (wq, wk, wv, wo)
        self.num_heads = num_heads

    def transpose_for_scores(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, -1).permute(0, 2, 1, 3)

    def __call__(self, hidden):
        wq, wk, wv, wo = self.w
        query = self.transpose_for_scores(hidden @ wq)
        key = self.transpose_for_scores(hidden @ wk)
        value = self.transpose_for_scores(hidden @ wv)
        scores = torch.matmul(query, key.transpose(-1, -2)) / query.size(-1) ** 0.5
        scores = torch.exp(scores - scores.max(-1, keepdim=True).values)
        probs = scores / scores.sum(-1, keepdim=True)
        context = torch.matmul(probs, value).permute(0, 2, 1, 3).contiguous()
        return context.view(hidden.shape) @ wo


def layer_norm(x):
    u = x.mean(-1, keepdim=True)
    s = (x - u).pow(2).mean(-1, keepdim=True)
    return (x - u) / torch.sqrt(s + LAYER_NORM_EPS)


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh((2.0 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    as_double = lambda a: torch.tensor(a, dtype=torch.double)
    hidden = as_double(w_emb)[torch.tensor(input_ids).long()] + as_double(pos_embed)
    for w in as_double(blocks_weights):
        hidden = hidden + SelfAttention(w[0], w[1], w[2], w[3], num_heads)(layer_norm(hidden))
        hidden = hidden + gelu_new(layer_norm(hidden) @ w[4]) @ w[5]
    return hidden[torch.tensor(mask_indicator) > 0.5] @ as_double(w_head)
