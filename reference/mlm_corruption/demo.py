"""What ``grader demo mlm_corruption`` shows: a batch before and after, the split, spans, forced positions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

from .model import corrupt_batch
from .steps import Array

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "dog", "MASK"]
SENTINEL = WORDS.index("MASK")
ROWS, COLUMNS = 4, 8
LENGTHS = np.array([8, 5, 7, 3])
PADDING = "·"


def batch(rate: float, span_length: int = 1, seed: int = 23) -> tuple[Array, dict[str, Array]]:
    """The ids of a small text (4, 8), and the answer of the reference for it."""
    ids = (np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) * 5 + 1) % SENTINEL
    rng = np.random.default_rng(seed)
    return ids, corrupt_batch(ids, LENGTHS, SENTINEL, len(WORDS), rate, 0.8, 0.1, span_length, rng)


def text(ids: Array, valid: Array) -> list[list[str]]:
    """The words of each row."""
    return [
        [WORDS[token] if real else PADDING for token, real in zip(row, where, strict=True)]
        for row, where in zip(ids, valid, strict=True)
    ]


def chosen(answer: dict[str, Array]) -> Array:
    """(4, 8): 1 at chosen positions."""
    marks = np.zeros(ROWS * COLUMNS)
    marks[answer["positions"]] = 1
    return marks.reshape(ROWS, COLUMNS)


def pictures(ids: Array, answer: dict[str, Array]) -> list[Matrix]:
    """The text before, what is chosen, and the text after."""
    return [
        Matrix("The text", text(ids, answer["valid"])),
        Matrix("What is chosen", chosen(answer), scale=(0, 1)),
        Matrix("After corruption", text(answer["corrupted"], answer["valid"])),
    ]


def one_batch() -> Example:
    """A batch at a rate of 0.3."""
    ids, answer = batch(0.3)
    return Example(
        "batch",
        "A batch with padding",
        "Four sequences of different lengths, at a rate of 0.3. Padding is never chosen. A chosen "
        "position mostly becomes the sentinel, MASK; some get another word, and some keep theirs and are "
        "targets all the same.",
        matrices=pictures(ids, answer),
        vectors=[
            Vector("Flat positions, row * 8 + column", [str(position) for position in answer["positions"]]),
            Vector("Targets", [WORDS[token] for token in answer["targets"]]),
            Vector("Rows", [str(row) for row in answer["row_of"]]),
        ],
        metrics=[
            Metric("real positions", int(LENGTHS.sum())),
            Metric("chosen positions", len(answer["positions"])),
        ],
    )


def split() -> Example:
    """What became of the chosen positions of a large batch."""
    vocabulary, sentinel = 1000, 999
    rng = np.random.default_rng(1)
    ids = rng.integers(sentinel, size=(200, 128))
    lengths = np.full(200, 128)
    answer = corrupt_batch(ids, lengths, sentinel, vocabulary, 0.15, 0.8, 0.1, 1, rng)
    now = answer["corrupted"].ravel()[answer["positions"]]
    kinds = np.where(now == sentinel, "sentinel", np.where(now == answer["targets"], "unchanged", "random"))
    counted: Counter[Any] = Counter(kinds.tolist())
    names = ["sentinel", "random", "unchanged"]
    total = len(now)
    return Example(
        "split",
        "What replaces a token",
        "A batch of 25,600 tokens under the usual policy. Every position is drawn by itself, so shares "
        "come near the policy's and don't hit them.",
        vectors=[Vector("Share of the chosen positions", [counted[n] / total for n in names], labels=names)],
        metrics=[Metric("chosen positions", total), Metric("share of all", total / ids.size)],
    )


def spans() -> Example:
    """The same text, in spans of three."""
    ids, answer = batch(0.4, span_length=3)
    return Example(
        "spans",
        "Spans of three",
        "At a rate of 0.4 a sequence of length n gets max(1, round(n * 0.4 / 3)) spans, here one each: "
        "neighbours are hidden together, and can't be guessed from each other. Each position of a span is "
        "still replaced by itself.",
        matrices=pictures(ids, answer),
        metrics=[Metric("chosen positions", len(answer["positions"]))],
    )


def forced() -> Example:
    """A rate at which nothing is drawn."""
    ids, answer = batch(1e-6)
    return Example(
        "forced",
        "Nothing was drawn",
        "At a rate of one in a million nothing is drawn in this batch. Then the last real position of "
        "each sequence is chosen, so that there is something to learn.",
        matrices=pictures(ids, answer),
        vectors=[Vector("Flat positions", [str(position) for position in answer["positions"]])],
    )


def demonstrate() -> Demonstration:
    """All examples."""
    return Demonstration(
        "Corruption for masked language modelling",
        "Which positions are hidden from the model, and what it sees in their place.",
        [one_batch(), split(), spans(), forced()],
    )
