"""The rules by which outcomes are held against fingerprints: what shows, what is known, what is possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known import row_scale

from grader.exercise.fingerprints import signs
from grader.exercise.known import NONE, UNSTABLE, Known
from grader.exercise.pack import Pack
from grader.judge.lineup import Lineup
from grader.outcomes import Failure, StepOutcome
from judge.answering import KNOWN, PAIRS, outcomes_of
from judge.made_up import returned

Outcomes = Mapping[str, Sequence[StepOutcome]]
BY_VALUES = [name for name in KNOWN if name not in ("in_place", "noise", "half")]
ARITHMETIC = Failure("ZeroDivisionError", "division by zero", ("ArithmeticError",))


def lineup(
    pack: Pack, outcomes: Outcomes, refused: Mapping[str, Collection[int]] | None = None, **keys: Any
) -> Lineup:
    return Lineup(pack.known, pack.cases, outcomes, refused or {}, **keys)


def names(pack: Pack, members: Sequence[int]) -> tuple[str, ...]:
    return tuple(pack.known.mistakes[n].id for n in members)


def single(pack: Pack, outcomes: Outcomes, **keys: Any) -> list[str]:
    return [name for fit in lineup(pack, outcomes, **keys).single() for name in names(pack, fit.members)]


def pairs(pack: Pack, outcomes: Outcomes) -> list[tuple[str, ...]]:
    return [tuple(sorted(names(pack, fit.members))) for fit in lineup(pack, outcomes).pairs()]


def changed(outcomes: Outcomes, place: str, step: int, outcome: StepOutcome) -> Outcomes:
    return {
        n: [outcome if (n, s) == (place, step) else o for s, o in enumerate(o)] for n, o in outcomes.items()
    }


# --- one mistake ------------------------------------------------------------------------------


def test_right_answers_are_not_wrong(stepped: Pack) -> None:
    found = lineup(stepped, outcomes_of(stepped, row_scale))
    assert not found.anything_wrong
    assert found.single() == []


@given(st.integers(0, 2**32), st.floats(-1, 1))
def test_rounding_is_nothing_wrong(stepped: Pack, seed: int, share: float) -> None:
    chance = np.random.default_rng(seed)

    def rounded(x: Any, w: Any, factor: Any) -> Any:
        answer = row_scale(x, w, factor)
        scale = np.abs(answer).max(initial=0.0)
        return answer + 1e-9 * share * scale * chance.uniform(-1, 1, answer.shape)

    assert not lineup(stepped, outcomes_of(stepped, rounded)).anything_wrong


def test_single_precision_is_nothing_wrong(stepped: Pack) -> None:
    outcomes = outcomes_of(stepped, lambda x, w, k: row_scale(x, w, k).astype(np.float32))
    assert not lineup(stepped, outcomes).anything_wrong


@pytest.mark.parametrize("name", BY_VALUES)
def test_one_mistake_explains_everything_that_is_wrong(stepped: Pack, name: str) -> None:
    outcomes = outcomes_of(stepped, KNOWN[name])
    assert lineup(stepped, outcomes).anything_wrong
    (fit,) = lineup(stepped, outcomes).single()
    assert names(stepped, fit.members) == (name,)
    assert fit.fits == fit.of > 0


def test_cases_are_counted_and_not_steps(stepped: Pack) -> None:
    (fit,) = lineup(stepped, outcomes_of(stepped, KNOWN["no_factor"])).single()
    shows = [c for c in stepped.cases if c.dims["factor"] > 1 and c.dims["N"] > 0]
    assert (fit.fits, fit.of) == (len(shows), len(shows))


@pytest.mark.parametrize("name", BY_VALUES)
def test_one_answer_that_it_does_not_give_is_enough_against_it(stepped: Pack, name: str) -> None:
    outcomes = outcomes_of(stepped, KNOWN[name])
    prints = stepped.known.phases["public"]
    number = [one.id for one in stepped.known.mistakes].index(name)
    for step, outcome in enumerate(outcomes["public"]):
        if prints.index[number, step] == UNSTABLE:
            continue
        value: Any = outcome.value
        other = (
            returned(value.array() + 0.37)
            if value is not None and value.array().size
            else StepOutcome("crashed")
        )
        assert name not in single(stepped, changed(outcomes, "public", step, other)), step


def test_an_answer_that_was_not_sent_or_not_run_says_nothing(stepped: Pack) -> None:
    outcomes = outcomes_of(stepped, KNOWN["mean_of_batch"])
    for silent in (StepOutcome("not_run"), replace(outcomes["public"][1], too_large=True, value=None)):
        assert single(stepped, changed(outcomes, "public", 1, silent)) == ["mean_of_batch"]


def test_a_call_that_could_only_refuse_says_nothing(stepped: Pack) -> None:
    outcomes = outcomes_of(stepped, KNOWN["mean_of_batch"])
    outcomes = dict(changed(outcomes, "public", 9, StepOutcome("raised", failure=Failure("ValueError", ""))))
    assert single(stepped, outcomes) == []
    found = Lineup(stepped.known, stepped.cases, outcomes, {"public": {9}})
    assert [names(stepped, fit.members) for fit in found.single()] == [("mean_of_batch",)]


def test_where_rounding_decides_nothing_is_held_against_it(stepped: Pack) -> None:
    prints = stepped.known.phases["public"]
    index = prints.index.copy()
    index[0, 1] = UNSTABLE
    known = replace(stepped.known, phases={**stepped.known.phases, "public": replace(prints, index=index)})
    outcomes = changed(outcomes_of(stepped, KNOWN["mean_of_batch"]), "public", 1, returned(np.ones((3, 2))))
    assert [f.members for f in Lineup(known, stepped.cases, outcomes, {}).single()] == [(0,)]


def test_where_there_is_nothing_to_answer_right_is_no_objection(stepped: Pack) -> None:
    """Code for that case often stands apart."""
    (empty,) = (case for case in stepped.cases if case.id == "no_rows")
    batch_mean = outcomes_of(stepped, KNOWN["mean_of_batch"])
    known = with_answer(stepped.known, "mean_of_batch", empty.steps[0], "(0, 3) float #odd")
    assert [f.members for f in Lineup(known, stepped.cases, batch_mean, {}).single()] == [(0,)]


def with_answer(known: Known, name: str, step: int, kind: str) -> Known:
    """The same, but the mistake gives another kind of answer to a step."""
    prints = known.phases["public"]
    number = [one.id for one in known.mistakes].index(name)
    end = int(prints.starts[step + 1])
    index = prints.index.copy()
    index[number, step] = end - prints.starts[step]
    made = replace(
        prints,
        kinds=(*prints.kinds, kind),
        starts=prints.starts + (np.arange(len(prints.starts)) > step).astype(np.int32),
        rows=np.insert(prints.rows, end, np.zeros(8, np.float32), axis=0),
        row_kinds=np.insert(prints.row_kinds, end, len(prints.kinds)),
        widths=np.insert(prints.widths, end, 1e-6),
        index=index,
    )
    return replace(known, phases={**known.phases, "public": made})


def test_arithmetic_without_an_answer_is_nan_or_nothing(stepped: Pack) -> None:
    outcomes = outcomes_of(stepped, KNOWN["mean_of_batch"])
    ended = changed(outcomes, "public", 1, StepOutcome("raised", failure=ARITHMETIC))
    assert single(stepped, ended) == []
    assert single(stepped, ended, loose=True) == ["mean_of_batch"]
    known = with_answer(stepped.known, "mean_of_batch", 1, "(3, 2) float #0123456789abcdef")
    assert [f.members for f in Lineup(known, stepped.cases, ended, {}).single()] == [(0,)]
    other = changed(outcomes, "public", 1, StepOutcome("raised", failure=Failure("KeyError", "")))
    assert Lineup(known, stepped.cases, other, {}).single() == []


def test_a_phase_of_another_length_is_left_out(stepped: Pack) -> None:
    outcomes = outcomes_of(stepped, KNOWN["mean_of_batch"])
    assert not lineup(stepped, {"public": outcomes["public"][:-1]}).anything_wrong
    assert single(stepped, {"public": outcomes["public"]}) == ["mean_of_batch"]
    assert single(stepped, {"hidden": outcomes["hidden"]}) == ["mean_of_batch"]


@given(st.integers(-6, 6), st.floats(0.5, 2))
def test_a_hair_beyond_the_width_is_another_answer(stepped: Pack, power: int, share: float) -> None:
    prints = stepped.known.phases["public"]
    width = float(prints.widths[prints.starts[1]])
    value: Any = outcomes_of(stepped, row_scale)["public"][1].value
    right = value.array()
    moved = right + share * width * 10.0**power * np.sign(right) / np.sqrt(right.size)
    off = np.abs((moved - right).ravel() @ signs(right.size).T).max()
    outcomes = changed(outcomes_of(stepped, row_scale), "public", 1, returned(moved))
    # The answers that are kept are themselves rounded to single precision.
    if abs(off / width - 1) > 0.1:
        assert lineup(stepped, outcomes).anything_wrong == (off > width)


# --- two mistakes -----------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_two_mistakes_explain_what_neither_does(stepped: Pack, pair: tuple[str, str]) -> None:
    outcomes = outcomes_of(stepped, PAIRS[pair])
    assert single(stepped, outcomes) == []
    if pair in (("x_ignored", "no_factor"),):
        assert pairs(stepped, outcomes) in ([], [tuple(sorted(pair))])
    else:
        assert pairs(stepped, outcomes) == [tuple(sorted(pair))]


@pytest.mark.parametrize("name", BY_VALUES)
def test_no_pair_is_made_of_one_mistake_alone(stepped: Pack, name: str) -> None:
    assert pairs(stepped, outcomes_of(stepped, KNOWN[name])) == []


def test_no_pair_is_possible_whose_answer_is_another_one(stepped: Pack) -> None:
    pair = ("mean_of_batch", "no_factor")
    outcomes = outcomes_of(stepped, PAIRS[pair])
    ids = [one.id for one in stepped.known.mistakes]
    (place,) = (n for n, (a, b) in enumerate(stepped.known.pairs) if (ids[a], ids[b]) == pair)
    kept = [
        (name, int(step))
        for name, prints in stepped.known.phases.items()
        for step in prints.pair_steps[place]
        if step != NONE
    ]
    assert kept
    for name, step in kept:
        value: Any = outcomes[name][step].value
        assert pairs(stepped, changed(outcomes, name, step, returned(value.array() * 1.01))) == []


def test_what_a_pair_leaves_open_is_told(stepped: Pack) -> None:
    """An answer to a drawn case proves the pair; a case or two may still be otherwise than foreseen."""
    pair = ("mean_of_batch", "no_factor")
    outcomes = outcomes_of(stepped, PAIRS[pair])
    (fit,) = lineup(stepped, outcomes).pairs()
    assert fit.left == frozenset()
    (own,) = (case for case in stepped.cases if case.id == "x_kept")
    other = changed(outcomes, "public", own.steps[0], returned(np.full((2, 2), 0.37)))
    drawn = [replace(case, drawn=True) for case in stepped.cases]
    (fit,) = Lineup(stepped.known, drawn, other, {}).pairs()
    assert tuple(sorted(names(stepped, fit.members))) == pair and fit.left == {"x_kept"}
    assert lineup(stepped, other).pairs() == [], "nothing proves it where the numbers were chosen"


def test_nothing_at_all_is_no_fault(stepped: Pack) -> None:
    nothing = {n: [StepOutcome("not_run")] * len(plan) for n, plan in stepped.plans.items()}
    for outcomes in (nothing, {}):
        found = lineup(stepped, outcomes)
        assert not found.anything_wrong and found.single() == [] and found.pairs() == []


def test_a_pack_that_knows_nothing_says_nothing(pack: Pack) -> None:
    found = lineup(pack, outcomes_of(pack, KNOWN["mean_of_batch"]))
    assert not found.anything_wrong and found.single() == [] and found.pairs() == []
