"""Limits that follow the reference: found on the machine that grades, part of no digest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.small import CASES, MODEL, RIGHT, build, freeze_exercise, write_exercise

from grader.batch import limits as limiting
from grader.batch import runner as running
from grader.batch.limits import allowed_here
from grader.batch.runner import Runner
from grader.batch.standing import Standing
from grader.exercise import pack as packs
from grader.exercise.pack import Pack
from grader.exercise.select import select
from grader.intake.submission import Submission
from grader.result import Result
from grader.sandbox import workload
from grader.sandbox.allowance import Allowance

STATED = {"seconds_per_call": 0.5, "seconds": 4, "memory": "256 MiB", "output": "4 KiB"}
TIMES = {"ones_row": 1.0, "large_rows": 40.0, "row_alone": 3.0, "x_matters": 20.0}


def timed(pack: Pack, times: float = 10.0, start: float = 0.0) -> Pack:
    """A pack whose limits follow a reference of these times, as it comes out of its file."""
    cases = [replace(case, reference_time=TIMES.get(case.id, 0.01)) for case in pack.cases]
    limits = {**pack.exercise.limits, "seconds_per_call": 0.5, "seconds": 4.0, "times_reference": times}
    limits["reference_start"] = start
    data = packs.dump(
        replace(pack.exercise, limits=limits),
        cases,
        pack.blocks,
        pack.tensors,
        pack.known,
        pack.follow_up,
        student=pack.student,
        sources=pack.sources,
    )
    return packs.loads(data)


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """How long a workload takes here."""
    seconds = [0.1]
    monkeypatch.setattr(workload, "seconds", lambda: seconds[0])
    yield seconds


def test_each_step_may_take_a_multiple_of_its_case(pack: Pack, speed: list[float]) -> None:
    allowed = allowed_here(timed(pack))
    numbers = {case.id: case.steps for case in pack.cases}

    def of(phase: str, case: str) -> list[Allowance]:
        return [allowed.steps[phase][step] for step in numbers[case]]

    assert of("public", "large_rows") == [Allowance(40.0, 10.0)]
    assert of("public", "row_alone") == [Allowance(3.0, 10.0)] * 2
    assert of("public", "no_rows") == [Allowance(0.5)], "what takes no time has the stated seconds"
    assert of("hidden", "x_matters") == [Allowance(20.0, 10.0)] * 2
    assert allowed.longest == 40.0
    # Both calls of a case count: 1 + 40 + 2 × 3 + 2 × 20 and a little.
    assert (allowed.limits.seconds, allowed.limits.times_reference) == (88.0, 10.0)
    assert allowed.limits.memory == 256 << 20


def test_any_call_may_be_the_first_of_its_process(pack: Pack, speed: list[float]) -> None:
    made = timed(pack, start=5.0)
    allowed = allowed_here(made)
    assert (
        Allowance(45.0, 10.0) in allowed.steps["public"] and Allowance(6.0, 10.0) in allowed.steps["public"]
    )
    assert allowed.limits.seconds == 93.0
    assert made.execution_digest != timed(pack).execution_digest


def test_a_slow_machine_gives_more_and_a_fast_one_never_less_than_is_stated(
    pack: Pack, speed: list[float]
) -> None:
    made = timed(pack)
    longest = []
    for speed[0] in (1e-6, 0.1, 0.3):
        allowed = allowed_here(made)
        longest.append(allowed.longest)
        assert allowed.limits.seconds >= 4.0 and allowed.limits.seconds_per_call == 0.5
    assert longest == [0.5, 40.0, 120.0]
    speed[0] = 1e-6
    assert allowed_here(made).limits.times_reference == 0.0, "then the seconds are those that are stated"


def test_nothing_is_measured_where_no_limit_hangs_on_it(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "seconds", lambda: 1 / 0)
    allowed = allowed_here(pack)
    assert allowed.steps == {} and allowed.longest == allowed.limits.seconds_per_call == 0.25
    assert allowed.limits.times_reference == 0.0


def test_a_part_of_a_pack_has_the_times_of_its_cases(pack: Pack, speed: list[float]) -> None:
    part = select(timed(pack), cases=["row_alone", "x_kept"], clauses=[])
    allowed = allowed_here(part)
    assert allowed.steps["public"] == (Allowance(3.0, 10.0), Allowance(3.0, 10.0), Allowance(0.5))
    assert allowed.limits.seconds == 6.1


# --- the file and the digest ------------------------------------------------------------------------


def test_a_pack_without_such_limits_holds_no_times(pack: Pack) -> None:
    meta = json.loads(
        json.loads(pack.data[8 : 8 + int.from_bytes(pack.data[:8], "little")])["__metadata__"]["grader"]
    )
    assert all("reference_time" not in case for case in meta["cases"])
    assert "times_reference" not in meta["exercise"]["limits"]
    again = timed(pack)
    assert {case.id: case.reference_time for case in again.cases}["large_rows"] == 40.0


def test_the_execution_digest_hangs_on_times_and_not_on_speed(pack: Pack, speed: list[float]) -> None:
    made = timed(pack)
    digest = made.execution_digest
    speed[0] = 17.0
    assert packs.loads(made.data).execution_digest == digest != pack.execution_digest
    assert timed(pack, 11.0).execution_digest != digest
    slower = [replace(c, reference_time=41.0) if c.id == "large_rows" else c for c in made.cases]
    assert replace(made, cases=tuple(slower)).execution_digest != digest


def test_what_ran_on_a_slow_machine_is_judged_on_a_fast_one(pack: Pack, speed: list[float]) -> None:
    made = timed(pack)
    submission = submission_of(RIGHT)
    with Runner(made) as slow:
        ran = slow.run(submission)
    speed[0] = 1e-6
    with Runner(made) as fast:
        assert fast.judge(submission, ran).status == "passed"


# --- a run ------------------------------------------------------------------------------------------


def submission_of(source: str) -> Submission:
    return Submission("s1", "s1", "s1.py", "sha256:1", source)


# A fixed amount of work in plain Python, the same in the reference and in a submission.
STEPS = 300_000
TRAIN = f"""

