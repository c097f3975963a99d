import numpy as np


def softmax(scores):
    scores = scores - np.max(scores)      # for numerical stability
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


def layer_norm(x):
    d = x - x.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    ids = input_ids.astype(int)
    n, t = ids.shape
    d = w_emb.shape[-1]

    def to_heads(z):
        return z.reshape(n, t, num_heads, d // num_heads).swapaxes(1, 2)

    x = w_emb[ids] + pos_embed
    for i in range(len(blocks_weights)):
        wq, wk, wv, wo = blocks_weights[i, :4]
        w1, w2 = blocks_weights[i, 4:]
        z = layer_norm(x)
        scores = to_heads(z @ wq) @ to_heads(z @ wk).swapaxes(2, 3) / np.sqrt(d / num_heads)
        ctx = softmax(scores) @ to_heads(z @ wv)
        x = x + ctx.swapaxes(1, 2).reshape(n, t, d) @ wo
        x = x + gelu(layer_norm(x) @ w1) @ w2
    return np.array([x[i, j] @ w_head for i in range(n) for j in range(t) if mask_indicator[i, j] > 0.5]).reshape(
        -1, w_head.shape[1]
    )
