# Lists of floats only. Keys at padding are never looked at.
import math

import numpy as np


def times_transposed(row, matrix):
    out = []
    for line in matrix:
        total = 0.0
        for a, b in zip(row, line):
            total += a * b
        out.append(total)
    return out


def normalise(row):
    mean = sum(row) / len(row)
    var = sum((v - mean) ** 2 for v in row) / len(row)
    return [(v - mean) / math.sqrt(var + 1e-5) for v in row]


def gelu(u):
    return 0.5 * u * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (u + 0.044715 * u * u * u)))


def one_example(ids, real, w, num_heads):
    x = [[a + b for a, b in zip(w["token_embed"][i].tolist(), w["pos_embed"][t].tolist())] for t, i in enumerate(ids)]
    keys = [t for t in range(len(ids)) if real[t]]
    if not keys:
        return x
    d = len(x[0])
    width = d // num_heads
    for layer in range(len(w["w_q"])):
        q, k, v = ([times_transposed(row, w[m][layer].tolist()) for row in x] for m in ("w_q", "w_k", "w_v"))
        new = []
        for t in range(len(x)):
            mixed = []
            for h in range(num_heads):
                part = range(h * width, (h + 1) * width)
                scores = [sum(q[t][c] * k[j][c] for c in part) / math.sqrt(width) for j in keys]
                biggest = max(scores)
                exps = [math.exp(s - biggest) for s in scores]
                mixed += [sum(e * v[j][c] for e, j in zip(exps, keys)) / sum(exps) for c in part]
            taken = times_transposed(mixed, w["w_o"][layer].tolist())
            row = normalise([a + b for a, b in zip(x[t], taken)])
            inner = [gelu(u) for u in times_transposed(row, w["w_in"][layer].tolist())]
            fed = times_transposed(inner, w["w_out"][layer].tolist())
            new.append(normalise([a + b for a, b in zip(row, fed)]))
        x = new
    return x


def encode_batch(token_ids, valid, weights, num_heads):
    rows = [one_example(ids, real, weights, num_heads) for ids, real in zip(token_ids.tolist(), valid.tolist())]
    return np.array(rows)


class BadSelection(ValueError):
    pass


def masked_loss(token_ids, valid, weights, num_heads, flat_positions, targets):
    length = token_ids.shape[1]
    total = 0.0
    done = {}
    head = weights["head"].tolist()
    for flat, target in zip(flat_positions.tolist(), targets.tolist()):
        n, t = divmod(flat, length)
        if not valid[n, t]:
            raise BadSelection(f"position {flat} is padding")
        if n not in done:
            done[n] = one_example(token_ids[n].tolist(), valid[n].tolist(), weights, num_heads)
        logits = times_transposed(done[n][t], head)
        top = max(logits)
        total += top + math.log(sum(math.exp(z - top) for z in logits)) - logits[target]
    if len(flat_positions) == 0:
        raise BadSelection("nothing to predict")
    return total / len(flat_positions)


def evaluate(loss_sums, token_counts):
    losses, tokens = 0.0, 0
    for loss, count in zip(loss_sums.tolist(), token_counts.tolist()):
        losses += loss
        tokens += count
    if not tokens:
        raise ValueError("no tokens")
    return {"loss": losses / tokens, "perplexity": math.exp(losses / tokens), "tokens": tokens}
