"""Patterns are read as they stand there, and what is at fault in one is told with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.handout.patterns import Pattern, PatternError, drawn_as_text, read_pattern

CAUSAL = """\
title: Causal: nothing later
asked: no
rows: query
columns: key
x: attends
.: does not attend
note: A position reads itself and what stands to its left.

  0 1 2
0 x . .
1 x x .
2 x x x
"""

labels = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=6)
words = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=12)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return Pattern(
        title=draw(words),
        rows=draw(words),
        columns=draw(words),
        row_labels=tuple(draw(st.lists(labels, min_size=rows, max_size=rows))),
        column_labels=tuple(draw(st.lists(labels, min_size=columns, max_size=columns))),
        cells=tuple(
            tuple(draw(st.lists(st.booleans(), min_size=columns, max_size=columns))) for _ in range(rows)
        ),
        filled=draw(words),
        empty=draw(words),
        asked=draw(st.none() | st.booleans()),
        note=draw(st.just("") | words),
    )


def key(one: Pattern) -> tuple[str, ...]:
    """What its legend says."""
    return one.filled, one.empty, one.rows, one.columns


def written(one: Pattern) -> str:
    """The block that describes a pattern."""
    told = {"title": one.title, "rows": one.rows, "columns": one.columns, "x": one.filled, ".": one.empty}
    if one.asked is not None:
        told["asked"] = "yes" if one.asked else "no"
    if one.note:
        told["note"] = one.note
    lines = [*(f"{key}: {value}" for key, value in told.items()), "", "  " + " ".join(one.column_labels)]
    for label, cells in zip(one.row_labels, one.cells, strict=True):
        lines.append(f"{label} " + " ".join("x" if on else "." for on in cells))
    return "\n".join(lines) + "\n"


@given(patterns())
def test_what_is_written_is_read(one: Pattern) -> None:
    assert read_pattern(written(one)) == one


@given(st.lists(patterns(), min_size=1, max_size=5), st.integers(20, 120))
def test_the_text_holds_every_row_of_every_pattern(several: list[Pattern], width: int) -> None:
    text = drawn_as_text(several, width)
    for mark, on in (("■", True), ("·", False)):
        told = sum(row.count(on) for one in several for row in one.cells)
        said = "".join(
            f"{one.title}{one.note}{one.rows}{one.columns}{one.filled}{one.empty}" for one in several
        )
        said += "".join(label for one in several for label in (*one.row_labels, *one.column_labels))
        if mark not in said:
            # Once for each cell, and once for each legend.
            meanings = {key(o) for o in several}
            legends = 1 if len(meanings) == 1 else len({(o.title, *key(o)) for o in several})
            assert text.count(mark) == told + legends


def test_one_is_read_with_all_that_it_says() -> None:
    one = read_pattern(CAUSAL)
    assert one.title == "Causal: nothing later"
    assert (one.rows, one.columns, one.filled, one.empty) == ("query", "key", "attends", "does not attend")
    assert one.asked is False and one.verdict == "not asked for"
    assert one.cells == ((True, False, False), (True, True, False), (True, True, True))


def test_patterns_stand_side_by_side_in_plain_text() -> None:
    both = read_pattern("title: Both ways\nasked: yes\nrows: query\ncolumns: key\n\n  0 1\n0 x x\n1 x x")
    assert drawn_as_text([both, read_pattern(CAUSAL)], 60) == (
        "Both ways          Causal: nothing\n"
        "(asked for here)   later\n"
        "                   (not asked for)\n"
        "  0 1                0 1 2\n"
        "0 ■ ■              0 ■ · ·\n"
        "1 ■ ■              1 ■ ■ ·\n"
        "                   2 ■ ■ ■\n"
        "\n"
        "Both ways: ■ yes, · no; rows: query, columns: key\n"
        "Causal: nothing later: ■ attends, · does not attend; rows:\n"
        "  query, columns: key\n"
        "Causal: nothing later: A position reads itself and what\n"
        "  stands to its left."
    )


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("title: Causal: nothing later", "titel: Causal"), 0, "unknown key 'titel'; did you mean 'title'?"),
        (("title: Causal: nothing later\n", ""), 0, "lacks 'title:'"),
        (("rows: query\ncolumns: key\n", ""), 0, "lacks 'rows:' and 'columns:'"),
        (("asked: no", "asked: maybe"), 1, "'asked:' is 'maybe'; expected yes or no"),
        (("asked: no", "asked:"), 1, "nothing is said after 'asked:'"),
        (("asked: no", "rows: query"), 3 - 1, "the key 'rows' stands there twice"),
        (("note: A", "A"), 6, "expected a line such as 'title: Causal', found 'A position"),
        (("rows: query", f"rows: {'q' * 25}"), 2, "'rows:' has 25 letters; expected 24 at most"),
        (("0 1 2\n0", f"0 {'1' * 25} 2\n0"), 8, f"the label '{'1' * 25}' has 25 letters"),
        (("\n2 x", f"\n{'2' * 25} x"), 11, f"the label '{'2' * 25}' has 25 letters"),
        (("1 x x .", "1 x x"), 10, "the row '1' has 2 marks; expected 3"),
        (("1 x x .", "1 x o ."), 10, "unknown mark 'o'; expected x (filled) or . (empty)"),
        (("0 x . .\n1 x x .\n2 x x x\n", ""), 6, "holds no grid; expected a blank line"),
    ],
)
def test_a_fault_is_told_with_its_line(change: tuple[str, str], line: int, said: str) -> None:
    assert change[0] in CAUSAL
    with pytest.raises(PatternError) as caught:
        read_pattern(CAUSAL.replace(*change))
    assert said in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["", "\n\n", "title: T", "title: T\nrows: r\ncolumns: c\n\n\n"])
def test_a_block_without_a_grid_is_told(text: str) -> None:
    with pytest.raises(PatternError, match=r"lacks|holds no grid"):
        read_pattern(text)


def test_a_grid_that_no_page_can_show_is_refused() -> None:
    head = " ".join(map(str, range(41)))
    with pytest.raises(PatternError, match="is 1 by 41; at most 40 rows and columns are drawn"):
        read_pattern(f"title: T\nrows: r\ncolumns: c\n\n  {head}\n0 {' '.join('x' * 41)}\n")
