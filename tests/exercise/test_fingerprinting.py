"""The known mistakes of an exercise are run on its calls, and what they answer there is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from authoring.stepped import MISTAKES, Mistake
from support.known import MORE, write_stepped
from support.small import CASES, build, freeze_exercise, load_source

from grader.exercise.build import NOISE_FACTOR, UNMEASURED, build_pack
from grader.exercise.calls import ArrayArgument, PhaseBuilder, PlacedArray
from grader.exercise.fingerprinting import KEPT, SAME, PhaseCalls, fingerprint_known, same
from grader.exercise.fingerprints import Fingerprint, fingerprint, of_array
from grader.exercise.known import NONE, NOTHING_KNOWN, UNSTABLE, Known, PhasePrints
from grader.exercise.misconceptions import Misconceptions, StepModel, compose, load_misconceptions, load_model
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import rehearse

PARAMETERS = {"": ("x", "w", "factor")}


@pytest.fixture(scope="module")
def model(stepped_root: Path) -> StepModel:
    found = load_model(stepped_root / "reference" / "row_scale")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def library(stepped_root: Path) -> Misconceptions:
    return load_misconceptions(
        stepped_root / "reference" / "row_scale", ["product", "scale", "rows", "inputs"]
    )


def number(known: Known, name: str) -> int:
    return [one.id for one in known.mistakes].index(name)


def row_of(prints: PhasePrints, mistake: int, step: int) -> int:
    return int(prints.starts[step] + prints.index[mistake, step])


def kept(prints: PhasePrints, row: int) -> tuple[str, np.ndarray, float]:
    return prints.kinds[prints.row_kinds[row]], prints.rows[row], float(prints.widths[row])


# --- the table --------------------------------------------------------------------------------


def test_what_is_kept_of_a_mistake_is_what_it_answers(
    stepped: Pack, model: StepModel, library: Misconceptions
) -> None:
    checked = 0
    for one in stepped.known.mistakes:
        if library[one.id].stateful:
            continue
        entry = model.entry(library[one.id].make())
        for name, prints in stepped.known.phases.items():
            for step, outcome in enumerate(rehearse(entry, stepped.blocks[name], stepped.plans[name])):
                if prints.index[number(stepped.known, one.id), step] == UNSTABLE:
                    continue
                found = fingerprint(outcome)
                kind, values, width = kept(prints, row_of(prints, number(stepped.known, one.id), step))
                assert kind == found.kind, (one.id, name, step)
                assert np.abs(values - found.values).max() <= width
                checked += 1
    assert checked > 100


def test_the_first_answer_to_a_step_is_the_right_one(stepped: Pack, model: StepModel) -> None:
    for name, prints in stepped.known.phases.items():
        right = rehearse(model.entry({}), stepped.blocks[name], stepped.plans[name])
        for step, outcome in enumerate(right):
            kind, values, _ = kept(prints, int(prints.starts[step]))
            assert kind == fingerprint(outcome).kind
            assert np.array_equal(values, fingerprint(outcome).values.astype(np.float32))


def test_a_row_lies_as_far_off_as_rounding_may(stepped: Pack, stepped_root: Path) -> None:
    frozen = load_source(stepped_root).require_fresh_frozen()
    for case in stepped.cases:
        prints = stepped.known.phases[case.visibility]
        noise = frozen.cases[case.id].noise
        tolerance = case.tolerance or (NOISE_FACTOR * noise if noise else UNMEASURED)
        for step in case.steps:
            width = prints.widths[prints.starts[step]]
            scale = case.scale if case.check == "compare" else None
            if scale is not None:
                assert width == pytest.approx(max(tolerance, 2.0**-22) * scale, rel=1e-5), case.id
            assert 0 < width < 1e-3


def test_every_answer_is_used_and_none_is_there_twice(stepped: Pack) -> None:
    for prints in stepped.known.phases.values():
        for step in range(len(prints.starts) - 1):
            count = int(prints.starts[step + 1] - prints.starts[step])
            used = set(prints.index[:, step].tolist()) - {UNSTABLE}
            assert used | {0} == set(range(count))
            rows = [kept(prints, int(prints.starts[step]) + n) for n in range(count)]
            assert len({(kind, values.tobytes(), width) for kind, values, width in rows}) == count


def test_a_mistake_shows_only_where_it_touches_something(stepped: Pack) -> None:
    for prints in stepped.known.phases.values():
        shows = (prints.index != 0) & (prints.index != UNSTABLE)
        assert not (shows & ~prints.touched).any()


@dataclass(frozen=True)
class ListSteps:
    look: Any = lambda items: len(items)
    add_up: Any = sum


def of_list(steps: ListSteps, arguments: Any, dtype: str = "float64") -> float:
    steps.look(arguments[0])
    return float(steps.add_up(arguments[0]))


PAGE = """{}

