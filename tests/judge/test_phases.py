"""A phase decided at once gives what each case gives on its own, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grader.exercise.pack import Pack, PackCase
from grader.judge.cases import judge_case
from grader.judge.phases import PhaseJudge, Ruling, ruling_of
from grader.outcomes import Container, Failure, PlainValue, StepOutcome
from judge.made_up import EXERCISE, case, pack_of, returned

SHAPES = [(2, 3), (1, 3), (3, 2), (0, 3), (3, 0), (2, 1), (4,), (0,), (), (1, 1), (2, 2, 2)]
CHECKS = (
    "compare",
    "finite",
    "equals",
    "differs",
    "same_on_repeat",
    "earlier_answer_kept",
    "inputs_unchanged",
    "output_not_aliased",
)
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7e308, -1.7e308]
numbers = st.floats(-8, 8, width=32) | st.integers(-3, 3).map(float)


@st.composite
def packs(draw: st.DrawFn) -> Pack:
    """Cases of every kind over a few steps, some of which several cases share."""
    steps = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=6))
    cases: list[PackCase] = []
    expected = {}
    for number in range(draw(st.integers(1, 8))):
        check = draw(st.sampled_from(CHECKS))
        count = {"equals": 2, "differs": 2, "same_on_repeat": draw(st.integers(2, 3))}.get(check, 1)
        count = 2 if check == "earlier_answer_kept" else count
        chosen = tuple(draw(st.integers(0, len(steps) - 1)) for _ in range(count))
        options: dict[str, Any] = {}
        if check in ("equals", "differs"):
            shapes = [steps[s] for s in chosen]
            same = shapes[0] == shapes[1]
            if not same or (shapes[0] and draw(st.booleans())):
                least = min((shape[0] if shape else 0) for shape in shapes)
                if not least:
                    continue
                rows = st.lists(st.integers(-least, least - 1), min_size=2, max_size=2)
                options = {"rows": draw(rows), "other_rows": draw(rows)}
                if shapes[0][1:] != shapes[1][1:]:
                    continue
        if check == "differs":
            options["at_least"] = draw(st.sampled_from([0.0, 1e-3, 0.5]))
        if check == "inputs_unchanged":
            options["argument"] = draw(st.sampled_from(EXERCISE.parameters))
        if check == "same_on_repeat":
            chosen = (chosen[0], *chosen[1:-1], chosen[0])
        one = case(
            check,
            id=f"c{number}",
            steps=chosen,
            shapes=tuple(steps[s] for s in chosen),
            options=options,
            tolerance=draw(st.sampled_from([1e-9, 1e-3, 0.25])),
            scale=draw(st.sampled_from([1.0, 3.0, 0.1, 5e-324])),
        )
        if check == "compare":
            size = int(np.prod(steps[chosen[0]]))
            values = draw(st.lists(numbers, min_size=size, max_size=size))
            array = np.array(values, np.float64).reshape(steps[chosen[0]])
            if size and draw(st.integers(0, 9)) == 0:
                array.flat[draw(st.integers(0, size - 1))] = draw(st.sampled_from(SPECIAL))
            expected[one.id] = array
        cases.append(one)
    return pack_of(*cases, expected=expected)


def shapes_of(pack: Pack) -> dict[int, tuple[int, ...]]:
    return {step: shape for c in pack.cases for step, shape in zip(c.steps, c.shapes, strict=True)}


@st.composite
def answers(draw: st.DrawFn, pack: Pack, *, honest: bool) -> list[StepOutcome]:
    """An outcome for each step: near an expected answer, and where it is not honest, anything at all."""
    shapes = shapes_of(pack)
    known = {c.steps[0]: pack.tensors[c.id] for c in pack.cases if c.id in pack.tensors}
    outcomes: list[StepOutcome] = []
    before: list[Any] = []
    for step in range(max(shapes, default=-1) + 1):
        shape = shapes.get(step, ())
        size = int(np.prod(shape))
        base = known.get(step)
        if base is None or not np.isfinite(base).all():
            base = np.array(draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)
        alike = [a for a in before if a.shape == shape]
        if alike and draw(st.booleans()):
            base = draw(st.sampled_from(alike))
        before.append(base)
        # Also by exactly a tolerance, and so that it matters which answer makes the scale.
        with np.errstate(over="ignore"):
            array = base * draw(st.sampled_from([1.0, 1.0, 1.3, 1 / 1.3]))
            array = array + draw(st.sampled_from([0.0, 0.0, 1e-10, 1e-4, 1e-3, 0.2, 0.25, 0.75, 3.0]))
        kind = "honest" if honest else draw(st.sampled_from(["honest"] * 6 + ["special"] * 2 + ["odd"] * 3))
        if kind == "special" and size:
            array = array.copy()
            for _ in range(draw(st.integers(1, 2))):
                array.flat[draw(st.integers(0, size - 1))] = draw(st.sampled_from(SPECIAL))
        with np.errstate(over="ignore"):
            array = np.asarray(array).astype(draw(st.sampled_from(["float64", "float64", "float32"])))
            half = array.astype("float16")
        touched = st.frozensets(st.integers(0, 2), max_size=1)
        outcome = returned(array, overwritten=draw(touched), reshaped=draw(touched), aliased=draw(touched))
        assert outcome.value is not None
        if kind == "odd":
            odd = [
                replace(outcome, value=replace(outcome.value, kind="tensor")),
                replace(outcome, value=replace(outcome.value, kind="scalar")),
                replace(outcome, value=replace(outcome.value, data=None)),
                returned(half),
                returned(np.zeros((*shape, 2))),
                returned(np.zeros(size)),
                StepOutcome("returned", value=Container("list", (outcome.value,))),
                StepOutcome("returned", value=PlainValue("none")),
                StepOutcome("returned"),
                StepOutcome("raised", failure=Failure("ValueError", "x", frames=((3, "f"),))),
                StepOutcome("timed_out", detail="the call took more than 5 s"),
                StepOutcome("not_run", detail="not run"),
            ]
            outcome = draw(st.sampled_from(odd))
        outcomes.append(outcome)
    return outcomes


def alone(pack: Pack, outcomes: list[StepOutcome], changed: dict[int, str]) -> dict[str, Ruling]:
    return {c.id: ruling_of(judge_case(pack, c, [outcomes[s] for s in c.steps], changed)) for c in pack.cases}


def exact(rulings: dict[str, Ruling]) -> dict[str, str]:
    """Rulings so that floats are equal only when all their bits are."""
    return {
        name: repr((r.verdict, r.message, [float(e).hex() for e in r.error or ()], r.error is None))
        for name, r in rulings.items()
    }


@settings(max_examples=400, deadline=None)
@given(st.data(), packs(), st.booleans())
def test_what_is_decided_at_once_is_what_each_case_gives_alone(
    data: st.DataObject, pack: Pack, honest: bool
) -> None:
    outcomes = data.draw(answers(pack, honest=honest))
    changed = data.draw(st.dictionaries(st.integers(0, 2), st.sampled_from(["public", "hidden"]), max_size=1))
    decided = PhaseJudge(pack, "public").decide(outcomes, changed)
    expected = alone(pack, outcomes, changed)
    assert exact(decided) == exact({name: expected[name] for name in decided})


@settings(max_examples=100, deadline=None)
@given(st.data(), packs())
def test_of_honest_answers_nothing_that_passes_is_left_over(data: st.DataObject, pack: Pack) -> None:
    """Or it would all be decided one by one, and nobody would see."""
    # Near the end of what float64 holds a sum or a difference may be infinite, and is looked at by itself.
    assume(all(np.abs(expected).max(initial=0.0) < 1e300 for expected in pack.tensors.values()))
    outcomes = data.draw(answers(pack, honest=True))
    decided = PhaseJudge(pack, "public").decide(outcomes, {})
    steps = [c.steps[0] for c in pack.cases if c.check == "compare"]
    for name, ruling in alone(pack, outcomes, {}).items():
        (one,) = (c for c in pack.cases if c.id == name)
        # Of several comparisons of one answer the first is decided with the rest; rows without elements, and
        # an answer that has no rows, are left alone.
        shared = one.check == "compare" and steps.count(one.steps[0]) > 1
        empty = one.check == "differs" and (not one.shapes[0] or 0 in one.shapes[0])
        if ruling.verdict == "passed" and not shared and not empty:
            assert name in decided, one


@pytest.mark.parametrize("check", ["compare", "equals", "same_on_repeat"])
@pytest.mark.parametrize("off", [0.25, 0.75, 1.0, float(np.nextafter(1.0, 2)), 1.25])
def test_the_edge_of_a_tolerance_is_the_same(check: str, off: float) -> None:
    first = np.array([[4.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    second = first.copy()
    second[0, 1] += off
    count = 1 if check == "compare" else 2
    one = case(check, steps=tuple(range(count)), shapes=((2, 3),) * count, tolerance=0.25, scale=4.0)
    pack = pack_of(one, expected={"one": first})
    outcomes = [returned(second)] if check == "compare" else [returned(first), returned(second)]
    decided = PhaseJudge(pack, "public").decide(outcomes, {})
    assert exact(alone(pack, outcomes, {}) | decided) == exact(alone(pack, outcomes, {}))
    assert ("one" in decided) == (check == "compare" or off <= 1.0)


@pytest.mark.parametrize("factor", [1.3, 1 / 1.3])
def test_the_larger_of_two_answers_makes_the_scale(factor: float) -> None:
    first = np.array([[4.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    one = case("equals", steps=(0, 1), shapes=((2, 3), (2, 3)), tolerance=0.25)
    pack = pack_of(one)
    outcomes = [returned(first), returned(first * factor)]
    assert PhaseJudge(pack, "public").decide(outcomes, {}).keys() == {"one"}
    assert alone(pack, outcomes, {})["one"].verdict == "passed"


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_odd_number_in_one_answer_leaves_the_other_cases_alone(special: float, dtype: str) -> None:
    rows = np.arange(6.0).reshape(2, 3)
    cases = [case(id=f"c{n}", steps=(n,), scale=5.0) for n in range(3)]
    pack = pack_of(*cases, expected={c.id: rows for c in cases})
    bad = rows.copy()
    bad[1, 2] = special
    with np.errstate(over="ignore"):
        outcomes = [returned(rows), returned(bad.astype(dtype)), returned(rows)]
    decided = PhaseJudge(pack, "public").decide(outcomes, {})
    assert decided["c0"] == decided["c2"] == Ruling("passed", "", (0.0, 0.0))
    assert exact(alone(pack, outcomes, {}) | decided) == exact(alone(pack, outcomes, {}))


def test_bytes_that_do_not_make_up_the_shape_are_left_to_a_closer_look() -> None:
    one = case()
    pack = pack_of(one, expected={"one": np.ones((2, 3))})
    made = returned(np.ones((2, 3)))
    assert made.value is not None
    cut = replace(made, value=replace(made.value, data=made.value.data[:-8]))
    assert PhaseJudge(pack, "public").decide([cut], {}) == {}
