"""The page of a demonstration says what the record says, and nothing in it can act."""

from __future__ import annotations

import re

import demonstrations
import pytest
from demonstrations import RECORDS, TELLING
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ANY_TEXT, Page

from grader.demonstration import Demonstration, Example, Matrix, Vector
from grader.report.html import demonstration_page

TAGS = """
html head meta title style body a header p h1 h2 h3 main section b span div ol li dl dt dd table thead tbody
tr th td svg rect path footer script
"""
ATTRIBUTES = """
lang charset http-equiv content name class href aria-labelledby aria-label aria-hidden id role tabindex scope
viewbox preserveaspectratio focusable width height x d
"""


def assert_inert(source: str) -> Page:
    page = Page(source)
    assert {tag for tag, _ in page.elements} <= set(TAGS.split())
    assert {name for _, attributes in page.elements for name in attributes} <= set(ATTRIBUTES.split())
    assert all(re.fullmatch(r"#(main|example-\d+)", href) for href in page.values("href"))
    assert len(page.raw["script"]) == len(page.raw["style"]) == 1
    return page


@pytest.mark.parametrize("kind", RECORDS)
def test_a_page_is_well_formed_and_asks_for_nothing(kind: str) -> None:
    page = assert_inert(demonstration_page(RECORDS[kind]))
    assert "url(" not in page.raw["style"][0] and "@import" not in page.raw["style"][0]
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {a for value in page.values("aria-labelledby") for a in value.split()} <= set(ids)
    assert {href[1:] for href in page.values("href")} <= set(ids)


def test_every_text_and_every_number_is_on_it() -> None:
    page = Page(demonstration_page(TELLING))
    text = " ".join(page.text.split())
    assert "What a softmax does." in text and "The largest is the last." in text
    for example in TELLING.examples:
        for part in (*example.matrices, *example.vectors, *example.metrics):
            assert part.label in text
    probabilities, scores, odd, mask = [[[c.strip() for c in row] for row in t] for t in page.tables]
    assert probabilities == [
        ["", "the", "cat", "sat"],
        ["0", "0.1000", "0.2000", "0.7000"],
        ["1", "0.2500", "0.2500", "0.5000"],
    ]
    assert scores == [["", "0", "1", "2"], ["query", "-1.5000", "0.0000", "2.0000"]]
    assert odd == [["", "0", "1"], ["0", "nan", "1"], ["1", "inf", "-inf"]]
    assert mask == [["", "0", "1"], ["0", "1", "0"], ["1", "pad", "3"]]
    # The names and values of a list are elements beside each other.
    for told in ("loss0.123457", "dtypefloat64", "overflowinf", "step 3-0.5000", "1cat", "2sat"):
        assert told in text


def bars(*values: float) -> list[tuple[str, float, float]]:
    """Class, begin and width of each bar."""
    made = Demonstration("t", "", [Example("e", "l", vectors=[Vector("v", values)])])
    return [
        (r["class"] or "", float(r["x"] or 0), float(r["width"] or 0))
        for r in Page(demonstration_page(made)).all("rect")
    ]


def test_bars_begin_at_zero_and_end_at_the_value() -> None:
    assert bars(1.0, 2.0, 4.0) == [("above", 0, 25), ("above", 0, 50), ("above", 0, 100)]
    assert bars(-1.0, 0.0, 3.0) == [("below", 0, 25), ("above", 25, 0), ("above", 25, 75)]
    assert bars(-2.0, -1.0) == [("below", 0, 100), ("below", 50, 50)]
    assert bars(0.0, 0.0) == [("above", 0, 0)] * 2
    assert bars(1e308, -1e308) == [("above", 50, 50), ("below", 0, 50)]


@given(st.floats(), st.floats(), st.floats())
@settings(max_examples=100)
def test_no_bar_leaves_the_drawing(one: float, two: float, three: float) -> None:
    for _, begin, width in bars(one, two, three):
        assert begin >= 0 and width >= 0 and begin + width <= 100.02


def test_the_colours_are_those_of_the_scale() -> None:
    def levels(**options: object) -> list[str | None]:
        matrix = Matrix("m", [[0.0, 0.5, 1.0]], **options)  # type: ignore[arg-type]
        page = Page(demonstration_page(Demonstration("t", "", [Example("e", "l", matrices=[matrix])])))
        return [a.get("class") for a in page.all("td")][1:]

    assert levels() == ["h4", "h6", "h8"]
    assert levels(scale=(0, 2)) == ["h4", "h5", "h6"]
    assert levels(scale=(-1, 1)) == ["h4", "h6", "h8"]


def test_one_example_has_nothing_to_be_chosen_from() -> None:
    assert 'id="pick"' not in demonstration_page(RECORDS["alone"])
    assert 'id="pick"' in demonstration_page(TELLING)


@settings(max_examples=25)
@given(ANY_TEXT)
def test_no_text_becomes_markup(text: str) -> None:
    assert_inert(demonstration_page(demonstrations.hostile(text)))


def test_long_texts_are_cut() -> None:
    source = demonstration_page(demonstrations.hostile("<b>" * 1_000_000))
    assert len(source) < 60_000
    assert_inert(source)
