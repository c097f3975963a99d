"""What a terminal shows is safe, fits its window, and says the same as the record."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from terminals import HOSTILE_TEXTS, case, failing, result, shown

from grader.report.figures import points
from grader.report.terminal.batch import batch_summary
from grader.report.terminal.console import console, show, words
from grader.report.terminal.matrices import MAX_ROWS, cell, side_by_side
from grader.report.terminal.submission import check_line, check_report
from grader.result import (
    ONLY_FILE,
    Adjustment,
    Isolation,
    Output,
    PolicyResult,
    Result,
    SubmissionInfo,
    Violation,
)


@pytest.mark.parametrize(
    ("number", "text"), [(None, "–"), (0.0, "0"), (2.0, "2"), (2.5, "2.5"), (1 / 3, "0.3333"), (100.0, "100")]
)
def test_points_are_shown_without_needless_zeros(number: float | None, text: str) -> None:
    assert points(number) == text


def test_a_changed_argument_is_shown_before_and_after_the_call() -> None:
    changed = {"name": "x", "before": [[1.0, 2.0]], "after": [[1.0, 4.5]]}
    text = shown(result(failing(1, verdict="input_mutated", details={"changed": changed})))
    lines = text.splitlines()
    at = lines.index("x:")
    assert lines[at + 1].split() == ["before", "the", "call", "after", "the", "call"]
    assert lines[at + 2].split() == ["1", "2", "1", "4.5"]
    part = {"shape": [90, 90], "at": [], "first": [7, 30], "obtained": [[1, 2]], "expected": [[1, 3]]}
    text = shown(result(failing(1, details={"changed": {"name": "x", "part": part}})))
    assert "x:" in text.splitlines() and ["1", "3", "1", "2"] in [line.split() for line in text.splitlines()]
    for odd in ({}, {"name": 3}, {"part": 3}, {"before": [[1]], "after": [1, [2]]}, {"after": "<i>"}):
        shown(result(failing(1, details={"changed": odd})))


def test_a_verdict_is_shown_in_words() -> None:
    assert words("output_aliases_input") == "output aliases input"


def test_the_headline_names_submission_status_and_points() -> None:
    first, second, *_ = shown(result(case(), failing(2))).splitlines()
    assert first.strip() == "Ann  ✗ failed  1 of 2 points" and second.strip() == "A sentence."


def test_clauses_stand_in_the_statements_order_each_once() -> None:
    record = result(case(1), failing(2, clause="scale"), case(3), case(4, clause="scale"))
    lines = [line.split() for line in shown(record).splitlines()]
    fails = ["✗", "fails", "Scale", "scale", "1/2", "1/2"]
    holds = ["✓", "holds", "Product", "product", "2/2", "2/2"]
    assert [line for line in lines if line in (fails, holds)] == [fails, holds]


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        (("passed", "passed"), "✓ holds"),
        (("passed", "raised"), "✗ fails"),
        (("passed", "skipped"), "– skipped"),
        (("skipped", "skipped"), "– skipped"),
        (("skipped", "timed_out"), "✗ fails"),
        (("grader_fault", "grader_fault"), "? fault"),
    ],
)
def test_a_clause_holds_only_where_all_its_checks_passed(verdicts: tuple[Any, ...], told: str) -> None:
    cases = [failing(n, verdict=v) if v != "passed" else case(n) for n, v in enumerate(verdicts)]
    (line,) = [text for text in shown(result(*cases)).splitlines() if "Product" in text]
    assert line.split()[:2] == told.split()


def test_the_first_failing_check_is_explained_and_the_rest_counted() -> None:
    record = result(case(1), failing(2, hint="Try it."), failing(3, message="Another."), failing(4))
    text = shown(record)
    assert "✗ case_2  A title  (wrong value)" in text and "hint     Try it." in text
    assert "Another." not in text and "2 more failing checks: case_3, case_4" in text
    every = shown(record, show_all=True)
    assert "Another." in every and "more failing" not in every


def test_hidden_checks_are_counted_and_never_explained() -> None:
    secret = failing(1, visibility="hidden", message="SECRET", hint="SECRET", title="SECRET", id="SECRET")
    for show_all in (True, False):
        text = shown(result(secret, failing(2), failing(3), failing(4)), show_all=show_all)
        assert "SECRET" not in text and "1 hidden check fails too" in text
        assert ("2 more failing checks: case_3, case_4" in text) != show_all
        text = shown(result(secret, secret, case(2)), show_all=show_all)
        assert "2 hidden checks fail" in text.splitlines() and "more failing" not in text


def test_many_failing_checks_are_listed_once_and_cut() -> None:
    text = shown(result(*[failing(n) for n in range(12)]), width=200)
    assert "11 more failing checks: case_1, case_2, case_3, case_4, case_5, case_6, case_7, case_8 … " in text
    assert all(text.count(f"case_{n}") == (n < 9) for n in (0, 2, 3, 8, 9, 11))


def test_drawn_checks_are_explained_last() -> None:
    text = shown(result(failing(1, drawn=True), failing(2)))
    assert "✗ case_2" in text and "1 more failing check: case_1" in text


def test_what_is_not_counted_is_explained_each_reason_once() -> None:
    built_on = "Not counted, since case_1 did not pass."
    record = result(
        failing(1),
        *[failing(n, verdict="skipped", message=built_on) for n in (2, 3, 4)],
        failing(5, verdict="skipped", message="Not run after 3 time-outs."),
        *[failing(n, verdict="skipped", visibility="hidden", message="SECRET") for n in (6, 7)],
    )
    lines = shown(record).splitlines()
    assert [line for line in lines if line.startswith("–")] == [
        "– 3 not counted, since case_1 did not pass.",
        "– 2 hidden not counted",
        "– 1 not counted: Not run after 3 time-outs.",
    ]
    assert not any(line.startswith("–") for line in shown(result(case(1), failing(2))).splitlines())


def test_the_isolation_is_named_last() -> None:
    loose = Isolation("none", ("process", "resource limits"))
    for record in (
        result(case()),
        result(failing()),
        result(failing(verdict="skipped"), status="not_loadable"),
        result(failing(verdict="grader_fault"), status="grader_fault", score=None),
    ):
        assert shown(record).splitlines()[-1] == "isolation: full (seccomp)"
        last = " ".join(shown(replace(record, isolation=loose)).splitlines()[-2:])
        assert last == f"isolation: none (process, resource limits); {loose.warning}"
    assert "for checking one's own work only" in loose.warning
    assert shown(result(case(), isolation=Isolation("partial", ()))).splitlines()[-1] == "isolation: partial"


SNIPPET = {"snippet": "import numpy"}


@pytest.mark.parametrize("width", [20, 80, 300])
def test_the_line_that_reproduces_a_check_is_one_line_in_any_window(width: int) -> None:
    command = (
        "grader check 'a folder/with blanks/ann.py' --exercise row_scale --root '/home/of all/exercises'"
    )
    text = shown(result(failing(1, details=SNIPPET)), width=width, command=command)
    assert f"reproduce it: {command} --case case_1 --snippet" in text.splitlines()


def test_without_a_command_the_reproducing_line_names_the_path() -> None:
    record = result(
        failing(1, details=SNIPPET), submission=SubmissionInfo("ann", "Ann", (), "a b/ann.py", "sha256:1")
    )
    assert "reproduce it: grader check 'a b/ann.py' --case case_1 --snippet" in shown(record).splitlines()
    assert "reproduce it" not in shown(result(failing(1)))


@pytest.mark.parametrize("path", ["Week 3_dee_attempt_2026-10-03-00-05-00_a.py", "samples.jsonl:3"])
def test_the_reproducing_line_names_the_file_as_the_student_called_it(path: str) -> None:
    named = SubmissionInfo("dee", "Dee", (), path, "sha256:1", file="a.py")
    text = shown(result(failing(1, details=SNIPPET), submission=named))
    assert "reproduce it: grader check a.py --case case_1 --snippet" in text.splitlines()
    assert path not in text


@pytest.mark.parametrize("path", ["/tmp/ipykernel_777/1234567.py", "<stdin>"])
def test_no_line_reproduces_a_check_of_a_live_function(path: str) -> None:
    live = SubmissionInfo("f", "f", ("f",), path, "")
    text = shown(result(failing(1, details=SNIPPET), submission=live))
    assert "case_1" in text and "reproduce it" not in text and path not in text


def test_no_line_ends_in_blanks() -> None:
    details = {
        "inputs": [{"name": "x", "dtype": "float64", "shape": [1, 1], "values": [[1.0]]}],
        "obtained": [[1.0, 2.0]],
        "expected": [[10.5, 2.0]],
        "worst": [{"index": [0, 0], "obtained": 1.0, "expected": 10.5}],
        "stdout": "printed   \nmore\n",
        **SNIPPET,
    }
    for record in (result(case(1), failing(2, details=details), failing(3)), result(case(1))):
        for line in shown(record, show_all=True).splitlines():
            assert line == line.rstrip(" ")
    for line in summary(result(case()), result(failing())).splitlines():
        assert line == line.rstrip(" ")


@pytest.mark.parametrize("empty", [[], [[]], [[], []]])
def test_an_answer_without_elements_is_said_to_have_none(empty: list[Any]) -> None:
    text = shown(result(failing(1, details={"obtained": [[1.0]], "expected": empty})))
    assert text.split().index("expected") < text.split().index("none")


@pytest.mark.parametrize("width", [10, 80])
def test_a_single_number_keeps_its_titles(width: int) -> None:
    details = {"obtained": [[1.0]], "expected": [[2.0]]}
    words = shown(result(failing(1, details=details)), width=width).split()
    assert words.index("obtained") < words.index("expected")


def test_inputs_are_shown_with_seven_digits() -> None:
    values = [[float(np.float32(0.2)), -1.5], [1234567.0, float("1e-30")]]
    inputs = [{"name": "x", "dtype": "float32", "shape": [2, 2], "values": values}]
    text = shown(result(failing(1, details={"inputs": inputs})))
    assert "x = [[0.2, -1.5], [1234567, 1e-30]]" in text


def test_inputs_answers_and_the_largest_errors_are_shown() -> None:
    details = {
        "inputs": [
            {"name": "x", "dtype": "float64", "shape": [1, 2], "values": [[1.0, 2.0]]},
            {"name": "w", "dtype": "float64", "shape": [50, 40]},
            {"name": "factor", "value": 3},
        ],
        "obtained": [[0.123456789, float(n)] for n in range(20)],
        "expected": [[0.5, "nan"]] * 20,
        "worst": [{"index": [3, 1], "obtained": 3.0, "expected": "nan"}],
        "stdout": "printed text\n",
        "snippet": "import numpy",
    }
    text = shown(result(failing(1, details=details)))
    for expected in (
        "x = [[1, 2]]",
        "w: float64 (50, 40)",
        "factor = 3",
        "0.12346",
        "obtained",
        "expected",
        "(3, 1)",
        "printed text",
        "--case case_1 --snippet",
        "…",
    ):
        assert expected in text


def test_a_traceback_shows_the_students_own_lines() -> None:
    details = {"traceback": [[2, "f"], [99, "g"]], "exception": "ValueError: no"}
    text = shown(result(failing(1, verdict="raised", details=details)), source="a = 1\n    b = 1 / 0\n")
    assert "line 2, in f" in text and "b = 1 / 0" in text and "line 99, in g" in text
    assert "ValueError: no" in text


def test_policy_notes_and_adjustments_are_shown() -> None:
    violation = Violation("softmax", "torch.softmax", 3, 1, "static", "Line 3 uses torch.softmax.")
    record = result(
        case(),
        policy=PolicyResult("violated", (violation,)),
        adjustments=(Adjustment("a banned helper is used", -1.0),),
        notes=("A note.",),
    )
    text = shown(record)
    for expected in ("Line 3 uses torch.softmax.", "−1 point  a banned helper is used", "A note."):
        assert expected in text


def test_output_of_a_file_that_could_not_be_loaded_is_shown() -> None:
    record = result(
        failing(verdict="skipped"), status="not_loadable", output=Output("before the end\n", "and an error\n")
    )
    text = shown(record)
    assert "before the end" in text and "and an error" in text


@given(HOSTILE_TEXTS, st.integers(20, 100))
def test_no_text_of_a_submission_acts_on_the_terminal(text: str, width: int) -> None:
    details = {"traceback": [[1, text]], "exception": text, "stdout": text, "stderr": text}
    record = result(
        failing(1, verdict="raised", message=text, details=details, title=text),
        submission=SubmissionInfo("ann", text, (text,), text, ""),
        message=text,
        notes=(text,),
        adjustments=(Adjustment(text, -1.0),),
        policy=PolicyResult("violated", (Violation("r", text, 1, 1, "static", text),)),
    )
    out = shown(record, width=width, source=text)
    out.encode("utf-8")
    assert not set(out) & (set(map(chr, range(32))) - {"\n"}) and not set(out) & set("\u202e\u200b\x9b\x7f")


def test_square_brackets_are_no_markup() -> None:
    assert "[red]x[/red] [/]" in shown(result(failing(message="[red]x[/red] [/]")))


LONG = "a_rather_long_name_without_any_blank_in_it_" * 3


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_longer_than_the_window(width: int) -> None:
    details = {
        "inputs": [{"name": "x", "dtype": "float64", "shape": [2, 3]}],
        "obtained": [[0.1, 0.2, 0.3]] * 2,
        "expected": [[0.1, 0.2, 0.3]] * 2,
        "stdout": LONG,
        "exception": LONG,
        "traceback": [[1, "f"]],
    }
    record = result(
        failing(1, message=LONG, title=LONG, hint=LONG, details=details), message=LONG, notes=(LONG,)
    )
    text = shown(record, width=width, source=LONG, show_all=True)
    assert max(map(len, text.splitlines())) <= width


def test_colour_is_used_where_it_is_seen() -> None:
    assert "\x1b[" in shown(result(failing()), color=True) and "\x1b[" not in shown(result(failing()))


def summary(*records: Result, seconds: float = 2.0, graded: int = 2) -> str:
    out = io.StringIO()
    show(Console(file=out, width=80), batch_summary(records, seconds, graded))
    return out.getvalue()


def test_the_summary_counts_each_status_and_leaves_faults_out_of_the_mean() -> None:
    fault = result(failing(verdict="grader_fault"), status="grader_fault", score=None)
    text = summary(result(case()), result(failing()), fault)
    rows = [line.split() for line in text.splitlines()]
    for row in (["✓", "passed", "1"], ["✗", "failed", "1"], ["?", "grader", "fault", "1"]):
        assert row in rows
    assert "mean score 0.5 of 1" in text and "2 graded in 2.0 s" in text and "1 kept" in text


def test_the_mean_has_two_decimals_as_on_the_class_page() -> None:
    third = [result(case(), score=score) for score in (1.0, 1.0, 0.0)]
    assert "mean score 0.67 of 1" in summary(*third)


def test_the_summary_of_nothing_new_has_no_rate() -> None:
    text = summary(result(case()), seconds=0.0, graded=0)
    assert "1 kept from earlier runs" in text and "graded" not in text and "a second" not in text
    assert "mean" not in summary(graded=0)


def test_a_file_that_was_chosen_among_others_is_told_with_its_rule() -> None:
    chosen = SubmissionInfo("ann", "Ann", ("Ann",), "ann/final.py", "", rule="the only file that defines f")
    assert "file: final.py, the only file that defines f\n" in shown(result(case(), submission=chosen))
    alone = replace(chosen, rule=ONLY_FILE)
    assert "file:" not in shown(result(case(), submission=alone))


# --- every window, with and without colour ----------------------------------------------------

sentences = st.lists(
    st.text("abcdefgh", min_size=1, max_size=30) | st.just(LONG), min_size=1, max_size=12
).map(" ".join)
some_verdict = st.sampled_from(("passed", "wrong_value", "raised", "timed_out", "skipped"))
numbers = st.lists(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2), min_size=1, max_size=2),
    min_size=1,
    max_size=4,
)


@st.composite
def records(draw: st.DrawFn) -> Result:
    """A record with cases of all kinds, in clauses with titles of any length."""
    titles = {name: draw(sentences) for name in ("scale", "product")}
    cases = []
    for number in range(draw(st.integers(1, 4))):
        changes: dict[str, Any] = {"clause": draw(st.sampled_from(("scale", "product")))}
        changes["title"] = draw(sentences)
        verdict = draw(some_verdict)
        if verdict == "passed":
            cases.append(case(number, **changes))
            continue
        details = {
            "obtained": draw(numbers),
            "expected": draw(numbers),
            "worst": [{"index": [0, 0, 0], "obtained": 1.5, "expected": 2.5}],
            "inputs": [{"name": "x", "dtype": "float64", "shape": [1, 2], "values": [[1.0, 2.0]]}],
            "stdout": draw(sentences),
            **SNIPPET,
        }
        changes |= {"message": draw(sentences), "hint": draw(sentences), "details": details}
        cases.append(failing(number, verdict=verdict, **changes))
    made = result(*cases, message=draw(sentences), notes=(draw(sentences),))
    given = (Adjustment(draw(sentences), draw(st.sampled_from((-2.5, 1.0)))),)
    return replace(made, adjustments=given, exercise={**made.exercise, "clauses": titles})


@given(records(), st.integers(20, 200), st.booleans())
def test_in_any_window_lines_fit_and_words_say_what_signs_do(
    record: Result, width: int, show_all: bool
) -> None:
    lines = shown(record, width=width, show_all=show_all).splitlines()
    # A command is there to be copied.
    assert all(len(line) <= width for line in lines if not line.startswith("reproduce it: "))
    text = "\n".join(lines)
    for clause in {c.clause for c in record.cases}:
        found = [c for c in record.cases if c.clause == clause]
        word = "✗ fails" if any(c.failed for c in found) else "– skipped"
        if not all(c.verdict == "passed" for c in found):
            assert word in text
    assert text.count("✗ fails") == len({c.clause for c in record.cases if c.failed})
    sign = "✓ passed" if record.status == "passed" else "✗ failed"
    assert sign in " ".join(text.split())


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_no_color_leaves_no_escapes(monkeypatch: pytest.MonkeyPatch, terminal: str) -> None:
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    told = []
    for value in ("", "1"):
        monkeypatch.setenv("NO_COLOR", value)
        out = io.StringIO()
        made = console()
        made.file = out
        show(made, check_report(result(case(), failing(2, details=SNIPPET))))
        told.append(out.getvalue())
    assert ("\x1b[" in told[0]) == (terminal != "dumb") and "\x1b" not in told[1]


@pytest.mark.parametrize("width", [30, 100])
def test_a_terminal_that_can_do_nothing_has_its_own_width_too(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", str(width))
    made = console()
    made.file = out = io.StringIO()
    show(made, check_report(result(failing(message="word " * 60))))
    assert width - 5 < max(map(len, out.getvalue().splitlines())) <= width and "\x1b" not in out.getvalue()


# --- parts, prints, points by hand -------------------------------------------------------------


def printed(call: int, of: int, stdout: str, stderr: str = "") -> dict[str, Any]:
    return {"call": call, "of": of, "stdout": stdout, "stderr": stderr}


def test_a_part_shows_all_prints_call_by_call_also_of_checks_that_pass() -> None:
    many = "".join(f"line {n}\n" for n in range(40))
    cases = (
        case(1, details={"printed": [printed(1, 2, "first\n"), printed(2, 2, "", "second\n")]}),
        failing(2, details={"printed": [printed(1, 1, many)], "stdout": many}),
        case(3),
    )
    record = result(*cases, output=Output(f"loading\nfirst\n{many}", "second\n"))
    told = shown(record, checks=9)
    assert "This is a part of the checks: 3 of 9." in told
    lines = told.splitlines()
    at = lines.index("printed while the file was loaded:")
    assert lines[at + 1] == "  loading" and lines[at + 2] == ""
    at = lines.index("✓ case_1  A title  (passed)")
    assert lines[at + 1 : at + 5] == [
        "printed in call 1 of 2:",
        "  first",
        "printed to stderr in call 2 of 2:",
        "  second",
    ]
    assert all(told.count(f"  line {n}\n") == 1 for n in range(40))
    assert "✓ case_3  A title  (passed)" in lines
    lost = replace(record, output=replace(record.output, truncated=True))
    assert "More was printed than is kept" in shown(lost, checks=9) and "More was" not in told


def test_a_whole_run_shows_prints_in_short_and_says_how_to_see_all() -> None:
    many = "".join(f"line {n}\n" for n in range(40))
    told = shown(result(failing(1, details={"stdout": many})))
    assert "line 11\n" in told and "line 12" not in told
    assert "… 28 more lines (--case ID shows all)" in told and "part of the checks" not in told


def test_that_it_is_a_part_is_said_of_the_first_of_several_submissions() -> None:
    record = result(failing(1), case(2))
    assert "This is a part of the checks: 2 of 9." in shown(record, checks=9)
    assert "part of the checks" not in shown(record, checks=9, again=True)
    assert "✓ case_2" in shown(record, checks=9, again=True)


def test_a_mistake_that_is_named_after_a_part_of_the_checks_is_less_sure() -> None:
    page = {"id": "m", "title": "M", "clause": "product", "what": "a", "why": "b", "looks": "", "instead": ""}
    found = {"ids": ["m"], "title": "M", "clause": "product", "fits": 1, "of": 1, "told_by": "values"}
    found |= {"message": "This explains the answers of 1 of 1 case.", "pages": [page]}
    told = "of 9; what explains these need not explain the others."
    assert told in " ".join(shown(result(failing(1), diagnoses=(found,)), checks=9).split())
    for told_by in ({"told_by": "verdict"}, None):
        diagnoses = (found | told_by,) if told_by else ()
        assert told not in " ".join(shown(result(failing(1), diagnoses=diagnoses), checks=9).split())


def test_every_failing_check_of_a_part_is_explained() -> None:
    record = result(
        failing(1), failing(2, message="Another."), failing(3, hint="Twice."), failing(4, hint="Twice.")
    )
    told = shown(record, checks=9)
    assert "Another." in told and "more failing" not in told
    assert told.count("hint     Twice.") == 1


def test_where_hidden_checks_were_not_run_it_is_said() -> None:
    record = result(failing(1))
    visible = replace(record, exercise={**record.exercise, "visible_only": True})
    assert "Hidden checks were not run here." in shown(visible)
    assert "not run here" not in shown(record) and "not run here" not in shown(visible, checks=3)


def test_points_that_are_given_are_green_and_points_that_are_taken_red() -> None:
    record = result(case(), adjustments=(Adjustment("late", -2.5), Adjustment("a fine comment", 1.0)))
    assert "−2.5 points  late\n+1 point  a fine comment\n" in shown(record)
    colored = shown(record, color=True)
    assert "\x1b[31m−2.5 points\x1b[0m" in colored and "\x1b[32m+1 point\x1b[0m" in colored


def test_quiet_is_one_line_with_id_status_and_points() -> None:
    fault = result(failing(verdict="grader_fault"), status="grader_fault", score=None)
    for record, line in (
        (result(case()), "ann  ✓ passed  1 of 1 points"),
        (result(failing()), "ann  ✗ failed  0 of 1 points"),
        (fault, "ann  ? grader fault  – of 1 points"),
    ):
        assert check_line(record).plain == line


# --- answers of three axes ---------------------------------------------------------------------


def test_of_an_answer_of_three_axes_the_matrices_that_differ_are_shown_first() -> None:
    right = [[[float(10 * n + m)] * 2 for m in range(2)] for n in range(4)]
    wrong = [[list(row) for row in matrix] for matrix in right]
    wrong[2][1][0] = 99.0
    told = shown(result(failing(1, details={"obtained": wrong, "expected": right}))).splitlines()
    (at,) = [n for n, line in enumerate(told) if line.split() == ["obtained[2]", "expected[2]"]]
    assert told[at + 2].split() == ["99", "21", "21", "21"]
    assert any(line.split() == ["obtained[0]", "expected[0]"] for line in told[at:])
    assert "… 2 more matrices" in told


@pytest.mark.parametrize("obtained", [[1.0], [[[1.0]]], [[[[2.0]]]], [], [[[1.0, 2.0], [3.0]]]])
def test_answers_with_different_numbers_of_axes_are_both_shown(obtained: Any) -> None:
    told = shown(result(failing(1, details={"obtained": obtained, "expected": [[[5.0, 6.0]]] * 3})))
    assert "expected[0]" in told and "5     6" in told
    assert ("obtained" in told) == (obtained != [[[1.0, 2.0], [3.0]]])  # ragged lists are no array


@given(
    matrix=st.integers(1, 9).flatmap(
        lambda columns: st.lists(
            st.lists(st.floats(width=32), min_size=columns, max_size=columns), min_size=1, max_size=10
        )
    ),
    width=st.integers(9, 120),
)
def test_a_number_is_whole_or_left_out_visibly(matrix: list[list[float]], width: int) -> None:
    out = io.StringIO()
    show(Console(file=out, width=width, highlight=False), side_by_side({"expected": matrix}))
    title, *lines = out.getvalue().splitlines()
    assert title.strip() == "expected" and all(len(line) <= width for line in lines)
    if "too wide" in out.getvalue():
        assert max(len(cell(row[0])) for row in matrix) > width - 3
        return
    rows = [line.split() for line in lines]
    shown_columns = len(rows[0]) - (rows[0][-1] == "…")
    assert shown_columns >= 1
    for row, told in zip(matrix[:MAX_ROWS], rows, strict=False):
        whole = [cell(value) for value in row[:shown_columns]]
        assert told == (whole if shown_columns == len(row) else [*whole, "…"])
    assert len(rows) == (len(matrix) if len(matrix) <= MAX_ROWS else MAX_ROWS + 1)
    assert len(matrix) <= MAX_ROWS or set(rows[-1]) == {"…"}
