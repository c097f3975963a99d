import numpy as np


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def encode_batch(token_ids, valid, weights, num_heads):
    n, t = token_ids.shape
    x = weights["token_embed"][token_ids] + weights["pos_embed"][:t]
    d = x.shape[-1]
    block = np.where(valid[:, None, None, :], 0.0, -1e30)

    def heads(a):
        return a.reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 1, 3)

    for layer in range(len(weights["w_q"])):
        q, k, v = (heads(x @ weights[name][layer].T) for name in ("w_q", "w_k", "w_v"))
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // num_heads) + block
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        merged = (p @ v).transpose(0, 2, 1, 3).reshape(n, t, d)
        x = layer_norm(x + merged @ weights["w_o"][layer].T)
        x = layer_norm(x + gelu(x @ weights["w_in"][layer].T) @ weights["w_out"][layer].T)
    return x


def masked_loss(token_ids, valid, weights, num_heads, flat_positions, targets):
    if flat_positions.size == 0:
        raise ValueError("nothing is selected")
    if not valid.ravel()[flat_positions].all():
        raise ValueError("padding is selected")
    hidden = encode_batch(token_ids, valid, weights, num_heads)
    n = flat_positions // token_ids.shape[1]
    flat_positions %= token_ids.shape[1]
    rows = hidden[n, flat_positions]
    logits = rows @ weights["head"].T
    logits -= logits.max(axis=-1, keepdims=True)
    log_z = np.log(np.exp(logits).sum(axis=-1))
    return float(np.mean(log_z - logits[np.arange(targets.size), targets]))


def evaluate(loss_sums, token_counts):
    tokens = int(token_counts.sum())
    if tokens == 0:
        raise ValueError("no tokens")
    loss_sums /= tokens
    loss = float(loss_sums.sum())
    return {"loss": loss, "perplexity": float(np.exp(loss)), "tokens": tokens}
