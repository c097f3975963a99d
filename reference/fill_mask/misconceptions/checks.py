"""Mistakes of the contract, of what it refuses, and of the exceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.exercise.misconceptions import Misconceptions

from ..model import (
    LikelihoodUnavailable,
    SequenceTooLong,
    TokenizerContract,
    TokenizerMismatch,
    check_length,
    check_vocabulary,
)

MISCONCEPTIONS = Misconceptions()

Ids = Sequence[int]


def _named(name: str, base: type[Exception]) -> type[Exception]:
    """An exception class of a name with another base."""
    return type(name, (base,), {})


# --- the contract ---------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="contract", step="keep_figures")
def figures_in_another_order(vocab_size: int, sentinel_id: int, max_positions: int) -> Any:
    """The figures are taken in another order

    What it does:
        The second argument is kept as max_positions and the third as sentinel_id.
    Why it is wrong:
        A contract is made of vocab_size, sentinel_id and max_positions, in this order.
    How it looks:
        def __init__(self, vocab_size, max_positions, sentinel_id): ...
    What to write instead:
        def __init__(self, vocab_size, sentinel_id, max_positions): ...
    """
    return TokenizerContract(vocab_size, max_positions, sentinel_id)


@MISCONCEPTIONS.add(clause="contract", step="keep_figures")
def sentinel_always_last(vocab_size: int, sentinel_id: int, max_positions: int) -> Any:
    """The last id is taken for the sentinel

    What it does:
        sentinel_id is vocab_size - 1, whatever was given.
    Why it is wrong:
        Tokenizers have their sentinel anywhere; which one it is, the argument says.
    How it looks:
        self.sentinel_id = vocab_size - 1
    What to write instead:
        self.sentinel_id = sentinel_id
    """
    return TokenizerContract(vocab_size, vocab_size - 1, max_positions)


@MISCONCEPTIONS.add(clause="contract_values", step="check_sentinel")
def sentinel_unchecked(contract: Any) -> None:
    """The sentinel is not checked

    What it does:
        A contract is made with any sentinel_id.
    Why it is wrong:
        A sentinel outside the vocabulary is found in no sequence, and nothing is ever filled.
    How it looks:
        self.sentinel_id = sentinel_id
    What to write instead:
        if not 0 <= sentinel_id < vocab_size:
            raise ValueError(f"sentinel_id {sentinel_id} outside a vocabulary of {vocab_size}")
    """


@MISCONCEPTIONS.add(clause="contract_values", step="check_sentinel")
def sentinel_may_be_vocab_size(contract: Any) -> None:
    """The sentinel may be vocab_size

    What it does:
        sentinel_id is compared with <= vocab_size.
    Why it is wrong:
        Ids begin at 0, so the last one is vocab_size - 1.
    How it looks:
        if not 0 <= sentinel_id <= vocab_size: raise ValueError(...)
    What to write instead:
        if not 0 <= sentinel_id < vocab_size: raise ValueError(...)
    """
    if not 0 <= contract.sentinel_id <= contract.vocab_size:
        raise ValueError(f"{contract.sentinel_id} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="contract_values", step="check_sentinel")
def sentinel_may_be_negative(contract: Any) -> None:
    """The sentinel may be negative

    What it does:
        Only sentinels that are too large are refused.
    Why it is wrong:
        No id is below 0.
    How it looks:
        if sentinel_id >= vocab_size: raise ValueError(...)
    What to write instead:
        if not 0 <= sentinel_id < vocab_size: raise ValueError(...)
    """
    if contract.sentinel_id >= contract.vocab_size:
        raise ValueError(f"{contract.sentinel_id} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="contract_values")
def contract_unchecked() -> dict[str, Callable[..., Any]]:
    """A contract is made of any figures

    What it does:
        Nothing is looked at when a contract is made.
    Why it is wrong:
        A contract that can't be kept shows only later, in places that have nothing to do with it.
    How it looks:
        @dataclass(frozen=True)
        class TokenizerContract:
            vocab_size: int
            sentinel_id: int
            max_positions: int
    What to write instead:
        def __post_init__(self):
            if not 0 <= self.sentinel_id < self.vocab_size:
                raise ValueError(...)
    """
    return {
        "check_vocab_size": lambda contract: None,
        "check_sentinel": lambda contract: None,
        "check_max_positions": lambda contract: None,
    }


@MISCONCEPTIONS.add(clause="contract_values", step="check_max_positions")
def max_positions_unchecked(contract: Any) -> None:
    """max_positions is not checked

    What it does:
        A contract is made for 0 positions.
    Why it is wrong:
        Every sequence would be too long for it, so it is refused when it is made.
    How it looks:
        self.max_positions = max_positions
    What to write instead:
        if max_positions < 1:
            raise ValueError(f"max_positions must be at least 1, got {max_positions}")
    """


@MISCONCEPTIONS.add(clause="fixed", step="set_attribute")
def contract_can_be_changed(contract: Any, name: str, number: int) -> None:
    """A contract can be changed

    What it does:
        An ordinary class takes any new value of its attributes, unchecked.
    Why it is wrong:
        What was validated has to stay valid: setting an attribute raises AttributeError.
    How it looks:
        @dataclass
        class TokenizerContract: ...
    What to write instead:
        @dataclass(frozen=True)
        class TokenizerContract: ...
    """
    object.__setattr__(contract, name, number)


@MISCONCEPTIONS.add(clause="fixed")
def changes_ignored() -> dict[str, Callable[..., Any]]:
    """Changes of a contract are ignored in silence

    What it does:
        Setting an attribute has no effect, and no exception tells so.
    Why it is wrong:
        Whoever changes a contract has to be told that it is not possible.
    How it looks:
        def __setattr__(self, name, value):
            pass
    What to write instead:
        def __setattr__(self, name, value):
            raise AttributeError(f"{name} can't be changed")
    """
    return {"set_attribute": lambda contract, name, number: None}


# --- empty and too long ---------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="empty", step="check_empty")
def empty_accepted(token_ids: Ids, contract: Any) -> None:
    """An empty sequence is accepted

    What it does:
        validate of an empty list returns without an exception.
    Why it is wrong:
        There is nothing to read, and the caller has most likely lost the text.
    How it looks:
        if len(token_ids) > self.max_positions: ...
    What to write instead:
        if len(token_ids) == 0:
            raise ValueError("no token ids")
    """


@MISCONCEPTIONS.add(clause="empty", step="check_empty")
def zeros_taken_for_empty(token_ids: Ids, contract: Any) -> None:
    """Id 0 is taken for no token

    What it does:
        ValueError is raised for sequences that hold nothing but id 0.
    Why it is wrong:
        Id 0 is a token like any other; only a list without ids is empty.
    How it looks:
        if not any(token_ids): raise ValueError("empty")
    What to write instead:
        if len(token_ids) == 0: raise ValueError("empty")
    """
    if not any(token_ids):
        raise ValueError("nothing but zeros")


@MISCONCEPTIONS.add(clause="too_long")
def truncated() -> dict[str, Callable[..., Any]]:
    """What is too long is cut off in silence

    What it does:
        Tokens beyond max_positions are dropped, and the rest is worked on.
    Why it is wrong:
        The end of the text is gone and nobody is told. SequenceTooLong lets the caller decide what to drop.
    How it looks:
        token_ids = token_ids[:contract.max_positions]
    What to write instead:
        if len(token_ids) > self.max_positions:
            raise SequenceTooLong(f"{len(token_ids)} tokens, at most {self.max_positions}")
    """

    def guard(check: Callable[..., None], token_ids: Ids, contract: Any) -> Ids:
        check(token_ids, contract)
        return token_ids[: contract.max_positions]

    return {"check_length": lambda token_ids, contract: None, "guard": guard}


@MISCONCEPTIONS.add(clause="too_long", step="check_length")
def full_length_refused(token_ids: Ids, contract: Any) -> None:
    """A sequence of max_positions tokens is refused

    What it does:
        SequenceTooLong is raised from max_positions tokens on.
    Why it is wrong:
        So many tokens just fit.
    How it looks:
        if len(token_ids) >= self.max_positions: ...
    What to write instead:
        if len(token_ids) > self.max_positions: ...
    """
    if len(token_ids) >= contract.max_positions:
        raise SequenceTooLong(f"{len(token_ids)} of {contract.max_positions}")


@MISCONCEPTIONS.add(clause="too_long", step="check_length")
def length_without_figures(token_ids: Ids, contract: Any) -> None:
    """SequenceTooLong comes without figures

    What it does:
        The message says that the sequence is too long, but not how long and how long it may be.
    Why it is wrong:
        Whoever reads it has to know by how much to shorten the text.
    How it looks:
        raise SequenceTooLong("sequence too long")
    What to write instead:
        raise SequenceTooLong(f"{len(token_ids)} tokens, at most {self.max_positions}")
    """
    if len(token_ids) > contract.max_positions:
        raise SequenceTooLong("the sequence is too long")


@MISCONCEPTIONS.add(clause="too_long", step="check_length")
def plain_value_error(token_ids: Ids, contract: Any) -> None:
    """A plain ValueError in place of SequenceTooLong

    What it does:
        A sequence that is too long raises ValueError itself.
    Why it is wrong:
        A caller who wants to shorten the text, and nothing else, has to tell this fault from the others.
    How it looks:
        raise ValueError(f"{len(token_ids)} tokens, at most {self.max_positions}")
    What to write instead:
        raise SequenceTooLong(f"{len(token_ids)} tokens, at most {self.max_positions}")
    """
    if len(token_ids) > contract.max_positions:
        raise ValueError(f"{len(token_ids)} of {contract.max_positions}")


# --- ids ------------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="vocabulary", step="check_vocabulary")
def negative_ids_accepted(token_ids: Ids, contract: Any) -> None:
    """Negative ids are accepted

    What it does:
        Only ids from vocab_size on are refused.
    Why it is wrong:
        No id is below 0. Indexing with -1 takes the last row, and the answer is wrong without an error.
    How it looks:
        if max(token_ids) >= self.vocab_size: raise TokenizerMismatch(...)
    What to write instead:
        outside = [i for i in token_ids if not 0 <= i < self.vocab_size]
    """
    for token in token_ids:
        if token >= contract.vocab_size:
            raise TokenizerMismatch(f"{token} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="vocabulary", step="check_vocabulary")
def vocab_size_is_an_id(token_ids: Ids, contract: Any) -> None:
    """vocab_size itself is taken for an id

    What it does:
        Ids up to vocab_size are accepted.
    Why it is wrong:
        Ids begin at 0, so the last one is vocab_size - 1.
    How it looks:
        if token > self.vocab_size: raise TokenizerMismatch(...)
    What to write instead:
        if token >= self.vocab_size: raise TokenizerMismatch(...)
    """
    for token in token_ids:
        if not 0 <= token <= contract.vocab_size:
            raise TokenizerMismatch(f"{token} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="vocabulary", step="check_vocabulary")
def last_id_refused(token_ids: Ids, contract: Any) -> None:
    """The last id of the vocabulary is refused

    What it does:
        Ids have to be below vocab_size - 1.
    Why it is wrong:
        vocab_size - 1 is the last id, and in many tokenizers the sentinel.
    How it looks:
        if not 0 <= token < self.vocab_size - 1: raise TokenizerMismatch(...)
    What to write instead:
        if not 0 <= token < self.vocab_size: raise TokenizerMismatch(...)
    """
    for token in token_ids:
        if not 0 <= token < contract.vocab_size - 1:
            raise TokenizerMismatch(f"{token} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="vocabulary", step="check_vocabulary")
def first_id_alone_checked(token_ids: Ids, contract: Any) -> None:
    """Only the first id is checked

    What it does:
        The loop over the ids ends after the first one.
    Why it is wrong:
        A single id outside the vocabulary is enough, wherever it stands.
    How it looks:
        for token in token_ids:
            if not 0 <= token < self.vocab_size: raise TokenizerMismatch(...)
            return
    What to write instead:
        for token in token_ids:
            if not 0 <= token < self.vocab_size: raise TokenizerMismatch(...)
    """
    if not 0 <= token_ids[0] < contract.vocab_size:
        raise TokenizerMismatch(f"{token_ids[0]} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="vocabulary", step="check_vocabulary")
def largest_id_named(token_ids: Ids, contract: Any) -> None:
    """The last id that is outside is named, not the first

    What it does:
        The message names the last one of the ids that are outside the vocabulary.
    Why it is wrong:
        The first one is where a reader begins to look.
    How it looks:
        for token in token_ids:
            if not 0 <= token < self.vocab_size: bad = token
    What to write instead:
        raise TokenizerMismatch at the first id that is outside
    """
    outside = [token for token in token_ids if not 0 <= token < contract.vocab_size]
    if outside:
        raise TokenizerMismatch(f"{outside[-1]} of {contract.vocab_size}")


@MISCONCEPTIONS.add(clause="vocabulary", step="check_vocabulary")
def mismatch_without_figures(token_ids: Ids, contract: Any) -> None:
    """TokenizerMismatch comes without figures

    What it does:
        The message says that ids are outside the vocabulary, but neither which nor how large it is.
    Why it is wrong:
        The figures tell at once whether it is the wrong tokenizer or a single slip.
    How it looks:
        raise TokenizerMismatch("id outside the vocabulary")
    What to write instead:
        raise TokenizerMismatch(f"id {token} outside a vocabulary of {self.vocab_size}")
    """
    if any(not 0 <= token < contract.vocab_size for token in token_ids):
        raise TokenizerMismatch("an id is outside the vocabulary")


# --- order ----------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="check_order")
def ids_before_length() -> dict[str, Callable[..., Any]]:
    """The ids are checked before the length

    What it does:
        A sequence that is too long and has an id outside the vocabulary raises TokenizerMismatch.
    Why it is wrong:
        The cheapest check comes first: empty, then the length, then every single id.
    How it looks:
        if any(not 0 <= i < self.vocab_size for i in token_ids): raise TokenizerMismatch(...)
        if len(token_ids) > self.max_positions: raise SequenceTooLong(...)
    What to write instead:
        the check of the length above that of the ids
    """
    return {"check_length": check_vocabulary, "check_vocabulary": check_length}


@MISCONCEPTIONS.add(clause="check_order")
def top_k_before_ids() -> dict[str, Callable[..., Any]]:
    """top_k is checked before the ids

    What it does:
        fill_mask with bad ids and a top_k of 0 complains about top_k.
    Why it is wrong:
        The ids come first, as the contract is what everything else relies on.
    How it looks:
        if top_k < 1: raise ValueError(...)
        contract.validate(token_ids)
    What to write instead:
        contract.validate(token_ids)
        if top_k < 1: raise ValueError(...)
    """
    held: list[Callable[[], None]] = []

    def guard(check: Callable[..., None], token_ids: Ids, contract: Any) -> Ids:
        held[:] = [lambda: check(token_ids, contract)]
        return token_ids

    def check_top_k(top_k: int, positions: Sequence[int]) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}")
        held[0]()

    return {"guard": guard, "check_top_k": check_top_k}


# --- classes --------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="exceptions")
def errors_of_no_kind() -> dict[str, Callable[..., Any]]:
    """The exceptions derive from Exception

    What it does:
        SequenceTooLong and TokenizerMismatch are classes of their own, but no ValueError.
    Why it is wrong:
        A caller who catches ValueError, as one does for bad arguments, does not catch them.
    How it looks:
        class SequenceTooLong(Exception): ...
    What to write instead:
        class SequenceTooLong(ValueError): ...
    """
    too_long, mismatch = _named("SequenceTooLong", Exception), _named("TokenizerMismatch", Exception)

    def length(token_ids: Ids, contract: Any) -> None:
        if len(token_ids) > contract.max_positions:
            raise too_long(f"{len(token_ids)} of {contract.max_positions}")

    def vocabulary(token_ids: Ids, contract: Any) -> None:
        for token in token_ids:
            if not 0 <= token < contract.vocab_size:
                raise mismatch(f"{token} of {contract.vocab_size}")

    return {"check_length": length, "check_vocabulary": vocabulary}


@MISCONCEPTIONS.add(clause="exceptions", step="refuse")
def unavailable_is_runtime_error(token_ids: Ids) -> Any:
    """LikelihoodUnavailable derives from RuntimeError

    What it does:
        LikelihoodUnavailable is raised, but it is no NotImplementedError.
    Why it is wrong:
        What a model can't do at all is a NotImplementedError, and callers look for that.
    How it looks:
        class LikelihoodUnavailable(RuntimeError): ...
    What to write instead:
        class LikelihoodUnavailable(NotImplementedError): ...
    """
    raise _named("LikelihoodUnavailable", RuntimeError)(f"{len(token_ids)} tokens")


# --- fill_mask checks too -------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="guard", step="guard")
def fills_unchecked(check: Callable[..., None], token_ids: Ids, contract: Any) -> Ids:
    """fill_mask does not validate its ids

    What it does:
        The contract's validate is never called by fill_mask.
    Why it is wrong:
        Negative ids index from the end without a word, and other bad ids end in an IndexError.
    How it looks:
        def fill_mask(token_ids, weights, contract, top_k=5):
            rows = weights["token_embed"][token_ids] + ...
    What to write instead:
        contract.validate(token_ids)
    """
    return token_ids


@MISCONCEPTIONS.add(clause="guard", step="guard")
def checked_only_where_masked(check: Callable[..., None], token_ids: Ids, contract: Any) -> Ids:
    """The ids are validated only where something is masked

    What it does:
        Without a sentinel an empty dictionary is returned before the ids are looked at.
    Why it is wrong:
        Ids of another tokenizer often hold no sentinel at all, and then nobody notices.
    How it looks:
        if contract.sentinel_id not in token_ids:
            return {}
        contract.validate(token_ids)
    What to write instead:
        contract.validate(token_ids)
        if contract.sentinel_id not in token_ids:
            return {}
    """
    if contract.sentinel_id in token_ids:
        check(token_ids, contract)
        return token_ids
    # What goes on has to be something that can be looked up; there is nothing to fill in it.
    return [0 if contract.sentinel_id else contract.vocab_size - 1] if contract.vocab_size > 1 else []


@MISCONCEPTIONS.add(clause="guard", step="guard")
def empty_gives_nothing(check: Callable[..., None], token_ids: Ids, contract: Any) -> Ids:
    """fill_mask of an empty list gives an empty dictionary

    What it does:
        An empty list is answered before it is validated.
    Why it is wrong:
        fill_mask raises what validate raises; an empty sequence is a ValueError.
    How it looks:
        if not token_ids:
            return {}
    What to write instead:
        contract.validate(token_ids)
    """
    if len(token_ids):
        check(token_ids, contract)
    return token_ids


# --- likelihood -----------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="likelihood", step="refuse")
def pseudo_likelihood(token_ids: Ids) -> Any:
    """sequence_log_prob returns a number

    What it does:
        The log-probabilities of single tokens given all others are added up, and the sum is returned.
    Why it is wrong:
        Each is conditional on other tokens, so that their product is no probability of the sequence; that sum
        is called a pseudo-likelihood.
    How it looks:
        return sum(log_p[i, token] for i, token in enumerate(token_ids))
    What to write instead:
        raise LikelihoodUnavailable(f"no joint probability of {len(token_ids)} tokens")
    """
    return -1.5 * len(token_ids)


@MISCONCEPTIONS.add(clause="likelihood", step="refuse")
def not_a_number(token_ids: Ids) -> Any:
    """sequence_log_prob returns NaN

    What it does:
        It returns NaN, or None, to say that there is no probability.
    Why it is wrong:
        A NaN goes on through sums and means and is found late; an exception is found at once.
    How it looks:
        return float("nan")
    What to write instead:
        raise LikelihoodUnavailable(f"no joint probability of {len(token_ids)} tokens")
    """
    return float("nan")


@MISCONCEPTIONS.add(clause="likelihood", step="refuse")
def plain_not_implemented(token_ids: Ids) -> Any:
    """A plain NotImplementedError in place of LikelihoodUnavailable

    What it does:
        NotImplementedError itself is raised.
    Why it is wrong:
        That reads as if it were to be written some day. LikelihoodUnavailable says that it can't be.
    How it looks:
        raise NotImplementedError
    What to write instead:
        raise LikelihoodUnavailable(f"no joint probability of {len(token_ids)} tokens")
    """
    raise NotImplementedError(f"{len(token_ids)} tokens")


@MISCONCEPTIONS.add(clause="likelihood", step="refuse")
def unavailable_without_figure(token_ids: Ids) -> Any:
    """LikelihoodUnavailable comes without the number of tokens

    What it does:
        The message does not say how many tokens it was asked about.
    Why it is wrong:
        The number tells in a log which call it was.
    How it looks:
        raise LikelihoodUnavailable("no likelihood")
    What to write instead:
        raise LikelihoodUnavailable(f"no joint probability of {len(token_ids)} tokens")
    """
    raise LikelihoodUnavailable("a masked language model has no likelihood")


@MISCONCEPTIONS.add(clause="likelihood", step="refuse")
def validated_before_refused(token_ids: Ids) -> Any:
    """An empty list raises ValueError in place of LikelihoodUnavailable

    What it does:
        sequence_log_prob checks its ids first, and answers for an empty list 0 or another exception.
    Why it is wrong:
        There is no probability of any sequence, so nothing has to be checked.
    How it looks:
        if not token_ids: raise ValueError("empty")
    What to write instead:
        raise LikelihoodUnavailable(f"no joint probability of {len(token_ids)} tokens")
    """
    if len(token_ids) == 0:
        raise ValueError("there is no token")
    raise LikelihoodUnavailable(f"{len(token_ids)} tokens")
