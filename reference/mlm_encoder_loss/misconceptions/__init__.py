"""Known mistakes of ``mlm_encoder_loss``, from the ids to the figures; those inside tolerances come last."""

from grader.exercise.misconceptions import Misconceptions

from . import attention, evaluation, layer, loss, small

MISCONCEPTIONS = Misconceptions(
    attention.MISCONCEPTIONS,
    layer.MISCONCEPTIONS,
    loss.MISCONCEPTIONS,
    evaluation.MISCONCEPTIONS,
    small.MISCONCEPTIONS,
)
