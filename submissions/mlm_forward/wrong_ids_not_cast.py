import numpy as np


def layer_norm(x, eps=1e-5):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps)


def softmax(x):
    x = np.exp(x - np.max(x, -1, keepdims=True))
    return x / np.sum(x, -1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * np.power(x, 3))))


def block(x, p, n_head):
    q, k, v = (np.split(layer_norm(x) @ w, n_head, axis=-1) for w in p[:3])
    heads = [softmax(a @ b.swapaxes(1, 2) / np.sqrt(a.shape[-1])) @ c for a, b, c in zip(q, k, v)]
    x = x + np.concatenate(heads, axis=-1) @ p[3]
    return x + gelu(layer_norm(x) @ p[4]) @ p[5]


def mlm_forward(inputs, mask, wte, wpe, blocks, lm_head, n_head):
    # picoGPT style
    x = wte[inputs] + wpe[range(inputs.shape[1])]
    for p in blocks:
        x = block(x, p, n_head)
    return x[mask > 0.5] @ lm_head
