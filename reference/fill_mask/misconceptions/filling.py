"""Mistakes of states, logits, masked positions and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..model import Array

MISCONCEPTIONS = Misconceptions()

Weights = Mapping[str, Array]


# --- states ---------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="states", step="embed")
def positions_left_out(token_ids: Sequence[int], weights: Weights) -> Array:
    """pos_embed is left out

    What it does:
        The rows are those of token_embed alone.
    Why it is wrong:
        Without positions all masks of a sequence get the same prediction.
    How it looks:
        rows = weights["token_embed"][token_ids]
    What to write instead:
        rows = weights["token_embed"][token_ids] + weights["pos_embed"][:len(token_ids)]
    """
    rows: Array = weights["token_embed"][list(token_ids)]
    return rows


@MISCONCEPTIONS.add(clause="states", step="embed")
def positions_by_id(token_ids: Sequence[int], weights: Weights) -> Array:
    """pos_embed is looked up by the ids

    What it does:
        Each token gets the row of pos_embed with the number of its id, or the nearest one there is.
    Why it is wrong:
        Rows of pos_embed belong to positions: row t to the token at position t.
    How it looks:
        weights["pos_embed"][token_ids]
    What to write instead:
        weights["pos_embed"][:len(token_ids)]
    """
    last = len(weights["pos_embed"]) - 1
    places = np.minimum(list(token_ids), last)
    rows: Array = weights["token_embed"][list(token_ids)] + weights["pos_embed"][places]
    return rows


@MISCONCEPTIONS.add(clause="states", step="embed")
def tokens_left_out(token_ids: Sequence[int], weights: Weights) -> Array:
    """token_embed is left out

    What it does:
        The rows are those of pos_embed alone.
    Why it is wrong:
        A prediction that does not read the tokens is the same for every text.
    How it looks:
        rows = weights["pos_embed"][:len(token_ids)]
    What to write instead:
        rows = weights["token_embed"][token_ids] + weights["pos_embed"][:len(token_ids)]
    """
    rows: Array = weights["pos_embed"][: len(token_ids)]
    return rows


@MISCONCEPTIONS.add(clause="states", step="add_context")
def context_alone(rows: Array, context: Array) -> Array:
    """The position's own row is not added

    What it does:
        The sum of all rows is the state of every position; the same comes of adding the other rows to it.
    Why it is wrong:
        Then all masks of a sequence have the same state. A position's own row comes on top of the sum.
    How it looks:
        state = rows.sum(axis=0)
    What to write instead:
        state = rows[position] + rows.sum(axis=0)
    """
    return np.broadcast_to(context, rows.shape)


@MISCONCEPTIONS.add(clause="states", step="add_context")
def own_row_alone(rows: Array, context: Array) -> Array:
    """The context is left out

    What it does:
        The state of a position is its own row.
    Why it is wrong:
        A mask's own row says nothing about the text around it.
    How it looks:
        state = rows[position]
    What to write instead:
        state = rows[position] + rows.sum(axis=0)
    """
    return rows


@MISCONCEPTIONS.add(clause="states", step="gather_context")
def mean_of_rows(rows: Array, masked: Sequence[int], weights: Weights) -> Array:
    """The mean of the rows in place of their sum

    What it does:
        The sum of all rows is divided by their number before the own row is added.
    Why it is wrong:
        The sum is asked for; the own row would weigh T times as much beside a mean.
    How it looks:
        rows[position] + rows.mean(axis=0)
    What to write instead:
        rows[position] + rows.sum(axis=0)
    """
    mean: Array = rows.mean(axis=0, keepdims=True)
    return mean


# --- context --------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="context", step="gather_context")
def left_context_alone(rows: Array, masked: Sequence[int], weights: Weights) -> Array:
    """Only what stands to the left is read

    What it does:
        The sum for a position ends at that position.
    Why it is wrong:
        A masked language model reads both sides; only models that write token by token must not look ahead.
    How it looks:
        rows[:position + 1].sum(axis=0)
    What to write instead:
        rows.sum(axis=0)
    """
    return np.cumsum(rows, axis=0)


@MISCONCEPTIONS.add(clause="context", step="gather_context")
def masked_rows_hidden(rows: Array, masked: Sequence[int], weights: Weights) -> Array:
    """Masked positions are left out of the sum

    What it does:
        Rows of masked positions don't count in the context.
    Why it is wrong:
        The sentinel is a token with an embedding; it hides a word, and not itself.
    How it looks:
        rows[[t != contract.sentinel_id for t in token_ids]].sum(axis=0)
    What to write instead:
        rows.sum(axis=0)
    """
    kept = np.ones(len(rows), bool)
    kept[list(masked)] = False
    context: Array = rows[kept].sum(axis=0, keepdims=True)
    return context


@MISCONCEPTIONS.add(clause="context", step="gather_context")
def all_positions_summed(rows: Array, masked: Sequence[int], weights: Weights) -> Array:
    """Rows of pos_embed beyond the sequence are added

    What it does:
        The sum takes all of pos_embed, also where the sequence is shorter.
    Why it is wrong:
        Only T positions have a token.
    How it looks:
        weights["token_embed"][token_ids].sum(axis=0) + weights["pos_embed"].sum(axis=0)
    What to write instead:
        weights["pos_embed"][:len(token_ids)]
    """
    unused = weights["pos_embed"][len(rows) :].sum(axis=0, keepdims=True)
    context: Array = rows.sum(axis=0, keepdims=True) + unused
    return context


@MISCONCEPTIONS.add(clause="context", step="gather_context")
def neighbours_alone(rows: Array, masked: Sequence[int], weights: Weights) -> Array:
    """Only the neighbours are read

    What it does:
        The sum runs over a position and the one on each side of it.
    Why it is wrong:
        The whole sequence is context.
    How it looks:
        rows[max(0, position - 1):position + 2].sum(axis=0)
    What to write instead:
        rows.sum(axis=0)
    """
    return np.array([rows[max(0, at - 1) : at + 2].sum(axis=0) for at in range(len(rows))])


# --- logits ---------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="logits", step="score")
def head_transposed(state: Array, weights: Weights) -> Array:
    """head is used the other way round

    What it does:
        With as many tokens as features the columns of head are taken for its rows.
    Why it is wrong:
        head has the shape (V, D): a row for each token of the vocabulary.
    How it looks:
        state @ weights["head"]
    What to write instead:
        weights["head"] @ state
    """
    head = weights["head"]
    logits: Array = (head.T if head.shape[0] == head.shape[1] else head) @ state
    return logits


@MISCONCEPTIONS.add(clause="logits", step="score")
def tied_head(state: Array, weights: Weights) -> Array:
    """token_embed is used in place of head

    What it does:
        A token's logit is its row of token_embed times the state.
    Why it is wrong:
        Some models share the two; this one has a head of its own.
    How it looks:
        weights["token_embed"] @ state
    What to write instead:
        weights["head"] @ state
    """
    logits: Array = weights["token_embed"] @ state
    return logits


@MISCONCEPTIONS.add(clause="logits", step="score")
def first_feature_alone(state: Array, weights: Weights) -> Array:
    """Only one feature reaches the logits

    What it does:
        The products of head and state are not added up over the features.
    Why it is wrong:
        A logit is a sum over all D features.
    How it looks:
        (weights["head"] * state)[:, 0]
    What to write instead:
        weights["head"] @ state
    """
    logits: Array = weights["head"][:, 0] * state[0]
    return logits


# --- masked positions -----------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="masked_positions", step="find_masked")
def first_mask_alone(token_ids: Sequence[int], sentinel_id: int) -> list[int]:
    """Only the first mask is filled

    What it does:
        The first position of the sentinel is looked up, and later ones are passed over.
    Why it is wrong:
        Every position of the sentinel is a key of the answer.
    How it looks:
        position = token_ids.index(contract.sentinel_id)
    What to write instead:
        [i for i, t in enumerate(token_ids) if t == contract.sentinel_id]
    """
    return [list(token_ids).index(sentinel_id)] if sentinel_id in token_ids else []


@MISCONCEPTIONS.add(clause="masked_positions", step="find_masked")
def every_position_filled(token_ids: Sequence[int], sentinel_id: int) -> list[int]:
    """Every position is filled

    What it does:
        The answer has a list for each position, masked or not.
    Why it is wrong:
        Only positions of the sentinel are asked about.
    How it looks:
        {i: best(i) for i in range(len(token_ids))}
    What to write instead:
        {i: best(i) for i, t in enumerate(token_ids) if t == contract.sentinel_id}
    """
    return list(range(len(token_ids)))


@MISCONCEPTIONS.add(clause="masked_positions", step="find_masked")
def others_filled(token_ids: Sequence[int], sentinel_id: int) -> list[int]:
    """The positions that are not masked are filled

    What it does:
        The comparison is the wrong way round.
    Why it is wrong:
        What is known needs no prediction; the sentinel's positions do.
    How it looks:
        if token != contract.sentinel_id: ...
    What to write instead:
        if token == contract.sentinel_id: ...
    """
    return [position for position, token in enumerate(token_ids) if token != sentinel_id]


@MISCONCEPTIONS.add(clause="masked_positions", step="show")
def masks_numbered(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """The masks are numbered, not their positions given

    What it does:
        Keys are 0, 1, 2 and so on for the first, second and third mask.
    Why it is wrong:
        A key is the position of the mask in token_ids.
    How it looks:
        {n: best for n, best in enumerate(predictions)}
    What to write instead:
        {position: best for position, best in zip(positions, predictions)}
    """
    return dict(enumerate(best.values()))


@MISCONCEPTIONS.add(clause="masked_positions", step="show")
def nothing_for_no_mask(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """None is returned where nothing is masked

    What it does:
        Without a sentinel the function ends before it returns a dictionary.
    Why it is wrong:
        An empty dictionary says that there was nothing to fill, and callers can go on with it.
    How it looks:
        if not positions:
            return
    What to write instead:
        return {}
    """
    return best or None


# --- what is returned -----------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="token_ids", step="show")
def logits_returned(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """Logits are returned in place of ids

    What it does:
        The lists hold the largest logits.
    Why it is wrong:
        Ids are asked for: which tokens are best, and not how good they are.
    How it looks:
        sorted(logits, reverse=True)[:top_k]
    What to write instead:
        sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]
    """
    return {position: [float(logits[position][one]) for one in ids] for position, ids in best.items()}


@MISCONCEPTIONS.add(clause="token_ids", step="show")
def best_id_without_list(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """The best id in place of a list

    What it does:
        The value of each position is a single id.
    Why it is wrong:
        A list of top_k ids is asked for, and of one id where top_k is 1.
    How it looks:
        predictions[position] = int(np.argmax(logits))
    What to write instead:
        predictions[position] = np.argsort(-logits, kind="stable")[:top_k].tolist()
    """
    return {position: ids[0] for position, ids in best.items()}


@MISCONCEPTIONS.add(clause="token_ids", step="show")
def keys_as_texts(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """Keys are texts

    What it does:
        Positions are turned into texts, as in JSON.
    Why it is wrong:
        Positions are whole numbers, and answer[3] has to find the third.
    How it looks:
        answer[str(position)] = ids
    What to write instead:
        answer[position] = ids
    """
    return {str(position): ids for position, ids in best.items()}


@MISCONCEPTIONS.add(clause="token_ids", step="show")
def pairs_returned(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """Pairs of id and probability are returned

    What it does:
        Each list holds pairs of a token id and its score.
    Why it is wrong:
        Lists of ids are asked for.
    How it looks:
        [(i, p[i]) for i in order[:top_k]]
    What to write instead:
        [int(i) for i in order[:top_k]]
    """
    return {position: [(one, float(logits[position][one])) for one in ids] for position, ids in best.items()}


@MISCONCEPTIONS.add(clause="token_ids", step="show")
def ids_cut_to_a_byte(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
    """Ids are kept in one byte

    What it does:
        Ids from 256 on begin at 0 again.
    Why it is wrong:
        Vocabularies have tens of thousands of tokens.
    How it looks:
        order.astype(np.uint8)
    What to write instead:
        order.astype(np.int64)
    """
    return {position: [one % 256 for one in ids] for position, ids in best.items()}


# --- arguments and repetition ---------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="inputs", step="read_weights")
def embeddings_overwritten(weights: Weights, dtype: Any) -> Any:
    """The positions are added into token_embed

    What it does:
        The rows are added up in the caller's array, which is not what it was afterwards.
    Why it is wrong:
        The caller needs the weights for the next call.
    How it looks:
        weights["token_embed"] += shift
    What to write instead:
        rows = weights["token_embed"][token_ids] + weights["pos_embed"][:len(token_ids)]
    """
    read = {name: np.array(array, dtype) for name, array in weights.items()}
    weights["pos_embed"][...] += 1
    return read


@MISCONCEPTIONS.add(clause="inputs", step="guard")
def prediction_written_into_ids(check: Callable[..., None], token_ids: Any, contract: Any) -> Any:
    """Predictions are written into token_ids

    What it does:
        The masked tokens of the caller's list are replaced by something else.
    Why it is wrong:
        The list is the caller's. Copy it first.
    How it looks:
        token_ids[position] = best[0]
    What to write instead:
        filled = list(token_ids)
        filled[position] = best[0]
    """
    check(token_ids, contract)
    before = list(token_ids)
    token_ids[:] = [0 if token == contract.sentinel_id else token for token in token_ids]
    return before


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def answers_collected() -> dict[str, Callable[..., Any]]:
    """Predictions are collected in a default argument

    What it does:
        One dictionary serves all calls, so that an answer holds the masks of earlier calls too, and changes
        when the function is called again.
    Why it is wrong:
        A default argument is made once. Each call needs a dictionary of its own.
    How it looks:
        def fill_mask(token_ids, weights, contract, top_k=5, predictions={}): ...
    What to write instead:
        predictions = {}
    """
    kept: dict[int, list[int]] = {}

    def show(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
        kept.update(best)
        return kept

    return {"show": show}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def answer_reused() -> dict[str, Callable[..., Any]]:
    """One dictionary is cleared and used again

    What it does:
        Every call empties the same dictionary and fills it, and with it the answers that were given before.
    Why it is wrong:
        An answer that was given has to stay as it is.
    How it looks:
        predictions.clear()
    What to write instead:
        predictions = {}
    """
    kept: dict[int, list[int]] = {}

    def show(best: dict[int, list[int]], logits: Mapping[int, Array]) -> Any:
        kept.clear()
        kept.update(best)
        return kept

    return {"show": show}
