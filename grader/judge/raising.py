"""Whether a call ended in the exception that is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.exercise.pack import PackCase, PackExercise
from grader.judge.failures import PLAIN, STATE_VERDICTS, call_message, where
from grader.judge.relations import Judgement
from grader.outcomes import Failure, StepOutcome, describe_value
from grader.positions import Positions


def judge_raises(
    case: PackCase, outcome: StepOutcome, exercise: PackExercise, positions: Positions = PLAIN
) -> Judgement:
    """Decide a case that asks for an exception."""
    wanted = [str(name) for name in case.options["raises"]]
    asked = " or ".join(wanted)
    if outcome.state == "returned":
        found = describe_value(outcome.value) if outcome.value is not None else "nothing"
        return Judgement("wrong_type", f"It returned {found}; expected the exception {asked}.")
    failure = outcome.failure
    if outcome.state != "raised" or failure is None:
        said = call_message(outcome, exercise, positions, case.call)
        return Judgement(STATE_VERDICTS[outcome.state], said)
    if not is_one_of(failure, wanted):
        said = call_message(outcome, exercise, positions, case.call)
        return Judgement("raised", f"{said} Expected the exception {asked}.")
    missing = [text for text in case.options.get("mentions", ()) if not mentions(failure.message, str(text))]
    if missing:
        told = " and ".join(repr(text) for text in missing)
        at = where(failure, positions)
        shown = failure.message if len(failure.message) <= 200 else f"{failure.message[:199]}…"
        return Judgement(
            "raised", f"{failure.type} is raised{at}, but its message does not mention {told}: {shown!r}."
        )
    return Judgement("passed")


def as_asked(case: PackCase, outcome: StepOutcome) -> bool:
    """Whether a case asks for an exception, and the call ended in such a one."""
    if case.check != "raises" or outcome.state != "raised" or outcome.failure is None:
        return False
    return is_one_of(outcome.failure, case.options["raises"])


def is_one_of(failure: Failure, names: Sequence[str]) -> bool:
    """Whether an exception is of a class of one of the names, or of one that derives from it."""
    return any(name in (failure.type, *failure.bases) for name in names)


def mentions(message: str, text: str) -> bool:
    """Whether a message holds a text that is not part of a longer word or number there."""
    before = r"(?<![0-9A-Za-z_])" if text[:1].isalnum() else ""
    after = r"(?![0-9A-Za-z_])" if text[-1:].isalnum() else ""
    # A number is not the beginning or the end of one with decimals.
    if text[:1].isdigit():
        before += r"(?<![0-9]\.)"
    if text[-1:].isdigit():
        after += r"(?!\.[0-9])"
    return re.search(before + re.escape(text) + after, message, re.IGNORECASE) is not None
