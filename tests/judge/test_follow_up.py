"""After a failure: which calls are made, and which example is shown."""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known import row_scale

from grader.exercise.calls import read_plan
from grader.exercise.follow_up import FollowUp
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import rehearse
from grader.judge.follow_up import ENDED, MOST_EXAMPLES, FollowUpCalls, choose, complete
from grader.outcomes import Failure, StepOutcome
from grader.result import Result
from judge.answering import KNOWN, PAIRS, UNKNOWN, Function, judged
from judge.made_up import returned


def follow_up(pack: Pack) -> FollowUp:
    assert pack.follow_up is not None
    return pack.follow_up


def chosen(pack: Pack, result: Result) -> FollowUpCalls:
    calls = choose(pack, result)
    assert calls is not None
    return calls


def ran(calls: FollowUpCalls, function: Function) -> list[StepOutcome]:
    return rehearse(function, calls.block, read_plan(calls.block))


def completed(pack: Pack, function: Function) -> Result:
    result = judged(pack, function)
    calls = chosen(pack, result)
    return complete(pack, result, calls, ran(calls, function), "ann.py")


def example_of(pack: Pack, function: Function) -> Any:
    return completed(pack, function).counterexample


# --- which calls ------------------------------------------------------------------------------


def test_nothing_is_run_for_what_did_not_fail(stepped: Pack) -> None:
    result = judged(stepped, row_scale)
    assert choose(stepped, result) is None
    assert choose(stepped, replace(result, status="not_loadable")) is None
    assert choose(stepped, replace(judged(stepped, KNOWN["no_factor"]), status="grader_fault")) is None


def test_nothing_is_run_where_marks_were_lost_for_a_helper_alone(stepped: Pack) -> None:
    assert choose(stepped, replace(judged(stepped, row_scale), status="failed", score=0.0)) is None


@pytest.mark.parametrize("verdict", ENDED)
def test_nothing_is_run_after_what_would_take_as_long_again(stepped: Pack, verdict: Any) -> None:
    result = judged(stepped, KNOWN["no_factor"])
    ended = [replace(c, verdict=verdict) if c.id == "ones_row" else c for c in result.cases]
    assert choose(stepped, result) is not None
    assert choose(stepped, replace(result, cases=tuple(ended))) is None


def test_nothing_is_run_where_there_is_nothing_to_run(stepped: Pack) -> None:
    assert choose(replace(stepped, follow_data={}), judged(stepped, KNOWN["no_factor"])) is None


@pytest.mark.parametrize("name", ["mean_of_batch", "no_factor", "x_ignored", "running_mean", "in_place"])
def test_of_a_named_mistake_its_own_example_is_run(stepped: Pack, name: str) -> None:
    calls = chosen(stepped, judged(stepped, KNOWN[name]))
    examples = [follow_up(stepped).examples[n] for n in calls.examples]
    assert [e.misconception for e in examples] == [name]
    count = len(read_plan(calls.block))
    assert follow_up(stepped).influence is not None
    assert count == follow_up(stepped).influence.calls + 1  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["other_root", "zeros", "flipped"])
def test_without_a_diagnosis_those_of_the_broken_clauses_and_the_ladder_are_run(
    stepped: Pack, name: str
) -> None:
    result = judged(stepped, UNKNOWN[name])
    calls = chosen(stepped, result)
    examples = [follow_up(stepped).examples[n] for n in calls.examples]
    assert {e.clause for e in examples if e.misconception} <= set(result.broken_clauses()[:2])
    ladder = [e for e in follow_up(stepped).examples if not e.misconception]
    assert sum(not e.misconception for e in examples) == len(ladder)
    sizes = [e.numbers for e in examples]
    assert sizes == sorted(sizes), "the smallest come first"


@given(st.sampled_from([*KNOWN.values(), *PAIRS.values(), *UNKNOWN.values()]))
def test_the_number_of_calls_has_a_bound(stepped: Pack, function: Function) -> None:
    calls = choose(stepped, judged(stepped, function))
    if calls is None:
        return
    influence = follow_up(stepped).influence
    assert influence is not None
    assert len(calls.examples) <= MOST_EXAMPLES
    assert len(set(calls.examples)) == len(calls.examples)
    plan = read_plan(calls.block)
    assert len(plan) == influence.calls + len(calls.examples)
    for outcome in ran(calls, row_scale):
        value: Any = outcome.value
        assert len(value.data) <= calls.answer_bytes
    assert sum(len(getattr(o.value, "data", b"")) for o in ran(calls, row_scale)) <= calls.answers_bytes


def test_the_same_examples_are_laid_out_once(stepped: Pack) -> None:
    result = judged(stepped, KNOWN["no_factor"])
    assert chosen(stepped, result) is chosen(stepped, result)


