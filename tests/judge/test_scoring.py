"""From points to a score: every step is an adjustment, and the sum is exact."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grader.exercise.grading import Grading
from grader.exercise.pack import Pack
from grader.judge.scoring import adjust, how_it_counts, rounded, span_text
from grader.result import Adjustment, CaseResult, PolicyResult, SubmissionInfo, Violation
from judge.made_up import case, pack_of

INFO = SubmissionInfo("ann", "Ann", ("Ann",), "ann.py", "")
CLEAN = PolicyResult()
VIOLATED = PolicyResult("violated", (Violation("r", "torch.softmax", 3, 1, "static", "m"),))


def pack(grading: dict[str, Any], effect: dict[str, Any] | None = None, points: float = 5.0) -> Pack:
    made = pack_of(
        case(id="a", points=points, clause="c1", group="g1"),
        case(id="b", points=points, clause="c2", group="g2", visibility="hidden"),
        case(id="x", points=2.0, clause="c2", group="g3", extra=True),
    )
    plain = Grading.model_validate(grading).model_dump(exclude_none=True)
    policy = {"effect": effect or {"no_points": True}}
    clauses = {"c1": {"title": "One", "text": ""}, "c2": {"title": "Two", "text": ""}}
    return replace(made, exercise=replace(made.exercise, grading=plain, policy=policy, clauses=clauses))


def results(pack: Pack, **points: float) -> list[CaseResult]:
    """Full points but for those named."""
    found = []
    for c in pack.cases:
        got = points.get(c.id, c.points)
        verdict: Any = "passed" if got == c.points else "wrong_value"
        found.append(
            CaseResult(c.id, c.group, c.title, c.clause, c.visibility, verdict, got, c.points, extra=c.extra)
        )
    return found


def scored(
    grading: dict[str, Any],
    info: SubmissionInfo = INFO,
    policy: PolicyResult = CLEAN,
    given_: tuple[Adjustment, ...] = (),
    effect: dict[str, Any] | None = None,
    **points: float,
) -> tuple[float, list[str]]:
    """The score and the reasons."""
    made = pack(grading, effect)
    cases = results(made, **points)
    found = adjust(made, cases, policy, info, given_)
    score = rounded(math.fsum(c.points for c in cases) + math.fsum(a.points for a in found))
    return score, [a.reason for a in found]


def test_nothing_is_added_without_policies() -> None:
    assert scored({}) == (12.0, [])


def test_a_gate_caps_or_costs_when_a_check_of_it_fails() -> None:
    gate = {"clause": "c1", "cap": 4}
    assert scored({"gates": [gate]}) == (12.0, [])
    assert scored({"gates": [gate]}, a=0) == (4.0, ["required: One (at most 4 points)"])
    assert scored({"gates": [{"case": "a", "cost": "25 %"}]}, a=0)[0] == 4.5
    assert scored({"gates": [{"group": "g1", "cost": 100}]}, a=0) == (0.0, ["required: every check of g1"])
    assert scored({"gates": [{"clause": "c1", "cap": 9}]}, a=0) == (7.0, [])
    assert scored({"gates": [{"clause": "c1", "cap": 1, "reason": "No shape, no marks"}]}, a=0)[1] == [
        "No shape, no marks (at most 1 points)"
    ]


def test_a_gate_on_a_hidden_case_tells_its_clause_alone() -> None:
    assert scored({"gates": [{"case": "b", "cost": 1}]}, b=0)[1] == ["required: Two"]
    assert scored({"gates": [{"group": "g2", "cost": 100}]}, b=0) == (0.0, ["required: Two"])


def test_a_gate_on_a_random_batch_is_on_each_of_its_cases_and_counts_once() -> None:
    keys = {"clause": "c1", "group": "g1", "title": "Drawn"}
    drawn = [case(id=f"drawn_{n:02d}", drawn=True, **keys) for n in (1, 2, 3)]
    # Not drawn, whatever its id looks like.
    made = pack_of(*drawn, case(id="drawn_04", **keys))
    grading = {"gates": [{"case": "drawn", "cost": 0.5}]}
    made = replace(made, exercise=replace(made.exercise, grading=grading))

    def taken(**points: float) -> list[Adjustment]:
        return list(adjust(made, results(made, **points), CLEAN, INFO))

    assert taken() == taken(drawn_04=0) == []
    assert taken(drawn_02=0) == taken(drawn_01=0, drawn_03=0) == [Adjustment("required: Drawn", -0.5)]


DUE = "2026-10-01T12:00+02:00"


def late(submitted_at: str, **rules: Any) -> tuple[float, list[str]]:
    return scored({"late": {"due": DUE, "cost": 2} | rules}, replace(INFO, submitted_at=submitted_at))


@pytest.mark.parametrize(
    ("submitted_at", "rules", "score"),
    [
        ("2026-10-01T12:00+02:00", {}, 12),
        ("2026-10-01T10:00:00Z", {}, 12),
        ("2026-10-01T10:00:01+00:00", {}, 10),
        ("2026-10-01T12:10", {"grace": "15 min"}, 12),
        ("2026-10-01T12:16", {"grace": "15 min"}, 10),
        ("2026-10-02T12:00", {}, 10),
        ("2026-10-02T12:01", {}, 8),
        ("2026-10-01T15:00", {"per": "hour", "cost": 0.5}, 10.5),
        ("2026-11-01T12:00", {"at_most": "50 %"}, 7),
        ("2026-11-01T12:00", {}, 0),
        ("2026-10-09T12:00", {"closed_after": "7 days", "at_most": 1}, 0),
        ("2026-10-20T12:00", {"per": "once"}, 10),
        ("2026-10-20T12:00", {"per": "week", "cost": "10 %"}, 9),
    ],
)
def test_late_work_costs_for_every_period_that_has_begun(
    submitted_at: str, rules: dict[str, Any], score: float
) -> None:
    found, reasons = late(submitted_at, **rules)
    assert found == score
    assert all(r.startswith("handed in") for r in reasons) and len(reasons) == (score < 12)


def test_a_time_without_an_offset_is_of_the_courses_zone() -> None:
    rules = {"due": "2026-10-25T12:00", "timezone": "Europe/Berlin", "cost": 1, "per": "hour"}
    # Clocks go back that night: five hours on the clock before are six.
    for at, score in (("2026-10-25T13:00", 11), ("2026-10-25T12:00:00+01:00", 12), ("2026-10-25T11:30Z", 11)):
        assert scored({"late": rules}, replace(INFO, submitted_at=at))[0] == score


HOURLY = {"timezone": "Europe/Berlin", "cost": 1, "per": "hour"}


@pytest.mark.parametrize(
    ("due", "submitted_at", "hours"),
    [
        # The night has an hour more, and in spring an hour less, than the clock tells.
        ("2026-10-24T23:59", "2026-10-25T03:59", 5),
        ("2026-10-24T23:59", "2026-10-25T03:59+01:00", 5),
        ("2026-03-28T23:59", "2026-03-29T03:59", 3),
        # An hour that comes twice, and one that never comes, are read to the student's advantage.
        ("2026-10-25T02:30", "2026-10-25T02:15+01:00", 0),
        ("2026-10-25T02:15+02:00", "2026-10-25T02:30", 1),
        ("2026-03-29T02:30", "2026-03-29T03:30+02:00", 0),
        # A minute late, when the clocks show almost an hour less.
        ("2026-10-25T02:59+02:00", "2026-10-25T02:00+01:00", 1),
        ("2026-10-25T02:59+02:00", "2026-10-25T02:58:59+02:00", 0),
    ],
)
def test_hours_are_those_that_passed_where_the_clocks_change(due: str, submitted_at: str, hours: int) -> None:
    rules = {"late": HOURLY | {"due": due}}
    assert scored(rules, replace(INFO, submitted_at=submitted_at))[0] == 12 - hours


@pytest.mark.parametrize("per", ["hour", "day", "once"])
def test_what_is_late_stays_late_though_the_clocks_go_back(per: str) -> None:
    due = "2026-10-25T02:59+02:00"
    rules = {"late": HOURLY | {"due": due, "per": per}}
    score, adjustments = scored(rules, replace(INFO, submitted_at="2026-10-25T02:00+01:00"))[:2]
    assert score == 11
    assert "handed in 1 min late" in str(adjustments)


@given(
    # Around both changes of the clocks.
    st.sampled_from([datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)]),
    st.integers(-2_000, 2_000),
    st.integers(-100, 700),
)
def test_a_time_of_the_zone_costs_what_the_same_time_with_an_offset_does(
    change: datetime, before: int, minutes: int
) -> None:
    due = (change + timedelta(minutes=before)).astimezone(ZoneInfo("Europe/Berlin"))
    at = due.astimezone(UTC) + timedelta(minutes=minutes)
    local = [time.astimezone(due.tzinfo).replace(tzinfo=None, fold=0) for time in (due, at)]
    plain = {"late": HOURLY | {"due": local[0].isoformat()}}
    exact = {"late": HOURLY | {"due": due.isoformat()}}
    found = scored(plain, replace(INFO, submitted_at=local[1].isoformat()))[0]
    expected = max(0.0, 12.0 - max(0, -(-minutes // 60)))
    assert scored(exact, replace(INFO, submitted_at=at.isoformat()))[0] == expected
    twice = [datetime(2026, 10, 25, 2) <= time < datetime(2026, 10, 25, 3) for time in local]
    assert found == expected or (any(twice) and found > expected)


@given(
    st.datetimes(datetime(2026, 3, 1), datetime(2026, 11, 30)),
    st.integers(1, 40),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    st.booleans(),
)
def test_the_same_time_days_later_is_as_many_days_late(
    due: datetime, days: int, zone: str, offset: bool
) -> None:
    due = due.replace(second=0, microsecond=0)
    at = (due + timedelta(days=days)).replace(tzinfo=ZoneInfo(zone))
    # An hour that no clock shows is another one by the time that counts.
    assume(at == at.astimezone(UTC))
    rules = {"timezone": zone, "due": due.isoformat(), "cost": 0.25, "closed_after": f"{days} days"}
    told = at.astimezone(UTC) if offset else at.replace(tzinfo=None)
    found, reasons = scored({"late": rules}, replace(INFO, submitted_at=told.isoformat()))
    assert found == 12 - days / 4
    assert f"{days} day{'s' if days > 1 else ''} begun" in reasons[0]
    later = told + timedelta(hours=1, minutes=1)
    assert scored({"late": rules}, replace(INFO, submitted_at=later.isoformat()))[0] == 0


def test_late_without_a_time_costs_what_is_said_for_it() -> None:
    rules = {"late": {"due": DUE, "cost": 2, "marked": "10 %"}}
    assert scored(rules, replace(INFO, late=True)) == (11.0, ["handed in late, as the platform says"])
    assert scored(rules, replace(INFO, late=False)) == (12.0, [])
    assert scored({"late": {"due": DUE, "cost": 2}}, replace(INFO, late=True)) == (12.0, [])


def test_rounding_is_last_and_told() -> None:
    given_ = (Adjustment("style", -0.6),)
    assert scored({"rounding": {"to": 0.5}}, given_=given_) == (11.5, ["style", "rounded to 0.5"])
    assert scored({"rounding": {"to": 0.5, "direction": "down"}}, given_=given_)[0] == 11.0
    assert scored({"rounding": {"to": 1, "direction": "up"}}, given_=given_)[0] == 12.0
    assert scored({"rounding": {"to": 0.5}}, given_=(Adjustment("bonus", -0.25),))[0] == 12.0


@given(
    st.integers(1, 2_000).map(lambda n: n / 100),
    st.sampled_from([0.01, 0.25, 0.3, 0.5, 1.0, 3.0]),
    st.sampled_from(["nearest", "up", "down"]),
    st.booleans(),
    st.booleans(),
)
def test_rounding_takes_no_full_marks_away_and_lifts_nobody_above_them(
    points: float, step: float, direction: str, right: bool, extra: bool
) -> None:
    made = pack({"rounding": {"to": step, "direction": direction}}, points=points)
    got: dict[str, float] = ({} if right else {"a": 0.0}) | ({} if extra else {"x": 0.0})
    cases = results(made, **got)
    found = adjust(made, cases, CLEAN, INFO)
    before = rounded(math.fsum(c.points for c in cases))
    score = rounded(before + math.fsum(a.points for a in found))
    for limit in (rounded(2 * points), rounded(2 * points + 2.0)):
        assert score <= limit if before <= limit else score >= limit
        assert before != limit or score == limit
    assert abs(score - before) < step
    if found and not math.isclose(score / step, round(score / step), abs_tol=1e-6):
        assert "at most" in found[0].reason or "at least" in found[0].reason


def test_no_score_falls_below_0() -> None:
    assert scored({}, given_=(Adjustment("copied", -20.0),)) == (0.0, ["copied", "no score is below 0"])


@given(
    # With half a millionth, which is rounded in one way only.
    st.lists(st.integers(0, 20_000_000).map(lambda n: n / 10_000_000), min_size=3, max_size=3),
    st.sampled_from(["violated", "late", "by hand"]),
)
def test_who_loses_all_points_has_0_to_the_last_digit(points: list[float], why: str) -> None:
    made = pack({"late": {"due": DUE, "cost": "100 %", "closed_after": "1 h"}} if why == "late" else {})
    cases = [
        replace(c, points=p, max_points=p) for c, p in zip(results(made), map(rounded, points), strict=True)
    ]
    given_ = (Adjustment("copied", -1_000.0),) if why == "by hand" else ()
    info = replace(INFO, submitted_at="2026-10-02T12:00Z")
    for judged in (cases, [replace(c, points=p) for c, p in zip(cases, points, strict=True)]):
        found = adjust(made, judged, VIOLATED if why == "violated" else CLEAN, info, given_)
        score = rounded(math.fsum(c.points for c in judged))
        assert rounded(score + math.fsum(a.points for a in found)) == 0


def test_what_a_violation_does_stands_whatever_it_costs() -> None:
    assert scored({}, policy=VIOLATED)[0] == 0
    assert scored({}, policy=VIOLATED)[1] == ["a banned helper is used (torch.softmax, line 3)"]
    assert scored({}, policy=VIOLATED, effect={"deduct": 3})[0] == 9
    assert scored({}, policy=VIOLATED, effect={"cap": 5})[0] == 5
    assert scored({}, policy=VIOLATED, effect={"note": True}) == (12.0, [])


@given(
    st.lists(st.sampled_from([0.0, 1.25, 2.0, 3.33, 5.0]), min_size=2, max_size=2),
    st.lists(st.integers(-2_000, 2_000).map(lambda n: Adjustment("by hand", n / 100)), max_size=3),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 1.0]),
    st.sampled_from(["nearest", "up", "down"]),
    st.integers(0, 20),
)
def test_a_rounded_score_is_a_multiple_of_its_step_and_never_negative(
    points: list[float], by_hand: list[Adjustment], step: float, direction: str, days: int
) -> None:
    grading = {
        "gates": [{"clause": "c1", "cap": "70 %"}],
        "late": {"due": "2026-10-01T00:00Z", "cost": "7 %", "at_most": "60 %"},
        "rounding": {"to": step, "direction": direction},
    }
    info = replace(INFO, submitted_at=f"2026-10-{1 + days:02d}T08:00Z")
    score, _ = scored(grading, info, given_=tuple(by_hand), a=points[0], b=points[1])
    assert score >= 0
    assert math.isclose(score / step, round(score / step), abs_tol=1e-6)
    assert round(score, 2) == score


def test_weights_are_told_without_the_names_of_hidden_groups() -> None:
    weights = {"g1": 40, "g2": 12.5, "g3": 20, "g4": 7.5}
    made = pack({})
    fourth = replace(made.cases[1], id="c", group="g4")
    mixed = replace(made.cases[1], id="d", group="g1")
    cases = results(replace(made, cases=(*made.cases, fourth, mixed)))
    (said, _) = how_it_counts({"weights": weights}, iter(cases))
    assert said.endswith(" among themselves: g1 40, g3 20, hidden checks 20.")
    public = [c for c in cases if c.visibility == "public"]
    (said, _) = how_it_counts({"weights": {"g1": 40, "g3": 20}}, public)
    assert said.endswith(": g1 40, g3 20.")


def test_spans_of_time_are_told_in_words() -> None:
    assert [span_text(s) for s in (1, 90, 3 * 3600, 90_000, 2 * 86_400 + 60, 90_060)] == [
        "less than a minute",
        "1 min",
        "3 h",
        "1 day 1 h",
        "2 days 1 min",
        "1 day 1 h",
    ]


def test_students_are_told_how_late_work_and_rounding_count() -> None:
    late_ = {"due": "2026-10-25T12:00", "timezone": "Europe/Berlin", "cost": "10 %", "grace": "15 min"}
    grading = {"late": late_ | {"at_most": 5, "closed_after": "14 days"}, "rounding": {"to": 0.5}}
    late_told, rounding_told = how_it_counts(
        Grading.model_validate(grading).model_dump(exclude_none=True), ()
    )
    assert late_told == (
        "Work handed in after 2026-10-25T12:00:00 (Europe/Berlin) loses 10 % of full marks for every day "
        "that has begun, at most 5 points; up to 15 min cost nothing. After 14 days it gets no points."
    )
    assert rounding_told == "The total is rounded to the nearest 0.5."


@pytest.mark.parametrize("per", ["hour", "day", "once"])
def test_days_of_grace_and_of_closing_are_days_of_the_clock(per: str) -> None:
    # The night in between has 25 hours.
    rules = {"due": "2026-10-24T12:00", "timezone": "Europe/Berlin", "cost": 1, "per": per}
    grace = {"late": rules | {"grace": "1 day"}}
    assert scored(grace, replace(INFO, submitted_at="2026-10-25T12:00"))[0] == 12
    assert scored(grace, replace(INFO, submitted_at="2026-10-25T12:01"))[0] < 12
    closing = {"late": rules | {"closed_after": "2 days", "at_most": 3}}
    assert scored(closing, replace(INFO, submitted_at="2026-10-26T12:00"))[0] >= 9
    assert scored(closing, replace(INFO, submitted_at="2026-10-26T12:01"))[0] == 0


def test_a_second_too_much_reads_as_more_than_the_grace() -> None:
    _score, (reason,) = late("2026-10-01T12:15:01Z", due="2026-10-01T12:00Z", grace="15 min")
    assert "16 min late" in reason
