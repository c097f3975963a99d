import numpy as np


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        x = norm(x)
        x = x + attention(x, w_q, w_k, w_v, w_o, num_heads)
        x = x + mlp(norm(x), w_mlp1, w_mlp2)
    return x[mask_indicator > 0.5] @ w_head


def norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def attention(x, w_q, w_k, w_v, w_o, num_heads):
    n, t, d = x.shape
    q, k, v = [(x @ w).reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 1, 3) for w in (w_q, w_k, w_v)]
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // num_heads)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probs = scores / scores.sum(axis=-1, keepdims=True)
    return (probs @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ w_o


def mlp(x, w1, w2):
    u = x @ w1
    return (0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))) @ w2
