"""What the reference gives on small inputs, and what happens on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

from . import steps
from .model import STEPS, evaluate, masked_loss, run_encode_batch, run_masked_loss
from .steps import Array, Context

WORDS = ["the", "cat", "sat", "down", "[pad]"]


def weights(layers: int = 1, width: int = 4, vocabulary: int = 5) -> dict[str, Array]:
    """The arrays of a small model, always the same."""
    rng = np.random.default_rng(7)

    def drawn(*shape: int) -> Array:
        return np.round(rng.normal(size=shape), 1)

    square = (layers, width, width)
    return {
        "token_embed": drawn(vocabulary, width),
        "pos_embed": drawn(6, width) / 2,
        "w_q": drawn(*square),
        "w_k": drawn(*square),
        "w_v": drawn(*square),
        "w_o": drawn(*square),
        "w_in": drawn(layers, 4 * width, width) / 2,
        "w_out": drawn(layers, width, 4 * width) / 2,
        "head": drawn(vocabulary, width),
    }


IDS = np.array([[0, 1, 2, 3, 4]])
REAL = np.array([[True, True, True, True, False]])


def attention_weights(hide: bool) -> Array:
    """(T, T): the weights of the only head, with padding hidden or not."""
    seen: list[Array] = []

    def remember(c: Context, shifted: Array) -> Array:
        shares: Array = steps.normalize_rows(c, shifted)
        seen.append(shares[0, 0])
        return shares

    changed = replace(STEPS, normalize_rows=remember)
    if not hide:
        changed = replace(changed, hide_padding=lambda c, scores: scores)
    run_encode_batch(changed, (IDS, REAL, weights(), 1))
    return seen[0]


def padding() -> Example:
    """Attention with and without the key mask."""
    hidden, plain = attention_weights(hide=True), attention_weights(hide=False)
    names = [f"{word}?" for word in WORDS]
    return Example(
        "padding",
        "A key at padding gets no weight",
        "Rows are queries, columns are keys. The last position is padding: with the mask its column is "
        "empty, and what it had is shared out among the real keys. The mask lies over the columns alone, so "
        "the row of the padding is still there; nobody reads what comes of it.",
        matrices=[
            Matrix("Weights with padding hidden", hidden, rows=names, columns=WORDS, scale=(0, 1)),
            Matrix("Weights without a mask", plain, rows=names, columns=WORDS, scale=(0, 1)),
        ],
        metrics=[
            Metric("weight that padding gets without a mask", f"{plain[:4, 4].mean():.2f}"),
            Metric("and with it", f"{hidden[:4, 4].max():.2f}"),
        ],
    )


def positions() -> Example:
    """Logits and losses of the selected positions."""
    seen: list[Array] = []

    def remember_logits(c: Context, rows: Array) -> Array:
        logits: Array = steps.score_vocabulary(c, rows)
        seen.append(logits)
        return logits

    def remember_losses(c: Context, losses: Array) -> float:
        seen.append(losses)
        return steps.average(c, losses)

    places, targets = np.array([1, 3]), np.array([1, 0])
    changed = replace(STEPS, score_vocabulary=remember_logits, average=remember_losses)
    loss = run_masked_loss(changed, (IDS, REAL, weights(), 1, places, targets))
    logits, losses = seen
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    rows = ["place 1", "place 3"]
    return Example(
        "selected",
        "The loss at two of five positions",
        "Only the selected places are scored. The loss of each is minus the logarithm of what its "
        f"target gets: {WORDS[targets[0]]!r} at place 1 and {WORDS[targets[1]]!r} at place 3. "
        "The answer is the mean.",
        matrices=[
            Matrix("Logits", logits, rows=rows, columns=WORDS),
            Matrix("Their softmax, which is never needed", chances, rows=rows, columns=WORDS, scale=(0, 1)),
        ],
        vectors=[Vector("Losses", losses, labels=rows)],
        metrics=[Metric("mean loss", f"{loss:.4f}")],
    )


def improbable() -> Example:
    """Two ways to the loss of a target whose probability is no float."""
    gaps = [1.0, 10.0, 100.0, 700.0, 800.0]
    model: dict[str, Any] = weights(layers=0, width=1, vocabulary=2)
    model |= {"token_embed": np.ones((2, 1)), "pos_embed": np.zeros((1, 1))}
    right, careless = [], []
    for gap in gaps:
        model["head"] = np.array([[gap], [0.0]])
        one = np.array([[0]])
        right.append(masked_loss(one, one == 0, model, 1, np.array([0]), np.array([1])))
        chance = np.exp(-gap) / (1 + np.exp(-gap))
        careless.append("infinite" if chance == 0 else f"{-np.log(chance):.4f}")
    return Example(
        "improbable",
        "A target of hardly any probability",
        "Two tokens, and the target's logit lies below the other's. By the log-sum-exp the loss is the gap "
        "and a bit. The logarithm of the probability agrees until that is 0 as a float.",
        vectors=[
            Vector("Gap", gaps),
            Vector("Loss by log-sum-exp", right),
            Vector("Loss by log of the softmax", careless),
        ],
    )


def batches() -> Example:
    """Sums before the division."""
    sums, counts = np.array([8.0, 30.0, 4.5]), np.array([2, 20, 9])
    figures = evaluate(sums, counts)
    return Example(
        "batches",
        "Three batches of different size",
        "Losses and tokens are added up before one is divided by the other. The mean of the batches' means "
        "would give the two tokens of the first batch as much weight as the twenty of the second.",
        vectors=[
            Vector("Losses, added up", sums, labels=["first", "second", "third"]),
            Vector("Tokens", counts, labels=["first", "second", "third"]),
            Vector("Mean loss of each batch", sums / counts, labels=["first", "second", "third"]),
        ],
        metrics=[
            Metric("loss", f"{figures['loss']:.4f}"),
            Metric("perplexity", f"{figures['perplexity']:.4f}"),
            Metric("tokens", figures["tokens"]),
            Metric("mean of the means, which is wrong", f"{np.mean(sums / counts):.4f}"),
        ],
    )


def demonstrate() -> Demonstration:
    """The examples, from the encoder to the figures."""
    return Demonstration(
        "An encoder over padded batches, and its loss",
        "The reference at work on a vocabulary of five words, with four features and one head.",
        [padding(), positions(), improbable(), batches()],
    )
