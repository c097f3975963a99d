"""Known mistakes of ``bert_pretraining``, from the names of its parameters to the loss."""

from grader.exercise.misconceptions import Misconceptions

from . import attention, block, heads, inputs, loss

MISCONCEPTIONS = Misconceptions(
    inputs.MISCONCEPTIONS,
    attention.MISCONCEPTIONS,
    block.MISCONCEPTIONS,
    heads.MISCONCEPTIONS,
    loss.MISCONCEPTIONS,
)
