"""The Result record: sums, skipped cases, policy effects, statuses, and what a student may see."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import right_answer

from grader.exercise.calls import read_plan
from grader.exercise.pack import Pack, PackCase
from grader.exercise.rehearsal import rehearse
from grader.judge.follow_up import choose, complete
from grader.judge.submission import MAX_DETAILED, Context, grader_fault, judge, not_loadable, rounded
from grader.outcomes import Execution, Failure, LoadOutcome, StepOutcome
from grader.result import Isolation, Result, SubmissionInfo
from judge.answering import KNOWN
from judge.made_up import EXERCISE, case, execution, pack_of, returned

INFO = SubmissionInfo("ann", "Ann", ("ann",), "ann.py", "sha256:1")
LOADED = LoadOutcome("returned", found=True, callable=True, type="function")
GOOD = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def context(pack: Pack, **keys: Any) -> Context:
    return Context(pack, INFO, Isolation("none", ("process",)), **keys)


def result_of(pack: Pack, function: Any = right_answer, **keys: Any) -> Result:
    return judge(context(pack), execution(pack, function, **keys))


def simple(*cases: PackCase, failing: set[str] = frozenset(), report: Any = None, **exercise: Any) -> Result:  # type: ignore[assignment]
    """Cases with one step each; those in ``failing`` give wrong values."""
    numbered = []
    steps: dict[str, list[StepOutcome]] = {}
    for one in cases:
        outcomes = steps.setdefault(one.visibility, [])
        numbered.append(dataclasses.replace(one, steps=(len(outcomes),), scale=6.0))
        outcomes.append(returned(GOOD + (one.id in failing)))
    pack = pack_of(*numbered, expected={c.id: GOOD for c in numbered})
    pack = dataclasses.replace(pack, exercise=dataclasses.replace(EXERCISE, **exercise))
    return judge(context(pack), Execution(report=report or {}, load=LOADED, steps=steps))


def verdicts(result: Result) -> dict[str, str]:
    return {c.id: c.verdict for c in result.cases}


def test_a_right_submission_gets_full_marks(pack: Pack) -> None:
    result = result_of(pack)
    assert (result.status, result.score, result.max_score) == ("passed", 8.5, 8.5)
    assert result.message == "All checks passed, the hidden ones too."
    assert set(verdicts(result).values()) == {"passed"}
    assert [c.id for c in result.cases] == [c.id for c in pack.cases]
    assert result.exercise["clauses"]["rows"] == "Separate rows"


@pytest.mark.parametrize(
    ("changes", "begin"),
    [
        ({}, "import numpy as np\nfrom ann import row_scale\n"),
        (
            {"path": "Week 3_dee_attempt_2026-10-03-00-05-00_scaling.py", "file": "scaling.py"},
            "import numpy as np\nfrom scaling import row_scale\n",
        ),
        (
            {"path": "testdee_4242_991_scaling.ipynb", "file": "scaling.ipynb"},
            "# A cell to run in the notebook, after those that define row_scale.\n",
        ),
        (
            {"path": "samples.jsonl:3", "file": "solution.py", "task": "row_scale"},
            "import numpy as np\nfrom solution import row_scale\n",
        ),
        ({"path": "class.zip/ann/my try.py"}, "import runpy\n\nimport numpy as np\n\nrow_scale = "),
        (
            {"path": "/tmp/ipykernel_777/1234567.py", "digest": ""},
            "# To be run where row_scale is the function that was checked.\nimport numpy as np\n",
        ),
        (
            {"path": "<stdin>", "digest": ""},
            "# To be run where row_scale is the function that was checked.\nimport numpy as np\n",
        ),
    ],
    ids=["plain", "blackboard", "canvas", "samples", "archive", "notebook_function", "typed_function"],
)
def test_the_snippets_of_a_page_name_the_file_as_the_student_called_it(
    stepped: Pack, changes: dict[str, str], begin: str
) -> None:
    info = dataclasses.replace(INFO, **changes)
    run = execution(stepped, KNOWN["no_factor"])
    result = judge(Context(stepped, info, Isolation("none", ("process",))), run)
    calls = choose(stepped, result)
    assert calls is not None
    outcomes = rehearse(KNOWN["no_factor"], calls.block, read_plan(calls.block))
    shown = complete(stepped, result, calls, outcomes, info.filename)
    assert shown.counterexample is not None
    texts = [c.details["snippet"] for c in shown.cases if "snippet" in c.details]
    assert len(texts) > 1
    for text in (*texts, shown.counterexample["snippet"]):
        assert text.startswith(begin)
        assert not any(name in text for name in ("attempt", "4242", "jsonl", ".zip", "ipykernel", "stdin"))


def test_a_students_pack_says_that_hidden_checks_were_not_run(student_pack: Pack) -> None:
    result = result_of(student_pack)
    assert result.status == "passed"
    assert result.message == "All visible checks passed; hidden checks were not run here."


def test_a_record_says_whether_hidden_checks_were_left_out(pack: Pack, student_pack: Pack) -> None:
    assert "visible_only" not in result_of(pack).exercise
    wrong = result_of(student_pack, KNOWN["no_factor"])
    assert wrong.exercise["visible_only"] is True
    assert " visible checks passed" in wrong.message


def test_the_broken_clauses_demands_are_in_the_record(pack: Pack) -> None:
    assert result_of(pack).demands == {}
    result = result_of(pack, lambda x, w, factor: factor * (x @ w) / (1 + (x * x).mean()))
    broken = {c.clause for c in result.cases if c.failed}
    assert result.demands == {n: c["text"] for n, c in pack.exercise.clauses.items() if n in broken}
    assert result.for_student().demands == result.demands


SOURCE = "import torch\n\n\ndef row_scale(x, w, factor):\n    y = x\n    return torch.softmax(y)\n"


def test_the_lines_of_findings_and_tracebacks_are_in_the_record(pack: Pack) -> None:
    done = execution(pack, right_answer, report={"violations": [VIOLATION | {"line": 1}]})
    failure = Failure("ValueError", "no", (), ((6, "row_scale"),))
    steps = {k: list(v) for k, v in done.steps.items()}
    steps["public"][0] = StepOutcome("raised", failure=failure)
    run = dataclasses.replace(done, steps=steps)
    result = judge(context(pack, source=SOURCE), run)
    assert [line.number for line in result.excerpt] == [1, 2, 3, 4, 5, 6]
    assert result.excerpt[5].text == "    return torch.softmax(y)"
    # Without the text, and where nothing refers to it, there are none.
    assert judge(context(pack), run).excerpt == ()
    assert judge(context(pack, source=SOURCE), execution(pack, right_answer)).excerpt == ()


@pytest.mark.parametrize(
    ("load", "report", "traceback", "lines"),
    [
        (None, {"syntax_error": {"line": 4, "column": 1, "message": "no"}}, [[4, ""]], [2, 3, 4, 5, 6]),
        (
            LoadOutcome("raised", failure=Failure("SyntaxError", "no (a.py, line 5)", line=5)),
            {},
            [[5, ""]],
            [3, 4, 5, 6],
        ),
        (
            LoadOutcome("raised", failure=Failure("KeyError", "'a'", frames=((1, "<module>"), (6, "f")))),
            {},
            [[1, "<module>"], [6, "f"]],
            [1, 2, 3, 4, 5, 6],
        ),
    ],
    ids=["not_python", "not_python_here", "raises"],
)
def test_where_loading_ended_is_in_the_record(
    pack: Pack, load: LoadOutcome | None, report: Any, traceback: Any, lines: list[int]
) -> None:
    result = judge(context(pack, source=SOURCE), Execution(report=report, load=load, steps={}))
    assert result.status == "not_loadable"
    assert result.loading["traceback"] == traceback
    assert result.loading["exception"].partition(":")[0] in ("SyntaxError", "KeyError")
    assert [line.number for line in result.excerpt] == lines


def test_a_hint_of_another_clause_than_the_mistakes_is_left_out(stepped: Pack) -> None:
    hinted = dataclasses.replace(
        stepped, cases=tuple(dataclasses.replace(c, hint=f"hint {c.id}") for c in stepped.cases)
    )
    result = result_of(hinted, KNOWN["no_factor"])
    clauses = result.diagnosed_clauses()
    assert clauses
    shown = {c.clause: bool(c.hint) for c in result.cases if c.failed}
    assert shown == {clause: clause in clauses for clause in shown}
    assert set(shown.values()) == {True, False}
    # The checks of that clause come first, and have the details.
    assert result.broken_clauses()[0] in clauses


@pytest.mark.parametrize("state", ["raised", "out_of_memory"])
def test_a_hint_stays_off_where_calls_of_several_clauses_give_no_answer(state: Any) -> None:
    names = ("rows", "b", "c")
    cases = [case(id=f"c{n}", hint="h", clause=names[n % 3], steps=(0,)) for n in range(6)]
    ended = StepOutcome(state, failure=Failure("ValueError", "no"))
    run = Execution(report={}, load=LOADED, steps={"public": [ended]})
    titles = {name: {"title": name, "text": ""} for name in names}
    for some, hint in ((cases, ""), (cases[:2], "h")):
        pack = pack_of(*some, expected={c.id: GOOD for c in some})
        pack = dataclasses.replace(pack, exercise=dataclasses.replace(EXERCISE, clauses=titles))
        assert {c.hint for c in judge(context(pack), run).cases} == {hint}


def test_a_wrong_submission_loses_its_cases_and_is_told_the_first_clause(pack: Pack) -> None:
    result = result_of(pack, lambda x, w, factor: factor * (x @ w) / (1 + (x * x).mean()))
    assert result.status == "failed"
    assert verdicts(result)["large_rows"] == "wrong_value"
    assert verdicts(result)["ones_row"] == "passed"
    passed = sum(v == "passed" for v in verdicts(result).values())
    assert result.message.startswith(f"{passed} of 9 checks passed; ")
    told = pack.exercise.clauses["scale"]
    assert result.message.endswith(f": Scale. {told['text']}")
    assert result.score == sum(c.points for c in result.cases)


def test_zeros_earn_nothing_but_the_points_of_what_needs_no_values(pack: Pack) -> None:
    result = result_of(pack, lambda x, w, factor: np.zeros((len(x), w.shape[1])))
    assert verdicts(result)["no_rows"] == verdicts(result)["x_kept"] == "skipped"
    assert result.score == 0


def test_where_nearly_every_check_fails_it_says_so_and_where_to_begin() -> None:
    cases = [case(id="s", visibility="hidden"), *[case(id=f"c{n}") for n in range(20)]]
    everything = {c.id for c in cases}
    said = simple(*cases, failing=everything).message
    assert said.startswith("0 of 21 checks passed; nearly every check fails")
    assert said.endswith("begin with c0.")
    assert "nearly every check fails" in simple(*cases, failing=everything - {"c4"}).message
    few = simple(*cases, failing={"c3", "c4"}).message
    assert "nearly" not in few and few.startswith("19 of 21 checks passed; what holds least: Separate rows.")


def test_where_only_hidden_checks_fail_none_is_named() -> None:
    said = simple(
        case(id="zq7", visibility="hidden"), case(id="zq8", visibility="hidden"), failing={"zq7", "zq8"}
    )
    assert "zq" not in said.message and said.message.startswith("0 of 2 checks passed")


def test_full_marks_with_a_failing_check_of_no_points_do_not_say_that_all_passed() -> None:
    result = simple(case(id="a"), case(id="b", points=0.0), failing={"b"})
    assert (result.status, result.score) == ("passed", 1)
    assert result.message.startswith("Full marks, but 1 of 2 checks passed; what holds least: Separate rows.")
    result = simple(case(id="a"), case(id="b", points=0.0))
    assert result.message == "All checks passed."


def test_full_marks_with_a_check_that_was_not_run_do_not_say_that_all_passed(pack: Pack) -> None:
    cases = (case(id="a", steps=(0,), scale=6.0), case(id="b", steps=(1,), points=0.0, scale=6.0))
    steps = {"public": [returned(GOOD), StepOutcome("not_run", detail="not run after 3 time-outs")]}
    made = pack_of(*cases, expected={"a": GOOD, "b": GOOD})
    result = judge(context(made), Execution(report={}, load=LOADED, steps=steps))
    assert (result.status, result.message) == ("passed", "Some checks were not run.")


# --- requires ---------------------------------------------------------------------------------


def test_what_requires_a_failed_case_is_skipped_also_through_others() -> None:
    cases = [
        case(id="a"),
        case(id="b", requires=("a",)),
        case(id="c", requires=("b",)),
        case(id="d", requires=("e", "c")),
        case(id="e"),
    ]
    result = simple(*cases, failing={"a"})
    assert verdicts(result) == {
        "a": "wrong_value",
        "b": "skipped",
        "c": "skipped",
        "d": "skipped",
        "e": "passed",
    }
    assert result.score == 1
    assert result.cases[2].message == "Not counted, since a did not pass."
    assert all(
        c.points == 0 and c.details == {} and c.hint == "" for c in result.cases if c.verdict == "skipped"
    )


def test_what_is_required_may_stand_later_or_be_left_out_of_the_pack() -> None:
    result = simple(case(id="a", requires=("b", "elsewhere")), case(id="b"))
    assert verdicts(result) == {"a": "passed", "b": "passed"}
    result = simple(case(id="a", requires=("b",)), case(id="b"), failing={"b"})
    assert verdicts(result) == {"a": "skipped", "b": "wrong_value"}


@given(st.data())
def test_a_case_counts_exactly_when_it_and_all_it_builds_on_pass(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 7))
    requires = [
        data.draw(st.lists(st.integers(0, n - 1), max_size=2, unique=True)) if n else [] for n in range(count)
    ]
    failing = data.draw(st.sets(st.integers(0, count - 1)))
    points = [data.draw(st.sampled_from([0, 0.1, 0.25, 1, 2.5])) for _ in range(count)]
    cases = [
        case(id=f"c{n}", requires=tuple(f"c{r}" for r in requires[n]), points=float(points[n]))
        for n in range(count)
    ]
    result = simple(*cases, failing={f"c{n}" for n in failing})

    def holds(n: int) -> bool:
        return n not in failing and all(holds(r) for r in requires[n])

    assert [c.verdict == "passed" for c in result.cases] == [holds(n) for n in range(count)]
    assert result.score == pytest.approx(sum(p for n, p in enumerate(points) if holds(n)), abs=1e-9)
    assert result.max_score == pytest.approx(sum(points), abs=1e-9)
    assert result.status == ("passed" if result.score == result.max_score else "failed")
    assert Result.from_dict(json.loads(result.to_json())) == result


def test_decimal_fractions_sum_as_one_writes_them() -> None:
    result = simple(*[case(id=f"c{n}", points=0.1) for n in range(3)])
    assert result.score == 0.3
    assert str(rounded(-0.0)) == "0.0"


# --- policy -----------------------------------------------------------------------------------

VIOLATION = {
    "rule": "softmax",
    "helper": "torch.softmax",
    "line": 12,
    "column": 4,
    "found": "static",
    "message": "m",
}


@pytest.mark.parametrize(
    ("effect", "score", "taken"),
    [
        ({"no_points": True}, 0.0, -3.0),
        ({}, 0.0, -3.0),
        ({"deduct": 1}, 2.0, -1.0),
        ({"deduct": 0.25}, 2.75, -0.25),
        ({"deduct": 10}, 0.0, -3.0),
        ({"cap": 1.5}, 1.5, -1.5),
        ({"cap": 3}, 3.0, 0.0),
        ({"cap": 10}, 3.0, 0.0),
        ({"cap": 0}, 0.0, -3.0),
        ({"note": True}, 3.0, None),
    ],
)
def test_a_violation_has_the_effect_of_the_exercise(effect: Any, score: float, taken: float | None) -> None:
    policy = {"effect": effect} if effect else {}
    cases = [case(id=f"c{n}") for n in range(4)]
    result = simple(*cases, failing={"c3"}, report={"violations": [VIOLATION]}, policy=policy)
    assert result.score == score
    assert result.policy.status == "violated"
    assert [a.points for a in result.adjustments] == ([] if taken is None else [taken])
    assert result.score == sum(c.points for c in result.cases) + sum(a.points for a in result.adjustments)
    if taken is not None:
        assert result.adjustments[0].reason == "a banned helper is used (torch.softmax, line 12)"
        costs = f"; this costs {'points' if score else 'all points'}" if taken else ""
        assert result.message == f"A banned helper is used (torch.softmax, line 12){costs}."


def test_a_right_submission_with_a_banned_helper_has_failed() -> None:
    result = simple(case(id="a"), report={"violations": [VIOLATION]})
    assert (result.status, result.score) == ("failed", 0)
    assert verdicts(result) == {"a": "passed"}


def test_a_suspicion_and_a_note_cost_nothing_and_suspicions_are_the_teachers() -> None:
    result = simple(case(id="a"), report={"suspicious": [VIOLATION], "notes": [{"message": "not used"}]})
    assert (result.status, result.score) == ("passed", 1)
    assert result.policy.status == "suspicious"
    assert result.notes == ("not used",)
    assert result.policy.suspicions and not result.for_student().policy.suspicions


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["line", "rule", "helper", "x"]), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    st.sampled_from(["violations", "suspicious", "notes", "syntax_error"]),
)
def test_a_report_of_any_form_gives_a_record(part: Any, key: str) -> None:
    result = simple(case(id="a"), report={key: part})
    assert result.status in ("passed", "failed", "not_loadable")
    json.loads(result.to_json())


# --- statuses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (
            LoadOutcome("raised", failure=Failure("ValueError", "x", (), ((2, "<module>"),))),
            "Loading the file raised ValueError in line 2: x.",
        ),
        (
            LoadOutcome("returned", found=False, names=("main",)),
            "The file defines no row_scale; it defines main.",
        ),
        (LoadOutcome("timed_out", detail="loading took too long"), "Loading took too long: is there a loop"),
        (None, "The file could not be examined"),
    ],
)
def test_a_file_that_can_not_be_loaded_has_no_points_and_every_case_is_skipped(
    pack: Pack, load: Any, said: str
) -> None:
    result = judge(context(pack), Execution(report={}, load=load, steps={}))
    assert (result.status, result.score, result.max_score) == ("not_loadable", 0, 8.5)
    assert result.message.startswith(said)
    assert [c.id for c in result.cases] == [c.id for c in pack.cases]
    assert set(verdicts(result).values()) == {"skipped"}


def test_a_file_that_can_not_be_read_says_why(pack: Pack) -> None:
    result = not_loadable(context(pack, notes=("a note",)), "The file is empty.")
    assert (result.status, result.score, result.message) == ("not_loadable", 0, "The file is empty.")
    assert result.notes == ("a note",)
    assert len(result.cases) == 9


def test_a_violation_in_a_file_that_can_not_be_loaded_takes_nothing_below_zero(pack: Pack) -> None:
    load = LoadOutcome("raised", failure=Failure("ValueError", "x"))
    result = judge(context(pack), Execution(report={"violations": [VIOLATION]}, load=load, steps={}))
    assert (result.status, result.score) == ("not_loadable", 0)


def test_a_fault_of_the_grader_is_no_mark(pack: Pack) -> None:
    result = grader_fault(context(pack), "the fork server is gone")
    assert (result.status, result.score, result.max_score) == ("grader_fault", None, 8.5)
    assert set(verdicts(result).values()) == {"grader_fault"}
    assert "costs nothing" in result.message
    assert "the fork server is gone" in result.message


def test_a_call_that_was_not_run_is_skipped_and_the_rest_counts(pack: Pack) -> None:
    done = execution(pack, right_answer)
    public = list(done.steps["public"])
    public[-1] = StepOutcome("not_run", detail="not run after 3 time-outs")
    result = judge(context(pack), dataclasses.replace(done, steps={**done.steps, "public": public}))
    assert verdicts(result)["x_kept"] == "skipped"
    assert (result.status, result.score, result.message) == ("failed", 7.5, "Some checks were not run.")


# --- inputs -----------------------------------------------------------------------------------


def test_an_argument_changed_in_any_call_costs_the_case_that_watches_it(pack: Pack) -> None:
    done = execution(pack, right_answer)
    for visibility, said in (("public", "In another check"), ("hidden", "In a hidden check")):
        steps = {k: list(v) for k, v in done.steps.items()}
        steps[visibility][0] = dataclasses.replace(steps[visibility][0], overwritten=frozenset({0}))
        result = judge(context(pack), dataclasses.replace(done, steps=steps))
        kept = next(c for c in result.cases if c.id == "x_kept")
        assert kept.verdict == "input_mutated"
        assert kept.message == f"{said} the call changed x; work on a copy."
        assert result.score == 7.5


# --- details and the student's view -----------------------------------------------------------


def test_only_failing_public_cases_have_details_and_only_the_first_few() -> None:
    cases = [case(id=f"c{n}", hint="h") for n in range(MAX_DETAILED + 2)] + [
        case(id="s", visibility="hidden", hint="h")
    ]
    pack = pack_of(*[dataclasses.replace(c, steps=(0,)) for c in cases])
    raised = StepOutcome("raised", failure=Failure("ValueError", "no"))
    steps = {"public": [raised], "hidden": [raised]}
    monkey = pytest.MonkeyPatch()
    monkey.setattr("grader.judge.submission.case_details", lambda *rest: {"inputs": []})
    with monkey.context():
        result = judge(context(pack), Execution(report={}, load=LOADED, steps=steps))
    monkey.undo()
    assert [bool(c.details) for c in result.cases] == [True] * MAX_DETAILED + [False] * 3
    assert {c.hint for c in result.cases} == {"h"}


@pytest.mark.parametrize("state", ["timed_out", "crashed", "not_run"])
def test_a_call_without_an_answer_has_no_hint_on_answers(state: Any) -> None:
    pack = pack_of(case(hint="Look at the divisor."), expected={"one": GOOD})
    steps = {"public": [StepOutcome(state, detail="it ended")]}
    (found,) = judge(context(pack), Execution(report={}, load=LOADED, steps=steps)).cases
    assert found.verdict != "passed" and found.hint == ""
    steps = {"public": [returned(GOOD + 1)]}
    (found,) = judge(context(pack), Execution(report={}, load=LOADED, steps=steps)).cases
    assert found.hint == "Look at the divisor."


def test_where_memory_runs_out_the_hint_of_the_case_is_shown() -> None:
    """What takes too much memory is often what the hint is about: an array that is far too large."""
    pack = pack_of(case(hint="One sum a row."), expected={"one": GOOD})
    steps = {"public": [StepOutcome("out_of_memory", failure=Failure("MemoryError", "9 GiB"))]}
    (found,) = judge(context(pack), Execution(report={}, load=LOADED, steps=steps)).cases
    assert (found.verdict, found.hint) == ("out_of_memory", "One sum a row.")


def test_a_passed_case_shows_neither_hint_nor_details(pack: Pack) -> None:
    for one in result_of(pack).cases:
        assert (one.hint, one.details) == ("", {})


MARKERS = ["MARKER_PRINTED", "MARKER_RAISED", "MARKER_WARNED"]


def leaking(x: Any, w: Any, factor: Any) -> StepOutcome:
    """Fails in every call with all it saw."""
    saw = f"{x.ravel()[:1].tolist() if x.size else ''}"
    return StepOutcome(
        "raised",
        failure=Failure("ValueError", f"MARKER_RAISED {saw}", (), ((5, "row_scale"),)),
        stdout=f"MARKER_PRINTED {saw}\n",
        stderr=f"MARKER_WARNED {saw}\n",
    )


def test_the_students_view_shows_of_hidden_cases_clause_verdict_and_points_only(pack: Pack) -> None:
    result = result_of(pack, leaking)
    seen = result.for_student()
    hidden = [c for c in seen.cases if c.visibility == "hidden"]
    assert [c.id for c in hidden] == ["hidden_01", "hidden_02", "hidden_03", "hidden_04"]
    for one in hidden:
        assert (one.group, one.title, one.error, one.hint, one.details) == ("hidden", "", None, "", {})
        assert one.clause in pack.exercise.clauses
        assert "MARKER" not in one.message
    text = json.dumps(seen.to_dict())
    for case_ in pack.cases:
        if case_.visibility == "hidden":
            assert f'"{case_.id}"' not in text
            assert not case_.title or case_.title not in text
            assert not case_.hint or case_.hint not in text
            first = dict(pack.arguments(case_))["x"].ravel()[:1].tolist()
            assert str(first) not in text, "an input of a hidden case"
            assert str(first) in json.dumps(result.to_dict()), "which the teacher's view does show"
    public = [c for c in seen.cases if c.visibility == "public"]
    assert any("MARKER_RAISED" in c.message for c in public)
    assert "MARKER_PRINTED" in seen.output.stdout
    assert seen.hidden_output.stdout == seen.hidden_output.stderr == ""
    assert "MARKER_PRINTED" in result.hidden_output.stdout
    assert seen.view == "student"


@pytest.mark.parametrize("verdict", ["wrong", "shape", "type", "crash"])
def test_hidden_verdicts_are_kept_and_told_in_general_words(pack: Pack, verdict: str) -> None:
    def answer(x: Any, w: Any, factor: Any) -> Any:
        made = right_answer(x, w, factor)
        return {
            "wrong": made + 1,
            "shape": made.T[None],
            "type": made.astype(np.int64),
            "crash": StepOutcome("crashed", detail="the process ended by signal 11"),
        }[verdict]

    result = result_of(pack, answer)
    full = {c.clause: c for c in result.cases if c.id.startswith("drawn")}
    seen = {c.clause: c for c in result.for_student().cases if c.visibility == "hidden"}
    assert seen["scale"].verdict == full["scale"].verdict
    assert seen["scale"].message.startswith("In a hidden check" if verdict == "crash" else "A hidden check")


def test_scores_are_the_same_in_both_views(pack: Pack) -> None:
    result = result_of(pack, leaking)
    seen = result.for_student()
    assert (seen.score, seen.max_score, seen.status) == (result.score, result.max_score, result.status)
    assert [(c.verdict, c.points) for c in seen.cases] == [(c.verdict, c.points) for c in result.cases]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e308, -1e308])
def test_answers_of_any_size_give_a_record_that_fits_into_json(pack: Pack, wrong: float) -> None:
    tiny = dataclasses.replace(pack, cases=tuple(dataclasses.replace(c, scale=1e-300) for c in pack.cases))
    for one in (pack, tiny):
        result = result_of(one, lambda x, w, factor: np.full((len(x), w.shape[1]), wrong))
        assert Result.from_dict(json.loads(result.to_json())) == result
        assert verdicts(result)["ones_row"] == "wrong_value"


@pytest.mark.parametrize("cut", ["load", "public", "hidden"])
def test_output_up_to_the_last_public_call_is_the_students(pack: Pack, cut: str) -> None:
    loaded = dataclasses.replace(LOADED, stdout="loading ", stderr="careful ")
    done = execution(
        pack, lambda *a: returned(right_answer(*a), stdout="call "), load=loaded, truncated=frozenset({cut})
    )
    result = judge(context(pack), done)
    assert result.output.stdout == "loading " + "call " * len(done.steps["public"])
    assert result.output.stderr == "careful "
    assert result.hidden_output.stdout == "call " * len(done.steps["hidden"])
    assert (result.output.truncated, result.hidden_output.truncated) == (cut != "hidden", cut == "hidden")
