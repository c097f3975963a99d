"""A demonstration in a terminal: no number is cut, and what is left out is said."""

from __future__ import annotations

import io

import demonstrations
import pytest
from demonstrations import LARGE, RECORDS, TELLING
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from terminals import HOSTILE_TEXTS

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector
from grader.report.terminal.console import Trimmed, show
from grader.report.terminal.demonstration import demonstration_report


def shown(demonstration: Demonstration, width: int = 80) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    show(console, Trimmed(demonstration_report(demonstration)))
    return out.getvalue().splitlines()


def of(*, width: int = 80, **parts: object) -> list[str]:
    """The lines of an example's parts."""
    example = Example("e", "Label", **parts)  # type: ignore[arg-type]
    return shown(Demonstration("t", "", [example]), width)[3:]


def test_an_example_is_shown_with_all_that_it_has() -> None:
    lines = shown(TELLING)
    assert lines[: lines.index("Numbers that are none  odd")] == [
        "Rows that add up",
        "What a softmax does.",
        "Its rows add up to 1.",
        "",
        "Rows of probabilities  rows",
        "  Each row adds up to 1.",
        "  The largest is the last.",
        "",
        "  rows: 2",
        "  loss: 0.123457",
        "  dtype: float64",
        "  Tokens",
        "      0    1    2",
        "    the  cat  sat",
        "  Loss by step",
        "    step 1  step 2  step 3",
        "     2.500   1.250  -0.500",
        "  Probabilities",
        "         the    cat    sat",
        "    0  0.100  0.200  0.700",
        "    1  0.250  0.250  0.500",
        "  Scores",
        "                0      1      2",
        "    query  -1.500  0.000  2.000",
        "",
    ]


def test_columns_without_room_are_counted_not_cut() -> None:
    matrix = Matrix("m", [[0.12345, 123.4, 5.5], [1.0, 2.0, 3.0]])
    assert of(matrices=[matrix]) == [
        "  m",
        "          0       1     2",
        "    0  0.12  123.40  5.50",
        "    1  1.00    2.00  3.00",
    ]
    assert of(matrices=[matrix], width=23) == [
        "  m",
        "          0       1  …",
        "    0  0.12  123.40  …",
        "    1  1.00    2.00  …",
        "    … 1 more column",
    ]


def test_rows_beyond_the_first_are_counted() -> None:
    lines = shown(LARGE, 60)
    assert any("more columns and 28 more rows" in line for line in lines)
    assert "    … 80 more elements" in lines


def test_a_window_too_narrow_for_a_column_is_told() -> None:
    assert of(matrices=[Matrix("m", [["x" * 24]])], width=24) == [
        "  m",
        "    too wide for this",
        "    window",
    ]


def test_a_long_vector_has_a_line_and_a_bar_for_each_element() -> None:
    lines = of(vectors=[Vector("v", [float(n) for n in range(-1, 11)])], width=40)
    assert lines[0] == "  v" and len(lines) == 13
    assert lines[1] == "    0   -1  −██" and lines[2] == "    1    0"
    assert lines[-1].endswith("  10  " + "█" * 23)


def test_a_text_that_needs_a_line_has_one() -> None:
    said = "id -1 is none of 6 tokens"
    lines = of(vectors=[Vector("v", ["no ids", said], ["a", "b"])], width=32)
    assert lines == ["  v", "    a  no ids", f"    b  {said}"]
    cut = of(vectors=[Vector("v", ["no ids", said], ["a", "b"])], width=24)
    assert cut[-1] == f"    b  {said[:16]}…"


def test_of_a_very_long_vector_the_beginning_and_the_end_are_shown() -> None:
    lines = of(vectors=[Vector("v", range(30))])
    assert len(lines) == 22
    assert [line.split()[:2] for line in lines[18:]] == [
        ["17", "17"],
        ["18", "18"],
        ["…", "10"],
        ["29", "29"],
    ]
    assert lines[-2] == "    … 10 more elements"
    assert not any("more" in line for line in of(vectors=[Vector("v", range(20))]))


def test_a_metric_is_never_cut_away_by_its_label() -> None:
    lines = of(metrics=[Metric("a label that is longer than the window", 0.5)], width=24)
    assert " ".join(" ".join(lines).split()) == "a label that is longer than the window: 0.5"


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("width", [24, 40, 80, 120])
def test_no_line_is_wider_than_the_window(kind: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in shown(RECORDS[kind], width))


@given(HOSTILE_TEXTS, st.integers(20, 120))
def test_any_text_is_shown_without_acting(text: str, width: int) -> None:
    lines = shown(demonstrations.hostile(text), width)
    assert all(cell_len(line) <= width for line in lines)
    assert "\x1b" not in "".join(lines) and "\u202e" not in "".join(lines)