def train(x):
    total = 0
    for step in range({STEPS} if len(x) == 3 else 0):
        total = (total * 31 + step) % 65_521
    return total
"""


def trains(source: str) -> str:
    """A source whose function works for a while before it answers."""
    name = "def row_scale(x, w, factor):\n"
    return source.replace(name, f"{name}    train(x)\n", 1) + TRAIN


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """An exercise whose stated seconds are far too few, frozen with its real times."""
    root = tmp_path_factory.mktemp("training")
    limits = {**STATED, "seconds_per_call": 1e-4, "seconds": 1e-3, "times_reference": 500}
    kept = [case for case in CASES if case["id"] in ("ones_row", "large_rows", "x_kept")]
    write_exercise(root, model=trains(MODEL), exercise={"limits": limits}, cases=kept)
    freeze_exercise(root)
    return build(root)


def graded(pack: Pack, source: str, tell: Any = None) -> Result:
    with Runner(pack, tell=tell) as runner:
        return runner.grade(submission_of(source))


def test_who_works_as_long_as_the_reference_passes_on_every_machine(training: Pack) -> None:
    assert training.exercise.limits["seconds_per_call"] == 1e-4
    times = {case.id: case.reference_time or 0 for case in training.cases}
    assert times["large_rows"] > times["ones_row"] > 0
    result = graded(training, trains(RIGHT))
    assert result.status == "passed", [c.message for c in result.cases]


def test_who_never_ends_is_told_what_was_allowed(training: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    # 0.02 s for one workload, so that nobody waits long.
    shorter = {**training.exercise.limits, "seconds": 60.0, "times_reference": 20.0}
    made = replace(training, exercise=replace(training.exercise, limits=shorter))
    monkeypatch.setattr(workload, "seconds", lambda: 0.002)
    (case,) = (case for case in made.cases if case.id == "large_rows")
    (allowed,) = (allowed_here(made).steps["public"][step] for step in case.steps)
    endless = RIGHT.replace("    return", "    while len(x) == 3:\n        pass\n    return")
    result = graded(made, endless)
    (verdict,) = (c for c in result.cases if c.id == "large_rows")
    assert verdict.verdict == "timed_out"
    assert verdict.message == (
        f"The call took more than {allowed.seconds:g} s of processor time "
        "(20 times what the reference needs here)."
    )


def test_a_submission_that_takes_long_is_followed(pack: Pack) -> None:
    heard: list[Standing] = []
    waits = RIGHT.replace("    return", "    import time\n    time.sleep(0.2)\n    return")
    result = graded(pack, waits, heard.append)
    assert result.status == "passed"
    total = sum(len(plan) for plan in pack.plans.values())
    assert {standing.calls for standing in heard} == {total}
    calls = [standing.call for standing in heard]
    assert calls == sorted(calls) and calls[0] >= 1 and calls[-1] <= total
    hidden = {case.id for case in pack.cases if case.visibility == "hidden"}
    assert heard and not hidden & {standing.case for standing in heard}
    before = len(pack.plans["public"])
    assert all((standing.case == "") == (standing.call > before) for standing in heard)


def test_small_calls_after_a_failure_have_the_time_of_the_longest(
    stepped: Pack, monkeypatch: pytest.MonkeyPatch, speed: list[float]
) -> None:
    seen: list[float] = []
    honest = running.execute

    def execute(server: Any, program: Any, phases: Any, limits: Any, **named: Any) -> Any:
        seen.append(limits.seconds_per_call)
        return honest(server, program, phases, limits, **named)

    monkeypatch.setattr(running, "execute", execute)
    wrong = "import numpy as np\n\ndef row_scale(x, w, factor):\n    return factor * (x @ w) * 3.0\n"
    graded(timed(stepped), wrong)
    assert seen == [0.5, 40.0]
    assert limiting.allowed_here(timed(stepped)).longest == 40.0
