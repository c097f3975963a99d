import numpy as np


def standardise(row):
    return (row - row.mean()) / np.sqrt(row.var() + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))


def forward_sentence(ids, masked, w_emb, pos_embed, blocks_weights, num_heads):
    T = len(ids)
    D = w_emb.shape[1]
    size = D // num_heads
    x = [w_emb[int(ids[t])] + pos_embed[t] for t in range(T)]
    visible = [t for t in range(T) if not masked[t]]
    if not visible:
        visible = list(range(T))
    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = [standardise(r) for r in x]
        q = [r @ wq for r in y]
        k = [r @ wk for r in y]
        v = [r @ wv for r in y]
        new = []
        for i in range(T):
            joined = np.zeros(D)
            for h in range(num_heads):
                s = slice(h * size, (h + 1) * size)
                # a masked token has nothing to tell the others
                e = np.array([q[i][s] @ k[j][s] for j in visible]) / np.sqrt(size)
                e = np.exp(e - e.max())
                e = e / e.sum()
                for weight, j in zip(e, visible):
                    joined[s] += weight * v[j][s]
            new.append(x[i] + joined @ wo)
        x = [r + gelu(standardise(r) @ w1) @ w2 for r in new]
    return x


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    rows = []
    for ids, ind in zip(input_ids, mask_indicator):
        masked = ind > 0.5
        x = forward_sentence(ids, masked, w_emb, pos_embed, blocks_weights, num_heads)
        rows += [x[t] @ w_head for t in range(len(ids)) if masked[t]]
    return np.array(rows) if rows else np.zeros((0, w_head.shape[1]))