What it does:
    One thing.
Why it is wrong:
    It is another.
How it looks:
    x
What to write instead:
    y
"""


def test_what_a_mistake_does_to_a_list_is_its_own_affair() -> None:
    """It shows, and the mistakes of later steps meet the list as it was given."""
    library = Misconceptions()

    def emptied(items: list[int]) -> int:
        count = len(items)
        items.clear()
        return count

    def negated(items: list[int]) -> int:
        return -sum(items)

    for step, wrong in (("look", emptied), ("add_up", negated)):
        wrong.__doc__ = PAGE.format(step)
        library.add(clause="sum", step=step)(wrong)
    builder = PhaseBuilder()
    builder.add_call((ArrayArgument(np.array([1, 2]), as_list=True),))
    phases = {"public": PhaseCalls(builder.finish(), [1e-6], [0], [])}
    prints = fingerprint_known(StepModel(ListSteps(), of_list), library, phases, {"": ("items",)}).phases
    answers = [kept(prints["public"], row_of(prints["public"], n, 0))[1][0] for n in (0, 1)]
    (right,) = kept(prints["public"], 0)[1][:1]
    assert answers == [0, -right]
    assert prints["public"].touched.all()


@dataclass(frozen=True)
class NamedSteps:
    scale: Any = lambda x, factor, shift: factor * x + shift
    add_up: Any = np.sum


def by_names(steps: NamedSteps, arguments: Any, dtype: str = "float64") -> float:
    return float(steps.add_up(steps.scale(arguments[0], shift=1.0, factor=2.0)))


def test_steps_may_be_given_arguments_by_name() -> None:
    """Mistakes of such a step are seen, and those of the steps after it."""

    def not_shifted(x: np.ndarray, factor: float, shift: float) -> np.ndarray:
        return factor * x

    def averaged(x: np.ndarray) -> np.floating[Any]:
        return np.mean(x)

    library = Misconceptions()
    for step, wrong in (("scale", not_shifted), ("add_up", averaged)):
        wrong.__doc__ = PAGE.format(step)
        library.add(clause="sum", step=step)(wrong)
    builder = PhaseBuilder()
    builder.add_call((ArrayArgument(np.array([1.0, 2.0])),))
    phases = {"public": PhaseCalls(builder.finish(), [1e-6], [0], [])}
    known = fingerprint_known(StepModel(NamedSteps(), by_names), library, phases, {"": ("x",)})
    prints = known.phases["public"]
    answers = [abs(float(kept(prints, row_of(prints, n, 0))[1][0])) for n in (0, 1)]
    assert (abs(float(kept(prints, 0)[1][0])), answers) == (8.0, [6.0, 4.0])
    assert prints.touched.all() and prints.small[0, 0].any()
    assert known.pairs.tolist() == [[0, 1]]


def test_where_the_right_model_is_not_seen_to_its_end_every_mistake_may_show() -> None:
    """It writes into what it is given, which it can't while it is watched."""

    def doubled(x: np.ndarray) -> np.ndarray:
        x *= 2
        return x

    def negated(x: np.ndarray) -> np.floating[Any]:
        return -np.sum(x)

    library = Misconceptions()
    negated.__doc__ = PAGE.format("add_up")
    library.add(clause="sum", step="add_up")(negated)
    builder = PhaseBuilder()
    builder.add_call((ArrayArgument(np.array([1.0, 2.0])),))
    phases = {"public": PhaseCalls(builder.finish(), [1e-6], [0], [])}
    model = StepModel(ListSteps(look=doubled), of_list)
    prints = fingerprint_known(model, library, phases, {"": ("x",)}).phases["public"]
    assert prints.touched.all() and prints.index.tolist() == [[1]]