# --- the example ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mean_of_batch", "no_factor", "x_ignored", "running_mean"])
def test_the_example_of_a_named_mistake_is_shown(stepped: Pack, name: str) -> None:
    record = example_of(stepped, KNOWN[name])
    (example,) = (e for e in follow_up(stepped).examples if e.misconception == name)
    assert (record["misconception"], record["clause"], record["title"]) == (
        name,
        example.clause,
        example.title,
    )
    assert record["dims"] == dict(example.dims)
    assert record["expected"] == example.answer().tolist()
    assert record["trace"] == example.part
    arguments = [np.array(i["values"]) if "values" in i else i["value"] for i in record["inputs"]]
    arguments = [
        np.reshape(a, i["shape"]) if "shape" in i else a
        for a, i in zip(arguments, record["inputs"], strict=True)
    ]
    assert np.allclose(KNOWN[name](*arguments), record["obtained"])
    assert np.allclose(row_scale(*arguments), record["expected"])
    assert not np.allclose(record["obtained"], record["expected"])
    json.dumps(record)


def test_an_exception_is_told_in_words(stepped: Pack) -> None:
    record = example_of(stepped, KNOWN["crash_when_empty"])
    assert (record["misconception"], record["obtained"]) == ("crash_when_empty", None)
    said = re.fullmatch(r"It raised IndexError in line \d+: index 0 is out of bounds\.", record["message"])
    assert said, record["message"]
    assert record["dims"]["N"] == 0 and record["expected"] == []


def test_a_changed_argument_is_told_in_words(stepped: Pack) -> None:
    record = example_of(stepped, KNOWN["in_place"])
    assert record["misconception"] == "in_place"
    assert record["message"] == "x is changed by the call. The answer is right."
    assert (record["obtained"], record["expected"]) == (None, None), "the same twice says nothing"


def printed_by(text: str, function: Function) -> str:
    """What a text to paste prints, with ``function`` in place of what it imports."""
    out = io.StringIO()
    pasted = text.replace("from ann import row_scale\n", "")
    assert pasted != text
    with contextlib.redirect_stdout(out):
        exec(pasted, {"row_scale": function})
    return out.getvalue()


def test_the_text_to_paste_prints_the_argument_after_the_call_and_as_it_should_be(stepped: Pack) -> None:
    record = example_of(stepped, KNOWN["in_place"])
    x, w = (np.array(i["values"], i["dtype"]).reshape(i["shape"]) for i in record["inputs"][:2])
    after = x.copy()
    KNOWN["in_place"](after, w, record["inputs"][2]["value"])
    assert not np.array_equal(after, x)
    out = printed_by(record["snippet"], KNOWN["in_place"])
    assert out == f"x now:\n{after}\nexpected:\n{x}\nholds: False\n"
    assert printed_by(record["snippet"], row_scale) == f"x now:\n{x}\nexpected:\n{x}\nholds: True\n"


def test_a_changed_argument_and_a_wrong_answer_are_both_shown(stepped: Pack) -> None:
    def both(x: Any, w: Any, k: Any) -> Any:
        answer = np.full((len(x), w.shape[1]), 7.0)
        x += 1
        return answer

    result = judged(stepped, KNOWN["in_place"])
    calls = chosen(stepped, result)
    record: Any = complete(stepped, result, calls, ran(calls, both), "ann.py").counterexample
    assert record["message"] == "x is changed by the call."
    assert record["obtained"] != record["expected"] and record["expected"] is not None
    out = printed_by(record["snippet"], both)
    answer, argument = out.split("x now:\n")
    assert answer == f"{np.array(record['obtained'])}\nexpected:\n{np.array(record['expected'])}\n"
    assert argument.endswith("holds: False\n")


def test_the_text_to_paste_makes_this_call(stepped: Pack) -> None:
    record = example_of(stepped, KNOWN["no_factor"])
    printed: list[str] = []
    names = {"print": lambda *a, sep=" ": printed.append(sep.join(map(str, a)))}
    text = record["snippet"].replace("from ann import row_scale\n", "")
    assert text != record["snippet"]
    exec(text, names | {"row_scale": KNOWN["no_factor"]})
    assert printed == [str(np.array(record["obtained"])), f"expected:\n{np.array(record['expected'])}"]


def test_what_was_named_but_does_not_show_on_its_example_is_not_shown(stepped: Pack) -> None:
    """Another example would show something else than what was named."""
    result = judged(stepped, KNOWN["no_factor"])
    calls = chosen(stepped, result)
    made = complete(stepped, result, calls, ran(calls, UNKNOWN["zeros"]), "ann.py")
    assert made.counterexample is None
    assert complete(stepped, result, calls, ran(calls, row_scale), "ann.py").counterexample is None


@pytest.mark.parametrize("name", ["other_root", "less", "flipped", "zeros", "first_row_only", "nan"])
def test_an_unknown_mistake_is_shown_on_the_smallest_input_that_fails_alike(stepped: Pack, name: str) -> None:
    record = example_of(stepped, UNKNOWN[name])
    assert (record["misconception"], record["title"], record["trace"]) == ("", "", None)
    assert record["obtained"] != record["expected"]
    shown = sum(int(np.prod(i["shape"])) if "shape" in i else 1 for i in record["inputs"])
    wrong = [
        example.numbers
        for number, example in enumerate(follow_up(stepped).examples)
        if example.clause == record["clause"]
        and not np.allclose(
            UNKNOWN[name](*follow_up(stepped).arguments(number)), example.answer(), rtol=0, atol=1e-4
        )
    ]
    assert min(wrong) == shown


