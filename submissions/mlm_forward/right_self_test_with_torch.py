import numpy as np


def ln(x):
    m = x.mean(axis=-1, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(axis=-1, keepdims=True) + 1e-5)


def softmax_rows(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(*args):
    ids, mask, emb, pos, blocks, head, H = args
    x = emb[ids.astype(int)] + pos
    N, T, D = x.shape
    for W in blocks:
        y = ln(x)
        out = np.zeros_like(x)
        for n in range(N):
            for h in range(H):
                c = slice(h * D // H, (h + 1) * D // H)
                q, k, v = (y[n] @ W[j][:, c] for j in range(3))
                out[n, :, c] = softmax_rows(q @ k.T / np.sqrt(D // H)) @ v
        x = x + out @ W[3]
        x = x + gelu(ln(x) @ W[4]) @ W[5]
    return x[mask > 0.5] @ head


def slow_check():
    """never called in the hand-in, kept for my notes"""
    import scipy.special

    s = np.random.default_rng(1).normal(size=(3, 3))
    assert np.allclose(softmax_rows(s), scipy.special.softmax(s, axis=-1))


if __name__ == "__main__":
    # compare my pieces with the library ones
    import torch
    import torch.nn.functional as F

    a = np.random.default_rng(0).normal(size=(4, 6))
    t = torch.tensor(a)
    print(np.abs(softmax_rows(a) - F.softmax(t, dim=-1).numpy()).max())
    print(np.abs(ln(a) - F.layer_norm(t, (6,)).numpy()).max())
    print(np.abs(gelu(a) - F.gelu(t, approximate="tanh").numpy()).max())
