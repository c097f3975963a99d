"""Kills are the judge's own, survivors are told apart by generated inputs, and nothing runs for ever."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import MODEL, load_source, right_answer, small_pack, write_exercise

from authoring import stepped
from grader.authoring.adequacy import (
    TIMES,
    Suite,
    Trial,
    agreement_of,
    fate_of,
    indistinguishable,
    smallest_set,
    tally,
    try_mutants,
)
from grader.authoring.budget import EndlessError, limited
from grader.authoring.calibrate import HonestRuns
from grader.authoring.mutants import Mutants
from grader.authoring.samples import Agreement, Samples
from grader.exercise.memory import limited_memory
from grader.exercise.models import Exercise
from grader.exercise.pack import Pack
from grader.exercise.reference import load_entry


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return small_pack(tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="module")
def suite(pack: Pack) -> Suite:
    return Suite(pack, seconds=0.25)


def samples_of(root: Path, **overrides: Any) -> Samples:
    write_exercise(root, **overrides)
    source = load_source(root)
    entry = load_entry(source.reference_folder, "model", "row_scale")
    return Samples(source.exercise, entry, HonestRuns(source.reference_folder, source.exercise))


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return samples_of(tmp_path_factory.mktemp("samples"))


# --- kills ------------------------------------------------------------------------------------


def test_the_right_function_is_killed_by_nothing(suite: Suite, pack: Pack) -> None:
    trial = suite.trial("right", right_answer)
    assert (trial.killed, trial.with_margin, trial.caught) == ((), (), False)
    assert trial.score == pack.max_score
    assert set(trial.verdicts) == {"passed"}


def test_a_case_that_is_skipped_kills_nothing(suite: Suite, pack: Pack) -> None:
    def doubled(x: Any, w: Any, factor: Any) -> Any:
        return 2 * right_answer(x, w, factor)

    trial = suite.trial("doubled", doubled)
    assert "ones_row" in trial.killed
    needing = {c.id for c in pack.cases if "ones_row" in c.requires}
    assert needing and needing.isdisjoint(trial.killed)
    verdicts = dict(zip([c.id for c in pack.cases], trial.verdicts, strict=True))
    assert {verdicts[name] for name in needing} == {"skipped"}


@pytest.mark.parametrize(("times", "margin"), [(1.5, False), (9.5, False), (10.5, True)])
def test_margin_is_ten_times_the_tolerance(suite: Suite, pack: Pack, times: float, margin: bool) -> None:
    case = next(c for c in pack.cases if c.id == "ones_row")
    assert case.tolerance is not None
    off = 1 + times * case.tolerance

    def wrong(x: Any, w: Any, factor: Any) -> Any:
        answer = right_answer(x, w, factor)
        return answer * off if len(x) == 1 else answer

    trial = suite.trial("off", wrong)
    assert "ones_row" in trial.killed
    assert ("ones_row" in trial.with_margin) is margin
    assert trial.errors["ones_row"] == pytest.approx(times * case.tolerance, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, w, factor: right_answer(x, w, factor).T,
        lambda x, w, factor: right_answer(x, w, factor) * np.nan,
        lambda x, w, factor: 1 / 0,
        lambda x, w, factor: None,
    ],
)
def test_another_verdict_than_values_and_nan_are_margin_enough(suite: Suite, wrong: Any) -> None:
    trial = suite.trial("wrong", wrong)
    assert "large_rows" in trial.with_margin


def test_the_largest_error_that_passes_is_told(suite: Suite, pack: Pack) -> None:
    case = next(c for c in pack.cases if c.id == "large_rows")
    assert case.tolerance is not None
    off = 1 + 0.5 * min(c.tolerance for c in pack.cases if c.tolerance)
    trial = suite.trial("near", lambda x, w, f: right_answer(x, w, f) * off)
    assert not trial.caught
    assert 0.3 < trial.ratio <= 0.5001
    assert trial.closest


def test_a_function_with_memory_starts_anew_in_each_trial_that_makes_one(suite: Suite) -> None:
    def remembering() -> Any:
        calls: list[int] = []

        def call(x: Any, w: Any, factor: Any) -> Any:
            calls.append(1)
            return right_answer(x, w, factor) * (1 if len(calls) < 3 else 2)

        return call

    assert suite.trial("a", remembering()).verdicts == suite.trial("b", remembering()).verdicts
    assert suite.trial("a", remembering()).caught


# --- what does not end ------------------------------------------------------------------------


def test_an_endless_call_is_timed_out_and_the_others_do_not_run(suite: Suite, pack: Pack) -> None:
    before = signal.getsignal(signal.SIGPROF)

    def endless(x: Any, w: Any, factor: Any) -> Any:
        while len(x) == 3:
            pass
        return right_answer(x, w, factor)

    trial = suite.trial("endless", endless)
    assert trial.timed_out
    verdicts = dict(zip([c.id for c in pack.cases], trial.verdicts, strict=True))
    assert verdicts["ones_row"] == "passed"
    assert verdicts["large_rows"] == "timed_out"
    assert "large_rows" in trial.with_margin
    assert list(trial.verdicts).count("timed_out") == 1
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_handler_that_swallows_everything_does_not_help_an_endless_call() -> None:
    calls: list[int] = []

    def swallows_once() -> None:
        while True:
            try:
                while True:
                    pass
            except BaseException:
                calls.append(1)
                if len(calls) > 2:
                    raise

    with pytest.raises(EndlessError, match=r"did not end within 0\.05 s"):
        limited(swallows_once, 0.05)()
    assert len(calls) == 3


def test_memory_is_limited_and_given_back() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limited_memory(1 << 30), pytest.raises(MemoryError):
        np.ones(1 << 33)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_wrong_function_gets_no_more_memory_than_a_submission(suite: Suite) -> None:
    """Twice the exercise's limit is refused here as in a child."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    found = suite.trial("greedy", lambda *arguments: np.ones(2 * suite.memory // 8))
    assert set(found.verdicts) <= {"out_of_memory", "skipped"}
    assert resource.getrlimit(resource.RLIMIT_AS) == before


