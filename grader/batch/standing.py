"""How far a submission is while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.exercise.pack import Pack
from grader.sandbox.execution import Reached


@dataclass(frozen=True)
class Standing:
    """How far a submission's calls are, by its own word.

    Attributes:
        call: Number of the call being made, from 1 on.
        calls: How many there are.
        case: Id of the case that it is made for; empty where that is hidden.
        fraction: How much of the call is done, from 0 to 1; 0 where nothing tells it.
    """

    call: int
    calls: int
    case: str
    fraction: float


TellStanding = Callable[[Standing], None]


class Steps:
    """A pack's steps as someone may see them who waits.

    Args:
        pack: The pack.
    """

    def __init__(self, pack: Pack) -> None:
        self._before: dict[str, int] = {}
        self._calls = 0
        for phase, plan in pack.plans.items():
            self._before[phase] = self._calls
            self._calls += len(plan)
        public = [case for case in pack.cases if case.visibility == "public"]
        self._cases = {(case.visibility, step): case.id for case in public for step in case.steps}

    def standing(self, reached: Reached) -> Standing:
        """Where a submission stands that is at a step."""
        return Standing(
            self._before[reached.phase] + reached.step + 1,
            self._calls,
            self._cases.get((reached.phase, reached.step), ""),
            reached.fraction,
        )
