"""What went wrong is told in a sentence or two that a student understands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.failures import STATE_VERDICTS, call_message, load_message, load_notes
from grader.outcomes import Failure, LoadOutcome, StepOutcome
from grader.positions import Part, Positions
from judge.made_up import EXERCISE

TOO_MANY = "row_scale() takes 2 positional arguments but 3 were given"


def raised(
    kind: str, message: str = "", frames: Any = ((3, "row_scale"), (12, "helper")), **keys: Any
) -> StepOutcome:
    return StepOutcome("raised", failure=Failure(kind, message, (), frames), **keys)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (raised("ValueError", "shapes do not fit"), "It raised ValueError in line 12: shapes do not fit."),
        (raised("IndexError"), "It raised IndexError in line 12."),
        (raised("ValueError", "x", ()), "It raised ValueError: x."),
        (raised("KeyError", "a\n  b\t c"), "It raised KeyError in line 12: a b c."),
        (raised("ValueError", "no such axis."), "It raised ValueError in line 12: no such axis."),
        (raised("ValueError", "and so on..."), "It raised ValueError in line 12: and so on...."),
        (
            raised("NotImplementedError"),
            "It raised NotImplementedError in line 12. It is not written yet; put your code there.",
        ),
        (
            raised("SystemExit", "0"),
            "The call ended the program (sys.exit or exit) in line 12; return the answer instead.",
        ),
        (
            raised("TypeError", TOO_MANY, ()),
            f"It is called with 3 arguments by position (x, w, factor), but that fails: {TOO_MANY}.",
        ),
        (raised("TypeError", "bad operand"), "It raised TypeError in line 12: bad operand."),
        (
            raised("ValueError", "assignment destination is read-only"),
            (
                "It raised ValueError in line 12: assignment destination is read-only. Leave the arguments "
                "as they are, and write into a copy."
            ),
        ),
        (
            raised("PermissionError", "[Errno 13] Permission denied: 'w.npy'"),
            (
                "It raised PermissionError in line 12: [Errno 13] Permission denied: 'w.npy'. Files can't be "
                "opened here; the arguments are all there is."
            ),
        ),
        (StepOutcome("timed_out", detail="the call took more than 5 s"), "The call took more than 5 s."),
        (StepOutcome("crashed", detail="the process ended by signal 11"), "The process ended by signal 11."),
        (StepOutcome("not_run", detail="not run after 3 time-outs"), "Not run after 3 time-outs."),
        (StepOutcome("out_of_memory"), "Memory ran out."),
        (
            StepOutcome("out_of_memory", detail="killed by the kernel"),
            "Memory ran out: killed by the kernel.",
        ),
        (
            StepOutcome("out_of_memory", failure=Failure("MemoryError", "no 9 GiB", (), ((4, "f"),))),
            "Memory ran out in line 4 (the limit is 1024 MiB): no 9 GiB.",
        ),
    ],
)
def test_a_call_that_gave_no_answer(outcome: StepOutcome, said: str) -> None:
    assert call_message(outcome, EXERCISE) == said


def loaded(**keys: Any) -> LoadOutcome:
    return LoadOutcome(**({"state": "returned", "found": True, "callable": True, "type": "function"} | keys))


def failed(
    kind: str,
    message: str = "",
    *,
    bases: Any = (),
    frames: Any = ((7, "<module>"),),
    line: int | None = None,
) -> LoadOutcome:
    return LoadOutcome("raised", failure=Failure(kind, message, bases, frames, line))


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (loaded(), None),
        (loaded(callable=False, type="int"), "row_scale is an int; expected a function that can be called."),
        (
            loaded(callable=False, type="module"),
            "row_scale is a module; expected a function that can be called.",
        ),
        (
            loaded(found=False, callable=False, names=("np", "rowScale")),
            "The file defines no row_scale; did you mean to rename rowScale?",
        ),
        (
            loaded(found=False, callable=False, names=("np", "_private", "solve")),
            "The file defines no row_scale; it defines np, solve.",
        ),
        (loaded(found=False, callable=False), "The file defines no row_scale; it defines nothing."),
        (
            LoadOutcome("timed_out", detail="loading took more than 5 s"),
            "Loading took more than 5 s: is there a loop or a slow self-test outside every function?",
        ),
        (
            LoadOutcome("crashed", detail="the process ended by signal 9"),
            "The file can't be loaded: the process ended by signal 9.",
        ),
        (
            LoadOutcome("out_of_memory", failure=Failure("MemoryError", "")),
            "Memory ran out while the file was loaded.",
        ),
        (
            failed("SystemExit"),
            (
                "The file ends the program (sys.exit or exit) in line 7 before it can be graded; "
                'put that under if __name__ == "__main__":.'
            ),
        ),
        (failed("SyntaxError", "invalid syntax", line=3), "Line 3 is not valid Python: invalid syntax."),
        (failed("ImportError", "no tensorflow here"), "An import fails in line 7: no tensorflow here."),
        (
            failed("ModuleNotFoundError", "No module named 'x'", bases=("ImportError", "Exception")),
            "An import fails in line 7: No module named 'x'.",
        ),
        (
            failed("ZeroDivisionError", "division by zero"),
            "Loading the file raised ZeroDivisionError in line 7: division by zero.",
        ),
        (None, "The file could not be examined: its code is too large or nested too deeply."),
    ],
)
def test_a_file_that_can_or_can_not_be_graded(load: Any, said: str | None) -> None:
    assert load_message(load, {}, EXERCISE) == said


def test_a_syntax_error_of_the_report_is_told_first() -> None:
    report = {"syntax_error": {"line": 4, "message": "'(' was never closed"}}
    assert load_message(None, report, EXERCISE) == "Line 4 is not valid Python: '(' was never closed."


texts = st.text(max_size=2000)
failures = st.none() | st.builds(
    Failure,
    st.sampled_from(["ValueError", "TypeError", "SystemExit", "ImportError", "Evil"]),
    texts,
    st.just(()),
    st.lists(st.tuples(st.integers(0, 10**6), texts), max_size=3).map(tuple),
    st.none() | st.integers(0, 10**6),
)


@given(st.sampled_from(sorted(STATE_VERDICTS)), failures, texts)
def test_any_failure_is_told_in_one_line_of_bounded_length(
    state: Any, failure: Failure | None, detail: str
) -> None:
    if state == "raised" and failure is None:
        return
    said = call_message(StepOutcome(state, failure=failure, detail=detail[:100]), EXERCISE)
    assert said
    assert len(said) < 800
    if failure is not None and state == "raised":
        assert "\n" not in said


@given(failures.filter(bool), st.sampled_from(["raised", "out_of_memory"]))
def test_any_failure_to_load_is_told_in_one_line(failure: Failure, state: Any) -> None:
    said = load_message(LoadOutcome(state, failure=failure), {}, EXERCISE)
    assert said
    assert "\n" not in said
    assert len(said) < 800


# --- a text that has parts ----------------------------------------------------------------------------

NOTEBOOK = Positions(
    [
        Part("cell", "cell 1", 1, 3),
        Part("cell", "cell 3", 4, 2),
        Part("module", "heads.py", 6, 9, "heads"),
    ]
)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (((5, "f"),), "It raised ValueError in cell 3, line 2."),
        (((5, "f"), (8, "g")), "It raised ValueError in heads.py, line 3."),
        ((), "It raised ValueError."),
    ],
)
def test_a_call_names_the_part_and_the_line_in_it(frames: Any, said: str) -> None:
    assert call_message(raised("ValueError", "", frames), EXERCISE, NOTEBOOK) == said


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Failure("SyntaxError", "no", line=5), "Cell 3, line 2 is not valid Python: no."),
        (Failure("SyntaxError", "no (a b.py, line 5)", line=5), "Cell 3, line 2 is not valid Python: no."),
        (Failure("SyntaxError", "no", line=6), "heads.py, line 1 is not valid Python: no."),
        (
            Failure("KeyError", "1", (), ((2, "<module>"),)),
            "Loading the file raised KeyError in cell 1, line 2: 1.",
        ),
    ],
)
def test_loading_names_the_part_and_the_line_in_it(failure: Failure, said: str) -> None:
    assert load_message(LoadOutcome("raised", failure=failure), {}, EXERCISE, NOTEBOOK) == said


def test_a_syntax_error_of_the_report_names_the_part() -> None:
    report = {"syntax_error": {"line": 7, "column": 1, "message": "no"}}
    said = load_message(None, report, EXERCISE, NOTEBOOK)
    assert said == "heads.py, line 2 is not valid Python: no."


def test_cells_that_ended_early_are_noted() -> None:
    failures = (
        (1, Failure("ZeroDivisionError", "division by zero", (), ((2, "<module>"),))),
        (1, Failure("ImportError", "no", (), ((2, "<module>"), (8, "<module>")))),
        (4, Failure("SystemExit", "", (), ((4, "<module>"),))),
        (4, Failure("RecursionError", "too deep")),
    )
    rest = "the rest of the cell was passed over, the next cells ran."
    assert load_notes(loaded(failures=failures), {}, NOTEBOOK) == (
        f"Cell 1, line 2 raised ZeroDivisionError: division by zero; {rest}",
        f"Cell 1 raised ImportError in heads.py, line 3: no; {rest}",
        "Cell 3, line 1 ends the cell with exit; the next cells ran all the same.",
        f"Cell 3 raised RecursionError: too deep; {rest}",
    )
    # Where the entry point is missing, the message says it all.
    assert load_notes(loaded(failures=failures, callable=False), {}, NOTEBOOK) == ()
    assert load_notes(None, {}, NOTEBOOK) == () == load_notes(loaded(), {}, NOTEBOOK)


def test_a_cell_that_is_no_python_is_noted_once() -> None:
    failures = ((1, Failure("SyntaxError", "invalid syntax", line=3)),)
    broken = [
        {"name": "cell 1", "line": 3, "column": 1, "message": "invalid syntax"},
        {"name": "cell 3", "line": 4, "column": 1, "message": "never closed"},
    ]
    assert load_notes(loaded(failures=failures), {"broken_cells": broken}, NOTEBOOK) == (
        "Cell 1, line 3 is not valid Python: invalid syntax; that cell was passed over.",
        "Cell 3, line 1 is not valid Python: never closed; that cell was passed over.",
    )


def test_notes_are_few() -> None:
    positions = Positions([Part("cell", f"cell {n}", n, 1) for n in range(1, 40)])
    failures = tuple((n, Failure("KeyError", "x" * 900, (), ((n, "f"),))) for n in range(1, 40))
    notes = load_notes(loaded(failures=failures), {}, positions)
    assert len(notes) < 12 and notes[-1] == "31 more cells were passed over."
    assert all(len(note) < 300 for note in notes)
