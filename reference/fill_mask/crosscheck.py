"""``fill_mask`` once more, in plain Python: no numpy, whole numbers where numbers are whole, exact fractions.

Nothing of the model is used. Every id is ranked by how many ids go before it.
"""

from __future__ import annotations

from collections import namedtuple
from fractions import Fraction
from typing import Any


class SequenceTooLong(ValueError):
    """More tokens than positions."""


class TokenizerMismatch(ValueError):
    """An id outside of the vocabulary."""


class LikelihoodUnavailable(NotImplementedError):
    """There is no probability of a sequence."""


_Figures = namedtuple("_Figures", ["vocab_size", "sentinel_id", "max_positions"])


def _made(vocab_size: int, sentinel_id: int, max_positions: int) -> _Figures:
    if min(vocab_size, max_positions) <= 0 or sentinel_id not in range(vocab_size):
        raise ValueError(f"no contract of {vocab_size}, {sentinel_id}, {max_positions}")
    return _Figures(vocab_size, sentinel_id, max_positions)


def contract(vocab_size: int, sentinel_id: int, max_positions: int) -> dict[str, int]:
    """The figures by name."""
    return dict(_made(vocab_size, sentinel_id, max_positions)._asdict())


def changed_contract(vocab_size: int, sentinel_id: int, max_positions: int, name: str, number: int) -> None:
    """Raises AttributeError, as a named tuple does."""
    setattr(_made(vocab_size, sentinel_id, max_positions), name, number)


def _check(figures: _Figures, token_ids: list[int]) -> None:
    if not token_ids:
        raise ValueError("nothing to read")
    if token_ids[figures.max_positions :]:
        raise SequenceTooLong(f"{len(token_ids)} of at most {figures.max_positions}")
    strangers = [token for token in token_ids if token not in range(figures.vocab_size)]
    if strangers:
        raise TokenizerMismatch(f"{strangers[0]} (vocab_size {figures.vocab_size})")


def validate(vocab_size: int, sentinel_id: int, max_positions: int, token_ids: list[int]) -> str:
    """Raises what the contract raises."""
    _check(_made(vocab_size, sentinel_id, max_positions), token_ids)
    return "validated"


def fill_mask(
    token_ids: list[int],
    weights: dict[str, Any],
    vocab_size: int,
    sentinel_id: int,
    max_positions: int,
    top_k: int,
) -> dict[int, list[int]]:
    """The ids of each masked position, placed one by one."""
    _check(_made(vocab_size, sentinel_id, max_positions), token_ids)
    if top_k <= 0:
        raise ValueError(f"top_k {top_k}")
    tokens, places, head = (
        [[Fraction(number) for number in row] for row in weights[name].tolist()]
        for name in ("token_embed", "pos_embed", "head")
    )
    features = range(len(head[0]))
    rows = [[tokens[token][d] + places[at][d] for d in features] for at, token in enumerate(token_ids)]
    answer = {}
    for at, token in enumerate(token_ids):
        if token != sentinel_id:
            continue
        state = [rows[at][d] + sum(row[d] for row in rows) for d in features]
        logits = [sum(weight * number for weight, number in zip(line, state, strict=True)) for line in head]
        places_of = {}
        for one, logit in enumerate(logits):
            before = sum(1 for other in logits if other > logit) + logits[:one].count(logit)
            places_of[before] = one
        answer[at] = [places_of[number] for number in range(min(top_k, vocab_size))]
    return answer


def fill_mask_default(
    token_ids: list[int], weights: dict[str, Any], vocab_size: int, sentinel_id: int, max_positions: int
) -> dict[int, list[int]]:
    """Five ids."""
    return fill_mask(token_ids, weights, vocab_size, sentinel_id, max_positions, 5)


def ids_afterwards(token_ids: list[int], *others: Any) -> list[int]:
    """The ids as they were."""
    before = tuple(token_ids)
    fill_mask(token_ids, *others)
    return list(before)


def sequence_log_prob(token_ids: list[int]) -> None:
    """Raises LikelihoodUnavailable."""
    raise LikelihoodUnavailable(f"{len(token_ids)} tokens have no joint probability")


def masking_rate_efficiency(rate: float, n_positions: int, width: int, vocab_size: int) -> dict[str, float]:
    """The shares by what is left of them: n_positions and one width cancel."""
    if rate <= 0 or rate >= 1 or rate != rate:
        raise ValueError(f"rate {rate}")
    for size in (n_positions, width, vocab_size):
        if size <= 0:
            raise ValueError(f"size {size}")
    exact = Fraction(rate)
    return {
        "signal_fraction": rate,
        "head_flops_saved_fraction": float(1 - exact),
        "head_share_of_naive": float(Fraction(vocab_size, 6 * width + vocab_size)),
        "head_share_of_gathered": float(exact * vocab_size / (6 * width + exact * vocab_size)),
    }
