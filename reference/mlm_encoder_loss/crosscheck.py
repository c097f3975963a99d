"""The three calls built independently, number by number in plain Python.

It shares no code and no arrangement with the numpy model: hidden keys are left out of the sums instead of
being given a low score, variances come from `statistics`, and the loss is minus the log of one over a sum
of ratios.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Row = list[float]


def apply(matrix: Sequence[Sequence[float]], row: Sequence[float]) -> Row:
    """A matrix times a column."""
    return [math.fsum(a * b for a, b in zip(line, row, strict=True)) for line in matrix]


def standardized(row: Row) -> Row:
    """Layer normalization of one position."""
    center = math.fsum(row) / len(row)
    root = math.sqrt(statistics.pvariance(row, center) + 1e-5)
    return [(value - center) / root for value in row]


def activated(u: float) -> float:
    """GELU by the logistic function: (1 + tanh(a)) / 2 is 1 / (1 + exp(-2a))."""
    a = 2.0 * math.sqrt(2.0 / math.pi) * (u + 0.044715 * u**3)
    return u / (1.0 + math.exp(-a)) if a > -700.0 else 0.0


def attend(queries: list[Row], keys: list[Row], values: list[Row], seen: list[int], heads: int) -> list[Row]:
    """What each query takes from the keys that it may see."""
    width = len(queries[0]) // heads
    out = []
    for query in queries:
        mixed: Row = []
        for first in range(0, width * heads, width):
            part = range(first, first + width)
            scores = [math.fsum(query[i] * keys[k][i] for i in part) * width**-0.5 for k in seen]
            most = max(scores, default=0.0)
            shares = [math.exp(score - most) for score in scores]
            total = math.fsum(shares) or 1.0
            mixed += [
                math.fsum(s * values[k][i] for s, k in zip(shares, seen, strict=True)) / total for i in part
            ]
        out.append(mixed)
    return out


def hidden_states(token_ids: Any, valid: Any, weights: Mapping[str, Any], num_heads: int) -> list[list[Row]]:
    """A row for every position of every example."""
    tokens, positions = weights["token_embed"], weights["pos_embed"].tolist()
    stacks = {name: weights[name].tolist() for name in ("w_q", "w_k", "w_v", "w_o", "w_in", "w_out")}
    batch = []
    for ids, real in zip(token_ids.tolist(), valid.tolist(), strict=True):
        # Of a large vocabulary only the rows that occur are turned into lists.
        x = [
            [a + b for a, b in zip(tokens[i].tolist(), positions[t], strict=True)] for t, i in enumerate(ids)
        ]
        seen = [t for t, is_real in enumerate(real) if is_real]
        for layer in range(len(stacks["w_q"])):
            queries, keys, values = (
                [apply(stacks[m][layer], row) for row in x] for m in ("w_q", "w_k", "w_v")
            )
            taken = [
                apply(stacks["w_o"][layer], row) for row in attend(queries, keys, values, seen, num_heads)
            ]
            x = [
                standardized([a + b for a, b in zip(*rows, strict=True)])
                for rows in zip(x, taken, strict=True)
            ]
            inner = [[activated(u) for u in apply(stacks["w_in"][layer], row)] for row in x]
            fed = [apply(stacks["w_out"][layer], row) for row in inner]
            x = [
                standardized([a + b for a, b in zip(*rows, strict=True)]) for rows in zip(x, fed, strict=True)
            ]
        batch.append(x)
    return batch


def encode_batch(token_ids: Any, valid: Any, weights: Mapping[str, Any], num_heads: int) -> Any:
    """(N, T, D) hidden states, zeros at padding."""
    hidden = hidden_states(token_ids, valid, weights, num_heads)
    for example, real in zip(hidden, valid.tolist(), strict=True):
        for t, is_real in enumerate(real):
            if not is_real:
                example[t] = [0.0] * len(example[t])
    return np.array(hidden)


def masked_loss(
    token_ids: Any, valid: Any, weights: Mapping[str, Any], num_heads: int, flat_positions: Any, targets: Any
) -> float:
    """The mean cross entropy; raises ValueError for an empty selection and for padding."""
    length = token_ids.shape[1]
    places = [divmod(int(flat), length) for flat in flat_positions]
    if not places or not all(valid[n, t] for n, t in places):
        raise ValueError("expected at least one position, and none at padding")
    hidden = hidden_states(token_ids, valid, weights, num_heads)
    head = weights["head"].tolist()
    losses = []
    for (n, t), target in zip(places, targets.tolist(), strict=True):
        logits = apply(head, hidden[n][t])
        most = max(logits)
        ratios = math.fsum(math.exp(z - most) for z in logits)
        losses.append((most - logits[target]) + math.log(ratios))
    return math.fsum(losses) / len(losses)


def evaluate(loss_sums: Any, token_counts: Any) -> dict[str, float | int]:
    """The three figures, added up one by one."""
    tokens = 0
    for count in token_counts.tolist():
        tokens += count
    if not tokens:
        raise ValueError("expected at least one token")
    loss = math.fsum(loss_sums.tolist()) / tokens
    return {"tokens": tokens, "loss": loss, "perplexity": math.e**loss}
