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
    pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome], *, stated: bool = False
) -> tuple[StatisticalTest | None, list[Fault]]:
    """A test's figures by what the reference gives, and what is wrong with it.

    Args:
        pack: The pack.
        case: A case with a statistic.
        outcomes: What the reference gives to its calls.
        stated: The author says how many trials there are at the least.
    """
    log_level = float(case.options["log_level"])
    try:
        counted = count(pack, case, outcomes)
        power = power_of(counted, log_level)
    except (ClaimError, ValueError) as error:
        return None, [("statistic_fails", str(error), "check")]
    kind = str(case.options["statistic"])
    least = case.options.get("least_trials")
    # The floor of the trials has a part of the level.
    level = math.exp(log_level) + math.exp(float(case.options.get("log_floor_level", -math.inf)))
    test = StatisticalTest(case.id, kind, counted.trials, level, round(power, 6), int(least or 0))
    faults: list[Fault] = []
    if least == 0 and not stated:
        message = (
            f"its trials are counted in the answer, and {len(outcomes)} calls set no floor to them, so an "
            "answer with nothing to count passes; make more calls, or state least_trials (0 where any "
            "number is right)"
        )
        faults.append(("statistic_without_floor", message, "check", "calls"))
    if power < POWER:
        message = f"its power against {case.options['against']} is {power:.4g}; {POWER} is wanted"
        faults.append(("statistic_without_power", message + _advice(counted, log_level), "check", "calls"))
    if counted.log_p < math.log(IMPROBABLE):
        # The figure itself may be beyond what a float holds, and infinite.
        rarely = -counted.log_p / math.log(10)
        often = f"once in {10**rarely:.0f} times" if rarely < 9 else f"once in 10^{rarely:.0f} times"
        often = often if math.isfinite(rarely) else "never"
        message = f"the reference does what chance does {often}"
        faults.append(("reference_improbable", f"{message}: {counted.words}", "check"))
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
