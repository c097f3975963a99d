"""The known mistakes of ``mlm_corruption``, by what they get wrong."""

from grader.exercise.misconceptions import Misconceptions

from .answering import ANSWERING
from .choosing import CHOOSING
from .policies import POLICIES
from .replacing import REPLACING

MISCONCEPTIONS = Misconceptions(POLICIES, CHOOSING, REPLACING, ANSWERING)
