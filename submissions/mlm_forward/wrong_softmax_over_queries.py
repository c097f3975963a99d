import numpy as np


def _softmax(scores, axis):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    e = np.exp(shifted)
    return e / e.sum(axis=axis, keepdims=True)


def _layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def _gelu(u):
    return 0.5 * u * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (u + 0.044715 * u**3)))


def _attention(x, w_q, w_k, w_v, w_o, num_heads):
    batch, seq, dim = x.shape
    d_head = dim // num_heads
    q = (x @ w_q).reshape(batch, seq, num_heads, d_head)
    k = (x @ w_k).reshape(batch, seq, num_heads, d_head)
    v = (x @ w_v).reshape(batch, seq, num_heads, d_head)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(d_head)
    probs = _softmax(scores, axis=2)
    context = np.einsum("bhqk,bkhd->bqhd", probs, v)
    return context.reshape(batch, seq, dim) @ w_o


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[np.asarray(input_ids, dtype=np.int64)] + pos_embed
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        x = x + _attention(_layer_norm(x), w_q, w_k, w_v, w_o, num_heads)
        x = x + _gelu(_layer_norm(x) @ w_mlp1) @ w_mlp2
    return x[np.asarray(mask_indicator) > 0.5] @ w_head
