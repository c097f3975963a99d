"""The loss at selected positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="loss_selection")
def all_positions_count() -> dict[str, Any]:
    """Every position counts

    What it does:
        The cross entropy is the mean over all six positions.
    Why it is wrong:
        Only the selected ones are predicted; the others are given.
    How it looks:
        F.cross_entropy(logits.reshape(-1, 16), original.flatten())
    What to write instead:
        labels = torch.full_like(original, -100)
        labels[:, positions] = original[:, positions]
        F.cross_entropy(logits.reshape(-1, 16), labels.flatten())
    """
    return {
        "select": lambda logits, positions: logits,
        "targets": lambda original, positions: original,
    }


@MISCONCEPTIONS.add(clause="loss_selection")
def first_example_only() -> dict[str, Any]:
    """Positions of the first example alone

    What it does:
        Only row 0 is labelled.
    Why it is wrong:
        The positions are selected in every example.
    How it looks:
        labels[0, positions] = original[0, positions]
    What to write instead:
        labels[:, positions] = original[:, positions]
    """
    return {
        "select": lambda logits, positions: logits[:1, positions],
        "targets": lambda original, positions: original[:1, positions],
    }


@MISCONCEPTIONS.add(clause="loss_selection")
def first_position_only() -> dict[str, Any]:
    """The first listed position alone

    What it does:
        Only positions[0] counts.
    Why it is wrong:
        All listed positions count.
    How it looks:
        labels[:, positions[0]] = original[:, positions[0]]
    What to write instead:
        labels[:, positions] = original[:, positions]
    """
    return {
        "select": lambda logits, positions: logits[:, positions[:1]],
        "targets": lambda original, positions: original[:, positions[:1]],
    }


@MISCONCEPTIONS.add(clause="loss_selection")
def unselected_predicted() -> dict[str, Any]:
    """The other positions are predicted

    What it does:
        The selected positions are labelled -100, and the others count.
    Why it is wrong:
        -100 stands for what is ignored: the positions that are not selected.
    How it looks:
        labels = original.clone()
        labels[:, positions] = -100
    What to write instead:
        labels = torch.full_like(original, -100)
        labels[:, positions] = original[:, positions]
    """

    def others(positions: Array) -> Array:
        rest = np.setdiff1d(np.arange(6), positions)
        return rest if rest.size else positions

    return {
        "select": lambda logits, positions: logits[:, others(positions)],
        "targets": lambda original, positions: original[:, others(positions)],
    }


@MISCONCEPTIONS.add(clause="loss_selection", step="select")
def positions_sorted(logits: Array, positions: Array) -> Array:
    """Logits in the order of positions, targets in that of the list

    What it does:
        A mask picks the logits by rising position, and the targets are picked by the list.
    Why it is wrong:
        Logits and target of a position belong together.
    How it looks:
        F.cross_entropy(logits[:, mask].flatten(0, 1), original[:, positions].flatten())
    What to write instead:
        F.cross_entropy(logits[:, positions].flatten(0, 1), original[:, positions].flatten())
    """
    return logits[:, np.sort(positions)]


@MISCONCEPTIONS.add(clause="loss_targets", stateful=True)
def zero_ignored() -> dict[str, Any]:
    """Token 0 is ignored

    What it does:
        Positions whose original token is 0 do not count.
    Why it is wrong:
        0 is a token; what is not selected is labelled -100, which no token is.
    How it looks:
        F.cross_entropy(logits.reshape(-1, 16), labels.flatten(), ignore_index=0)
    What to write instead:
        F.cross_entropy(logits.reshape(-1, 16), labels.flatten())
    """
    kept: dict[str, Array] = {}

    def target_logits(logits: Array, tokens: Array) -> Array:
        kept["tokens"] = tokens
        return np.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]

    def average(losses: Array, count: int) -> Array:
        counted = kept["tokens"] != 0
        return losses[counted].mean() if counted.any() else losses.sum() * 0

    return {"target_logits": target_logits, "average": average}


@MISCONCEPTIONS.add(clause="loss_targets", stateful=True)
def mask_ignored() -> dict[str, Any]:
    """Token 3 is ignored

    What it does:
        Positions whose original token is 3 do not count.
    Why it is wrong:
        The original tokens are the targets, whichever they are.
    How it looks:
        F.cross_entropy(logits.reshape(-1, 16), labels.flatten(), ignore_index=3)
    What to write instead:
        F.cross_entropy(logits.reshape(-1, 16), labels.flatten())
    """
    kept: dict[str, Array] = {}

    def target_logits(logits: Array, tokens: Array) -> Array:
        kept["tokens"] = tokens
        return np.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]

    def average(losses: Array, count: int) -> Array:
        counted = kept["tokens"] != 3
        return losses[counted].mean() if counted.any() else losses.sum() * 0

    return {"target_logits": target_logits, "average": average}


@MISCONCEPTIONS.add(clause="loss_targets", step="targets")
def mask_as_target(original: Array, positions: Array) -> Array:
    """MASK is the target

    What it does:
        The token that stands there after masking is predicted.
    Why it is wrong:
        The original token is what the model has to find.
    How it looks:
        labels[:, positions] = 3
    What to write instead:
        labels[:, positions] = original[:, positions]
    """
    return np.full_like(original[:, positions], 3)


@MISCONCEPTIONS.add(clause="loss_value", step="average")
def summed(losses: Array, count: int) -> Array:
    """The losses are summed

    What it does:
        All selected positions are added up.
    Why it is wrong:
        The mean is asked for.
    How it looks:
        F.cross_entropy(rows, tokens, reduction="sum")
    What to write instead:
        F.cross_entropy(rows, tokens)
    """
    return losses.sum()


@MISCONCEPTIONS.add(clause="loss_value", step="average")
def divided_by_all(losses: Array, count: int) -> Array:
    """The sum is divided by all positions

    What it does:
        Unselected positions count as losses of 0.
    Why it is wrong:
        The mean is that of the selected positions.
    How it looks:
        (losses * selected).mean()
    What to write instead:
        (losses * selected).sum() / selected.sum()
    """
    return losses.sum() / count


@MISCONCEPTIONS.add(clause="loss_value", step="average")
def divided_by_examples(losses: Array, count: int) -> Array:
    """The sum is divided by the examples

    What it does:
        The losses of an example are summed, and the examples' sums averaged.
    Why it is wrong:
        The mean is that of all selected positions.
    How it looks:
        F.cross_entropy(rows, tokens, reduction="sum") / len(logits)
    What to write instead:
        F.cross_entropy(rows, tokens)
    """
    return losses.sum() / len(losses)


@MISCONCEPTIONS.add(clause="loss_value", step="select")
def softmax_twice(logits: Array, positions: Array) -> Array:
    """The softmax is taken twice

    What it does:
        F.cross_entropy is given probabilities, and takes a softmax of them.
    Why it is wrong:
        It is given logits.
    How it looks:
        F.cross_entropy(torch.softmax(rows, dim=-1), tokens)
    What to write instead:
        F.cross_entropy(rows, tokens)
    """
    chosen = logits[:, positions]
    powers = np.exp(chosen - chosen.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="loss_value", step="average")
def bits(losses: Array, count: int) -> Array:
    """Bits instead of nats

    What it does:
        The logarithm is that of base 2.
    Why it is wrong:
        Cross entropy is in natural logarithms here.
    How it looks:
        -torch.log2(p).mean()
    What to write instead:
        -torch.log(p).mean()
    """
    return losses.mean() / math.log(2)


@MISCONCEPTIONS.add(clause="loss_range", step="largest_logit")
def largest_not_subtracted(logits: Array) -> Array:
    """Large logits overflow

    What it does:
        The exponential is taken of the logits as they are.
    Why it is wrong:
        From 710 on it is infinite, and so is the loss.
    How it looks:
        torch.log(torch.exp(rows).sum(-1))
    What to write instead:
        torch.logsumexp(rows, dim=-1)
    """
    return np.zeros((*logits.shape[:-1], 1), logits.dtype)


@MISCONCEPTIONS.add(clause="loss_range", stateful=True)
def small_constant_inside() -> dict[str, Any]:
    """A small constant in the logarithm

    What it does:
        1e-12 is added to the probability before its logarithm is taken.
    Why it is wrong:
        No loss is then larger than 27.6, however wrong the prediction is, and nothing can be learned from it.
    How it looks:
        -torch.log(p + 1e-12).mean()
    What to write instead:
        F.cross_entropy(rows, tokens)
    """
    kept: dict[str, Array] = {}

    def log_normalizer(logits: Array, largest: Array) -> Array:
        kept["normalizer"] = np.log(np.exp(logits - largest).sum(axis=-1)) + largest[..., 0]
        return kept["normalizer"]

    def target_logits(logits: Array, tokens: Array) -> Array:
        target = np.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]
        probability = np.exp(target - kept["normalizer"])
        return kept["normalizer"] + np.log(probability + probability.dtype.type(1e-12))

    return {"log_normalizer": log_normalizer, "target_logits": target_logits}


@MISCONCEPTIONS.add(clause="learning", step="signal")
def detached(gradient: Array) -> Array:
    """The gradient is cut off

    What it does:
        An answer is detached, or taken through numpy, item() or no_grad.
    Why it is wrong:
        Nothing is learned from a loss whose gradient does not arrive.
    How it looks:
        F.cross_entropy(rows, tokens).detach()
    What to write instead:
        F.cross_entropy(rows, tokens)
    """
    return np.zeros_like(gradient)


@MISCONCEPTIONS.add(clause="inputs", step="targets")
def original_overwritten(original: Array, positions: Array) -> Array:
    """Labels are written into original

    What it does:
        The array with the original tokens is used for the labels, and -100 is written into it.
    Why it is wrong:
        The caller still needs the original tokens.
    How it looks:
        labels = original
        labels[:, others] = -100
    What to write instead:
        labels = torch.full_like(original, -100)
        labels[:, positions] = original[:, positions]
    """
    chosen = original[:, positions]
    original[:, np.setdiff1d(np.arange(6), positions)] = -100
    return chosen


@MISCONCEPTIONS.add(clause="inputs", step="select")
def logits_overwritten(logits: Array, positions: Array) -> Array:
    """The largest logit is subtracted in place

    What it does:
        The logits of the caller are shifted before the softmax.
    Why it is wrong:
        They belong to the caller, and a tensor that learns can't be written to at all.
    How it looks:
        logits -= logits.amax(-1, keepdim=True)
    What to write instead:
        F.cross_entropy(rows, tokens)
    """
    chosen = logits[:, positions]
    logits -= logits.max(axis=-1, keepdims=True)
    return chosen


@MISCONCEPTIONS.add(clause="inputs", step="take_positions")
def positions_sorted_in_place(positions: list[int]) -> Array:
    """The list of positions is sorted in place

    What it does:
        positions.sort() puts the caller's own list into another order.
    Why it is wrong:
        The list belongs to the caller.
    How it looks:
        positions.sort()
    What to write instead:
        positions = sorted(positions)
    """
    positions.sort()
    return np.asarray(positions)


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def losses_pile_up() -> dict[str, Any]:
    """Losses of earlier calls count as well

    What it does:
        The losses are collected in a list that is never emptied, and its mean is returned.
    Why it is wrong:
        Each call has a loss of its own.
    How it looks:
        losses.append(F.cross_entropy(rows, tokens))
        return torch.stack(losses).mean()
    What to write instead:
        return F.cross_entropy(rows, tokens)
    """
    kept: list[Array] = []

    def average(losses: Array, count: int) -> Array:
        kept.append(losses.mean())
        return np.mean(kept, dtype=losses.dtype)

    return {"average": average}
