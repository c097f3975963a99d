"""The reference's time: a ratio to a workload timed beside it, steady from one freeze to the next."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import MODEL, freeze_exercise, load_source, write_exercise

from grader.authoring import freeze as freezing
from grader.authoring import timing
from grader.authoring.timing import (
    KEPT_FACTOR,
    SMALLEST,
    SMALLEST_START,
    Timed,
    Times,
    steady,
    time_side_by_side,
    with_times,
)
from grader.errors import ExerciseError
from grader.exercise.frozen import Frozen, Measured

FOLLOWS = {"limits": {"seconds_per_call": 5, "seconds": 60, "times_reference": 8}}


class Machine:
    """A machine whose speed is set by a test: seconds go by when something is done on it.

    Args:
        slowness: How many times longer everything takes, by how many seconds have gone by.
    """

    def __init__(self, slowness: Callable[[float], float] = lambda now: 1.0) -> None:
        self.now = 0.0
        self.start = Timed(0.0, 0.0)
        self.slowness = slowness

    def work(self, seconds: float) -> Callable[[], None]:
        """Something that takes as long on the usual machine."""

        def work() -> None:
            self.now += seconds * self.slowness(self.now)

        return work

    def unit(self) -> float:
        """A workload of 0.1 s on the usual machine."""
        before = self.now
        self.work(0.1)()
        return self.now - before

    def timed(self, rounds: int = 7, **seconds: float) -> dict[str, Timed]:
        """Works of so many seconds, timed side by side."""
        works = {name: self.work(one) for name, one in seconds.items()}
        times = time_side_by_side(works, clock=lambda: self.now, unit=self.unit, rounds=rounds)
        self.start = times.start
        return dict(times.works)


@given(slowness=st.floats(0.01, 100), a=st.floats(1e-4, 20), b=st.floats(1e-4, 20))
def test_the_ratio_is_the_same_on_every_machine(slowness: float, a: float, b: float) -> None:
    found = Machine(lambda now: slowness).timed(a=a, b=b)
    assert found["a"].workloads == pytest.approx(10 * a) and found["b"].workloads == pytest.approx(10 * b)
    assert found["a"].seconds == pytest.approx(slowness * a)


def test_a_machine_that_becomes_slow_slows_both() -> None:
    found = Machine(lambda now: 1.0 if now < 9 else 1.6).timed(a=0.7, b=0.001, c=1.3)
    assert found["a"].workloads == pytest.approx(7, rel=0.01)
    assert found["c"].workloads == pytest.approx(13, rel=0.01)


def test_a_single_hiccup_does_not_count() -> None:
    machine = Machine()
    hiccups = itertools.chain([1.0, 1.0, 30.0], itertools.repeat(1.0))
    machine.slowness = lambda now: next(hiccups)
    found = machine.timed(a=0.7, b=0.9)
    assert found["a"].workloads == pytest.approx(7) and found["b"].workloads == pytest.approx(9)


def test_what_takes_long_is_done_three_times_and_the_rest_seven() -> None:
    for seconds, rounds, expected in ((25.0, 7, 3), (25.0, 2, 2), (0.2, 7, 7), (10.0, 7, 6)):
        machine, count = Machine(), [0]

        def work(count: list[int] = count, machine: Machine = machine, seconds: float = seconds) -> None:
            count[0] += 1
            machine.now += seconds

        time_side_by_side({"a": work}, clock=lambda m=machine: m.now, unit=machine.unit, rounds=rounds)  # type: ignore[misc]
        assert count == [expected], seconds


def test_short_works_share_their_workloads() -> None:
    machine, units = Machine(), [0]

    def unit() -> float:
        units[0] += 1
        return 0.1

    works = {f"w{number}": machine.work(0.001) for number in range(100)}
    time_side_by_side(works, clock=lambda: machine.now, unit=unit, rounds=3)
    assert units == [6]


@given(st.floats(1e-6, 1e5))
def test_a_new_figure_has_two_digits_and_is_never_below(workloads: float) -> None:
    found = steady(None, workloads)
    assert max(workloads, SMALLEST) * (1 - 1e-9) <= found <= 1.1 * max(workloads, SMALLEST) * (1 + 1e-9)
    assert float(f"{found:.1e}") == found


@given(before=st.floats(0.01, 1e5).map(lambda value: steady(None, value)), factor=st.floats(0.2, 5))
def test_an_older_figure_stands_while_it_is_about_right(before: float, factor: float) -> None:
    found = steady(before, before * factor)
    if KEPT_FACTOR / 1.1 > factor > 1 / KEPT_FACTOR:
        assert found == before
    if factor > 1.1 * KEPT_FACTOR or factor < 1 / (1.2 * KEPT_FACTOR):
        # What is too small to tell anything stays so.
        assert found != before or before == SMALLEST


def test_a_time_stands_for_the_inputs_that_it_was_taken_on() -> None:
    def frozen(start: float | None = None, **cases: Measured) -> Frozen:
        return Frozen("", {}, cases, reference_start=start)

    now = frozen(same=Measured("1", noise=0.5), other=Measured("2"), new=Measured("3"))
    before = frozen(40.0, same=Measured("1", reference_time=10.0), other=Measured("0", reference_time=10.0))
    times = Times(Timed(1.0, 44.0), dict.fromkeys(now.cases, Timed(1.0, 11.2)))
    found = with_times(now, before, times)
    assert [(name, one.reference_time) for name, one in found.cases.items()] == [
        ("same", 10.0),
        ("other", 12.0),
        ("new", 12.0),
    ]
    assert found.cases["same"].noise == 0.5 and found.reference_start == 40.0
    assert with_times(now, None, times).reference_start == 44.0
    nothing = replace(times, start=Timed(0.0, 0.0))
    assert with_times(now, None, nothing).reference_start == SMALLEST_START


def test_what_the_first_call_takes_longer_is_told_apart() -> None:
    for rounds in (2, 3, 7):
        machine = Machine()
        first = itertools.chain([8.0], itertools.repeat(0.0))

        def work(machine: Machine = machine, first: Any = first) -> None:
            machine.now += 0.5 + next(first)

        works = {"a": work, "b": machine.work(2.0)}
        times = time_side_by_side(works, clock=lambda m=machine: m.now, unit=machine.unit, rounds=rounds)  # type: ignore[misc]
        assert times.works["a"].workloads == pytest.approx(5)
        assert times.works["b"].workloads == pytest.approx(20)
        assert times.start.seconds == pytest.approx(8) and times.start.workloads == pytest.approx(80)


@given(slower=st.floats(0.5, 1.2))
def test_a_first_call_that_was_slower_by_chance_is_no_start(slower: float) -> None:
    machine = Machine()
    slowness = itertools.chain([1.0, slower], itertools.repeat(1.0))
    machine.slowness = lambda now: next(slowness)
    machine.timed(a=0.7)
    assert machine.start == Timed(0.0, 0.0)


# --- the reference itself ---------------------------------------------------------------------------

# Refuses to work with more than one thread.
ONE_THREAD = MODEL.replace(
    "    x, w = np",
    "    import os\n"
    "    assert {os.environ.get(n) for n in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')} == {'1'}\n"
    "    print('a reference may print')\n"
    "    x, w = np",
    1,
)


def test_the_reference_is_timed_on_every_case_in_one_thread(root: Path, frozen: Frozen) -> None:
    (root / "reference" / "row_scale" / "model.py").write_text(ONE_THREAD)
    found = timing.time_reference(load_source(root), frozen.batches, rounds=1)
    assert list(found.works) == [p.case.id for p in load_source(root).cases(frozen.batches)]
    assert all(one.seconds >= 0 and one.workloads >= 0 for one in (found.start, *found.works.values()))


def test_a_reference_that_can_not_be_timed_is_told_in_a_sentence(root: Path, frozen: Frozen) -> None:
    (root / "reference" / "row_scale" / "model.py").write_text(f"{MODEL}\nraise SystemExit(7)\n")
    with pytest.raises(ExerciseError, match=r"the reference can't be timed: /.*SystemExit"):
        timing.time_reference(load_source(root), frozen.batches, rounds=1)


# --- freezing ---------------------------------------------------------------------------------------


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the reference takes in workloads: ``every`` for every case."""
    found = {"every": 30.2}

    def measure(source: object, batches: object, **named: object) -> Times:
        cases = load_source(Path(source.root)).cases(batches)  # type: ignore[attr-defined, arg-type]
        works = {placed.case.id: Timed(1.0, found["every"]) for placed in cases}
        return Times(Timed(0.1, found["every"] / 10), works)

    monkeypatch.setattr(freezing, "time_reference", measure)
    return found


