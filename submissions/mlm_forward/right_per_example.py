import numpy as np


def norm_row(v):
    return (v - v.mean()) / np.sqrt(v.var() + 1e-5)


def norm_all(x):
    return np.apply_along_axis(norm_row, 1, x)


def gelu(u):
    c = np.sqrt(2 / np.pi)
    return 0.5 * u * (1 + np.tanh(c * (u + 0.044715 * u ** 3)))


def one_sentence(tokens, w_emb, pos_embed, blocks_weights, num_heads):
    """(T,) ids -> (T, D) hidden states.  Sentences never see each other this way."""
    x = np.stack([w_emb[int(tok)] + pos_embed[t] for t, tok in enumerate(tokens)])
    d_head = x.shape[1] // num_heads
    for wq, wk, wv, wo, wm1, wm2 in blocks_weights:
        nx = norm_all(x)
        q, k, v = nx @ wq, nx @ wk, nx @ wv
        ctx = np.empty_like(x)
        for h in range(num_heads):
            sl = slice(h * d_head, (h + 1) * d_head)
            for i in range(len(x)):
                s = k[:, sl] @ q[i, sl] / np.sqrt(d_head)
                w = np.exp(s - s.max())
                ctx[i, sl] = (w / w.sum()) @ v[:, sl]
        x = x + ctx @ wo
        x = x + gelu(norm_all(x) @ wm1) @ wm2
    return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    rows = []
    for tokens, picked in zip(input_ids, mask_indicator):
        if not (picked > 0.5).any():
            continue  # nothing asked for here
        hidden = one_sentence(tokens, w_emb, pos_embed, blocks_weights, num_heads)
        for t in range(len(tokens)):
            if picked[t] > 0.5:
                rows.append(hidden[t] @ w_head)
    if not rows:
        # np.stack([]) raises
        return np.empty((0, w_head.shape[1]))
    return np.stack(rows)