def test_where_an_exception_is_asked_for_what_mistakes_do_there_is_kept() -> None:
    """One goes on, one raises another exception; a third raises what is asked for, and is right."""

    def look(items: list[int]) -> None:
        if not items:
            raise ValueError("nothing")

    def goes_on(items: list[int]) -> None:
        return None

    def raises_another(items: list[int]) -> None:
        if not items:
            raise TypeError("nothing")

    def says_it_otherwise(items: list[int]) -> None:
        if not items:
            raise ValueError("an empty list")

    library = Misconceptions()
    for wrong in (goes_on, raises_another, says_it_otherwise):
        wrong.__doc__ = PAGE.format(wrong.__name__)
        library.add(clause="sum", step="look")(wrong)
    builder = PhaseBuilder()
    for items in ([1, 2], []):
        builder.add_call((ArrayArgument(np.array(items, np.int64), as_list=True),))
    phases = {"public": PhaseCalls(builder.finish(), [1e-6, 1e-6], [0, 1], [])}
    model = StepModel(ListSteps(look=look), of_list)
    known = fingerprint_known(model, library, phases, {"": ("items",)}, ["TypeError", "ValueError"])
    prints = known.phases["public"]
    assert not prints.index[:, 0].any()
    kinds = [kept(prints, row_of(prints, number, 1))[0] for number in range(3)]
    assert kinds == ["scalar float", "raised TypeError", "raised ValueError"]
    assert prints.index[2, 1] == 0


def test_small_ones_are_no_mistakes_to_be_told(stepped: Pack) -> None:
    assert "last_digits" not in {one.id for one in stepped.known.mistakes}
    assert ("scale", "last_digits") in stepped.known.small


# --- what is told otherwise -------------------------------------------------------------------


def test_what_the_calls_leave_is_kept(stepped: Pack) -> None:
    found = {one.id: one for one in stepped.known.mistakes}
    assert {name for name, one in found.items() if one.overwritten} == {"in_place"}
    assert found["in_place"].overwritten == ("x",)
    assert {name for name, one in found.items() if one.unrepeatable} == {"noise"}
    assert {name for name, one in found.items() if one.half} == {"half"}
    assert not any(one.aliased for one in found.values())


def test_a_mistake_that_writes_is_unforeseeable_where_arrays_are_read_only(stepped: Pack) -> None:
    (locked,) = (case for case in stepped.cases if case.id == "locked")
    prints = stepped.known.phases["public"]
    assert prints.index[number(stepped.known, "in_place"), locked.steps[0]] == UNSTABLE
    others = [n for n, one in enumerate(stepped.known.mistakes) if one.id != "in_place"]
    assert (prints.index[others] != UNSTABLE).all()


def test_an_answer_that_is_an_argument_is_told(tmp_path: Path) -> None:
    model = "import numpy as np\n" + MODEL_OF_ONE
    mistakes: dict[str, Mistake] = {"is_x": ("inputs", 'step="finish"', "x", "return x")}
    write_stepped(tmp_path, mistakes, model=model, cases=[SQUARE], more=[], **NO_MAP)
    freeze_exercise(tmp_path)
    (one,) = build(tmp_path).known.mistakes
    assert one.aliased and not one.overwritten


