"""What ``grader demo fill_mask`` shows: from rows to ids, ties, what is refused, and what masking costs.

The weights are made by hand: tokens are of two kinds, and a head's row looks for kinds and early places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

from .model import (
    STEPS,
    Array,
    fill_mask,
    masking_rate_efficiency,
    run_fill_mask,
    sequence_log_prob,
    validate,
)

SENTINEL, POSITIONS = 5, 6
IDS = [0, 5, 3, 5]
TOKENS = tuple(f"id {token}" for token in range(SENTINEL + 1))
FEATURES = ("animal", "place", "early")


def weights() -> dict[str, Array]:
    """Features say how much of an animal or a place a token is, and how early its position."""
    return {
        "token_embed": np.array(
            [[2, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]], np.float64
        ),
        "pos_embed": np.array(
            [[0, 0, 2], [0, 0, 1], [0, 0, 0], [0, 0, -1], [0, 0, -2], [0, 0, -3]], np.float64
        ),
        "head": np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, -1], [1, 1, -2], [0, 0, 0]], np.float64),
    }


def watch(token_ids: list[int], top_k: int = 6) -> tuple[dict[int, list[int]], dict[str, Any]]:
    """The reference's answer, by its own steps, and what three of them give."""
    kept: dict[str, Any] = {"score": []}

    def keep(name: str) -> Callable[..., Any]:
        step = getattr(STEPS, name)

        def watched(*given: Any) -> Any:
            made = step(*given)
            if name == "score":
                kept["score"].append(made)
            else:
                kept[name] = made
            return made

        return watched

    steps = replace(STEPS, **{name: keep(name) for name in ("embed", "add_context", "score")})
    answer = run_fill_mask(steps, (token_ids, weights(), len(TOKENS), SENTINEL, POSITIONS, top_k))
    return answer, kept


def places(token_ids: list[int]) -> list[str]:
    """Positions with their tokens."""
    return [f"{at}: {'masked' if token == SENTINEL else f'id {token}'}" for at, token in enumerate(token_ids)]


def demonstrate() -> Demonstration:
    """The examples of ``fill_mask``."""
    return Demonstration(
        "Filling masked positions",
        f"A vocabulary of {len(TOKENS)} tokens, of which id {SENTINEL} is the sentinel, and sequences of at "
        f"most {POSITIONS}. The weights are made by hand.",
        [_states(), _ties(), _refused(), _costs()],
    )


def _states() -> Example:
    answer, kept = watch(IDS)
    masked = list(answer)
    return Example(
        "states",
        "From rows to ids",
        f"The sequence {IDS} has masks at positions {masked[0]} and {masked[1]}. A row is a token's "
        "embedding plus that of its position; a state is the row plus the sum of all rows, so both sides of "
        "a mask count.\n\n"
        "Each mask has a logit for every token. The two masks stand at different positions, so their logits "
        "differ. Ids come by falling logit, and of equal ones the smaller first.",
        matrices=[
            Matrix("Rows", kept["embed"], rows=places(IDS), columns=FEATURES),
            Matrix("States", kept["add_context"], rows=places(IDS), columns=FEATURES),
            Matrix(
                "Logits of the masks", kept["score"], rows=[places(IDS)[at] for at in masked], columns=TOKENS
            ),
        ],
        vectors=[
            Vector(f"Ids at position {at}, best first", [f"id {token}" for token in ids])
            for at, ids in answer.items()
        ],
    )


def _ties() -> Example:
    answer, kept = watch([SENTINEL, 2, 1])
    (logits,) = kept["score"]
    (ids,) = answer.values()
    few = fill_mask([SENTINEL, 2, 1], weights(), len(TOKENS), SENTINEL, POSITIONS, 2)[0]
    return Example(
        "ties",
        "Equal logits",
        "Some tokens have the same logit. The smaller id comes first, and where only two ids are asked for, "
        "the same rule says which are kept. The sentinel is a candidate like the others.",
        vectors=[
            Vector("Logits", logits, TOKENS),
            Vector("All ids, best first", [f"id {token}" for token in ids]),
            Vector("With a top_k of 2", [f"id {token}" for token in few]),
        ],
        metrics=[Metric("different logits among 6 tokens", len({float(logit) for logit in logits}))],
    )


def _said(call: Callable[..., Any], *arguments: Any) -> str:
    """What a call raises, in words."""
    try:
        call(*arguments)
    except (ValueError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing is raised"


def _refused() -> Example:
    figures = (len(TOKENS), SENTINEL, POSITIONS)
    tried = [
        (what, _said(validate, *figures, ids))
        for what, ids in (
            ("ids 0, 1", [0, 1]),
            ("no ids", []),
            ("7 ids", [0] * 7),
            ("ids 0, 6", [0, 6]),
            ("ids 0, -1", [0, -1]),
            ("7 times 9", [9] * 7),
        )
    ]
    tried.append(("top_k 0", _said(fill_mask, IDS, weights(), *figures, 0)))
    tried.append(("likelihood", _said(sequence_log_prob, IDS)))
    raised = [(what, said.partition(": ")[2]) for what, said in tried if ": " in said]
    return Example(
        "refused",
        "What is refused",
        "Every fault has a class of its own, and its message has the figures. Of several faults the first in "
        "the order empty, too long, outside the vocabulary, top_k is told.",
        vectors=[
            Vector("Raised", [said.partition(":")[0] for _, said in tried], [what for what, _ in tried]),
            Vector("With these words", [words for _, words in raised], [what for what, _ in raised]),
        ],
    )


def _costs() -> Example:
    rates = (0.05, 0.15, 0.25, 0.4, 0.75)
    found = [masking_rate_efficiency(rate, 512, 768, 30522) for rate in rates]
    return Example(
        "costs",
        "What masking costs",
        "512 positions, a width of 768 and 30522 tokens, counted for one layer of the encoder. The head "
        "takes most of the operations where it runs at every position. At masked positions only, it takes a "
        "share that grows with the rate, while the encoder reads every position at any rate.",
        matrices=[
            Matrix(
                "Fractions by masking rate",
                [[float(figures[name]) for figures in found] for name in found[0]],
                rows=["signal", "saved", "naive share", "gathered share"],
                columns=[f"rate {rate}" for rate in rates],
                scale=(0, 1),
            )
        ],
        metrics=[
            Metric("head's share of all operations, every position", float(found[1]["head_share_of_naive"])),
            Metric("the same at masked positions only, rate 0.15", float(found[1]["head_share_of_gathered"])),
        ],
    )