def test_an_unknown_mistake_that_no_example_shows_gets_none(stepped: Pack) -> None:
    result = judged(stepped, UNKNOWN["less"])
    calls = chosen(stepped, result)
    assert complete(stepped, result, calls, ran(calls, row_scale), "ann.py").counterexample is None


def test_what_fails_otherwise_than_the_cases_is_not_shown(stepped: Pack) -> None:
    """Values are wrong in the cases; an exception in an example would be another matter."""
    result = judged(stepped, UNKNOWN["less"])
    calls = chosen(stepped, result)
    broken = [StepOutcome("raised", failure=Failure("ValueError", "x"))] * len(read_plan(calls.block))
    assert complete(stepped, result, calls, broken, "ann.py").counterexample is None


def test_chance_is_not_shown_on_an_example(stepped: Pack) -> None:
    assert example_of(stepped, KNOWN["noise"]) is None


def test_two_mistakes_are_shown_on_something_that_is_wrong(stepped: Pack) -> None:
    record = example_of(stepped, PAIRS["mean_of_batch", "no_factor"])
    assert record is not None and record["obtained"] != record["expected"]


def test_another_type_is_told_in_words(stepped: Pack) -> None:
    record = example_of(stepped, lambda x, w, k: row_scale(x, w, k).tolist())
    assert record["obtained"] is None
    assert record["message"].startswith("It returned a list of ")


# --- the map ----------------------------------------------------------------------------------


def test_the_map_shows_what_rows_see(stepped: Pack) -> None:
    found = completed(stepped, KNOWN["mean_of_batch"]).influence
    assert found is not None
    assert (found["argument"], found["shape"]) == ("x", [3, 2])
    assert found["expected"] == ["100", "100", "010", "010", "001", "001"]
    assert found["obtained"] == ["111"] * 6
    assert (
        found["message"]
        == "When an element of x is changed, 12 times a row changes though it should stay as it is."
    )
    json.dumps(found)


def test_the_map_of_what_sees_too_little(stepped: Pack) -> None:
    found = completed(stepped, KNOWN["x_ignored"]).influence
    assert found is not None and found["obtained"] == ["000"] * 6
    assert (
        found["message"]
        == "When an element of x is changed, 6 times a row stays as it is though it should change."
    )


def test_a_map_may_be_right_though_the_submission_is_not(stepped: Pack) -> None:
    found = completed(stepped, UNKNOWN["less"]).influence
    assert found is not None and found["obtained"] == found["expected"]
    assert found["message"] == "Every element of x moves the rows that it should move, and no others."


def test_both_kinds_of_differences_are_counted(stepped: Pack) -> None:
    found = completed(stepped, UNKNOWN["flipped"]).influence
    assert found is not None
    assert found["message"] == (
        "When an element of x is changed, 4 times a row stays as it is though it should change "
        "and 4 times a row changes though it should stay as it is."
    )


@pytest.mark.parametrize("answer", [None, 1.0, np.float64(1), [[1.0]], np.ones((3, 2), complex), np.ones(2)])
def test_answers_without_rows_give_no_map(stepped: Pack, answer: Any) -> None:
    assert completed(stepped, lambda x, w, k: answer).influence is None


def test_an_exercise_without_a_map_has_none(pack: Pack) -> None:
    assert completed(pack, UNKNOWN["less"]).influence is None
    assert completed(pack, UNKNOWN["less"]).counterexample is not None


# --- robustness -------------------------------------------------------------------------------

ODD = (
    StepOutcome("crashed", detail="a signal"),
    StepOutcome("timed_out", detail="it took too long"),
    StepOutcome("out_of_memory"),
    StepOutcome("not_run", detail="the cap"),
    StepOutcome("raised", failure=Failure("ValueError", "math domain error")),
    StepOutcome("returned"),
    returned(np.full((3, 2), np.nan)),
    returned(np.full((1, 1), np.inf)),
    returned(np.full((1, 1), 1e300)),
    returned(np.zeros((0, 0, 5))),
    returned(np.ones((1, 1), np.int64)),
    returned(np.ones((1, 1)), overwritten=frozenset({0}), reshaped=frozenset({1})),
)


@given(st.sampled_from(["no_factor", "in_place", "noise", ""]), st.data())
def test_any_outcomes_give_a_record_and_change_no_marks(
    stepped: Pack, name: str, data: st.DataObject
) -> None:
    result = judged(stepped, KNOWN[name] if name else UNKNOWN["less"])
    calls = chosen(stepped, result)
    count = len(read_plan(calls.block))
    outcomes = data.draw(st.lists(st.sampled_from(ODD), min_size=count, max_size=count))
    made = complete(stepped, result, calls, outcomes, "ann.py")
    assert replace(made, influence=None, counterexample=None) == replace(
        result, influence=None, counterexample=None
    )
    assert Result.from_dict(made.to_dict()) == made