MODEL_OF_ONE = """
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def finish(x):
    return np.array(x, np.float64)


@dataclass(frozen=True)
class Steps:
    finish: Callable[..., Any] = finish


STEPS = Steps()


def run(steps, arguments, dtype):
    return steps.finish(arguments[0])


def row_scale(x, w, factor):
    return run(STEPS, (x, w, factor), "float64")
"""
SQUARE = CASES[0] | {"dims": {"N": 3, "D": 3, "K": 3, "factor": 1}}
NO_MAP: dict[str, Any] = {
    "exercise": {},
    "crosscheck": "def row_scale(x, w, factor):\n    return x.astype('float64')\n",
    "rounding": "RUNS = {'plain': lambda arguments, dtype: arguments[0].astype(dtype)}\n",
}


def test_an_answer_that_rounding_decides_is_unforeseeable(tmp_path: Path) -> None:
    # A difference of nearly equal numbers, over itself: single precision has nothing to do with it.
    chaos = "rows = rows + np.float64(1e9).astype(rows.dtype); return rows - rows.mean()"
    mistakes: dict[str, Mistake] = {
        "chaotic": ("scale", 'step="finish"', "rows", chaos),
        "no_factor": MISTAKES["no_factor"],
    }
    write_stepped(tmp_path, mistakes)
    freeze_exercise(tmp_path)
    known = build(tmp_path).known
    prints = known.phases["hidden"]
    assert (prints.index[number(known, "chaotic")] == UNSTABLE).all()
    assert (prints.index[number(known, "no_factor")] != UNSTABLE).all()


# --- pairs ------------------------------------------------------------------------------------


def test_pairs_are_kept_where_both_show(stepped: Pack, model: StepModel, library: Misconceptions) -> None:
    ids = [one.id for one in stepped.known.mistakes]
    kept_ids = {(ids[a], ids[b]) for a, b in stepped.known.pairs}
    assert ("mean_of_batch", "no_factor") in kept_ids
    assert not any({"mean_of_batch", "running_mean"} == set(pair) for pair in kept_ids), "the same step"
    assert not any("noise" in pair or "half" in pair for pair in kept_ids), "chance and coarse numbers"
    checked = 0
    for place, (a, b) in enumerate(stepped.known.pairs):
        changes = compose([library[ids[a]], library[ids[b]]])
        assert changes is not None
        entry = model.entry(changes)
        kept_in = [
            n for n, prints in stepped.known.phases.items() if (prints.pair_steps[place] != NONE).any()
        ]
        assert len(kept_in) <= 1, "answers in one phase are enough"
        for name, prints in stepped.known.phases.items():
            steps = prints.pair_steps[place]
            assert not prints.pair_rows[place][steps == NONE].any()
            if name not in kept_in:
                continue
            outcomes = rehearse(entry, stepped.blocks[name], stepped.plans[name])
            used = [int(step) for step in steps if step != NONE]
            assert steps[0] != NONE and len(set(used)) == len(used) <= KEPT
            for order, step in enumerate(used):
                assert all(prints.index[m, step] not in (0, UNSTABLE) for m in (a, b)), "both show"
                found = fingerprint(outcomes[step])
                assert prints.kinds[prints.pair_kinds[place, order]] == found.kind
                off = np.abs(prints.pair_rows[place, order] - found.values).max()
                assert off <= prints.pair_widths[place, order]
            first = fingerprint(outcomes[used[0]])
            for m in (a, b):
                kind, values, width = kept(prints, row_of(prints, m, used[0]))
                width = max(width, float(prints.pair_widths[place, 0]))
                far = np.abs(values - first.values).max() > width
                assert kind != first.kind or far, "the first of them is not the answer of one alone"
            checked += 1
    assert checked >= 3


