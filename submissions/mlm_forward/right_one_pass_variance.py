import numpy as np


def layer_norm(x, eps=1e-5):
    # Var = E[x^2] - E[x]^2, one sweep over the data
    mean = x.mean(axis=-1, keepdims=True)
    var = (x * x).mean(axis=-1, keepdims=True) - mean * mean
    var = np.maximum(var, 0.0)      # rounding can push it slightly below zero
    return (x - mean) / np.sqrt(var + eps)


def softmax(z, axis):
    z = z - np.max(z, axis=axis, keepdims=True)
    ez = np.exp(z)
    return ez / np.sum(ez, axis=axis, keepdims=True)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2.0 / np.pi) * (u + 0.044715 * u * u * u)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = np.array(input_ids, dtype=np.int64)
    x = np.array(w_emb[ids] + pos_embed, dtype=np.float64)
    n, t, d = x.shape
    dh = d // num_heads
    for b in range(blocks_weights.shape[0]):
        W = blocks_weights[b]
        a = layer_norm(x)
        qkv = a.reshape(n * t, d) @ np.concatenate([W[0], W[1], W[2]], axis=1)   # one big matmul
        qkv = qkv.reshape(n, t, 3, num_heads, dh).transpose(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        att = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(dh), axis=3)
        x += (att @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ W[3]
        x += gelu(layer_norm(x) @ W[4]) @ W[5]
    flat_mask = (np.asarray(mask_indicator) > 0.5).ravel()
    return x.reshape(n * t, d)[flat_mask] @ w_head
