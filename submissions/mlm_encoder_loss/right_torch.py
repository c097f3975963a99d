import math

import torch


def norm(x):
    centered = x - x.mean(-1, keepdim=True)
    return centered / torch.sqrt((centered**2).mean(-1, keepdim=True) + 1e-5)


def encode_batch(token_ids, valid, weights, num_heads):
    w = {name: torch.tensor(a) for name, a in weights.items()}
    ids, real = torch.tensor(token_ids).long(), torch.tensor(valid)
    x = w["token_embed"][ids] + w["pos_embed"][: ids.shape[1]]
    n, t, d = x.shape
    for layer in range(w["w_q"].shape[0]):
        q, k, v = (
            (x @ w[m][layer].T).view(n, t, num_heads, d // num_heads).transpose(1, 2) for m in ("w_q", "w_k", "w_v")
        )
        scores = torch.einsum("nhqd,nhkd->nhqk", q, k) / math.sqrt(d // num_heads)
        scores = scores.masked_fill(~real[:, None, None, :], torch.finfo(x.dtype).min)
        e = torch.exp(scores - scores.amax(-1, keepdim=True))
        mixed = torch.einsum("nhqk,nhkd->nqhd", e / e.sum(-1, keepdim=True), v).reshape(n, t, d)
        x = norm(x + mixed @ w["w_o"][layer].T)
        u = x @ w["w_in"][layer].T
        g = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
        x = norm(x + g @ w["w_out"][layer].T)
    return x


def masked_loss(token_ids, valid, weights, num_heads, flat_positions, targets):
    places = torch.tensor(flat_positions).long()
    if places.numel() == 0 or not torch.tensor(valid).flatten()[places].all():
        raise ValueError("select real positions, at least one")
    rows = encode_batch(token_ids, valid, weights, num_heads).flatten(0, 1)[places]
    logits = rows @ torch.tensor(weights["head"]).T
    top = logits.amax(1, keepdim=True)
    log_p = logits - top - torch.log(torch.exp(logits - top).sum(1, keepdim=True))
    return -log_p.gather(1, torch.tensor(targets).long()[:, None]).mean()


def evaluate(loss_sums, token_counts):
    tokens = torch.tensor(token_counts).sum()
    if tokens == 0:
        raise ValueError("no tokens")
    loss = torch.tensor(loss_sums).sum() / tokens
    return {"loss": loss, "perplexity": torch.exp(loss), "tokens": tokens}
