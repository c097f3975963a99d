"""A part of a pack is judged as the whole is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known import row_scale
from support.small import right_answer

from grader.errors import GraderError
from grader.exercise.calls import PlacedArray
from grader.exercise.pack import Pack, PackCase
from grader.exercise.rehearsal import rehearse
from grader.exercise.select import select
from grader.judge.cases import judge_case
from grader.judge.diagnosis import diagnose
from grader.outcomes import ArrayValue, StepOutcome


def answers(pack: Pack, case: PackCase, error: float) -> list[StepOutcome]:
    """What a submission would give that is off by ``error`` in the second and later rows."""
    found = []
    for number, step in enumerate(case.steps):
        call = number if not isinstance(pack.plans[case.visibility][step], int) else 0
        made = right_answer(*[value for _, value in pack.arguments(case, call)])
        made[1:] += error
        found.append(
            StepOutcome("returned", value=ArrayValue("array", "float64", made.shape, made.tobytes()))
        )
    return found


@given(st.data())
def test_a_part_of_a_pack_gives_the_same_verdicts(pack: Pack, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.sampled_from([c.id for c in pack.cases]), min_size=1, unique=True))
    part = select(pack, cases=ids, clauses=[])
    whole = {c.id: c for c in pack.cases}
    assert [c.id for c in part.cases] == [c.id for c in pack.cases if c.id in ids], "in the pack's order"
    for case in part.cases:
        for error in (0.0, 0.1):
            mine = judge_case(part, case, answers(part, case, error), {})
            theirs = judge_case(pack, whole[case.id], answers(pack, whole[case.id], error), {})
            assert (mine.verdict, mine.message) == (theirs.verdict, theirs.message)


def test_arguments_keep_values_dtype_layout_and_flags(pack: Pack) -> None:
    everything = select(pack, cases=[], clauses=list(pack.exercise.clauses))
    assert [c.id for c in everything.cases] == [c.id for c in pack.cases]

    def placed(one: Pack, case: PackCase) -> list[Any]:
        steps = [one.plans[case.visibility][s] for s in case.steps]
        return [
            [
                (a.dtype, a.shape, a.strides, a.read_only, a.read(one.blocks[case.visibility]).tobytes())
                if isinstance(a, PlacedArray)
                else a
                for a in step
            ]
            for step in steps
            if not isinstance(step, int)
        ]

    layouts = set()
    for mine, theirs in zip(everything.cases, pack.cases, strict=True):
        assert placed(everything, mine) == placed(pack, theirs)
        step = pack.plans[theirs.visibility][theirs.steps[0]]
        assert not isinstance(step, int)
        layouts |= {a.layout for a in step if isinstance(a, PlacedArray)}
    assert layouts == {"c", "fortran", "strided"}, "the exercise has all of them"


def test_cases_of_a_clause_are_chosen(pack: Pack) -> None:
    part = select(pack, cases=["x_kept"], clauses=["scale"])
    assert [c.id for c in part.cases] == ["large_rows", "x_kept", "drawn_01", "drawn_02", "drawn_03"]


def test_what_a_case_requires_is_dropped_and_phases_without_cases_too(pack: Pack) -> None:
    part = select(pack, cases=["row_alone"], clauses=[])
    assert part.cases[0].requires == ()
    assert list(part.blocks) == ["public"]
    assert len(part.plans["public"]) == 2
    assert part.max_score == 1


def test_expected_answers_stay(pack: Pack) -> None:
    part = select(pack, cases=["large_rows"], clauses=[])
    assert np.array_equal(part.expected(part.cases[0]), pack.expected(pack.cases[1]))


def test_unknown_names_are_told_with_the_near_one(pack: Pack) -> None:
    with pytest.raises(GraderError, match="no case 'one_row' in row_scale; did you mean 'ones_row'"):
        select(pack, cases=["one_row"], clauses=[])
    with pytest.raises(GraderError, match="no clause 'scael' in row_scale; did you mean 'scale'"):
        select(pack, cases=[], clauses=["scael"])


def test_a_students_pack_tells_no_hidden_id(student_pack: Pack) -> None:
    with pytest.raises(GraderError) as caught:
        select(student_pack, cases=["zzzz"], clauses=[])
    assert "x_matters" not in str(caught.value)
    assert "drawn" not in str(caught.value)


# --- known mistakes ---------------------------------------------------------------------------


def batch_mean(x: Any, w: Any, factor: Any) -> Any:
    return row_scale(x, w, factor, lambda y: (y * y).mean())


@given(st.data())
def test_a_part_knows_of_its_own_steps(stepped: Pack, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.sampled_from([c.id for c in stepped.cases]), min_size=1, unique=True))
    part = select(stepped, cases=ids, clauses=[])
    assert {name: len(p.starts) - 1 for name, p in part.known.phases.items()} == {
        name: len(plan) for name, plan in part.plans.items()
    }
    for case, old in ((c, o) for c in part.cases for o in stepped.cases if o.id == c.id):
        mine, theirs = part.known.phases[case.visibility], stepped.known.phases[case.visibility]
        for new, step in zip(case.steps, old.steps, strict=True):
            assert np.array_equal(mine.index[:, new], theirs.index[:, step])
            assert np.array_equal(mine.rows[mine.starts[new]], theirs.rows[theirs.starts[step]])


@pytest.mark.parametrize("name", ["large_rows", "row_alone", "drawn_02", "locked"])
def test_a_mistake_is_named_by_a_single_case(stepped: Pack, name: str) -> None:
    part = select(stepped, cases=[name], clauses=[])
    outcomes = {n: rehearse(batch_mean, block, part.plans[n]) for n, block in part.blocks.items()}
    assert ["mean_of_batch"] in [[one.id for one in f.mistakes] for f in diagnose(part, outcomes)]
    right = {n: rehearse(row_scale, block, part.plans[n]) for n, block in part.blocks.items()}
    assert diagnose(part, right) == []


def test_what_is_run_after_a_failure_stays(stepped: Pack) -> None:
    part = select(stepped, cases=["large_rows"], clauses=[])
    assert part.follow_up is not None and part.follow_up.block == stepped.follow_up.block  # type: ignore[union-attr]


def test_a_part_of_a_pack_without_known_mistakes_knows_none(pack: Pack) -> None:
    part = select(pack, cases=["large_rows"], clauses=[])
    assert part.known.phases == {} and part.known.mistakes == ()