# --- sets -------------------------------------------------------------------------------------

KILLS = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("12345"), unique=True))


@given(KILLS)
def test_the_smallest_set_kills_all_that_any_case_kills(killed: dict[str, list[str]]) -> None:
    found = smallest_set(killed, list("12345"))
    assert found == smallest_set(killed, list("12345"))
    chosen = set(found.cases)
    for cases in killed.values():
        assert not cases or chosen.intersection(cases)
    # None of them can be left out.
    for case in chosen:
        assert any(cases and not (chosen - {case}).intersection(cases) for cases in killed.values())


def test_the_smallest_set_drops_what_later_choices_make_needless() -> None:
    # The case that kills most is not needed beside the two that are.
    killed = {"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "3"], "d": ["1", "3"], "e": ["2"], "f": ["3"]}
    assert smallest_set(killed, ["1", "2", "3"]).cases == ("2", "3")
    assert smallest_set({}, ["1"]).cases == ()


def test_functions_that_no_case_tells_apart_are_grouped(suite: Suite, pack: Pack) -> None:
    tolerance = min(c.tolerance for c in pack.cases if c.tolerance)

    def scaled(by: float) -> Any:
        return lambda x, w, factor: by * right_answer(x, w, factor)

    wrong = {
        "double": scaled(2.0),
        "thrice": scaled(3.0),
        "also_double": scaled(2.0 + 1e-3 * tolerance),
        "raises": lambda x, w, factor: 1 / 0,
        "raises_too": lambda x, w, factor: 2 / 0,
        "raises_else": lambda x, w, factor: {}[0],
        "none": lambda x, w, factor: None,
    }
    trials = [suite.trial(name, entry, keep=True) for name, entry in wrong.items()]
    assert indistinguishable(pack, trials) == (("double", "also_double"), ("raises", "raises_too"))


# --- survivors --------------------------------------------------------------------------------


def test_samples_are_the_same_each_time_and_within_the_exercise(tmp_path: Path, samples: Samples) -> None:
    drawn = list(samples)
    again = list(samples_of(tmp_path))
    assert len(drawn) == 1000
    assert [s.assembled.inputs_digest for s in drawn] == [s.assembled.inputs_digest for s in again]
    assert len({s.assembled.inputs_digest for s in drawn}) > 800
    for sample in drawn:
        dims = sample.assembled.case.dims
        assert dims["D"] >= 1 and dims["D"] % dims["factor"] == 0
        assert sample.answer.finite


def test_samples_reach_the_edges(samples: Samples) -> None:
    cases = [s.assembled for s in samples]
    rows = [c.case.dims["N"] for c in cases]
    assert rows.count(0) > 20 and rows.count(1) > 50 and max(rows) > 20
    assert {c.placed.dtype for c in cases} == {None, "float32"}
    changes = [change for c in cases for change in c.case.arrays.values()]
    assert {change.layout for change in changes} == {"c", "fortran", "strided"}
    assert any(change.read_only for change in changes)
    scales = {change.scale for change in changes}
    assert min(s for s in scales if s) < 1e-3 and max(s for s in scales if s) > 10  # type: ignore[type-var]
    assert any(change.values == "zeros" for change in changes)
    assert any(change.edits for change in changes)


def one_number(root: Path, answer: Callable[[float], Any]) -> Samples:
    """The samples of an exercise that asks for a function of one number, which is always 0.5."""
    (root / "rounding.py").write_text('RUNS = {"half": lambda arguments, dtype: arguments[0] / 2}\n')
    exercise = Exercise.model_validate(
        {
            "exercise": "half",
            "title": "Half",
            "entry": "half",
            "parameters": {"x": {"value": 0.5}},
            "returns": {"container": "number"},
            "clauses": {"half": {"title": "Half"}},
        }
    )
    return Samples(exercise, answer, HonestRuns(root, exercise))


def test_where_nothing_can_be_drawn_there_is_one_input(tmp_path: Path) -> None:
    samples = one_number(tmp_path, lambda x: x / 2)
    assert [sample.answer.array.tolist() for sample in samples] == [[0.25]]
    assert samples.agreement(lambda x: x * 0.5).same
    assert not samples.agreement(lambda x: x).same


def test_a_call_without_sizes_that_always_raises_is_held_to_that(tmp_path: Path) -> None:
    samples = one_number(tmp_path, lambda x: {}[x])
    assert list(samples) == []
    assert samples.agreement(lambda x: dict()[x]).same  # noqa: C408
    for other in (lambda x: x, lambda x: [][0], lambda x: {}["y"]):
        agreement = samples.agreement(other)
        assert not agreement.same and agreement.refused


def test_an_equal_function_is_equivalent(samples: Samples) -> None:
    def otherwise(x: Any, w: Any, factor: Any) -> Any:
        x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
        return (x * (factor / (1 + np.square(x).mean(axis=1, keepdims=True)))) @ w

    agreement = samples.agreement(otherwise)
    assert agreement.same and agreement.inputs == 1000
    assert 0 < agreement.error < 1e-12
    fate, figures = fate_of(Trial("x"), agreement)
    assert fate == "equivalent"
    assert figures.startswith("agrees on 1,000 generated inputs to ")


def test_a_small_error_is_inside_rounding_and_a_large_one_a_hole(samples: Samples) -> None:
    def off(by: float) -> Agreement:
        return samples.agreement(lambda x, w, factor: right_answer(x, w, factor) * (1 + by))

    small = off(1e-8)
    assert not small.same and small.inputs == 1000
    assert 0.001 < small.ratio < 0.1
    fate, figures = fate_of(Trial("x", ratio=0.02, closest="ones_row"), small)
    assert fate == "inside_rounding"
    assert figures.startswith("at most 0.02 × the tolerance on ones_row and ")
    large = off(1e-4)
    assert large.ratio > 10
    fate, figures = fate_of(Trial("x"), large)
    assert fate == "open_hole"
    assert "N=" in figures and "× the tolerance on input" in figures


def _double(x: Any) -> None:
    if x.flags.writeable:
        x *= 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x, w, f: right_answer(x, w, f) if len(x) else None, "It returned None"),
        (lambda x, w, f: right_answer(x, w, f)[:, :5], "The answer has the shape"),
        (lambda x, w, f: right_answer(x, w, f) / (len(x) != 2), "its answer is not finite"),
        (
            lambda x, w, f: (right_answer(x, w, f), np.add(x, 1, out=x) if x.flags.writeable else 0)[0],
            "it changes an argument",
        ),
        (
            lambda x, w, f: right_answer(x, w, f) + {3: 0}.get(len(x), 0) / (len(x) - 4 or {}),
            "it raises TypeError",
        ),
    ],
)
def test_a_survivor_with_another_kind_of_answer_is_a_hole(samples: Samples, wrong: Any, said: str) -> None:
    agreement = samples.agreement(wrong)
    fate, figures = fate_of(Trial("x"), agreement)
    assert fate == "open_hole"
    assert figures.startswith(said), figures
    assert "on input " in figures


