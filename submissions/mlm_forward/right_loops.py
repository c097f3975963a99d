# MLM forward pass without any vectorised maths.
# I wanted to be sure I understood every index, so everything is lists of floats
# and numpy only appears at the door (in) and at the end (out).
import math

import numpy as np


def matvec(row, matrix):
    """row vector times matrix -> row vector"""
    n_in = len(matrix)
    n_out = len(matrix[0])
    out = []
    for j in range(n_out):
        total = 0.0
        for i in range(n_in):
            total += row[i] * matrix[i][j]
        out.append(total)
    return out


def normalise(row):
    d = len(row)
    mean = sum(row) / d
    var = 0.0
    for value in row:
        var += (value - mean) ** 2
    var /= d
    denom = math.sqrt(var + 1e-5)
    return [(value - mean) / denom for value in row]


def softmax(row):
    biggest = max(row)
    exps = [math.exp(s - biggest) for s in row]
    total = sum(exps)
    return [e / total for e in exps]


def gelu(u):
    return 0.5 * u * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (u + 0.044715 * u * u * u)))


def attention(normed, w_q, w_k, w_v, w_o, num_heads):
    t_len = len(normed)
    d = len(normed[0])
    width = d // num_heads
    q = [matvec(r, w_q) for r in normed]
    k = [matvec(r, w_k) for r in normed]
    v = [matvec(r, w_v) for r in normed]
    merged = [[0.0] * d for _ in range(t_len)]
    for h in range(num_heads):
        lo = h * width
        hi = lo + width
        for i in range(t_len):
            scores = []
            for j in range(t_len):
                dot = 0.0
                for c in range(lo, hi):
                    dot += q[i][c] * k[j][c]
                scores.append(dot / math.sqrt(width))
            probs = softmax(scores)
            for c in range(lo, hi):
                acc = 0.0
                for j in range(t_len):
                    acc += probs[j] * v[j][c]
                merged[i][c] = acc
    return [matvec(r, w_o) for r in merged]


def add(a, b):
    return [[p + q for p, q in zip(ra, rb)] for ra, rb in zip(a, b)]


def run_block(x, weights, num_heads):
    w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = weights
    normed = [normalise(r) for r in x]
    x = add(x, attention(normed, w_q, w_k, w_v, w_o, num_heads))
    update = []
    for r in x:
        hidden = [gelu(u) for u in matvec(normalise(r), w_mlp1)]
        update.append(matvec(hidden, w_mlp2))
    return add(x, update)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    vocab = w_head.shape[1]
    ids = input_ids.tolist()
    picks = mask_indicator.tolist()
    emb = w_emb.tolist()
    pos = pos_embed.tolist()
    blocks = blocks_weights.tolist()
    head = w_head.tolist()

    rows = []
    for n in range(len(ids)):
        x = []
        for t, token in enumerate(ids[n]):
            x.append([e + p for e, p in zip(emb[int(token)], pos[t])])
        for weights in blocks:
            x = run_block(x, weights, num_heads)
        for t in range(len(x)):
            if picks[n][t] > 0.5:
                rows.append(matvec(x[t], head))
    if len(rows) == 0:
        return np.zeros((0, vocab))
    return np.array(rows)
