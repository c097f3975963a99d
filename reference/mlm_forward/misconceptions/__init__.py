"""Known mistakes of ``mlm_forward``, from the ids to the answer; those inside tolerances come last."""

from grader.exercise.misconceptions import Misconceptions

from . import attention, attention_output, embedding, mlp, normalization, output, projections, small

MISCONCEPTIONS = Misconceptions(
    embedding.MISCONCEPTIONS,
    normalization.MISCONCEPTIONS,
    projections.MISCONCEPTIONS,
    attention.MISCONCEPTIONS,
    attention_output.MISCONCEPTIONS,
    mlp.MISCONCEPTIONS,
    output.MISCONCEPTIONS,
    small.MISCONCEPTIONS,
)
