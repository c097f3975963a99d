"""From points to a score: every step is an adjustment, and the sum is exact."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.exercise.grading import Grading
from grader.exercise.pack import Pack
from grader.judge.scoring import adjust, rounded, span_text
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
    assert scored({"gates": [{"group": "g2", "cost": 100}]}, b=0) == (0.0, ["required: every check of g2"])
    assert scored({"gates": [{"clause": "c1", "cap": 9}]}, a=0) == (7.0, [])
    assert scored({"gates": [{"clause": "c1", "cap": 1, "reason": "No shape, no marks"}]}, a=0)[1] == [
        "No shape, no marks (at most 1 points)"
    ]


def test_a_gate_on_a_hidden_case_tells_its_clause_alone() -> None:
    assert scored({"gates": [{"case": "b", "cost": 1}]}, b=0)[1] == ["required: Two"]


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


def test_no_score_falls_below_0() -> None:
    assert scored({}, given_=(Adjustment("copied", -20.0),)) == (0.0, ["copied", "no score is below 0"])


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


def test_spans_of_time_are_told_in_words() -> None:
    assert [span_text(s) for s in (1, 90, 3 * 3600, 90_000, 2 * 86_400 + 60)] == [
        "less than a minute",
        "1 min",
        "3 h",
        "1 day 1 h",
        "2 days",
    ]
