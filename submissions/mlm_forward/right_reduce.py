from functools import partial, reduce

import numpy as np

norm = lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
gelu = lambda u: 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
rowmax = partial(np.max, axis=-1, keepdims=True)
rowsum = partial(np.sum, axis=-1, keepdims=True)
compose = lambda *fs: reduce(lambda f, g: lambda x: g(f(x)), fs)
residual = lambda f: lambda x: x + f(x)
smax = compose(lambda s: np.exp(s - rowmax(s)), lambda e: e / rowsum(e))


def attend(w, heads, y):
    q, k, v = map(lambda m: np.stack(np.array_split(y @ m, heads, axis=-1)), w[:3])
    p = smax(np.einsum("hntc,hnsc->hnts", q, k) / q.shape[-1] ** 0.5)
    return np.concatenate(list(p @ v), axis=-1) @ w[3]


def block(heads, x, w):
    """x -> x after one block; the shape reduce() wants: f(accumulator, item)"""
    return compose(
        residual(compose(norm, partial(attend, w, heads))),
        residual(compose(norm, lambda y: gelu(y @ w[4]) @ w[5])),
    )(x)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x0 = w_emb[input_ids.astype(int)] + pos_embed
    return reduce(partial(block, num_heads), blocks_weights, x0)[mask_indicator > 0.5] @ w_head