def test_a_drawn_case_is_taken_first(tmp_path: Path) -> None:
    write_stepped(tmp_path, change={"drawn": {"visibility": "public"}})
    freeze_exercise(tmp_path)
    made = build(tmp_path)
    prints = made.known.phases["public"]
    drawn = {case.steps[0] for case in made.cases if case.drawn}
    checked = 0
    for (a, b), steps in zip(made.known.pairs, prints.pair_steps, strict=True):
        step = steps[0]
        both = {s for s in drawn if all(prints.index[m, s] not in (0, UNSTABLE) for m in (a, b))}
        if step != NONE and both:
            assert step in drawn
            checked += 1
    assert checked >= 3


# --- parts and builds -------------------------------------------------------------------------


def calls_of(pack: Pack, steps: list[int], tolerance: float) -> PhaseCalls:
    """Some calls of the public phase as one of their own."""
    builder = PhaseBuilder()
    block = pack.blocks["public"]
    for step in steps:
        placed = pack.plans["public"][step]
        assert isinstance(placed, list)
        builder.add_call(
            [
                ArrayArgument(a.read(block), a.layout, a.read_only) if isinstance(a, PlacedArray) else a
                for a in placed
            ]
        )
    return PhaseCalls(builder.finish(), [tolerance] * len(steps), range(len(steps)), ())


@pytest.mark.parametrize("steps", [[0], [1, 3, 9], [9, 1, 0, 5], list(range(10))])
def test_a_part_of_the_table_is_the_table_of_these_steps(
    stepped: Pack, model: StepModel, library: Misconceptions, steps: list[int]
) -> None:
    """Up to the numbers that kinds have, and to pairs, of which only one answer is kept."""
    everything = list(range(len(stepped.plans["public"])))

    def table(chosen: list[int]) -> PhasePrints:
        # Chance goes on from call to call, and writing is a matter of the whole phase.
        quiet = Misconceptions()
        for one in library:
            if not one.stateful and one.id != "in_place":
                quiet._put(one)
        known = fingerprint_known(model, quiet, {"public": calls_of(stepped, chosen, 1e-6)}, PARAMETERS)
        return known.phases["public"]

    part, alone = table(everything).take(steps), table(steps)
    for name in ("starts", "rows", "widths", "index", "touched", "small"):
        assert np.array_equal(getattr(part, name), getattr(alone, name)), name
    assert [part.kinds[k] for k in part.row_kinds] == [alone.kinds[k] for k in alone.row_kinds]


def test_two_builds_give_the_same_bytes(stepped: Pack, stepped_root: Path) -> None:
    """Also where what is known is made anew, and where chance is in it."""
    source = load_source(stepped_root)
    frozen = source.require_fresh_frozen()
    assert build_pack(source, frozen, remember=False) == stepped.data
    assert build_pack(source, frozen) == stepped.data


def test_without_mistakes_or_without_steps_nothing_is_known(
    model: StepModel, library: Misconceptions
) -> None:
    phases: Mapping[str, PhaseCalls] = {}
    assert fingerprint_known(model, Misconceptions(), phases, PARAMETERS) is NOTHING_KNOWN
    assert fingerprint_known(None, library, phases, PARAMETERS) is NOTHING_KNOWN


def test_a_students_pack_knows_of_public_calls_alone(stepped: Pack, stepped_root: Path) -> None:
    mine = build(stepped_root, student=True).known
    assert set(mine.phases) == {"public"} and set(stepped.known.phases) == {"public", "hidden"}
    assert [one.id for one in mine.mistakes] == [one.id for one in stepped.known.mistakes]
    assert np.array_equal(mine.phases["public"].index, stepped.known.phases["public"].index)


# --- small errors -----------------------------------------------------------------------------


