"""The numpy reference of ``fill_mask``: the contract, the ranking and the arithmetic of masking, in steps.

Every step is a small function; `Steps` names them all, and a known mistake replaces one or a few.

Formulas: an encoder of one layer of even, unscaled attention with a residual connection, state_i = row_i +
sum_j row_j with row_i = token_embed[id_i] + pos_embed[i]; logits are head @ state, of which softmax is a
monotone function, so that ranking needs none. Operations of a forward pass by the usual count of a
multiplication and an addition as two: 12 width^2 a position for the projections of an encoder layer, 2 width
vocab_size a position for the vocabulary head.

Shapes: T ids, V tokens, D features, P positions at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


class SequenceTooLong(ValueError):
    """More tokens than the model has positions."""


class TokenizerMismatch(ValueError):
    """An id that is none of the vocabulary."""


class LikelihoodUnavailable(NotImplementedError):
    """A masked language model gives no probability of a sequence."""


@dataclass(frozen=True)
class TokenizerContract:
    """What the model expects of token ids."""

    vocab_size: int
    sentinel_id: int
    max_positions: int


# --- the contract ---------------------------------------------------------------------------------


def keep_figures(vocab_size: int, sentinel_id: int, max_positions: int) -> Any:
    """A contract with these figures."""
    return TokenizerContract(vocab_size, sentinel_id, max_positions)


def check_vocab_size(contract: TokenizerContract) -> None:
    """Raises ValueError for a vocabulary without tokens."""
    if contract.vocab_size < 1:
        raise ValueError(f"vocab_size is {contract.vocab_size}; expected at least 1")


def check_sentinel(contract: TokenizerContract) -> None:
    """Raises ValueError for a sentinel that is none of the vocabulary."""
    if not 0 <= contract.sentinel_id < contract.vocab_size:
        raise ValueError(f"sentinel_id {contract.sentinel_id} is no id of {contract.vocab_size} tokens")


def check_max_positions(contract: TokenizerContract) -> None:
    """Raises ValueError for a model without positions."""
    if contract.max_positions < 1:
        raise ValueError(f"max_positions is {contract.max_positions}; expected at least 1")


def set_attribute(contract: TokenizerContract, name: str, number: int) -> None:
    """Raises AttributeError: a contract can't be changed."""
    if name in vars(contract):
        setattr(contract, name, number)


def show_figures(contract: TokenizerContract) -> dict[str, int]:
    """The contract's figures by name."""
    return {
        "vocab_size": contract.vocab_size,
        "sentinel_id": contract.sentinel_id,
        "max_positions": contract.max_positions,
    }


# --- token ids ------------------------------------------------------------------------------------


def check_empty(token_ids: Sequence[int], contract: TokenizerContract) -> None:
    """Raises ValueError where there is no token."""
    if len(token_ids) == 0:
        raise ValueError("there is no token")


def check_length(token_ids: Sequence[int], contract: TokenizerContract) -> None:
    """Raises SequenceTooLong where there are more tokens than positions."""
    if len(token_ids) > contract.max_positions:
        raise SequenceTooLong(f"{len(token_ids)} tokens are more than {contract.max_positions}")


def check_vocabulary(token_ids: Sequence[int], contract: TokenizerContract) -> None:
    """Raises TokenizerMismatch at the first id that is none of the vocabulary."""
    for token in token_ids:
        if not 0 <= token < contract.vocab_size:
            raise TokenizerMismatch(f"id {token} is none of {contract.vocab_size} tokens")


def guard(check: Callable[..., None], token_ids: Sequence[int], contract: TokenizerContract) -> Sequence[int]:
    """The ids that fill_mask works on: those it was given, once they are checked."""
    check(token_ids, contract)
    return token_ids


def check_top_k(top_k: int, positions: Sequence[int]) -> None:
    """Raises ValueError where no id is asked for."""
    if top_k < 1:
        raise ValueError(f"top_k is {top_k}; expected at least 1")


# --- filling --------------------------------------------------------------------------------------


def read_weights(weights: Mapping[str, Array], dtype: DTypeLike) -> dict[str, Array]:
    """The three arrays in the dtype of the computation."""
    return {name: np.asarray(array, dtype) for name, array in weights.items()}


def find_masked(token_ids: Sequence[int], sentinel_id: int) -> list[int]:
    """The positions of the sentinel, from the left."""
    return [position for position, token in enumerate(token_ids) if token == sentinel_id]


def embed(token_ids: Sequence[int], weights: Mapping[str, Array]) -> Array:
    """(T, D): the row of each token."""
    rows: Array = weights["token_embed"][list(token_ids)] + weights["pos_embed"][: len(token_ids)]
    return rows


def gather_context(rows: Array, masked: Sequence[int], weights: Mapping[str, Array]) -> Array:
    """(1, D) or (T, D): what each position reads, the sum of all rows."""
    context: Array = rows.sum(axis=0, keepdims=True)
    return context


