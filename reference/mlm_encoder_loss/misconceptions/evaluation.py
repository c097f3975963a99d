"""Mistakes of the figures of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array

MISCONCEPTIONS = Misconceptions()
Changes = Mapping[str, Callable[..., Any]]


@MISCONCEPTIONS.add(clause="batches", step="mean_loss")
def batch_means_averaged(loss_sums: Array, token_counts: Array) -> float:
    """The means of the batches are averaged

    What it does:
        Each batch's loss is divided by its own count, and the mean of these is taken.
    Why it is wrong:
        A batch of few tokens then weighs as much as one of many. Add up losses and counts first.
    How it looks:
        loss = np.mean(loss_sums / token_counts)
    What to write instead:
        loss = loss_sums.sum() / token_counts.sum()
    """
    return float(np.mean(loss_sums / token_counts))


@MISCONCEPTIONS.add(clause="batches", step="mean_loss")
def filled_batch_means_averaged(loss_sums: Array, token_counts: Array) -> float:
    """The means of the batches that have tokens are averaged

    What it does:
        Batches without tokens are left out, and the mean of the others' means is taken.
    Why it is wrong:
        A batch of few tokens still weighs as much as one of many. Add up losses and counts first.
    How it looks:
        loss = np.mean([s / n for s, n in zip(loss_sums, token_counts) if n])
    What to write instead:
        loss = loss_sums.sum() / token_counts.sum()
    """
    filled = token_counts > 0
    return float(np.mean(loss_sums[filled] / token_counts[filled]))


@MISCONCEPTIONS.add(clause="batches", step="mean_loss")
def divided_by_batches(loss_sums: Array, token_counts: Array) -> float:
    """Losses are divided by the number of batches

    What it does:
        The mean of the batches' sums is taken.
    Why it is wrong:
        The mean loss is per token, so the divisor is the number of tokens.
    How it looks:
        loss = loss_sums.mean()
    What to write instead:
        loss = loss_sums.sum() / token_counts.sum()
    """
    return float(loss_sums.mean())


@MISCONCEPTIONS.add(clause="batches", step="count_tokens")
def batches_counted(token_counts: Array) -> int:
    """Batches are counted as tokens

    What it does:
        tokens is the number of batches.
    Why it is wrong:
        tokens says over how many tokens the loss was averaged.
    How it looks:
        tokens = len(token_counts)
    What to write instead:
        tokens = int(token_counts.sum())
    """
    return len(token_counts)


@MISCONCEPTIONS.add(clause="perplexity", step="perplexity")
def perplexity_of_base_two(loss: float) -> float:
    """The perplexity is a power of 2

    What it does:
        2 is raised to the mean loss.
    Why it is wrong:
        The loss is in natural logarithms, so its inverse is exp. Powers of 2 belong to a loss in bits.
    How it looks:
        perplexity = 2**loss
    What to write instead:
        perplexity = np.exp(loss)
    """
    return float(2.0**loss)


@MISCONCEPTIONS.add(clause="perplexity")
def perplexity_of_the_sum() -> Changes:
    """exp is taken of the sum of all losses

    What it does:
        The losses are added up and not divided before exp.
    Why it is wrong:
        Perplexity is exp of the mean loss, the inverse of a token's typical probability.
    How it looks:
        perplexity = np.exp(loss_sums.sum())
    What to write instead:
        perplexity = np.exp(loss_sums.sum() / token_counts.sum())
    """
    total = [0.0]

    def remember(loss_sums: Array, token_counts: Array) -> float:
        total[0] = float(loss_sums.sum())
        return float(loss_sums.sum() / token_counts.sum())

    def power(loss: float) -> float:
        return float(np.exp(total[0]))

    return {"mean_loss": remember, "perplexity": power}


@MISCONCEPTIONS.add(clause="perplexity", step="perplexity")
def perplexity_of_minus_loss(loss: float) -> float:
    """exp is taken of minus the loss

    What it does:
        The typical probability of a token is returned, a number below 1.
    Why it is wrong:
        Perplexity is its inverse: among how many equally likely tokens the model hesitates.
    How it looks:
        perplexity = np.exp(-loss)
    What to write instead:
        perplexity = np.exp(loss)
    """
    return float(np.exp(-loss))


@MISCONCEPTIONS.add(clause="refusals", step="refuse_no_tokens")
def no_tokens_divided(token_counts: Array) -> None:
    """Without tokens 0 is divided by 0

    What it does:
        The figures of no tokens are NaN.
    Why it is wrong:
        There is nothing to evaluate, which is an error of the caller: raise ValueError.
    How it looks:
        loss = loss_sums.sum() / token_counts.sum()
    What to write instead:
        if token_counts.sum() == 0: raise ValueError("there are no tokens")
    """
