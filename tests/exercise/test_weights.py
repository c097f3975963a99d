"""Points add up to weights and full marks to the cent."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import CASES, build, dump_yaml, freeze_exercise, load_source, small_pack, write_exercise

from grader.errors import ExerciseError
from grader.exercise.grading import SECONDS, Grading
from grader.exercise.weights import Worth, apportion, course_points


def cents(points: dict[str, float]) -> int:
    total = sum((Fraction(str(p)) * 100 for p in points.values()), Fraction(0))
    assert total.denominator == 1
    return int(total)


GROUPS = ("a", "b", "c")
WORTHS = st.lists(
    st.tuples(st.sampled_from(GROUPS), st.sampled_from([0, 0.25, 0.5, 1, 1.5, 2, 3, 7]), st.booleans()),
    min_size=1,
    max_size=30,
).map(lambda rows: [Worth(f"c{n}", group, points, extra) for n, (group, points, extra) in enumerate(rows)])
MARKS = st.integers(1, 20_000).map(lambda n: n / 100)


@given(WORTHS, st.fixed_dictionaries(dict.fromkeys(GROUPS, MARKS)), st.none() | MARKS)
def test_weights_and_full_marks_are_met_to_the_cent(
    worths: list[Worth], weights: dict[str, float], full: float | None
) -> None:
    found = course_points(worths, Grading(weights=weights, max_score=full))
    assert list(found) == [w.id for w in worths]
    assert all(p >= 0 for p in found.values())
    regular = {g: [w for w in worths if w.group == g and not w.extra] for g in GROUPS}
    paying = [g for g in GROUPS if any(w.points for w in regular[g])]
    if full is None:
        for g in paying:
            assert cents({w.id: found[w.id] for w in regular[g]}) == round(100 * weights[g])
    elif len(paying) == sum(bool(regular[g]) for g in GROUPS) and paying:
        assert cents({w.id: found[w.id] for g in paying for w in regular[g]}) == round(100 * full)
    assert all(found[w.id] == 0 for w in worths if not w.points)


@given(WORTHS, MARKS)
def test_full_marks_alone_scale_everything(worths: list[Worth], full: float) -> None:
    found = course_points(worths, Grading(max_score=full))
    regular = [w for w in worths if not w.extra]
    if any(w.points for w in regular):
        assert cents({w.id: found[w.id] for w in regular}) == round(100 * full)


@given(WORTHS)
def test_nothing_is_changed_without_weights(worths: list[Worth]) -> None:
    for grading in (None, Grading(), Grading(extra_credit=["a"])):
        assert course_points(worths, grading) == {w.id: w.points for w in worths}


@given(st.dictionaries(st.text(max_size=3), st.fractions(0, 50), min_size=1, max_size=12))
def test_apportioned_numbers_are_within_one_of_what_was_wanted(wanted: dict[str, Fraction]) -> None:
    total = sum(wanted.values(), Fraction(0))
    scaled = {name: value * 100 / total if total else Fraction(0) for name, value in wanted.items()}
    given_ = apportion(scaled, 100 if total else 0)
    assert sum(given_.values()) == (100 if total else 0)
    assert all(abs(given_[name] - scaled[name]) < 1 for name in wanted)


def test_thirds_are_shared_to_the_cent() -> None:
    worths = [Worth(name, "a", 1) for name in "xyz"]
    assert course_points(worths, Grading(max_score=10)) == {"x": 3.34, "y": 3.33, "z": 3.33}


def test_extra_credit_is_scaled_like_its_group_and_no_part_of_the_full_marks() -> None:
    worths = [Worth("x", "a", 2), Worth("y", "a", 2), Worth("bonus", "a", 1, extra=True)]
    assert course_points(worths, Grading(weights={"a": 20})) == {"x": 10, "y": 10, "bonus": 5}


def test_half_a_cent_of_extra_credit_goes_up() -> None:
    worths = [Worth("x", "a", 8), Worth("bonus", "a", 1, extra=True)]
    for cents_, half in ((100, 13), (108, 14), (300, 38)):
        assert course_points(worths, Grading(weights={"a": cents_ / 100}))["bonus"] == half / 100


@given(st.integers(0, 10_000), st.sampled_from(["s", "min", "h", "days", "weeks"]))
def test_a_span_of_time_is_exact(hundredths: int, unit: str) -> None:
    grading = {"late": {"due": "2026-10-01T23:59Z", "cost": 1, "grace": f"{hundredths / 100} {unit}"}}
    late = Grading.model_validate(grading).late
    assert late is not None
    assert late.grace == hundredths * SECONDS[unit] / 100


def test_a_pack_has_the_weighted_points_also_without_its_hidden_cases(tmp_path: Path) -> None:
    grading = {"weights": {"checks": 10}, "extra_credit": ["x_kept", "drawn"]}
    pack = small_pack(tmp_path, exercise={"grading": grading})
    assert sum(Fraction(str(c.points)) for c in pack.cases if not c.extra) == 10
    assert pack.max_score == pytest.approx(10)
    assert [c.id for c in pack.cases if c.extra] == ["x_kept", "drawn_01", "drawn_02", "drawn_03"]
    student = build(tmp_path, student=True)
    whole = {c.id: c.points for c in pack.cases}
    assert {c.id: c.points for c in student.cases}.items() <= whole.items()


def test_a_weight_needs_points_of_cases_that_count_towards_full_marks(tmp_path: Path) -> None:
    worthless = {case["id"]: {"points": 0} for case in CASES if case["id"] not in ("x_kept", "drawn")}
    for extra, fine in ((["x_kept"], True), (["x_kept", "drawn"], False), ([], True)):
        grading = {"weights": {"checks": 10}, "extra_credit": extra}
        write_exercise(tmp_path, exercise={"grading": grading}, change=worthless)
        try:
            load_source(tmp_path)
        except ExerciseError as error:
            assert not fine and "no points that its weight could scale" in str(error), extra
        else:
            assert fine, extra


@pytest.mark.parametrize(
    "grading",
    [
        {"gates": [{"clause": "scale", "cap": 8.49}]},
        {"gates": [{"clause": "scale", "cap": "99 %"}, {"case": "drawn", "cost": 100}]},
        # Full marks are 7.5 here: a cap may let through some of the extra credit.
        {"extra_credit": ["x_kept"], "gates": [{"clause": "scale", "cap": 8}]},
        {"extra_credit": ["x_kept"], "gates": [{"clause": "scale", "cap": "100 %"}]},
        {"max_score": 20, "gates": [{"clause": "scale", "cap": 8.5}]},
    ],
)
def test_a_gate_that_does_something_is_no_fault(tmp_path: Path, grading: Any) -> None:
    write_exercise(tmp_path, exercise={"grading": grading})
    assert load_source(tmp_path).exercise.grading == Grading.model_validate(grading)


def test_amounts_are_looked_at_only_where_points_can_be_told(tmp_path: Path) -> None:
    grading = {"gates": [{"clause": "scale", "cap": 50}]}
    write_exercise(tmp_path, exercise={"grading": grading}, change={"x_kept": {"points": "one"}})
    with pytest.raises(ExerciseError) as caught:
        load_source(tmp_path)
    assert [p.key for p in caught.value.problems] == ["[5].points"]


def test_a_students_grading_names_nothing_hidden(tmp_path: Path) -> None:
    kept = [
        {"case": "ones_row", "cost": 1.0, "reason": ""},
        {"clause": "scale", "cap": "50 %", "reason": ""},
        {"group": "checks", "cost": 2.0, "reason": ""},
    ]
    dropped = [
        {"case": "single", "cost": 2.0, "reason": "As single tells"},
        {"case": "drawn", "cost": 1.0, "reason": ""},
        {"case": "drawn_01", "cost": 1.0, "reason": ""},
        {"group": "secret", "cap": 5.0, "reason": ""},
    ]
    extra = ["drawn_01", "secret", "x_kept", "x_matters", "drawn"]
    grading = {"gates": dropped + kept, "extra_credit": extra, "weights": {"secret": 5, "checks": 10}}
    folder = write_exercise(tmp_path, exercise={"grading": grading})
    single = CASES[1] | {"id": "single", "title": "", "visibility": "hidden"}
    (folder / "secret.yaml").write_text(dump_yaml([single]))
    freeze_exercise(tmp_path)
    full, student = build(tmp_path), build(tmp_path, student=True)
    assert full.exercise.grading == grading
    assert student.exercise.grading == {
        "gates": kept,
        "extra_credit": ["x_kept"],
        "weights": {"checks": 10.0},
    }
    for name in (b"single", b"drawn_01", b"secret", b"x_matters"):
        assert name in full.data and name not in student.data
    assert Grading(weights={"secret": 5}).naming_only((), ()).weights is None


def test_grading_needs_no_new_freeze(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    frozen = freeze_exercise(tmp_path)
    write_exercise(tmp_path, exercise={"grading": {"max_score": 20, "rounding": {"to": 0.5}}})
    assert load_source(tmp_path).digest == frozen.sources
    assert sum(c.points for c in build(tmp_path).cases) == pytest.approx(20)


@pytest.mark.parametrize(
    ("grading", "said"),
    [
        ({"weights": {"checks": 1, "check": 10}}, "unknown group 'check'; did you mean 'checks'"),
        ({"weights": {}}, "lacks checks; every group needs its weight"),
        ({"weights": {"checks": 3.333}}, "expected whole cents, found 3.333"),
        ({"extra_credit": ["ones_rwo"]}, "unknown group or case 'ones_rwo'; did you mean 'ones_row'"),
        ({"gates": [{"clause": "product"}]}, "expected exactly one of cap, cost"),
        ({"gates": [{"cap": 1}]}, "expected exactly one of case, clause, group"),
        ({"gates": [{"case": "a", "clause": "b", "cap": 1}]}, "found case and clause"),
        ({"gates": [{"clause": "produkt", "cap": 1}]}, "unknown clause 'produkt'; did you mean 'product'"),
        ({"gates": [{"group": "checks", "cap": "120 %"}]}, "expected points such as 2.5, or a share"),
        ({"gates": [{"group": "checks", "cap": True}]}, "expected points such as 2.5, or a share"),
        ({"gates": [{"clause": "scale", "cap": 50}]}, "is no limit, since all cases together are worth 8.5"),
        ({"gates": [{"clause": "scale", "cap": 8.5}]}, "are worth 8.5 points; expected less"),
        ({"gates": [{"clause": "scale", "cap": "100 %"}]}, "are worth 8.5 points; expected less"),
        ({"max_score": 20, "gates": [{"case": "drawn", "cap": 20}]}, "are worth 20 points; expected less"),
        ({"gates": [{"case": "ones_row", "cost": 0}]}, "takes nothing; expected more than 0"),
        ({"gates": [{"case": "ones_row", "cost": "0.01 %"}]}, "takes nothing; expected more than 0"),
        ({"extra_credit": ["checks"]}, "leaves no points that count towards full marks"),
        ({"extra_credit": ["checks"], "weights": {"checks": 9}}, "leaves no points that count towards"),
        ({"extra_credit": ["checks"], "max_score": 9}, "leaves no points that count towards full marks"),
        ({"late": {"due": "tomorrow", "cost": 1}}, "expected a time such as 2026-10-01T23:59"),
        ({"late": {"due": "2026-10-01", "timezone": "UTC", "cost": 1}}, "expected a time such as"),
        ({"late": {"due": "2026-10-01T23:59", "cost": 1}}, "has no offset from UTC"),
        ({"late": {"due": "2026-10-01T23:59", "timezone": "Europe/Belin", "cost": 1}}, "no time zone"),
        ({"late": {"due": "2026-10-01T23:59Z", "grace": "15", "cost": 1}}, "expected a time such as 15 min"),
        ({"late": {"due": "2026-10-01T23:59Z", "cost": 0}}, "takes nothing, and nothing is closed"),
        ({"late": {"due": "2026-10-01T23:59Z", "cost": "0 %"}}, "takes nothing, and nothing is closed"),
        ({"rounding": {"to": 0}}, "rounding.to"),
        ({"roundings": {"to": 1}}, "unknown key 'roundings'; did you mean 'rounding'"),
    ],
)
def test_what_a_course_gets_wrong_is_told_with_its_line(tmp_path: Path, grading: Any, said: str) -> None:
    write_exercise(tmp_path, exercise={"grading": grading})
    with pytest.raises(ExerciseError) as caught:
        load_source(tmp_path)
    (problem,) = caught.value.problems
    assert said in str(problem) and problem.line > 0 and problem.key.startswith("grading")


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ({"cap": 8.5}, "effect.cap: is no limit, since all cases together are worth 8.5 points"),
        ({"cap": 50}, "effect.cap: is no limit"),
        ({"deduct": 0}, "effect.deduct: takes nothing; expected more than 0, or {note: true}"),
    ],
)
def test_an_effect_that_costs_nothing_is_told(tmp_path: Path, effect: Any, said: str) -> None:
    write_exercise(tmp_path, policy={"effect": effect})
    with pytest.raises(ExerciseError) as caught:
        load_source(tmp_path)
    (problem,) = caught.value.problems
    assert said in str(problem) and Path(problem.file).name == "policy.yaml" and problem.line > 0


@pytest.mark.parametrize("effect", [{"cap": 8}, {"cap": 0}, {"deduct": 0.5}, {"note": True}])
def test_an_effect_that_costs_something_is_taken(tmp_path: Path, effect: Any) -> None:
    write_exercise(tmp_path, policy={"effect": effect})
    assert load_source(tmp_path).policy.effect.model_dump(exclude_none=True) == effect


def test_late_work_may_cost_nothing_until_it_is_closed(tmp_path: Path) -> None:
    late = {"due": "2026-10-01T23:59Z", "cost": 0, "closed_after": "2 days"}
    write_exercise(tmp_path, exercise={"grading": {"late": late}})
    assert load_source(tmp_path).exercise.grading
