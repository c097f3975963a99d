import numpy as np


def normalize(v):
    return (v - v.mean()) / np.sqrt(v.var() + 1e-5)


def softmax(s):
    e = np.exp(s - s.max())
    return e / e.sum()


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def run(ids, w_emb, pos_embed, blocks_weights, num_heads):
    x = np.array([w_emb[int(ids[t])] + pos_embed[t] for t in range(len(ids))])
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        y = np.array([normalize(v) for v in x])
        step = x.shape[1] // num_heads
        q = y @ w_q
        k = y @ w_k
        v = y @ w_v
        ctx = np.zeros(x.shape)
        for h in range(num_heads):
            lo, hi = h * step, (h + 1) * step
            for i in range(len(x)):
                weights = softmax(k[:, lo:hi] @ q[i, lo:hi] / np.sqrt(step))
                ctx[i, lo:hi] = weights @ v[:, lo:hi]
        x = x + ctx @ w_o
        y = np.array([normalize(v) for v in x])
        x = x + gelu(y @ w_mlp1) @ w_mlp2
    return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    rows = []
    for n in range(len(input_ids)):
        x = run(input_ids[n], w_emb, pos_embed, blocks_weights, num_heads)
        for t in range(len(x)):
            if mask_indicator[n, t] > 0.5:
                rows.append(x[t] @ w_head)
    return np.stack(rows)