def test_a_small_error_is_kept_by_what_it_does_to_each_answer(
    stepped: Pack, model: StepModel, library: Misconceptions
) -> None:
    place = stepped.known.small.index(("scale", "last_digits"))
    entry = model.entry(library["last_digits"].make())
    for name, prints in stepped.known.phases.items():
        right, moved = (
            rehearse(e, stepped.blocks[name], stepped.plans[name]) for e in (model.entry({}), entry)
        )
        for step, (one, other) in enumerate(zip(right, moved, strict=True)):
            before, after = fingerprint(one), fingerprint(other)
            if before.scale:
                expected = (after.values - before.values) / before.scale
                assert np.allclose(prints.small[place, step], expected, rtol=1e-6)
                assert np.allclose(prints.small[place, step], 2e-7 * before.values / before.scale, rtol=1e-4)
            else:
                assert not prints.small[place, step].any()


def test_answers_that_hang_on_chance_are_asked_of_the_right_model_alone() -> None:
    """They may take long, and no mistake is told by them."""
    library = Misconceptions()
    seen: list[int] = []

    def look(items: list[int]) -> None:
        seen.append(len(items))

    def twice(items: list[int]) -> int:
        return 2 * sum(items)

    twice.__doc__ = PAGE.format("Twice")
    library.add(clause="sum", step="add_up")(twice)
    builder = PhaseBuilder()
    for length in (1, 2, 3):
        builder.add_call((ArrayArgument(np.ones(length, np.int64), as_list=True),))
    calls = PhaseCalls(builder.finish(), [1e-6] * 3, [0, 2], [], silent=[1])
    model = StepModel(ListSteps(look=look), of_list)
    prints = fingerprint_known(model, library, {"public": calls}, {"": ("items",)}).phases["public"]
    assert seen.count(2) == 1 < seen.count(1) == seen.count(3)
    assert prints.touched.tolist() == [[True, False, True]]
    assert not prints.small[:, 1].any()


def test_every_step_that_a_clause_names_is_nudged(stepped: Pack) -> None:
    words = [words for _, words in stepped.known.small]
    clauses = [clause for clause, said in stepped.known.small if not said]
    assert words[0] == "last_digits"
    # take, squares, product and finish, each by the clause of the first mistake in it alone.
    assert sorted(clauses) == ["product", "product", "product", "scale"]


# --- sameness ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        (np.array([1.0, 2.0]), True),
        (np.array([1.0, 2.0 + 1e-9]), True),
        (np.array([1.0, 2.1]), False),
        (np.array([[1.0, 2.0]]), False),
        (np.array([1.0, np.nan]), False),
    ],
)
def test_answers_within_the_tolerance_are_the_same(other: np.ndarray, equal: bool) -> None:
    one = of_array(np.array([1.0, 2.0]))
    assert same(one, of_array(other), 1e-6) == same(of_array(other), one, 1e-6) == equal


def test_nothing_and_nothing_are_the_same() -> None:
    one = Fingerprint("raised", np.zeros(8), 0.0)
    assert same(one, one, 0.0) and same(one, one, math.inf)
    assert not same(one, replace_kind(one, "crashed"), math.inf)


def replace_kind(one: Fingerprint, kind: str) -> Fingerprint:
    return one._replace(kind=kind)


def test_an_answer_that_differs_by_rounding_alone_is_the_right_one(tmp_path: Path) -> None:
    mistakes: dict[str, Mistake] = {
        "below": ("scale", 'step="finish"', "rows", "return rows * (1 + 1e-13)"),
        "above": ("scale", 'step="finish"', "rows", "return rows * (1 + 1e-2)"),
    }
    write_stepped(tmp_path, mistakes, more=MORE)
    freeze_exercise(tmp_path)
    made = build(tmp_path)
    assert SAME < 1
    prints = made.known.phases["public"]
    assert not prints.index[number(made.known, "below")].any()
    values = [
        len(case.shapes) and 0 not in case.shapes[0] for case in made.cases if case.visibility == "public"
    ]
    assert any(values) and prints.index[number(made.known, "above")].any()
    assert not replace(made, known_data={}).known.mistakes
