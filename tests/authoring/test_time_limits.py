"""The author is told where time limits leave too little room for whoever is slower than the reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.small import freeze_exercise, load_source, write_exercise

from grader.authoring import freeze as freezing
from grader.authoring import validation as validating
from grader.authoring.time_limits import SAFE
from grader.authoring.timing import Timed, Times
from grader.authoring.validation import Validator
from grader.sandbox import workload
from grader.validation import TimeLimit, Validation

WORKLOAD_S = 0.02


class Reference:
    """How long it takes, instead of a measurement: 0.01 s for every case but those that are named.

    Args:
        seconds: By case.
    """

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.seconds = dict(seconds)
        # What its first call takes longer.
        self.start = self.seconds.pop("", 0.0)
        self.asked: list[int] = []

    def time(self, source: Any, batches: Any, *, rounds: int = 7) -> Times:
        self.asked.append(rounds)
        found = {placed.case.id: 0.01 for placed in source.cases(batches)} | self.seconds
        works = {name: Timed(seconds, seconds / WORKLOAD_S) for name, seconds in found.items()}
        return Times(Timed(self.start, self.start / WORKLOAD_S), works)


@pytest.fixture
def validated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Validates the small exercise as if its reference took so long, now and when it was frozen."""

    def run(
        limits: dict[str, Any],
        now: dict[str, float],
        then: Any = None,
        in_passing: Any = None,
        fast: bool = True,
    ) -> Any:
        reference, earlier = Reference(now), Reference(now if then is None else then)
        monkeypatch.setattr(freezing, "time_reference", earlier.time)
        monkeypatch.setattr(validating, "time_reference", reference.time)
        monkeypatch.setattr(workload, "seconds", lambda: WORKLOAD_S)
        write_exercise(tmp_path, exercise={"limits": limits})
        freeze_exercise(tmp_path)
        validator = Validator(load_source(tmp_path))
        honest, passing = validator._reference, now if in_passing is None else in_passing

        def took(placed: Any) -> None:
            honest(placed)
            validator.seconds[placed.case.id] = passing.get(placed.case.id, 0.01)

        monkeypatch.setattr(validator, "_reference", took)
        return validator.run(fast=fast), reference

    return run


def found(validation: Validation) -> list[str]:
    return [w.message for w in validation.weaknesses if w.code == "time_limit_tight"]


def test_stated_seconds_that_leave_room_are_no_weakness_and_are_not_measured(validated: Any) -> None:
    validation, reference = validated({"seconds_per_call": 5, "seconds": 60}, {"large_rows": 5 / SAFE - 0.1})
    assert found(validation) == [] and reference.asked == []
    assert validation.time_limits is None and validation.to_dict()["time_limits"] is None


def test_stated_seconds_that_are_hardly_more_than_the_reference_needs_are_a_weakness(validated: Any) -> None:
    validation, reference = validated(
        {"seconds_per_call": 5, "seconds": 60}, {"large_rows": 3.0, "row_alone": 1.7}
    )
    (message,) = found(validation)
    assert message == (
        "the reference needs 3 s of processor time here for large_rows, and a call may take 5 s; at least 3 "
        "times as much is wanted; raise seconds_per_call, or let it follow the reference with times_reference"
    )
    assert reference.asked == [2], "what shows in passing is measured before it is told"
    (weakness,) = (w for w in validation.weaknesses if w.code == "time_limit_tight")
    lines = Path(weakness.file).read_text().splitlines()
    assert lines[weakness.line - 1].strip() == "seconds_per_call: 5"


def test_all_calls_together_count_too(validated: Any) -> None:
    validation, _ = validated({"seconds_per_call": 15, "seconds": 20}, {"large_rows": 4.0, "row_alone": 4.0})
    (message,) = found(validation)
    assert "all calls together may take 20 s" in message and "raise seconds," in message


def test_what_only_seemed_slow_in_passing_is_no_weakness(validated: Any) -> None:
    validation, reference = validated(
        {"seconds_per_call": 5, "seconds": 60}, {}, in_passing={"large_rows": 30.0}
    )
    assert found(validation) == [] and reference.asked == [2]


def test_limits_that_follow_leave_room_on_a_slow_machine_too(validated: Any) -> None:
    limits = {"seconds_per_call": 5, "seconds": 60, "times_reference": 10}
    validation, reference = validated(limits, {"large_rows": 30.0})
    assert found(validation) == [] and reference.asked == [2]
    call, in_all = validation.time_limits.call, validation.time_limits.in_all
    assert call == TimeLimit("large_rows", 1501.0, 30.0, 310.0, 10.0)
    assert (in_all.case, in_all.times) == ("", 10.0) and in_all.allowed_s >= 300
    record = validation.to_dict()["time_limits"]
    assert record["workload_s"] == WORKLOAD_S and record["call"]["allowed_s"] == 310.0


def test_what_the_first_call_takes_longer_counts_for_every_call(validated: Any) -> None:
    slow_start = {"large_rows": 1.0, "": 1.5}
    stated = {"seconds_per_call": 5, "seconds": 60}
    validation, _ = validated(stated, slow_start, in_passing={"large_rows": 2.5})
    (message,) = found(validation)
    assert "needs 2.5 s of processor time here for large_rows" in message
    follows = {"seconds_per_call": 5, "seconds": 60, "times_reference": 10}
    validation, _ = validated(follows, slow_start)
    assert found(validation) == []
    assert validation.time_limits.call == TimeLimit("large_rows", 125.0, 2.5, 25.0, 10.0)


def test_a_small_multiple_is_a_weakness(validated: Any) -> None:
    validation, _ = validated(
        {"seconds_per_call": 0.5, "seconds": 60, "times_reference": 2}, {"large_rows": 3.0}
    )
    (message,) = found(validation)
    assert "a call may take 6.1 s" in message and "(2 times what is frozen)" in message
    (weakness,) = (w for w in validation.weaknesses if w.code == "time_limit_tight")
    assert "times_reference" in Path(weakness.file).read_text().splitlines()[weakness.line - 1]


def test_a_reference_that_became_slower_since_is_a_weakness(validated: Any) -> None:
    limits = {"seconds_per_call": 0.5, "seconds": 600, "times_reference": 10}
    validation, _ = validated(limits, {"large_rows": 3.0}, {"large_rows": 0.3})
    (message,) = found(validation)
    assert "a call may take 3.2 s" in message and "freeze anew" in message


@pytest.mark.slow
def test_a_whole_validation_times_several_rounds(validated: Any) -> None:
    limits = {"seconds_per_call": 5, "seconds": 60, "times_reference": 10}
    validation, reference = validated(limits, {"large_rows": 1.0}, fast=False)
    assert reference.asked == [3]
    codes = {weakness.code for weakness in validation.weaknesses}
    assert not codes & {"time_limit_tight", "student_pack_reveals", "pack_not_reproducible"}
