"""What went wrong when a call or the loading of a file did not end well, in words for a student."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from grader.exercise.near import near_misses
from grader.exercise.pack import PackExercise
from grader.outcomes import Failure, LoadOutcome, StepOutcome
from grader.positions import Positions
from grader.result import Verdict

MAX_NOTES = 8
STATE_VERDICTS: Mapping[str, Verdict] = {
    "raised": "raised",
    "out_of_memory": "out_of_memory",
    "timed_out": "timed_out",
    "crashed": "crashed",
    "not_run": "skipped",
}


# How Python ends the message of a syntax error.
_PLACE = re.compile(r" \([^()]*, line [0-9]+\)\Z")
_READ_ONLY = re.compile(r"\b(?:assignment destination|output array|sort array) is read-only")
# Of a text that is one file.
PLAIN = Positions()

# What Python's own numbers raise where an array holds NaN or infinity.
_ARITHMETIC = frozenset({"ZeroDivisionError", "OverflowError", "FloatingPointError"})

_CAUSES: Mapping[str, str] = {
    "NotImplementedError": "not_written",
    "RecursionError": "endless_recursion",
    "NameError": "unknown_name",
    "AttributeError": "unknown_attribute",
    "ImportError": "failed_import",
    "EOFError": "waits_for_input",
    "SystemExit": "ends_program",
}


def ended_in_arithmetic(outcome: StepOutcome) -> bool:
    """Whether a call ended in arithmetic that has no answer."""
    failure = outcome.failure
    if outcome.state != "raised" or failure is None:
        return False
    return failure.type in _ARITHMETIC or (failure.type == "ValueError" and "math" in failure.message)


def _short(text: str, limit: int = 300) -> str:
    first = " ".join(text.split())
    return first if len(first) <= limit else first[: limit - 1] + "…"


def where(failure: Failure, positions: Positions = PLAIN) -> str:
    """``in line 12`` for an exception from the student's own code, else nothing."""
    return f" in {positions.name(failure.frames[-1][0])}" if failure.frames else ""


def _said(failure: Failure, limit: int = 300) -> str:
    """What an exception says, after a colon; of a syntax error without the line in the whole text."""
    message = _PLACE.sub("", failure.message) if failure.line is not None else failure.message
    return _after_colon(message, limit)


def _after_colon(message: str, limit: int = 300) -> str:
    """A message as the end of a sentence, whose period the sentence has itself."""
    text = _short(message, limit)
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1]
    return f": {text}" if text else ""


def _sentence(positions: Positions, line: int) -> str:
    """``Line 12`` or ``Cell 3, line 2``; the name of a file stays as it is."""
    name = positions.name(line)
    return _capital(name) if name.startswith(("line ", "cell ")) else name


def call_message(
    outcome: StepOutcome, exercise: PackExercise, positions: Positions = PLAIN, call: str = ""
) -> str:
    """Why a call gave no answer.

    Args:
        outcome: What the call gave.
        exercise: The exercise.
        positions: Names for the lines of the submission's text.
        call: Which of the exercise's calls it was; the first one when left out.
    """
    failure = outcome.failure
    at = where(failure, positions) if failure is not None else ""
    if outcome.state == "timed_out":
        return f"{_capital(outcome.detail)}."
    if outcome.state in ("crashed", "not_run"):
        return f"{_capital(outcome.detail)}."
    if failure is None:
        return f"Memory ran out: {outcome.detail}." if outcome.detail else "Memory ran out."
    said = _after_colon(failure.message)
    if outcome.state == "out_of_memory":
        limit = int(exercise.limits["memory"]) >> 20
        return f"Memory ran out{at} (the limit is {limit} MiB){said}."
    if failure.type == "SystemExit":
        return f"The call ended the program (sys.exit or exit){at}; return the answer instead."
    if failure.type == "EOFError":
        return f"It waits for input{at}; there is nobody to type, so input() can't be used."
    if failure.type == "TypeError" and not failure.frames:
        asked = exercise.calls.get(call, exercise.first)
        if asked.driven:
            return f"Using what the file defines fails{said}."
        names = ", ".join(asked.parameters)
        count = len(asked.parameters)
        return f"It is called with {count} arguments by position ({names}), but that fails{said}."
    # numpy's words for an array that must not be written into.
    if failure.type == "ValueError" and _READ_ONLY.search(failure.message):
        return f"It raised {failure.type}{at}{said}. Leave the arguments as they are, and write into a copy."
    if "PermissionError" in (failure.type, *failure.bases) and "[Errno 13]" in failure.message:
        advice = "Files can't be opened here; the arguments are all there is."
        return f"It raised {failure.type}{at}{said}. {advice}"
    if failure.type == "NotImplementedError":
        # Most of all in a starter that nobody has touched yet.
        return f"It raised {failure.type}{at}{said}. It is not written yet; put your code there."
    return f"It raised {failure.type}{at}{said}."


def call_cause(outcome: StepOutcome) -> str:
    """Which page a call's exception has of its own in `grader.judge.explanations`; empty for none.

    These are exceptions whose message says exactly what is wrong.
    """
    failure = outcome.failure
    if outcome.state != "raised" or failure is None:
        return ""
    if failure.type == "TypeError" and not failure.frames:
        return "other_arguments"
    for name in (failure.type, *failure.bases):
        if name in _CAUSES:
            return _CAUSES[name]
    return ""