def add_context(rows: Array, context: Array) -> Array:
    """(T, D): the state of each position."""
    return rows + context


def score(state: Array, weights: Mapping[str, Array]) -> Array:
    """(V,): the logits of one position."""
    logits: Array = weights["head"] @ state
    return logits


def finish_logits(logits: Array) -> Array:
    """(V,): what is ranked, the logits as they are."""
    return logits


def rank(logits: Array) -> list[int]:
    """All ids by falling logit, equal ones by rising id."""
    return [int(token) for token in np.argsort(-logits, kind="stable")]


def choose(ranked: list[int], token_ids: Sequence[int], contract: TokenizerContract) -> list[int]:
    """The ids that may be predicted: all of them."""
    return ranked


def cut(ranked: list[int], top_k: int) -> list[int]:
    """The first top_k, or all where there are fewer."""
    return ranked[:top_k]


def default_top_k() -> int:
    """How many ids where nothing is said."""
    return 5


def show(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """The answer: ids by position."""
    return best


# --- likelihood -----------------------------------------------------------------------------------


def refuse(token_ids: Sequence[int]) -> Any:
    """Raises LikelihoodUnavailable."""
    raise LikelihoodUnavailable(f"no joint probability of {len(token_ids)} tokens")


# --- efficiency -----------------------------------------------------------------------------------


def check_rate(rate: float) -> None:
    """Raises ValueError for a rate that is not between 0 and 1."""
    if not 0 < rate < 1:
        raise ValueError(f"rate is {rate}; expected more than 0 and less than 1")


def check_n_positions(n_positions: int) -> None:
    """Raises ValueError below 1."""
    if n_positions < 1:
        raise ValueError(f"n_positions is {n_positions}; expected at least 1")


def check_width(width: int) -> None:
    """Raises ValueError below 1."""
    if width < 1:
        raise ValueError(f"width is {width}; expected at least 1")


def check_vocabulary_size(vocab_size: int) -> None:
    """Raises ValueError below 1."""
    if vocab_size < 1:
        raise ValueError(f"vocab_size is {vocab_size}; expected at least 1")


def count_encoder(n_positions: Any, width: Any) -> Any:
    """Operations of the encoder: 12 width^2 a position."""
    return n_positions * width * width * 12


def count_head(n_positions: Any, width: Any, vocab_size: Any) -> Any:
    """Operations of the head over all positions: 2 width vocab_size each."""
    return n_positions * width * vocab_size * 2


def gather_head(head: Any, rate: Any) -> Any:
    """Operations of the head over the masked positions alone."""
    return head * rate


def signal(rate: Any) -> Any:
    """The share of positions that contribute to the loss."""
    return rate


def saved(rate: Any) -> Any:
    """The share of the head's operations that gathering first saves."""
    return 1 - rate


def share(head: Any, encoder: Any) -> Any:
    """The head's operations over those of head and encoder."""
    return head / (encoder + head)


def show_efficiency(found: dict[str, Any]) -> Any:
    """The answer: four figures by name."""
    return found


@dataclass(frozen=True)
class Steps:
    """The steps in the order of their use."""

    keep_figures: Callable[..., Any] = keep_figures
    check_vocab_size: Callable[..., Any] = check_vocab_size
    check_sentinel: Callable[..., Any] = check_sentinel
    check_max_positions: Callable[..., Any] = check_max_positions
    set_attribute: Callable[..., Any] = set_attribute
    show_figures: Callable[..., Any] = show_figures
    check_empty: Callable[..., Any] = check_empty
    check_length: Callable[..., Any] = check_length
    check_vocabulary: Callable[..., Any] = check_vocabulary
    guard: Callable[..., Any] = guard
    find_masked: Callable[..., Any] = find_masked
    check_top_k: Callable[..., Any] = check_top_k
    read_weights: Callable[..., Any] = read_weights
    embed: Callable[..., Any] = embed
    gather_context: Callable[..., Any] = gather_context
    add_context: Callable[..., Any] = add_context
    score: Callable[..., Any] = score
    finish_logits: Callable[..., Any] = finish_logits
    rank: Callable[..., Any] = rank
    choose: Callable[..., Any] = choose
    cut: Callable[..., Any] = cut
    default_top_k: Callable[..., Any] = default_top_k
    show: Callable[..., Any] = show
    refuse: Callable[..., Any] = refuse
    check_rate: Callable[..., Any] = check_rate
    check_n_positions: Callable[..., Any] = check_n_positions
    check_width: Callable[..., Any] = check_width
    check_vocabulary_size: Callable[..., Any] = check_vocabulary_size
    count_encoder: Callable[..., Any] = count_encoder
    count_head: Callable[..., Any] = count_head
    gather_head: Callable[..., Any] = gather_head
    signal: Callable[..., Any] = signal
    saved: Callable[..., Any] = saved
    share: Callable[..., Any] = share
    show_efficiency: Callable[..., Any] = show_efficiency


STEPS = Steps()


def make_contract(steps: Steps, figures: Sequence[int]) -> Any:
    """A checked contract of vocab_size, sentinel_id and max_positions."""
    vocab_size, sentinel_id, max_positions = figures
    made = steps.keep_figures(vocab_size, sentinel_id, max_positions)
    steps.check_vocab_size(made)
    steps.check_sentinel(made)
    steps.check_max_positions(made)
    return made


def run_contract(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """The figures of a contract."""
    return steps.show_figures(make_contract(steps, arguments))


def run_changed_contract(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """The figures of a contract after one of its attributes was set."""
    *figures, name, number = arguments
    made = make_contract(steps, figures)
    steps.set_attribute(made, name, number)
    return steps.show_figures(made)


def check_ids(steps: Steps, token_ids: Sequence[int], contract: Any) -> None:
    """What a contract's validate does."""
    steps.check_empty(token_ids, contract)
    steps.check_length(token_ids, contract)
    steps.check_vocabulary(token_ids, contract)


def run_validate(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """Nothing but that the ids were validated."""
    *figures, token_ids = arguments
    check_ids(steps, token_ids, make_contract(steps, figures))
    return "validated"


def run_fill_mask(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """Ids by masked position, best first."""
    token_ids, weights, *figures, top_k = arguments
    contract = make_contract(steps, figures)
    token_ids = steps.guard(lambda ids, made: check_ids(steps, ids, made), token_ids, contract)
    masked = steps.find_masked(token_ids, contract.sentinel_id)
    steps.check_top_k(top_k, masked)
    weights = steps.read_weights(weights, dtype)
    rows = steps.embed(token_ids, weights)
    states = steps.add_context(rows, steps.gather_context(rows, masked, weights))
    logits = {position: steps.finish_logits(steps.score(states[position], weights)) for position in masked}
    best = {
        position: steps.cut(steps.choose(steps.rank(each), token_ids, contract), top_k)
        for position, each in logits.items()
    }
    return steps.show(best, logits)


def run_fill_mask_default(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """The same with the default of top_k."""
    return run_fill_mask(steps, (*arguments, steps.default_top_k()), dtype)


def run_ids_afterwards(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """The ids as fill_mask leaves them."""
    run_fill_mask(steps, arguments, dtype)
    return arguments[0]


def run_sequence_log_prob(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """Nothing: it raises."""
    return steps.refuse(*arguments)


def run_masking_rate_efficiency(steps: Steps, arguments: Sequence[Any], dtype: DTypeLike = np.float64) -> Any:
    """Four figures by name."""
    rate, n_positions, width, vocab_size = arguments
    steps.check_rate(rate)
    steps.check_n_positions(n_positions)
    steps.check_width(width)
    steps.check_vocabulary_size(vocab_size)
    rate, n_positions, width, vocab_size = np.array(arguments, dtype)
    encoder = steps.count_encoder(n_positions, width)
    head = steps.count_head(n_positions, width, vocab_size)
    found = {
        "signal_fraction": steps.signal(rate),
        "head_flops_saved_fraction": steps.saved(rate),
        "head_share_of_naive": steps.share(head, encoder),
        "head_share_of_gathered": steps.share(steps.gather_head(head, rate), encoder),
    }
    return steps.show_efficiency(found)


run = {
    "fill_mask": run_fill_mask,
    "fill_mask_default": run_fill_mask_default,
    "ids_afterwards": run_ids_afterwards,
    "contract": run_contract,
    "changed_contract": run_changed_contract,
    "validate": run_validate,
    "sequence_log_prob": run_sequence_log_prob,
    "masking_rate_efficiency": run_masking_rate_efficiency,
}


def fill_mask(*arguments: Any) -> Any:
    """Ids by masked position: see `run_fill_mask`."""
    return run_fill_mask(STEPS, arguments)


def fill_mask_default(*arguments: Any) -> Any:
    """The same with the default of top_k."""
    return run_fill_mask_default(STEPS, arguments)


def ids_afterwards(*arguments: Any) -> Any:
    """The ids as fill_mask leaves them."""
    return run_ids_afterwards(STEPS, arguments)


def contract(*arguments: Any) -> Any:
    """The figures of a contract."""
    return run_contract(STEPS, arguments)


def changed_contract(*arguments: Any) -> Any:
    """Raises AttributeError."""
    return run_changed_contract(STEPS, arguments)


def validate(*arguments: Any) -> Any:
    """Raises where ids are not as the contract says."""
    return run_validate(STEPS, arguments)


def sequence_log_prob(*arguments: Any) -> Any:
    """Raises LikelihoodUnavailable."""
    return run_sequence_log_prob(STEPS, arguments)


def masking_rate_efficiency(*arguments: Any) -> Any:
    """Four figures by name."""
    return run_masking_rate_efficiency(STEPS, arguments)
