"""Tables whose cells are coloured by their values: scales, levels, contrast, and arrays of every form."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page, assert_inert
from samples import named, result

from grader.report.html import TEMPLATES, student_page
from grader.report.markup.arrays import MAX_CELLS, shown_array
from grader.report.markup.heat import LEVELS, MIDDLE, cells, common_scale, differences, finite, scale_of
from grader.report.markup.room import Room
from grader.report.values import shape_of
from grader.result import CaseError

REALS = st.floats(allow_nan=False, allow_infinity=False)


def page_of(details: dict[str, Any], error: CaseError | None = None) -> str:
    case = replace(named("two_heads"), verdict="wrong_value", points=0.0, details=details, error=error)
    return student_page(result({"two_heads": case}))


def levels(source: str) -> list[str]:
    return re.findall(r"<td class=(h\w)>", source)


# --- Scales ---------------------------------------------------------------------------------------


@given(st.lists(REALS, min_size=2, max_size=9))
def test_larger_values_have_higher_levels_within_the_scale(values: list[float]) -> None:
    scale = scale_of(values)
    if scale is None:
        assert min(values) == max(values) or max(values) - min(values) < 1e-300
        return
    found = [scale.level(v) for v in sorted(values)]
    assert found == sorted(found)
    assert found[0] >= 0 and found[-1] < LEVELS
    if min(values) < 0 < max(values):
        assert scale.level(0.0) == MIDDLE and {found[0], found[-1]} & {0, LEVELS - 1}
    else:
        assert {scale.level(min(values)), scale.level(max(values))} == {scale.first, scale.last}
    assert {scale.level(math.inf), scale.level(-math.inf)} == {scale.first, scale.last}


def test_no_scale_where_there_is_nothing_to_tell_apart() -> None:
    assert scale_of([]) is scale_of([3.0, 3.0]) is scale_of([0.0]) is None


def test_the_right_answer_sets_the_scale_of_both() -> None:
    assert common_scale([[1e9, 2.0]], [[1.0, -2.0]]) == scale_of([1.0, -2.0, 2.0])
    assert common_scale([5.0, "nan", 10**400], [1.0, -2.0]) == scale_of([5.0, 1.0, -2.0])
    assert common_scale([5.0, -7.0], [0.0, 0.0]) == scale_of([5.0, -7.0, 0.0])


@given(
    st.lists(REALS | st.integers() | st.sampled_from(["nan", "inf", "a <b>", True]), min_size=1, max_size=8)
)
def test_a_row_has_a_cell_for_every_value_with_the_level_of_its_scale(row: list[Any]) -> None:
    scale = scale_of([-3.0, 3.0])
    assert scale is not None
    found = re.findall(r"<td(?: class=(h\w))?>", cells(row, scale))
    assert len(found) == len(row)
    for value, kind in zip(row, found, strict=True):
        known = finite(value)
        if known is not None:
            assert kind == f"h{scale.level(known)}"
        else:
            assert kind == ("" if value == "a <b>" else "hx")


@given(st.lists(st.lists(REALS, min_size=2, max_size=3), min_size=2, max_size=2), st.floats(0, 1e300))
def test_a_difference_within_the_tolerance_is_none(pair: list[list[float]], allowed: float) -> None:
    one, other = (row[:2] for row in pair)
    for a, b, d in zip(one, other, differences(one, other, allowed), strict=True):
        assert d == (0.0 if abs(a - b) <= allowed else a - b)


def test_a_value_that_is_no_number_differs_from_every_other() -> None:
    assert differences(["nan", "inf", 1.0], ["nan", 1.0, "nan"], 9.0) == [0.0, "nan", "nan"]


# --- Colours --------------------------------------------------------------------------------------


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_numbers_can_be_read_on_every_colour(theme: int) -> None:
    css = (TEMPLATES / "style.css").read_text("utf-8")
    block = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[theme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    ink = _luminance(colours["ink"])
    for name in [f"h{level}" for level in range(LEVELS)] + ["bad-card", "code", "card", "line"]:
        ground = _luminance(colours[name])
        contrast = (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05)
        assert contrast >= 4.5, (name, contrast)
    # Each step away from the middle can be seen, in grey too.
    grey = [_luminance(colours[f"h{level}"]) for level in range(LEVELS)]
    sides = [grey[MIDDLE::-1], grey[MIDDLE:]]
    for side in sides:
        assert side == sorted(side, reverse=theme == 0) and len(set(side)) == MIDDLE + 1


# --- On a page ------------------------------------------------------------------------------------


def test_obtained_expected_and_their_difference_stand_beside_each_other() -> None:
    details = {
        "obtained": [[1.0, -2.0], [3.0, "nan"]],
        "expected": [[1.0, -2.0], [3.5, 4.0]],
        "worst": [
            {"index": [1, 1], "obtained": "nan", "expected": 4.0},
            {"index": [1, 0], "obtained": 3.0, "expected": 3.5},
        ],
    }
    source = page_of(details, CaseError(0.5, 0.125, 1e-6))
    tables = [t for t in Page(source).tables if t[0] == ["", "0", "1"]]
    assert [t[1:] for t in tables] == [
        [["0", "1", "-2"], ["1", "3", "nan"]],
        [["0", "1", "-2"], ["1", "3.5", "4"]],
        [["0", "·", "·"], ["1", "−0.5", "nan"]],
    ]
    assert "-4 to 4" in Page(source).text
    for told in ("Framed: the largest errors.", "A dot: within the tolerance.", "Hatched: NaN or infinity."):
        assert told in source
    assert source.count("<mark>") == 6


@pytest.mark.parametrize(
    ("obtained", "expected", "tables"),
    [
        (3.0, 4.0, 0),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.5], 3),
        ([float(n) for n in range(100)], [0.0] * 99 + [1.0], 3),
        ([[[1.0, 2.0]], [[3.0, 4.0]]], [[[1.0, 2.0]], [[3.0, 5.0]]], 6),
        ([[1.0, 2.0]], [[1.0], [2.0]], 2),
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 5.0]], 3),
        (["a", "b"], ["a", "c"], 2),
        ([[1.0] * 241], [[2.0] * 241], 0),
        ([[]], [[]], 0),
        ([[1.0], [2.0, 3.0]], [[1.0], [2.0]], 1),
    ],
    ids=["number", "row", "long", "stack", "shapes", "integers", "texts", "large", "none", "ragged"],
)
def test_arrays_of_every_form(obtained: Any, expected: Any, tables: int) -> None:
    source = page_of({"obtained": obtained, "expected": expected})
    assert_inert(source)
    assert source.count('<table class="array') == tables


def test_a_long_array_goes_on_in_rows_of_ten() -> None:
    shown = shown_array(Room(10**6), "a", [float(n) for n in range(25)], worst=[(23,)])
    (matrix,) = shown.matrices
    assert [row.count("<td") for row in matrix.rows] == [10, 10, 5]
    assert (matrix.step, matrix.columns) == (10, 10)
    assert "<mark>23</mark>" in matrix.rows[2]


def test_the_part_around_the_largest_error_is_shown_with_its_indices() -> None:
    part = {
        "shape": [2, 60, 300],
        "at": [1],
        "first": [7, 30],
        "obtained": [[1.0, 2.0], [3.0, 4.0]],
        "expected": [[1.0, 2.0], [3.0, 9.0]],
    }
    worst = [{"index": [1, 8, 31], "obtained": 4.0, "expected": 9.0}, {"index": [0, 8, 31]}]
    source = page_of({"part": part, "worst": worst}, CaseError(5.0, 0.5, 1e-6))
    page = Page(source)
    assert "Around the largest error: rows 7–8 and columns 30–31 of [1] of (2, 60, 300)." in page.text
    tables = [t for t in page.tables if t[0] == ["", "30", "31"]]
    assert [row[0] for row in tables[0][1:]] == ["7", "8"]
    assert source.count("<mark>") == 3
    for odd in (3, {}, part | {"shape": []}, part | {"first": [1]}, part | {"obtained": [[1.0]]}):
        assert_inert(page_of({"part": odd, "worst": worst}))


def test_two_answers_of_hers_stand_under_their_names() -> None:
    both = [["First answer", [[1.0, 2.0]]], ["Second answer <b>", [[1.0, 2.5]]]]
    source = page_of({"answers": both})
    assert_inert(source)
    text = Page(source).text
    assert "Both answers" in text and text.index("First answer") < text.index("Second answer <b>")
    for odd in ([["a"]], [3, 4], [[None, 1], [2, 3]], "ab"):
        assert_inert(page_of({"answers": odd}))


def test_an_argument_stands_before_and_after_the_call_with_what_changed_framed() -> None:
    changed = {"name": "x <b>", "before": [[1.0, 2.0, "nan"]], "after": [[1.0, 2.0 + 1e-12, "nan"]]}
    source = page_of({"changed": changed})
    text = Page(source).text
    assert_inert(source)
    assert "Before and after the call" in text and "Framed: what the call changed." in text
    assert text.index("x <b> before the call") < text.index("x <b> after the call")
    # In both tables and in that of the differences, however small the change is.
    assert source.count("<mark>") == 3
    part = {"shape": [90, 90], "at": [], "first": [7, 30], "obtained": [[1, 2]], "expected": [[1, 3]]}
    large = Page(page_of({"changed": {"name": "x", "part": part}}))
    assert "Around the largest change: rows 7–7 and columns 30–31 of (90, 90)." in large.text
    for odd in (3, {}, {"name": 3}, {"part": 3}, {"before": [[1]], "after": [1, [2]]}, {"after": "<i>"}):
        assert_inert(page_of({"changed": odd}))


VALUES = st.recursive(
    st.floats()
    | st.integers()
    | st.booleans()
    | st.text(max_size=5)
    | st.sampled_from(["nan", "inf", "-inf"]),
    lambda inner: st.lists(inner, min_size=0, max_size=6),
    max_leaves=40,
)


@given(VALUES, VALUES, st.lists(st.lists(st.integers(-2, 5), max_size=4), max_size=5))
@settings(max_examples=80, deadline=None)
def test_any_two_answers_give_a_page(obtained: Any, expected: Any, worst: list[list[int]]) -> None:
    details = {"obtained": obtained, "expected": expected, "worst": [{"index": index} for index in worst]}
    source = page_of(details, CaseError(0.5, 0.25, 1e-6))
    assert_inert(source)
    shape = shape_of(obtained)
    if shape and shape == shape_of(expected) and 0 not in shape and math.prod(shape) <= MAX_CELLS:
        assert source.count('<table class="array') in (
            0,
            2 * math.prod(shape[:-2]),
            3 * math.prod(shape[:-2]),
        )


@given(st.integers(1, 400), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_a_page_of_large_tables_stays_small(rows: int, columns: int) -> None:
    values = [[-1.2345678e-200 * (r - 3) * (c + 1) for c in range(columns)] for r in range(rows)]
    inputs = [
        {"name": f"x{n}", "dtype": "float64", "shape": [rows, columns], "values": values} for n in range(9)
    ]
    worst = [{"index": [r, 0], "obtained": 0.5, "expected": 0.25} for r in range(5)]
    details = {"obtained": values, "expected": values[::-1], "worst": worst, "inputs": inputs}
    case = replace(named("two_heads"), verdict="wrong_value", points=0.0, details=details)
    many = tuple(replace(case, id=f"c{n}") for n in range(20))
    assert len(student_page(replace(result(), cases=many)).encode()) < 200_000
