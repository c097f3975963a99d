"""The statement's page: complete in itself, in order, and nothing in a statement can act."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pages import Page
from statements import PATTERN, TEXT, page

from grader.handout.page import Requirement

TAGS = """
html head meta title style body a header nav main footer section h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd div pre
code strong em blockquote hr br table caption thead tbody tr th td figure figcaption svg rect text details
summary span
"""
ATTRIBUTES = """
lang charset http-equiv content name class href aria-labelledby aria-label aria-hidden id role tabindex scope
title viewbox focusable width height x y transform text-anchor start
"""


def inert(source: str) -> Page:
    """Elements and attributes of ours alone, every id once, and no script or style that could act."""
    read = Page(source)
    assert {tag for tag, _ in read.elements} <= set(TAGS.split())
    assert {name for _, attributes in read.elements for name in attributes} <= set(ATTRIBUTES.split())
    ids = read.values("id")
    assert len(ids) == len(set(ids))
    for href in read.values("href"):
        assert re.match(r"#|https?://|mailto:|e\.py$|e\.ipynb$|README\.txt$", href), href
    return read


def test_it_asks_for_nothing_and_allows_its_own_style_alone() -> None:
    read = inert(page(TEXT))
    (policy,) = [m["content"] for m in read.all("meta") if m.get("http-equiv")]
    (style,) = read.raw["style"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{digest}'; script-src 'none'"
    )
    assert "url(" not in style and "@import" not in style


def test_it_has_landmarks_a_language_and_headings_in_order() -> None:
    read = inert(page(TEXT))
    tags = [tag for tag, _ in read.elements]
    assert [tags.count(tag) for tag in ("main", "header", "footer", "nav", "h1")] == [1, 1, 1, 1, 1]
    assert read.all("html")[0]["lang"] == "en"
    levels = read.headings
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    named = set(read.values("id"))
    assert {name for one in read.values("aria-labelledby") for name in one.split()} <= named


def test_every_link_within_the_page_leads_somewhere() -> None:
    read = inert(page(TEXT))
    within = {href[1:] for href in read.values("href") if href.startswith("#")}
    assert {"main", "what-to-write", "mean", "inputs", "inputs-1", "own:requirements"} <= within
    assert within <= set(read.values("id"))


def test_a_requirement_has_its_title_in_its_heading_or_is_listed() -> None:
    source = page(TEXT)
    assert '<h3 id="mean"><code>mean</code> <span class="called">Mean</span></h3>' in source
    (listed,) = [t for t in inert(source).tables if t[0][0] == "Name"]
    assert listed[1:] == [["inputs", "Inputs <b>", "Kept."]]
    assert "More requirements" in source


def test_without_headings_of_their_own_all_requirements_are_listed() -> None:
    source = page("# T\n\n## A\n")
    (listed,) = [t for t in inert(source).tables if t[0][0] == "Name"]
    assert [row[0] for row in listed[1:]] == ["mean", "inputs"]
    assert "More requirements" not in source


def test_with_all_of_them_none_is_listed() -> None:
    assert not [t for t in inert(page("# T\n\n## mean\n\n## inputs\n")).tables if t[0][0] == "Name"]


def test_patterns_are_pictures_with_words_and_a_table() -> None:
    read = inert(page(TEXT))
    pictures = [svg for svg in read.all("svg") if svg.get("role") == "img"]
    assert [svg["aria-label"] for svg in pictures] == [
        f"{title}: 2 rows (query), 2 columns (key); attends: 3 of 4 cells"
        for title in ("Causal <mask>", "Both")
    ]
    rects = [r["class"] for r in read.all("rect")]
    # Four cells in each of two pictures, and one of each kind in the legend that both share.
    assert (rects.count("on"), rects.count("off")) == (3 + 3 + 1, 1 + 1 + 1)
    tables = [t for t in read.tables if t[0][1:] == ["a", "b&"]]
    assert tables == [[["", "a", "b&"], ["0", "attends", 'does "not"'], ["<1>", "attends", "attends"]]] * 2
    assert "✗ not asked for" in read.text and "✓ asked for here" in read.text
    assert "Nothing later & nothing else." in read.text


def test_aligned_columns_need_no_styles() -> None:
    source = page(TEXT)
    assert '<td class="n">1</td>' in source and '<td class="mid"><code>mean</code></td>' in source
    assert "style=" not in source


def test_html_is_shown_as_text() -> None:
    read = inert(page("# T\n\n<script>alert(1)</script>\n\n<b onclick='x'>bold</b> and <!-- a note -->\n"))
    assert "<script>alert(1)</script>" in read.text
    assert "<b onclick='x'>bold</b> and <!-- a note -->" in read.text


def test_long_code_can_be_scrolled_by_keyboard_and_short_code_is_no_stop() -> None:
    read = inert(page("# T\n\n```\n" + "x" * 41 + "\n```\n\n```\n" + "x" * 40 + "\n```\n"))
    assert [p.get("tabindex") for p in read.all("pre")] == ["0", None, "0"]


@given(st.text(st.sampled_from("#`-* |\n[](){}!<>&\"':x.0ab=\t~_\\")))
def test_no_markdown_can_act(text: str) -> None:
    inert(page(f"# T\n\n{text}"))


@given(st.text(max_size=60))
def test_no_text_can_act(text: str) -> None:
    line = " ".join(text.split()) or "x"
    block = PATTERN.replace("Causal <mask>", line).replace('does "not"', line)
    inert(page(f"# T {line}\n\n## {line}\n\n{block}", [Requirement("mean", text, text)]))
