import numpy as np

PAD = 0


def softmax(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    input_ids = input_ids.astype(np.int64)
    N, T = input_ids.shape
    D = w_emb.shape[1]
    # keys that are padding get a big negative bias
    bias = np.where(input_ids == PAD, -1e9, 0.0)[:, None, None, :]
    x = w_emb[input_ids] + pos_embed
    for l in range(blocks_weights.shape[0]):
        qw, kw, vw, ow, m1, m2 = blocks_weights[l]
        a = layer_norm(x)
        q = (a @ qw).reshape(N, T, num_heads, -1).transpose(0, 2, 1, 3)
        k = (a @ kw).reshape(N, T, num_heads, -1).transpose(0, 2, 1, 3)
        v = (a @ vw).reshape(N, T, num_heads, -1).transpose(0, 2, 1, 3)
        p = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(D // num_heads) + bias)
        x = x + (p @ v).transpose(0, 2, 1, 3).reshape(N, T, D) @ ow
        x = x + gelu(layer_norm(x) @ m1) @ m2
    return x[mask_indicator > 0.5] @ w_head
