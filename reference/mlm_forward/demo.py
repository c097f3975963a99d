"""What ``grader demo mlm_forward`` shows: attention, selected rows, heads, and what reads what.

The weights are made by hand. Half of the features hold a token's pattern, the other half a position's, so
that one head can look for the same token and the other for what is near.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

from .model import STEPS, mlm_forward, run
from .steps import Array

TOKENS, HALF, WIDTH = 6, 4, 8
IDS = (2, 0, 4, 0, 5)
POSITIONS = tuple(f"position {at}" for at in range(len(IDS)))
LOGITS = tuple(f"id {token}" for token in range(TOKENS))
# How sharply a query picks its keys.
GAIN = 1.5


@dataclass(frozen=True)
class Seen:
    """A call of the reference with what can be seen on the way.

    Attributes:
        rows: (M, V) logits of the selected positions: the answer.
        attention: (H, T, T) probabilities of the one block and the one sentence.
        logits: (T, V) logits of every position, before rows are selected.
    """

    rows: Array
    attention: Array
    logits: Array


def watch(ids: tuple[int, ...] = IDS, selected: tuple[int, ...] = (1, 3), heads: int = 2) -> Seen:
    """Run the reference on one sentence, by its own steps, and keep what two of them give."""
    kept: dict[str, Array] = {}

    def keep(name: str) -> Any:
        step = getattr(STEPS, name)

        def watched(*given: Any) -> Any:
            kept[name] = step(*given)
            return kept[name]

        return watched

    steps = replace(STEPS, **{name: keep(name) for name in ("normalize_row", "finish_logits")})
    rows = run(steps, arguments(ids, selected, heads))
    return Seen(rows, kept["normalize_row"][0], kept["finish_logits"][0])


def arguments(ids: tuple[int, ...], selected: tuple[int, ...], heads: int) -> tuple[Any, ...]:
    """The seven arguments of ``mlm_forward`` for one sentence."""
    indicator = np.zeros((1, len(ids)))
    indicator[0, list(selected)] = 1
    return (np.array([ids]), indicator, *_weights(len(ids)), heads)


def _weights(length: int) -> tuple[Array, ...]:
    """``w_emb``, ``pos_embed``, ``blocks_weights`` and ``w_head``.

    Tokens come in pairs of opposite patterns (0 and 1, 2 and 3, 4 and 5); those of different pairs are at
    right angles. Positions lie on half a circle, so that near ones are alike. A token and a position together
    have mean 0 and variance 1: layer normalization leaves them as they are, but for its epsilon.
    """
    patterns = np.array([[1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], np.float64)
    w_emb = np.zeros((TOKENS, WIDTH))
    w_emb[0::2, :HALF], w_emb[1::2, :HALF] = patterns, -patterns
    turn = math.pi * np.arange(length) / length
    around = math.sqrt(2) * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    pos_embed = np.zeros((length, WIDTH))
    pos_embed[:, HALF:] = np.concatenate([around, -around], axis=1)
    identity = np.eye(WIDTH)
    blocks = np.zeros((1, 6, WIDTH, WIDTH))
    blocks[0, :4] = GAIN * identity, identity, identity, identity / 2
    blocks[0, 4:] = identity / 2
    return w_emb, pos_embed, blocks, w_emb.T.copy() / HALF


def demonstrate() -> Demonstration:
    """The examples of ``mlm_forward``."""
    return Demonstration(
        "Masked language model: a forward pass",
        f"A sentence of {len(IDS)} token ids goes through one block with {WIDTH} features; the vocabulary "
        f"has {TOKENS} tokens. The first {HALF} features of x hold the token, the others its position.\n\n"
        "Rows and columns are named by position and token id. The weights are made by hand, so that one "
        "sees what a head looks for.",
        [_heads(), _selection(), _other_heads(), _both_directions()],
    )


def _attention(
    attention: Array, label: str = "Attention of head {}, query by key", ids: tuple[int, ...] = IDS
) -> list[Matrix]:
    names = _names(ids)
    return [
        Matrix(label.format(head), one, rows=names, columns=names, scale=(0, 1))
        for head, one in enumerate(attention)
    ]


def _names(ids: tuple[int, ...]) -> list[str]:
    """Positions with their tokens."""
    return [f"{at}: id {token}" for at, token in enumerate(ids)]


def _rows(seen: Seen, selected: tuple[int, ...], label: str) -> Matrix:
    return Matrix(label, seen.rows, rows=[_names(IDS)[at] for at in selected], columns=LOGITS)


def _off(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max())


def _heads() -> Example:
    seen = watch()
    return Example(
        "attention",
        "What two heads look for",
        "Head 0 has the features of the token: both positions with id 0 share their attention between each "
        "other, and id 5, the opposite of id 4, gets nearly none from it. Head 1 has the features of the "
        "position: it looks at itself and its neighbours.\n\n"
        "A row is a query, a column a key. Every row is a softmax over the keys, so it adds up to 1. "
        "Every query sees every key, earlier and later ones.",
        matrices=_attention(seen.attention),
        vectors=[Vector("input_ids", [f"id {token}" for token in IDS], POSITIONS)],
        metrics=[Metric("largest distance of a row's sum from 1", _off(seen.attention.sum(-1), np.ones(())))],
    )


def _selection() -> Example:
    one, other = (1, 3), (0, 1, 4)
    first, second = watch(selected=one), watch(selected=other)
    return Example(
        "selection",
        "Other positions selected",
        "mask_indicator says of which positions the logits are returned, and nothing else: attention is the "
        "same in both calls, and position 1, which is selected in both, has the same row. What is selected "
        "is read by all positions as it is.\n\n"
        "Rows come in the order of the positions, and there are as many as are selected.",
        matrices=[
            _rows(first, one, "Answer, positions 1 and 3 selected"),
            _rows(second, other, "Answer, positions 0, 1 and 4 selected"),
            *_attention(first.attention[:1], "Head {} in both calls"),
        ],
        vectors=[
            Vector("mask_indicator of the first call", [int(at in one) for at in range(len(IDS))], POSITIONS),
            Vector(
                "mask_indicator of the second call", [int(at in other) for at in range(len(IDS))], POSITIONS
            ),
        ],
        metrics=[
            Metric(
                "largest difference of attention between the calls", _off(first.attention, second.attention)
            ),
            Metric("largest difference of the row of position 1", _off(first.rows[0], second.rows[1])),
        ],
    )


def _other_heads() -> Example:
    whole, four = watch(heads=1), watch(heads=4)
    return Example(
        "heads",
        "One head, and four",
        "The same weights with another num_heads. One head has all features at once: it looks for what is "
        "the same token and near. Of four heads each has two features in a row. The first two see half of a "
        "token's pattern, and take some tokens for others; the last two see positions.\n\n"
        "Scores are divided by the root of a head's width, here 8 and 2.",
        matrices=[
            *_attention(whole.attention, "num_heads = 1: the only head"),
            *_attention(four.attention, "num_heads = 4: head {}"),
        ],
        metrics=[Metric(f"width of each of {heads} heads", WIDTH // heads) for heads in (1, 2, 4)],
    )


def _both_directions() -> Example:
    changed = (*IDS[:-1], IDS[0])
    everywhere = tuple(range(len(IDS)))
    one, other = watch(selected=everywhere), watch(changed, everywhere)
    change = other.rows - one.rows
    answer = mlm_forward(*arguments(IDS, everywhere, 2))
    return Example(
        "logits",
        "Logits, and a changed last token",
        "With every position selected the answer has a row of logits for each. They are scores, not "
        "probabilities. The largest of a row is that of the position's own token, since nothing was learned."
        f"\n\nThen the last token becomes id {changed[-1]}, which is that of position 0 too. Position 0 now "
        "shares its attention with the last position, and the rows of earlier positions change, if little: "
        "attention goes both ways.",
        matrices=[
            Matrix(f"Logits of {list(IDS)}", one.rows, POSITIONS, LOGITS),
            Matrix(f"Logits of {list(changed)} less these", change, POSITIONS, LOGITS),
            *_attention(one.attention[:1], f"Attention of head {{}} for {list(IDS)}"),
            *_attention(other.attention[:1], f"Attention of head {{}} for {list(changed)}", changed),
        ],
        vectors=[Vector("Largest change of a position's logits", np.abs(change).max(-1), POSITIONS)],
        metrics=[Metric("largest difference from the answer of mlm_forward", _off(one.rows, answer))],
    )
