"""Rows stay readable in any window."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grader.listing import LEAST, Listing

COLUMNS = ("id", "points", "reason")
word = st.text("abcdefgh", min_size=1, max_size=18)
rows = st.lists(
    st.tuples(word, st.integers(-999, 999).map(str), st.lists(word, max_size=12).map(" ".join)),
    min_size=1,
    max_size=5,
)


def lines(found: list[tuple[str, str, str]], width: int) -> list[str]:
    out = io.StringIO()
    listing = Listing(COLUMNS, [list(map(Text, row)) for row in found], right=("points",), whole=("id",))
    Console(file=out, width=width).print(listing)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@given(rows, st.integers(30, 200))
def test_nothing_is_lost_broken_or_wider_than_the_window(
    found: list[tuple[str, str, str]], width: int
) -> None:
    shown = lines(found, width)
    assert all(cell_len(line) <= width for line in shown)
    words = " ".join(shown).split()
    for row in found:
        for text in row:
            assert set(text.split()) <= set(words)


@given(rows)
def test_where_all_fits_every_row_is_a_line(found: list[tuple[str, str, str]]) -> None:
    header, *rest = lines(found, 1_000)
    assert header.split() == list(COLUMNS)
    assert [line.split() for line in rest] == [" ".join(row).split() for row in found]


def test_in_a_narrow_window_every_cell_is_a_line_with_its_name() -> None:
    found = [("ann", "+2", "a very good comment"), ("bob", "-1", "")]
    assert lines(found, 20) == [
        "id       ann",
        "points   +2",
        "reason   a very good",
        "         comment",
        "",
        "id       bob",
        "points   -1",
    ]


@pytest.mark.parametrize("width", range(20, 120, 7))
def test_a_sentence_is_never_squeezed(width: int) -> None:
    sentence = "one two three four five six seven eight nine ten " * 3
    shown = lines([("ann", "+2", sentence.strip())], width)
    # All lines but the last hold as many words as a readable column does.
    assert len(shown) <= 2 + len(sentence) / (LEAST - len("eight"))
