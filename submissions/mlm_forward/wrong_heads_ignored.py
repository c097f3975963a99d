import numpy as np


def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def softmax(scores):
    scores = scores - scores.max(axis=-1, keepdims=True)
    exp_scores = np.exp(scores)
    return exp_scores / exp_scores.sum(axis=-1, keepdims=True)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    d_head = x.shape[-1] // num_heads
    for w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 in blocks_weights:
        norm_x = layer_norm(x)
        # all heads at once: they sit next to each other in the feature axis anyway
        Q, K, V = norm_x @ w_q, norm_x @ w_k, norm_x @ w_v
        probs = softmax(Q @ K.transpose(0, 2, 1) / np.sqrt(d_head))
        x = x + probs @ V @ w_o
        x = x + gelu(layer_norm(x) @ w_mlp1) @ w_mlp2
    return x[mask_indicator > 0.5] @ w_head