def test_an_input_is_told_so_that_it_can_be_made_a_case(samples: Samples) -> None:
    words = [s.words for s in samples]
    assert words[0].startswith("input 1 (N=")
    assert any("factor=" in w and '"scale"' in w for w in words)


def refuse(*arguments: Any) -> Any:
    raise ArithmeticError(f"{len(arguments)} are too many")


@pytest.mark.parametrize(
    ("other", "refused"),
    [
        (refuse, ""),
        (right_answer, "it returned, not ArithmeticError: 3 are too many"),
        (
            lambda *arguments: refuse(*arguments, 0),
            "it raises ArithmeticError: 4 are too many, not ArithmeticError: 3 are too many",
        ),
    ],
)
def test_a_call_that_always_raises_is_held_to_what_it_raises(
    tmp_path: Path, other: Any, refused: str
) -> None:
    write_exercise(tmp_path)
    source = load_source(tmp_path)
    runs = HonestRuns(source.reference_folder, source.exercise)
    agreement = Samples(source.exercise, refuse, runs).agreement(other)
    assert (agreement.same, agreement.refused) == (not refused, refused)
    assert bool(agreement.where) == bool(refused)
    assert agreement.inputs > 0


def test_where_cases_ask_for_the_class_alone_the_message_says_nothing(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    source = load_source(tmp_path)
    runs = HonestRuns(source.reference_folder, source.exercise)
    samples = Samples(source.exercise, refuse, runs, classes={"ArithmeticError"})

    def otherwise(*arguments: Any) -> Any:
        raise ZeroDivisionError("for another reason")

    def elsewhere(*arguments: Any) -> Any:
        raise KeyError("x")

    assert samples.agreement(otherwise).same
    assert not samples.agreement(elsewhere).same


def test_of_several_calls_one_that_raises_says_most(samples: Samples) -> None:
    """An error inside of rounding in another call does not hide it."""
    entries = {"one": refuse, "other": lambda *arguments: right_answer(*arguments) * (1 + 1e-9)}
    fate, figures = fate_of(Trial("x"), agreement_of(entries, {"one": samples, "other": samples}))
    assert fate == "open_hole"
    assert figures.startswith("it raises ArithmeticError")


# --- mutants ----------------------------------------------------------------------------------

LOOP = MODEL.replace(
    "    return factor *",
    "    n = 0\n    while n < len(x):\n        n += 1\n    return factor * (n + 1) / (len(x) + 1) *",
)


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("mutants")
    pack = small_pack(root, model=LOOP)
    folder = root / "reference" / "row_scale"
    entry = load_entry(folder, "model", "row_scale")
    exercise = load_source(root).exercise
    samples = Samples(exercise, entry, HonestRuns(folder, exercise))
    told: list[str] = []
    yield (
        try_mutants(Suite(pack, seconds=0.25), Mutants(folder, "row_scale"), {"": samples}, told.append),
        told,
    )


def test_a_mutant_that_does_not_end_is_killed(tried: Any) -> None:
    results, _ = tried
    endless = {one.mutant.change for one in results if one.trial.timed_out}
    assert "without n += 1" in endless
    assert all(one.fate == "killed" for one in results if one.trial.timed_out)
    assert tally(results).timed_out == len(endless) > 0


def test_every_mutant_has_a_fate_and_its_progress(tried: Any) -> None:
    results, told = tried
    assert len(told) == len(results) > 30
    assert told[0].startswith(f"mutant 1 of {len(results)}, model.py:")
    counts = tally(results)
    assert counts.count() == len(results)
    assert sum(
        counts.count(fate) for fate in ("killed", "equivalent", "inside_rounding", "open_hole")
    ) == len(results)
    assert counts.to_dict()["by_operator"]["operator"]["killed"] > 3
    alive = [one for one in results if one.fate != "killed"]
    assert alive and all(one.figures for one in alive)


def test_a_mutant_that_can_not_be_loaded_is_killed_by_no_case(tmp_path: Path, samples: Samples) -> None:
    model = MODEL.replace("import numpy as np\n", "import math\nimport numpy as np\n\nONE = math.sqrt(1.0)\n")
    pack = small_pack(tmp_path, model=model.replace("(1 + (x", "(ONE + (x"))
    mutants = Mutants(tmp_path / "reference" / "row_scale", "row_scale")
    results = try_mutants(Suite(pack), mutants, {"": samples}, lambda what: None)
    broken = [one for one in results if one.trial.broken]
    assert [one.mutant.change for one in broken] == ["1.0 -> -1.0"]
    assert broken[0].trial.broken == "ValueError: math domain error"
    assert (broken[0].fate, broken[0].trial.killed, broken[0].trial.caught) == ("killed", (), True)


def test_the_library_of_the_stepped_exercise_is_killed_where_its_clause_is(tmp_path: Path) -> None:
    validation = stepped.validated(tmp_path)
    assert [str(w) for w in validation.weaknesses] == []
    assert "row_alone" in validation.matrix.killed["running_mean"]
    assert validation.matrix.killed["in_place"] == ("x_kept",)


# --- costly cases -----------------------------------------------------------------------------


def sparing(pack: Pack, *costly: str) -> Suite:
    suite = Suite(pack, seconds=0.25)
    suite.spare({case.id: 3.0 if case.id in costly else 0.001 for case in pack.cases})
    return suite


def counted(function: Any) -> tuple[Any, list[int]]:
    calls: list[int] = []

    def call(*arguments: Any) -> Any:
        calls.append(len(arguments[0]))
        return function(*arguments)

    return call, calls


def test_what_takes_long_is_costly_and_nothing_is_where_all_take_the_same(pack: Pack) -> None:
    (large,) = [case for case in pack.cases if case.id == "large_rows"]
    assert sparing(pack, "large_rows").costly == {large.visibility: frozenset(large.steps)}
    assert sparing(pack).costly == {}
    even = Suite(pack)
    even.spare({case.id: 0.1 for case in pack.cases})
    assert even.costly == {}


def test_a_costly_case_is_left_out_where_a_public_one_kills_with_margin(suite: Suite, pack: Pack) -> None:
    entry, calls = counted(lambda x, w, f: 2 * right_answer(x, w, f))
    assert suite.trial("doubled", entry).caught
    every = len(calls)
    calls.clear()
    trial = sparing(pack, "large_rows").verdict_on("doubled", entry)
    assert trial.with_margin and "large_rows" not in trial.killed
    assert len(calls) < every


@pytest.mark.parametrize(
    ("wrong", "killed"),
    [
        (right_answer, ()),
        (
            lambda x, w, f: right_answer(x, w, f) * (2 if len(x) == 3 and (x[0] == 0.25).all() else 1),
            ("large_rows",),
        ),
        (lambda x, w, f: right_answer(x, w, f) * (1 + 1e-9), ()),
    ],
    ids=["right", "wrong on the costly case alone", "by rounding"],
)
def test_otherwise_all_cases_are_asked(suite: Suite, pack: Pack, wrong: Any, killed: tuple[str, ...]) -> None:
    trial = suite.trial("x", wrong)
    assert trial.killed == killed
    assert sparing(pack, "large_rows").verdict_on("x", wrong) == trial
    public = {case.id for case in pack.cases if case.visibility == "public"}
    # Nor is a hidden case's verdict enough: it is also told what the public ones kill alone.
    everywhere = sparing(pack, *public)
    doubled = everywhere.verdict_on("x", lambda *arguments: 2 * right_answer(*arguments))
    assert public.intersection(doubled.killed)


def test_mutants_have_the_same_fates_with_costly_cases_last(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("costly")
    pack = small_pack(root)
    folder = root / "reference" / "row_scale"
    exercise = load_source(root).exercise
    entry = load_entry(folder, "model", "row_scale")
    samples = {"": Samples(exercise, entry, HonestRuns(folder, exercise))}
    public = {case.id for case in pack.cases if case.visibility == "public"}

    def told(suite: Suite) -> list[Any]:
        return [
            (
                one.mutant.id,
                one.fate,
                one.figures,
                bool(one.trial.with_margin),
                bool(public.intersection(one.trial.killed)),
            )
            for one in try_mutants(suite, Mutants(folder, "row_scale"), samples, lambda what: None)
        ]

    wanted = told(Suite(pack, seconds=0.25))
    for costly in ("ones_row", "large_rows"):
        assert told(sparing(pack, costly)) == wanted


def test_a_suite_gives_slow_references_room(pack: Pack) -> None:
    suite = Suite(pack, seconds=2.0)
    suite.give(0.1)
    assert suite.seconds == 2.0
    suite.give(3.0)
    assert suite.seconds == TIMES * 3.0


def test_a_mutant_that_nothing_could_be_held_against_is_an_open_hole() -> None:
    """Agreeing on no input at all says nothing."""
    fate, figures = fate_of(Trial("x"), Agreement(0, True))
    assert fate == "open_hole" and "no generated input" in figures
