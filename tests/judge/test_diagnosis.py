"""What is said of a failing submission's mistakes, and in which words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known import row_scale

from grader.exercise.known import UNSTABLE
from grader.exercise.pack import Pack
from grader.exercise.select import select
from grader.judge.diagnosis import EXPLAINED, MOST, NOTHING_FITS, Finding, as_record, diagnose
from grader.outcomes import Failure, StepOutcome
from grader.result import Result
from judge.answering import KNOWN, PAIRS, UNKNOWN, Function, judged, outcomes_of
from judge.made_up import returned


def claims(pack: Pack, function: Function) -> list[list[str]]:
    return [[one.id for one in f.mistakes] for f in diagnose(pack, outcomes_of(pack, function))]


def ids(result: Result) -> list[Any]:
    return [d["ids"] for d in result.diagnoses]


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_mistake_is_named_and_nothing_else(stepped: Pack, name: str) -> None:
    assert claims(stepped, KNOWN[name]) == [[name]]


@pytest.mark.parametrize("pair", [p for p in PAIRS if p != ("x_ignored", "no_factor")], ids="-".join)
def test_two_known_mistakes_are_both_named(stepped: Pack, pair: tuple[str, str]) -> None:
    (found,) = claims(stepped, PAIRS[pair])
    assert sorted(found) == sorted(pair)


@pytest.mark.parametrize("name", UNKNOWN)
def test_of_an_unknown_mistake_nothing_is_claimed(stepped: Pack, name: str) -> None:
    assert claims(stepped, UNKNOWN[name]) == []


def test_of_a_right_submission_nothing_is_claimed(stepped: Pack) -> None:
    assert claims(stepped, row_scale) == []
    result = judged(stepped, row_scale)
    assert (result.status, result.diagnoses, result.undiagnosed, result.notes) == ("passed", (), "", ())


@given(st.sampled_from(sorted(KNOWN)), st.data())
def test_what_is_named_does_not_hang_on_which_cases_were_run(
    stepped: Pack, name: str, data: st.DataObject
) -> None:
    """On a part of the cases less may be told apart, but nothing is named that does not fit there."""
    chosen = data.draw(st.lists(st.sampled_from([c.id for c in stepped.cases]), min_size=1, unique=True))
    part = select(stepped, cases=chosen, clauses=[])
    found = claims(part, KNOWN[name])
    result = judged(part, KNOWN[name])
    if found and name not in ("noise", "half"):
        assert [name] in found
    if result.status == "passed":
        assert result.diagnoses == ()


# --- a mistake beside something unknown -------------------------------------------------------


def large_rows(x: Any, factor: Any) -> bool:
    """Whether it is the call of the case large_rows."""
    return x.shape == (3, 4) and factor == 1


def beside(name: str, wrong: Callable[[Any, Any], bool], by: float = 0.3) -> Function:
    """A known mistake, and where ``wrong`` says so of x and factor another answer than its own."""

    def function(x: Any, w: Any, factor: Any) -> Any:
        answer = KNOWN[name](x, w, factor)
        return answer + by if wrong(x, factor) else answer

    return function


@pytest.mark.parametrize("name", ["mean_of_batch", "x_ignored", "running_mean"])
def test_a_mistake_is_named_beside_something_unknown(stepped: Pack, name: str) -> None:
    result = judged(stepped, beside(name, large_rows))
    (record,) = result.diagnoses
    assert record["ids"] == [name]
    # Of the hidden cases, all of which fail, there is no count.
    assert (record["fits"], record["of"]) == (5, 6)
    assert record["message"] == (
        "This explains 5 of 6 wrong answers to visible checks; something else is wrong too."
    )
    assert result.undiagnosed == ("No known mistake was found to explain the rest, which large_rows shows.")
    assert result.message.endswith(f" checks passed. One mistake: {name}; something else is wrong too.")


def test_what_only_hidden_checks_show_is_told_without_their_names(stepped: Pack) -> None:
    result = judged(stepped, beside("mean_of_batch", lambda x, factor: x.shape == (4, 3)))
    (record,) = result.diagnoses
    assert record["ids"] == ["mean_of_batch"] and record["fits"] == record["of"] == 6
    assert result.undiagnosed == (
        "No known mistake was found to explain the rest, which only hidden checks show."
    )
    told = json.dumps(result.for_student().to_dict())
    assert not any(case.id in told for case in stepped.cases if case.visibility == "hidden")


def test_a_verdict_that_explains_the_rest_has_its_page_beside_the_mistake(stepped: Pack) -> None:
    def flat(x: Any, w: Any, factor: Any) -> Any:
        answer = KNOWN["mean_of_batch"](x, w, factor)
        return answer[0] if len(x) == 1 else answer

    result = judged(stepped, flat)
    assert ids(result) == [["mean_of_batch"], ["wrong_shape"]]
    assert result.undiagnosed == ""


@pytest.mark.parametrize("name", ["mean_of_batch", "no_factor", "x_ignored", "running_mean"])
def test_nothing_is_named_where_one_of_its_answers_is_right(stepped: Pack, name: str) -> None:
    """One public or hidden case on which the mistake would show and the submission is right."""
    prints = stepped.known.phases
    number = [one.id for one in stepped.known.mistakes].index(name)
    outcomes = outcomes_of(stepped, beside(name, large_rows))
    right = outcomes_of(stepped, row_scale)
    for place, steps in outcomes.items():
        for step in range(len(steps)):
            if prints[place].index[number, step] in (0, UNSTABLE):
                continue
            made = [right[place][step] if at == step else o for at, o in enumerate(steps)]
            found = diagnose(stepped, {**outcomes, place: made})
            assert not any(f.partly for f in found), (place, step)


def test_what_explains_less_than_most_is_not_named(stepped: Pack) -> None:
    assert claims(stepped, beside("mean_of_batch", lambda x, factor: len(x) == 2)) == []
    assert claims(stepped, beside("mean_of_batch", lambda x, factor: len(x) > 0)) == []


def test_chance_and_coarse_numbers_go_before_most_of_what_is_wrong(stepped: Pack) -> None:
    for name in ("noise", "half"):
        found = diagnose(stepped, outcomes_of(stepped, beside(name, lambda x, factor: len(x) == 1, 0.5)))
        assert not any(f.partly for f in found), name


def test_hints_of_what_a_mistake_explains_go_and_those_of_the_rest_stay(stepped: Pack) -> None:
    cases = [replace(case, hint=f"hint of {case.id}") for case in stepped.cases]
    pack = replace(stepped, cases=tuple(cases))
    pack.__dict__["known"] = stepped.known
    result = judged(pack, beside("mean_of_batch", large_rows))
    clauses, left = result.diagnosed_clauses(), ("large_rows",)
    for case in result.cases:
        if case.failed and case.visibility == "public":
            assert bool(case.hint) == (case.clause in clauses or case.id in left), case.id
    assert any(case.failed and not case.hint for case in result.cases)


# --- by what the calls leave ------------------------------------------------------------------


def test_writing_is_told_by_the_argument(stepped: Pack) -> None:
    (finding,) = diagnose(stepped, outcomes_of(stepped, KNOWN["in_place"]))
    assert finding.told_by == "overwritten"
    result = judged(stepped, KNOWN["in_place"])
    assert result.diagnoses[0]["message"] == "x is changed by a call."
    assert ids(result) == [["in_place"]], "the verdicts that come of it need no page of their own"


def test_writing_into_another_argument_is_another_mistake(stepped: Pack) -> None:
    def writes(x: Any, w: Any, factor: Any) -> Any:
        answer = row_scale(x, w, factor)
        if w.flags.writeable:
            w *= 2
        return answer

    assert claims(stepped, writes) == []


def test_a_mistake_of_values_that_writes_too_is_named_with_both(stepped: Pack) -> None:
    def both(x: Any, w: Any, factor: Any) -> Any:
        answer = row_scale(x, w, 1)
        x *= 2
        return answer

    found = diagnose(stepped, outcomes_of(stepped, both))
    assert [([one.id for one in f.mistakes], f.told_by) for f in found] == [
        (["no_factor"], "values"),
        (["in_place"], "overwritten"),
    ]


def test_chance_is_told_by_two_equal_calls(stepped: Pack) -> None:
    (finding,) = diagnose(stepped, outcomes_of(stepped, KNOWN["noise"]))
    assert finding.told_by == "unrepeatable"
    result = judged(stepped, KNOWN["noise"])
    assert result.diagnoses[0]["message"] == "Two equal calls in a row give different answers."
    assert result.undiagnosed == ""


def test_coarse_numbers_are_told(stepped: Pack) -> None:
    for wide in (np.float16, np.float32, np.float64):
        outcomes = outcomes_of(
            stepped, lambda x, w, k, d=wide: row_scale(x, w, k).astype(np.float16).astype(d)
        )
        (finding,) = diagnose(stepped, outcomes)
        assert [one.id for one in finding.mistakes] == ["half"], wide
        assert finding.told_by in ("half", "values")


def test_an_answer_in_an_arguments_memory_is_told(stepped: Pack) -> None:
    mistakes = [replace(one, aliased=one.id == "x_ignored") for one in stepped.known.mistakes]
    known = replace(stepped.known, mistakes=tuple(mistakes))
    pack = replace(stepped)
    pack.__dict__["known"] = known
    outcomes = outcomes_of(stepped, row_scale)
    aliased = [replace(o, aliased=frozenset({0})) for o in outcomes["public"]]
    (finding,) = diagnose(pack, {**outcomes, "public": aliased})
    assert (finding.told_by, finding.mistakes[0].id) == ("aliased", "x_ignored")
    assert as_record(finding, 1)["message"] == "An answer shares memory with an argument."


def test_a_call_that_refuses_to_write_is_not_held_against_a_mistake(stepped: Pack) -> None:
    """Where an argument is read-only numpy raises; with torch the same code writes."""
    outcomes = outcomes_of(stepped, KNOWN["in_place"])
    assert outcomes["public"][9].state == "raised"
    torch_like = [*outcomes["public"][:9], replace(outcomes["public"][8], overwritten=frozenset({0}))]
    right: Any = outcomes_of(stepped, row_scale)["public"][9].value
    torch_like[9] = StepOutcome("returned", value=right, overwritten=frozenset({0}))
    found = diagnose(stepped, {**outcomes, "public": torch_like})
    assert [[one.id for one in f.mistakes] for f in found] == [["in_place"]]


# --- the record -------------------------------------------------------------------------------


def test_a_record_holds_the_page_and_how_much_fits(stepped: Pack) -> None:
    result = judged(stepped, KNOWN["no_factor"])
    (record,) = result.diagnoses
    (one,) = (m for m in stepped.known.mistakes if m.id == "no_factor")
    assert record["ids"] == ["no_factor"] and record["clause"] == "product" and record["title"] == "no_factor"
    assert record["fits"] == record["of"] > 0
    cases = "case" if record["of"] == 1 else "cases"
    assert record["message"] == f"This explains the answers of {record['of']} of {record['of']} {cases}."
    assert record["pages"] == [
        {"id": "no_factor", "title": "no_factor", "clause": "product", **vars(one.page)}
    ]


def test_two_together_have_both_pages(stepped: Pack) -> None:
    (record,) = judged(stepped, PAIRS["mean_of_batch", "no_factor"]).diagnoses
    assert record["ids"] == ["mean_of_batch", "no_factor"]
    assert record["title"] == "mean_of_batch; and: no_factor"
    assert [page["id"] for page in record["pages"]] == record["ids"]
    assert record["message"].startswith("These two together explain ")


def test_alternatives_are_said_to_be_alike(stepped: Pack) -> None:
    finding = Finding(stepped.known.mistakes[:1], 3, 3)
    assert as_record(finding, 1)["message"] == "This explains the answers of 3 of 3 cases."
    assert "the cases can't tell it from the other one" in as_record(finding, 2)["message"]
    assert "the cases can't tell it from the 3 others" in as_record(finding, 4)["message"]
    assert as_record(replace(finding, fits=1, of=1), 1)["message"].endswith("1 of 1 case.")


def test_where_cases_can_not_tell_all_are_named(stepped: Pack) -> None:
    """With a batch of one row the mean of the batch is the mean of the row; more than a few name nothing."""
    mistakes = stepped.known.mistakes
    for copies, wanted in ((1, 2), (MOST - 1, MOST), (MOST, 0)):
        known = stepped.known
        twins = tuple(replace(mistakes[1], id=f"twin_{n}") for n in range(copies))
        phases = {
            name: replace(
                p,
                index=np.concatenate([p.index, np.repeat(p.index[1:2], copies, axis=0)]),
                touched=np.concatenate([p.touched, np.repeat(p.touched[1:2], copies, axis=0)]),
            )
            for name, p in known.phases.items()
        }
        pack = replace(stepped)
        pack.__dict__["known"] = replace(known, mistakes=(*mistakes, *twins), phases=phases)
        pack.__dict__["texts"] = {}
        found = diagnose(pack, outcomes_of(stepped, KNOWN["no_factor"]))
        assert len(found) == wanted
        if wanted:
            result = judged(pack, KNOWN["no_factor"])
            assert {d["ids"][0] for d in result.diagnoses} == {"no_factor", *(t.id for t in twins)}
            assert all("can't tell it from" in d["message"] for d in result.diagnoses)


@pytest.mark.parametrize("name", ["other_root", "less", "zeros", "flipped"])
def test_what_nothing_explains_is_said_so(stepped: Pack, name: str) -> None:
    result = judged(stepped, UNKNOWN[name])
    assert result.undiagnosed == NOTHING_FITS and result.diagnoses == ()


def test_nothing_is_said_to_fit_where_nothing_is_known(pack: Pack) -> None:
    assert pack.known.mistakes == ()
    result = judged(pack, UNKNOWN["less"])
    assert (result.diagnoses, result.undiagnosed) == ((), "")


def test_the_verdict_names_the_mistake_where_one_explains_everything(stepped: Pack) -> None:
    one = judged(stepped, KNOWN["no_factor"])
    (record,) = one.diagnoses
    assert one.message.endswith(f" checks passed. The mistake: {record['title']}.")
    assert "The mistake:" not in judged(stepped, UNKNOWN["less"]).message
    raised = [StepOutcome("raised", failure=Failure("ValueError", "no")) for _ in stepped.plans["public"]]
    assert "The mistake:" not in judged(stepped, {"public": raised}).message


@pytest.mark.parametrize("name", ["transposed", "drops_a_row"])
def test_another_shape_is_explained_by_its_own_page(stepped: Pack, name: str) -> None:
    result = judged(stepped, UNKNOWN[name])
    assert ["wrong_shape"] in ids(result)


def test_an_exception_that_a_known_mistake_explains_has_no_page_beside_it(stepped: Pack) -> None:
    assert ids(judged(stepped, KNOWN["crash_when_empty"])) == [["crash_when_empty"]]

    def crash_elsewhere(x: Any, w: Any, factor: Any) -> Any:
        if len(x) == 1:
            raise IndexError("one row")
        return row_scale(x, w, factor)

    assert ids(judged(stepped, crash_elsewhere)) == [["raised"]]


def test_every_way_of_telling_says_what_it_explains() -> None:
    assert set(EXPLAINED) == {"values", "overwritten", "aliased", "unrepeatable", "half", "checks"}


# --- robustness -------------------------------------------------------------------------------

ODD: Mapping[str, Any] = {
    "crashed": StepOutcome("crashed", detail="a signal"),
    "timed_out": StepOutcome("timed_out", detail="it took too long"),
    "out_of_memory": StepOutcome("out_of_memory"),
    "not_run": StepOutcome("not_run", detail="the cap"),
    "raised": StepOutcome("raised", failure=Failure("ValueError", "math domain error")),
    "nan": returned(np.full((3, 2), np.nan)),
    "huge": returned(np.full((3, 2), 1e300)),
    "int": returned(np.ones((3, 2), np.int64)),
    "complex": returned(np.ones((3, 2), complex)),
    "empty": returned(np.zeros((0, 0, 5))),
    "zero_dim": returned(np.float64(3)),
}


@given(st.lists(st.sampled_from(sorted(ODD)), min_size=15, max_size=15))
def test_any_outcomes_get_a_record(stepped: Pack, kinds: list[str]) -> None:
    outcomes = iter(ODD[kind] for kind in kinds)
    steps = {name: [next(outcomes) for _ in plan] for name, plan in stepped.plans.items()}
    diagnose(stepped, steps)
    result = judged(stepped, steps)
    assert "search for the mistake failed" not in result.undiagnosed
    assert Result.from_dict(result.to_dict()) == result


def test_a_damaged_pack_costs_the_diagnosis_and_no_marks(stepped: Pack) -> None:
    whole = judged(stepped, KNOWN["no_factor"])
    for name, data in stepped.known_data.items():
        pack = replace(stepped, known_data={**stepped.known_data, name: data[:-3]})
        result = judged(pack, KNOWN["no_factor"])
        assert (result.status, result.score) == (whole.status, whole.score)
        assert [c.verdict for c in result.cases] == [c.verdict for c in whole.cases]
        assert result.diagnoses == ()
        assert (
            result.undiagnosed == "The search for the mistake failed (GraderError); marks do not hang on it."
        )
        assert judged(pack, row_scale).status == "passed"
