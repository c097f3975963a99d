import numpy as np
from scipy.special import softmax
from torch.nn.functional import gelu  # was handy while debugging


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # first try, see below for the real one
    raise NotImplementedError


def softmax(scores):
    top = np.max(scores, axis=-1, keepdims=True)
    p = np.exp(scores - top)
    return p / np.sum(p, axis=-1, keepdims=True)


def tanh_gelu(u):
    return u * 0.5 * (1 + np.tanh(0.7978845608028654 * u * (1 + 0.044715 * u * u)))


def zscore(x):
    return (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.std(x, -1, keepdims=True) ** 2 + 1e-5)


def transformer_block(x, weights, num_heads):
    batch, length, width = x.shape
    q, k, v = (zscore(x) @ weights[i] for i in range(3))
    per_head = width // num_heads
    pieces = []
    for lo in range(0, width, per_head):
        qh, kh, vh = (m[..., lo:lo + per_head] for m in (q, k, v))
        pieces.append(softmax(qh @ kh.transpose(0, 2, 1) / np.sqrt(per_head)) @ vh)
    x = x + np.concatenate(pieces, axis=2) @ weights[3]
    return x + tanh_gelu(zscore(x) @ weights[4]) @ weights[5]


def _mlm_forward_v2(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[np.asarray(input_ids, dtype=int)] + pos_embed
    for weights in blocks_weights:
        x = transformer_block(x, weights, num_heads)
    return x[np.where(mask_indicator > 0.5)] @ w_head


mlm_forward = _mlm_forward_v2
