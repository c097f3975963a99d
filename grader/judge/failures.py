"""What went wrong when a call or the loading of a file did not end well, in words for a student."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.exercise.near import near_misses
from grader.exercise.pack import PackExercise
from grader.outcomes import Failure, LoadOutcome, StepOutcome
from grader.result import Verdict

STATE_VERDICTS: Mapping[str, Verdict] = {
    "raised": "raised",
    "out_of_memory": "out_of_memory",
    "timed_out": "timed_out",
    "crashed": "crashed",
    "not_run": "skipped",
}


# What Python's own numbers raise where an array holds NaN or infinity.
_ARITHMETIC = frozenset({"ZeroDivisionError", "OverflowError", "FloatingPointError"})


def ended_in_arithmetic(outcome: StepOutcome) -> bool:
    """Whether a call ended in arithmetic that has no answer."""
    failure = outcome.failure
    if outcome.state != "raised" or failure is None:
        return False
    return failure.type in _ARITHMETIC or (failure.type == "ValueError" and "math" in failure.message)


def _short(text: str, limit: int = 300) -> str:
    first = " ".join(text.split())
    return first if len(first) <= limit else first[: limit - 1] + "…"


def where(failure: Failure) -> str:
    """``in line 12`` for an exception from the student's own code, else nothing."""
    return f" in line {failure.frames[-1][0]}" if failure.frames else ""


def call_message(outcome: StepOutcome, exercise: PackExercise) -> str:
    """Why a call gave no answer."""
    failure = outcome.failure
    if outcome.state == "timed_out":
        return f"{_capital(outcome.detail)}."
    if outcome.state in ("crashed", "not_run"):
        return f"{_capital(outcome.detail)}."
    if failure is None:
        return f"Memory ran out: {outcome.detail}." if outcome.detail else "Memory ran out."
    said = f": {_short(failure.message)}" if failure.message else ""
    if outcome.state == "out_of_memory":
        limit = int(exercise.limits["memory"]) >> 20
        return f"Memory ran out{where(failure)} (the limit is {limit} MiB){said}."
    if failure.type == "SystemExit":
        return f"The call ended the program (sys.exit or exit){where(failure)}; return the answer instead."
    if failure.type == "EOFError":
        return f"It waits for input{where(failure)}; there is nobody to type, so input() can't be used."
    if failure.type == "TypeError" and not failure.frames:
        names = ", ".join(exercise.parameters)
        count = len(exercise.parameters)
        return f"It is called with {count} arguments by position ({names}), but that fails{said}."
    return f"It raised {failure.type}{where(failure)}{said}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def load_message(load: LoadOutcome | None, report: Mapping[str, Any], exercise: PackExercise) -> str | None:
    """Why a file can't be graded; None when its entry point can be called."""
    syntax = report.get("syntax_error")
    if isinstance(syntax, Mapping):
        return f"Line {syntax.get('line', 0)} is not valid Python: {_short(str(syntax.get('message', '')))}."
    if load is None:
        return "The file could not be examined: its code is too large or nested too deeply."
    entry = exercise.entry
    if load.state == "returned":
        if load.callable:
            return None
        if load.found:
            article = "an" if load.type[:1].lower() in "aeiou" else "a"
            return f"{entry} is {article} {load.type}; expected a function that can be called."
        near = near_misses(entry, load.names)
        hint = f"; did you mean to rename {near[0]}?" if near else _defines(load.names)
        return f"The file defines no {entry}{hint}"
    failure = load.failure
    if load.state == "timed_out":
        return f"{_capital(load.detail)}: is there a loop or a slow self-test outside every function?"
    if failure is None:
        return f"The file can't be loaded: {load.detail}."
    at = where(failure)
    said = f": {_short(failure.message)}" if failure.message else ""
    if load.state == "out_of_memory":
        return f"Memory ran out while the file was loaded{at}."
    if failure.type == "SystemExit":
        advice = 'put that under if __name__ == "__main__":'
        return f"The file ends the program (sys.exit or exit){at} before it can be graded; {advice}."
    if failure.type == "EOFError":
        return f'The file waits for input{at}; input() can\'t be used outside if __name__ == "__main__":.'
    if failure.line is not None:
        return f"Line {failure.line} is not valid Python{said}."
    if "ImportError" in (failure.type, *failure.bases):
        return f"An import fails{at}{said}."
    return f"Loading the file raised {failure.type}{at}{said}."


def _defines(names: Sequence[str]) -> str:
    shown = [name for name in names if not name.startswith("_")][:6]
    return f"; it defines {', '.join(shown)}." if shown else "; it defines nothing."
