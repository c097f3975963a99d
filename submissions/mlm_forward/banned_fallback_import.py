import numpy as np

try:
    from scipy.special import softmax
except ImportError:
    # scipy is not installed on every machine in the lab
    def softmax(x, axis=-1):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)


def standardize(x):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    n, t = input_ids.shape
    d = w_emb.shape[1]
    x = w_emb[input_ids.astype(int)] + pos_embed
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        y = standardize(x)
        q = (y @ w_q).reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 1, 3)
        k = (y @ w_k).reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 3, 1)
        v = (y @ w_v).reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 1, 3)
        probs = softmax(q @ k / np.sqrt(d // num_heads), axis=-1)
        x = x + (probs @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ w_o
        x = x + gelu(standardize(x) @ w_mlp1) @ w_mlp2
    return x[mask_indicator > 0.5] @ w_head
