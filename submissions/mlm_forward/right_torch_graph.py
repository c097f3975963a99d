import torch
from torch import nn


class TinyMLM(nn.Module):
    """Weights are registered as parameters, so the result still carries its graph."""

    def __init__(self, w_emb, pos_embed, blocks, w_head, num_heads):
        super().__init__()
        self.tok = nn.Parameter(torch.tensor(w_emb, dtype=torch.float32))
        self.pos = nn.Parameter(torch.tensor(pos_embed, dtype=torch.float32))
        self.blocks = nn.Parameter(torch.tensor(blocks, dtype=torch.float32))
        self.head = nn.Parameter(torch.tensor(w_head, dtype=torch.float32))
        self.num_heads = num_heads
        self.tanh = nn.Tanh()

    def ln(self, x):
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        return (x - x.mean(dim=-1, keepdim=True)) / torch.sqrt(var + 1e-5)

    def gelu(self, u):
        return 0.5 * u * (1 + self.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))

    def attn(self, y, wq, wk, wv, wo):
        outs = []
        for q, k, v in zip(
            (y @ wq).chunk(self.num_heads, dim=-1),
            (y @ wk).chunk(self.num_heads, dim=-1),
            (y @ wv).chunk(self.num_heads, dim=-1),
        ):
            s = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
            e = (s - s.max(dim=-1, keepdim=True).values).exp()
            outs.append(torch.bmm(e / e.sum(dim=-1, keepdim=True), v))
        return torch.cat(outs, dim=-1) @ wo

    def forward(self, ids):
        x = self.tok[ids] + self.pos
        for wq, wk, wv, wo, w1, w2 in self.blocks:
            x = x + self.attn(self.ln(x), wq, wk, wv, wo)
            x = x + self.gelu(self.ln(x) @ w1) @ w2
        return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    model = TinyMLM(w_emb, pos_embed, blocks_weights, w_head, num_heads)
    hidden = model(torch.tensor(input_ids).long())
    chosen = torch.tensor(mask_indicator) > 0.5
    return hidden[chosen] @ model.head
