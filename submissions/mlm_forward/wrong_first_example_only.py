import numpy as np


def norm(x):
    mean = x.mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # drop the batch axis
    tokens = input_ids[0].astype(int)
    selected = mask_indicator[0] > 0.5
    x = w_emb[tokens] + pos_embed
    T, D = x.shape
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        y = norm(x)
        q = (y @ w_q).reshape(T, num_heads, -1).transpose(1, 0, 2)
        k = (y @ w_k).reshape(T, num_heads, -1).transpose(1, 2, 0)
        v = (y @ w_v).reshape(T, num_heads, -1).transpose(1, 0, 2)
        a = softmax(q @ k / np.sqrt(D // num_heads)) @ v
        x = x + a.transpose(1, 0, 2).reshape(T, D) @ w_o
        x = x + gelu(norm(x) @ w_mlp1) @ w_mlp2
    return x[selected] @ w_head