def test_freezing_keeps_the_times_where_limits_follow_them(tmp_path: Path, times: dict[str, float]) -> None:
    write_exercise(tmp_path, exercise=FOLLOWS)
    frozen = freeze_exercise(tmp_path)
    assert {one.reference_time for one in frozen.cases.values()} == {31.0} and frozen.timed
    assert frozen.reference_start == 3.1
    text = load_source(tmp_path).frozen_path.read_text()
    times["every"] = 40.0
    freeze_exercise(tmp_path)
    assert load_source(tmp_path).frozen_path.read_text() == text, "within the factor nothing changes"
    times["every"] = 90.0
    assert {one.reference_time for one in freeze_exercise(tmp_path).cases.values()} == {90.0}


def test_freezing_measures_no_time_where_no_limit_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: Frozen
) -> None:
    monkeypatch.setattr(freezing, "time_reference", lambda *given, **named: 1 / 0)
    write_exercise(tmp_path)
    assert freeze_exercise(tmp_path).dumps() == frozen.dumps()
    assert "reference_" not in frozen.dumps() and not frozen.timed


def test_limits_that_follow_need_times(root: Path) -> None:
    write_exercise(root, exercise=FOLLOWS)
    with pytest.raises(ExerciseError) as caught:
        load_source(root).require_fresh_frozen()
    told = str(caught.value)
    assert "no times of the reference" in told and "grader validate row_scale --write" in told


def test_times_that_nothing_asks_for_any_more_are_left_alone(tmp_path: Path, times: dict[str, float]) -> None:
    write_exercise(tmp_path, exercise=FOLLOWS)
    frozen = freeze_exercise(tmp_path)
    write_exercise(tmp_path)
    assert load_source(tmp_path).require_fresh_frozen() == frozen
