import math
import numpy as np


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def rows_times(rows, matrix):
    columns = [list(c) for c in zip(*matrix)]
    return [[dot(r, c) for c in columns] for r in rows]


def layer_norm(rows):
    out = []
    for r in rows:
        mean = math.fsum(r) / len(r)
        var = math.fsum((a - mean) ** 2 for a in r) / len(r)
        out.append([(a - mean) / math.sqrt(var + 1e-5) for a in r])
    return out


def softmax(s):
    m = max(s)
    e = [math.exp(a - m) for a in s]
    return [a / sum(e) for a in e]


def gelu(a):
    return 0.5 * a * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))


def block(x, W, H):
    y = layer_norm(x)
    Q, K, V = (rows_times(y, W[i]) for i in range(3))
    c = len(x[0]) // H
    mixed = [[] for _ in x]
    for h in range(H):
        s = slice(h * c, h * c + c)
        for i, q in enumerate(Q):
            p = softmax([dot(q[s], k[s]) / math.sqrt(c) for k in K])
            mixed[i] += [dot(p, col) for col in zip(*[v[s] for v in V])]
    x = [[a + b for a, b in zip(r, o)] for r, o in zip(x, rows_times(mixed, W[3]))]
    hid = [[gelu(a) for a in r] for r in rows_times(layer_norm(x), W[4])]
    return [[a + b for a, b in zip(r, o)] for r, o in zip(x, rows_times(hid, W[5]))]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    result = []
    for n in range(input_ids.shape[0]):
        x = [list(w_emb[int(i)] + p) for i, p in zip(input_ids[n], pos_embed)]
        for W in blocks_weights.tolist():
            x = block(x, W, num_heads)
        chosen = [r for r, m in zip(x, mask_indicator[n]) if m >= 0.5]
        result.extend(rows_times(chosen, w_head.tolist()))
    return np.array(result, dtype=float).reshape(len(result), w_head.shape[1])
