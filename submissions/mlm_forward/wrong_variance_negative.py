import numpy as np


def layer_norm(x):
    # E[x^2] - E[x]^2
    mean = x.mean(axis=-1, keepdims=True)
    mean_of_squares = (x**2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(mean_of_squares - mean**2 + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def attention_of_one_example(y, w_q, w_k, w_v, num_heads):
    T, D = y.shape
    q, k, v = [(y @ w).reshape(T, num_heads, D // num_heads) for w in (w_q, w_k, w_v)]
    out = np.zeros((T, num_heads, D // num_heads))
    for h in range(num_heads):
        s = q[:, h] @ k[:, h].T / np.sqrt(D // num_heads)
        s = np.exp(s - s.max(axis=1, keepdims=True))
        out[:, h] = (s / s.sum(axis=1, keepdims=True)) @ v[:, h]
    return out.reshape(T, D)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        y = layer_norm(x)
        x = x + np.stack([attention_of_one_example(e, w_q, w_k, w_v, num_heads) for e in y]) @ w_o
        x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    return x[mask_indicator > 0.5] @ w_head
