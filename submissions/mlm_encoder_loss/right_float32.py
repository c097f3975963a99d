# Everything in float32, weights stacked into one product, normalization fused with the residual sum.
import numpy as np

F = np.float32


def add_and_norm(x, update):
    x = x + update
    x = x - x.mean(-1, keepdims=True, dtype=F)
    return x * (F(1) / np.sqrt(np.square(x).mean(-1, keepdims=True, dtype=F) + F(1e-5)))


def encode_batch(token_ids, valid, weights, num_heads):
    w = {k: np.asarray(a, F) for k, a in weights.items()}
    n, t = token_ids.shape
    d = w["token_embed"].shape[1]
    x = np.take(w["token_embed"], token_ids, axis=0) + w["pos_embed"][None, :t]
    for i in range(w["w_q"].shape[0]):
        qkv = np.einsum("ntd,jed->jnte", x, np.stack([w["w_q"][i], w["w_k"][i], w["w_v"][i]]))
        q, k, v = qkv.reshape(3, n, t, num_heads, d // num_heads).transpose(0, 1, 3, 2, 4)
        s = np.einsum("nhqc,nhkc->nhqk", q, k) * F((d // num_heads) ** -0.5)
        s = np.where(valid[:, None, None, :], s, F(-1e9))
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        mixed = np.einsum("nhqk,nhkc->nqhc", s, v).reshape(n, t, d)
        x = add_and_norm(x, mixed @ w["w_o"][i].T)
        u = x @ w["w_in"][i].T
        u = F(0.5) * u * (F(1) + np.tanh(F(0.7978845608) * (u + F(0.044715) * u * u * u)))
        x = add_and_norm(x, u @ w["w_out"][i].T)
    return x


def masked_loss(token_ids, valid, weights, num_heads, flat_positions, targets):
    if not len(flat_positions):
        raise ValueError("no masked positions")
    rows, cols = np.unravel_index(flat_positions, token_ids.shape)
    if not valid[rows, cols].all():
        raise ValueError("a masked position is padding")
    z = encode_batch(token_ids, valid, weights, num_heads)[rows, cols] @ np.asarray(weights["head"], F).T
    z -= z.max(1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(1)) - np.take_along_axis(z, targets[:, None], 1)[:, 0])


def evaluate(loss_sums, token_counts):
    total, tokens = F(np.sum(loss_sums)), np.sum(token_counts)
    if tokens == 0:
        raise ValueError("no tokens")
    return {"tokens": tokens, "loss": total / F(tokens), "perplexity": np.exp(total / F(tokens))}
