"""Known mistakes of ``fill_mask``, from the contract to the arithmetic of masking."""

from grader.exercise.misconceptions import Misconceptions

from . import checks, efficiency, filling, ranking

MISCONCEPTIONS = Misconceptions(
    checks.MISCONCEPTIONS,
    filling.MISCONCEPTIONS,
    ranking.MISCONCEPTIONS,
    efficiency.MISCONCEPTIONS,
)
