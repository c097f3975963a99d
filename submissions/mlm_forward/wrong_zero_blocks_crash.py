import numpy as np


def normalize(x):
    var = x.var(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(var + 1e-5)


def softmax(x):
    ex = np.exp(x - x.max(axis=-1, keepdims=True))
    return ex / ex.sum(axis=-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    d_model = blocks_weights[0].shape[-1]
    d_head = d_model // num_heads
    ids = input_ids.astype(int)
    hidden = w_emb[ids] + pos_embed
    batch, seq = ids.shape
    to_heads = lambda z: z.reshape(batch, seq, num_heads, d_head).transpose(0, 2, 1, 3)

    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        normed = normalize(hidden)
        attn = softmax(to_heads(normed @ w_q) @ to_heads(normed @ w_k).transpose(0, 1, 3, 2) / np.sqrt(d_head))
        context = (attn @ to_heads(normed @ w_v)).transpose(0, 2, 1, 3).reshape(batch, seq, d_model)
        hidden = hidden + context @ w_o
        hidden = hidden + gelu(normalize(hidden) @ w_mlp1) @ w_mlp2
    return hidden[mask_indicator > 0.5] @ w_head