def says_all(outcome: StepOutcome) -> bool:
    """Whether a call ended in an exception that no known mistake explains, as it says itself what is wrong.

    A local name without a value, or an attribute of something that is not there, may come of a mistake.
    """
    cause, failure = call_cause(outcome), outcome.failure
    if cause == "unknown_attribute":
        return failure is not None and failure.message.startswith("module ")
    return bool(cause) and failure is not None and failure.type != "UnboundLocalError"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def load_message(
    load: LoadOutcome | None,
    report: Mapping[str, Any],
    exercise: PackExercise,
    positions: Positions = PLAIN,
) -> str | None:
    """Why a file can't be graded; None when its entry point can be called."""
    syntax = report.get("syntax_error")
    if isinstance(syntax, Mapping):
        line = syntax.get("line", 0)
        at = _sentence(positions, line) if type(line) is int else "The file"
        return f"{at} is not valid Python: {_short(str(syntax.get('message', '')))}."
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
        others = exercise.entries[1:]
        asked = f"{entry}{f', nor {_nor(others)}' if others else ''}"
        return f"The file defines no {asked}{hint}"
    failure = load.failure
    if load.state == "timed_out":
        return f"{_capital(load.detail)}: is there a loop or a slow self-test outside every function?"
    if failure is None:
        return f"The file can't be loaded: {load.detail}."
    at = where(failure, positions)
    said = _said(failure)
    if load.state == "out_of_memory":
        return f"Memory ran out while the file was loaded{at}."
    if failure.type == "SystemExit":
        advice = 'put that under if __name__ == "__main__":'
        return f"The file ends the program (sys.exit or exit){at} before it can be graded; {advice}."
    if failure.type == "EOFError":
        return f'The file waits for input{at}; input() can\'t be used outside if __name__ == "__main__":.'
    if failure.line is not None:
        return f"{_sentence(positions, failure.line)} is not valid Python{said}."
    if "ImportError" in (failure.type, *failure.bases):
        return f"An import fails{at}{said}."
    return f"Loading the file raised {failure.type}{at}{said}."


def load_cause(load: LoadOutcome | None, report: Mapping[str, Any]) -> str:
    """Why a file can't be loaded: ``not_python``, ``not_defined``, or empty for all else."""
    if isinstance(report.get("syntax_error"), Mapping):
        return "not_python"
    if load is None:
        return ""
    if load.state == "returned":
        return "" if load.callable else "not_defined"
    return "not_python" if load.failure is not None and load.failure.line is not None else ""


def load_failure(load: LoadOutcome | None, report: Mapping[str, Any]) -> dict[str, Any]:
    """How a file that can't be loaded ended: ``exception`` and ``traceback``, as in a case's details.

    The traceback of a text that is not Python is the line at which reading it ends, of no function.
    """
    syntax = report.get("syntax_error")
    if isinstance(syntax, Mapping):
        line = syntax.get("line")
        said = f"SyntaxError: {_short(str(syntax.get('message', '')))}"
        return {"exception": said, "traceback": [[line, ""]] if type(line) is int and line > 0 else []}
    failure = load.failure if load is not None else None
    if failure is None:
        return {}
    frames = [list(frame) for frame in failure.frames]
    if failure.line is not None:
        frames.append([failure.line, ""])
    return {"exception": f"{failure.type}{_said(failure)}", "traceback": frames}


def load_notes(load: LoadOutcome | None, report: Mapping[str, Any], positions: Positions) -> tuple[str, ...]:
    """Which cells of a notebook ended early, where that did not keep the entry point from being defined."""
    if load is None or not load.callable:
        return ()
    notes = []
    for first, failure in load.failures:
        said = _said(failure, 150)
        if failure.line is not None:
            notes.append(
                f"{_sentence(positions, failure.line)} is not valid Python{said}; that cell was passed over."
            )
            continue
        cell = _sentence(positions, first).partition(",")[0]
        last = failure.frames[-1][0] if failure.frames else first
        inside = positions.within(last)[0] == positions.within(first)[0]
        # The line of a module that the cell uses says too little by itself.
        at = _sentence(positions, last) if inside and failure.frames else cell
        where_else = "" if inside else where(failure, positions)
        if failure.type == "SystemExit":
            notes.append(f"{at} ends the cell with exit{where_else}; the next cells ran all the same.")
        else:
            notes.append(
                f"{at} raised {failure.type}{where_else}{said}; the rest of the cell was passed over, "
                "the next cells ran."
            )
    told = {positions.within(first)[0] for first, _ in load.failures}
    rows = report.get("broken_cells")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, Mapping) and type(row.get("line")) is int and row.get("name") not in told:
            at = _sentence(positions, row["line"])
            message = _short(str(row.get("message", "")), 150)
            notes.append(f"{at} is not valid Python: {message}; that cell was passed over.")
    more = len(notes) - MAX_NOTES
    return (*notes[:MAX_NOTES], f"{more} more cells were passed over.") if more > 0 else tuple(notes)


def _nor(names: Sequence[str]) -> str:
    return ", nor ".join(names)


def _defines(names: Sequence[str]) -> str:
    shown = [name for name in names if not name.startswith("_")][:6]
    return f"; it defines {', '.join(shown)}." if shown else "; it defines nothing."
