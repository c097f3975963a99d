import numpy as np


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    """Vectorised over the batch, flat (N*T, D) activations, attention per example."""
    n, t = input_ids.shape
    d = w_emb.shape[1]
    hs = d // num_heads
    x = (w_emb[input_ids.astype(int)] + pos_embed).reshape(n * t, d)

    def norm(a):
        return a / np.sqrt((a ** 2).mean(axis=1, keepdims=True) + 1e-5)

    for w in blocks_weights:
        y = norm(x)
        q, k, v = y @ w[0], y @ w[1], y @ w[2]
        mixed = np.zeros_like(x)
        for i in range(n):
            rows = slice(i * t, (i + 1) * t)
            for h in range(num_heads):
                cols = slice(h * hs, (h + 1) * hs)
                s = q[rows, cols] @ k[rows, cols].T / np.sqrt(hs)
                e = np.exp(s - s.max(axis=1, keepdims=True))
                mixed[rows, cols] = e / e.sum(axis=1, keepdims=True) @ v[rows, cols]
        x = x + mixed @ w[3]
        u = norm(x) @ w[4]
        x = x + 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3))) @ w[5]
    return x[mask_indicator.reshape(-1) > 0.5] @ w_head
