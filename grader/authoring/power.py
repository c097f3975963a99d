"""Whether a statistical test of a case tells what its author says it has to tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.exercise.claims import ClaimError
from grader.exercise.pack import Pack, PackCase
from grader.judge.properties import Counted, count, power_of
from grader.judge.statistics import trials_needed
from grader.outcomes import StepOutcome
from grader.validation import StatisticalTest

POWER = 0.999
# So rarely chance does what the reference does, and it is time to look at the reference.
IMPROBABLE = 1e-4

# A weakness: its code, what it is, and at which key of the case.
Fault = tuple[str, ...]


def look_at_test(
    pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome]
) -> tuple[StatisticalTest | None, list[Fault]]:
    """A test's figures by what the reference gives, and what is wrong with it.

    Args:
        pack: The pack.
        case: A case with a statistic.
        outcomes: What the reference gives to its calls.
    """
    log_level = float(case.options["log_level"])
    try:
        counted = count(pack, case, outcomes)
        power = power_of(counted, log_level)
    except (ClaimError, ValueError) as error:
        return None, [("statistic_fails", str(error), "check")]
    kind = str(case.options["statistic"])
    test = StatisticalTest(case.id, kind, counted.trials, math.exp(log_level), round(power, 6))
    faults: list[Fault] = []
    if power < POWER:
        message = f"its power against {case.options['against']} is {power:.4g}; {POWER} is wanted"
        faults.append(("statistic_without_power", message + _advice(counted, log_level), "check", "calls"))
    if counted.log_p < math.log(IMPROBABLE):
        # How rarely chance does it stands in the words.
        faults.append(
            (
                "reference_improbable",
                f"chance hardly ever gives what the reference gives: {counted.words}",
                "check",
            )
        )
    return test, faults


def _advice(counted: Counted, log_level: float) -> str:
    """How many trials would give a test its power, where that can be told."""
    if isinstance(counted.expected, list) or isinstance(counted.against, list):
        return ""
    try:
        trials = trials_needed(counted.expected, counted.against, log_level, POWER)
    except ValueError:
        return ""
    return f"; it takes {trials:,} trials, now there are {counted.trials:,}"
