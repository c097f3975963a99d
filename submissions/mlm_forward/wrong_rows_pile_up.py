import numpy as np


def layer_norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attention(x, w_q, w_k, w_v, num_heads):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    size = x.shape[1] // num_heads
    out = np.zeros_like(x)
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        s = q[:, part] @ k[:, part].T / np.sqrt(size)
        s = np.exp(s - s.max(axis=1, keepdims=True))
        out[:, part] = s / s.sum(axis=1, keepdims=True) @ v[:, part]
    return out


def collect(x, chosen, rows=[]):
    for t in range(len(x)):
        if chosen[t]:
            rows.append(x[t])
    return rows


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    for tokens, indicator in zip(input_ids.astype(int), mask_indicator):
        x = w_emb[tokens] + pos_embed
        for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
            x = x + attention(layer_norm(x), w_q, w_k, w_v, num_heads) @ w_o
            x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
        rows = collect(x, indicator > 0.5)
    return np.array(rows).reshape(-1, w_head.shape[0]) @ w_head
