import numpy as np


def normalize(x):
    # x: (N, T, D)
    mean = np.mean(x, axis=1, keepdims=True)
    var = np.var(x, axis=1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def attention_head(q, k, v):
    s = np.matmul(q, np.transpose(k, (0, 2, 1))) / np.sqrt(q.shape[2])
    s = s - np.max(s, axis=2, keepdims=True)
    w = np.exp(s)
    w = w / np.sum(w, axis=2, keepdims=True)
    return np.matmul(w, v)


def multi_head(y, wq, wk, wv, wo, num_heads):
    size = y.shape[2] // num_heads
    q, k, v = np.matmul(y, wq), np.matmul(y, wk), np.matmul(y, wv)
    result = []
    for h in range(num_heads):
        a, b = h * size, (h + 1) * size
        result.append(attention_head(q[:, :, a:b], k[:, :, a:b], v[:, :, a:b]))
    return np.matmul(np.concatenate(result, axis=2), wo)


def feed_forward(y, w1, w2):
    u = np.matmul(y, w1)
    g = 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * np.power(u, 3))))
    return np.matmul(g, w2)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(np.int64)] + pos_embed
    for weights in blocks_weights:
        x = x + multi_head(normalize(x), weights[0], weights[1], weights[2], weights[3], num_heads)
        x = x + feed_forward(normalize(x), weights[4], weights[5])
    return np.matmul(x[mask_indicator > 0.5], w_head)
