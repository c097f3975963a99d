import numpy as np
import scipy.special


def layernorm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    rows = [np.zeros((0, w_head.shape[1]))]
    for n in range(len(input_ids)):
        x = w_emb[input_ids[n].astype(int)] + pos_embed
        d_head = x.shape[1] // num_heads
        for W in blocks_weights:
            y = layernorm(x)
            ctx = np.zeros_like(x)
            for h in range(num_heads):
                c = slice(h * d_head, (h + 1) * d_head)
                scores = (y @ W[0][:, c]) @ (y @ W[1][:, c]).T / np.sqrt(d_head)
                ctx[:, c] = scipy.special.softmax(scores, axis=-1) @ (y @ W[2][:, c])
            x = x + ctx @ W[3]
            x = x + gelu(layernorm(x) @ W[4]) @ W[5]
        rows.append(x[mask_indicator[n] > 0.5] @ w_head)
    return np.concatenate(rows)
