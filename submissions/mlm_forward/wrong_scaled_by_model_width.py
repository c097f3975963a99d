import math

import numpy as np


def matmul(a, b):
    cols = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, col)) for col in cols] for row in a]


def norm(rows):
    result = []
    for r in rows:
        m = sum(r) / len(r)
        v = sum((x - m) ** 2 for x in r) / len(r)
        result.append([(x - m) / math.sqrt(v + 1e-5) for x in r])
    return result


def gelu(u):
    return 0.5 * u * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u ** 3)))


def plus(a, b):
    return [[x + y for x, y in zip(r, s)] for r, s in zip(a, b)]


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    emb, pos, head = w_emb.tolist(), pos_embed.tolist(), w_head.tolist()
    D = len(head)
    dh = D // num_heads
    answer = []
    for ids, wanted in zip(input_ids.tolist(), mask_indicator.tolist()):
        x = plus([emb[int(i)] for i in ids], pos)
        for wq, wk, wv, wo, w1, w2 in blocks_weights.tolist():
            y = norm(x)
            q, k, v = matmul(y, wq), matmul(y, wk), matmul(y, wv)
            ctx = [[0.0] * D for _ in x]
            for h in range(num_heads):
                cols = range(h * dh, (h + 1) * dh)
                for i in range(len(x)):
                    s = [sum(q[i][c] * k[j][c] for c in cols) / math.sqrt(D) for j in range(len(x))]
                    top = max(s)
                    e = [math.exp(a - top) for a in s]
                    z = sum(e)
                    for c in cols:
                        ctx[i][c] = sum(e[j] / z * v[j][c] for j in range(len(x)))
            x = plus(x, matmul(ctx, wo))
            x = plus(x, matmul([[gelu(u) for u in r] for r in matmul(norm(x), w1)], w2))
        for row, flag in zip(matmul(x, head), wanted):
            if flag > 0.5:
                answer.append(row)
    return np.array(answer).reshape(len(answer), w_head.shape[1])
