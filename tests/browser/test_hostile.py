"""Whatever a name, an output, a message or a file says, it is shown as a text and moves nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import MAKERS
from looking import NARROWEST, Looker, ask, unfold
from playwright.sync_api import Browser, Page
from samples import failing, info
from texts import HOSTILE

from grader.report.html import class_page
from grader.report.markup.safe import safe_text

# Its tests together take long.
pytestmark = pytest.mark.slow

EVERY_MAKER = pytest.mark.parametrize("maker", MAKERS)
# A page that is no larger opens at once, in a mail program too.
LARGEST = {
    "student": 200_000,
    "teacher": 600_000,
    "class": 200_000,
    "author": 300_000,
    "demonstration": 100_000,
    "statement": 200_000,
}
MEGABYTES = 50_000_000


@pytest.fixture(scope="module")
def window(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Looker, Page]]:
    """One narrow window for all texts of this file: opening one costs more than what is looked at."""
    looking = Looker(chromium, tmp_path_factory.mktemp("hostile"))
    yield looking, looking.page(viewport={"width": NARROWEST, "height": 800})
    looking.close()


def assert_harmless(window: tuple[Looker, Page], page_source: str) -> Page:
    """Opens it, unfolds and touches everything; nothing acts, asks, speaks or sticks out."""
    looker, page = window
    path = looker.path(page_source)
    page.goto(path.as_uri())
    unfold(page)
    assert ask(page, "overflowing") == []
    page.evaluate(
        "() => { for (const one of document.querySelectorAll('*')) for (const what of ['mouseover', 'focus'])"
        " one.dispatchEvent(new Event(what)); }"
    )
    assert page.evaluate("() => [globalThis.acted, document.images.length, frames.length]") == [None, 0, 0]
    assert page.url == path.as_uri()
    noticed, looker.noticed = looker.noticed, []
    assert noticed == []
    path.unlink()
    return page


def structure(page: Page) -> tuple[Any, ...]:
    """What of a page no text may change."""
    told = ask(page, "structure")
    # Parts below these may be left out for want of room.
    levels = [level for level, _ in told["headings"] if level <= 2]
    return levels, told["landmarks"], told["outside"]


@pytest.fixture(scope="module")
def calm(window: tuple[Looker, Page]) -> dict[str, tuple[Any, ...]]:
    """The structure of pages that say a calm text, by maker."""
    return {maker: structure(assert_harmless(window, made("a calm text"))) for maker, made in MAKERS.items()}


@EVERY_MAKER
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_shown_as_text_and_changes_nothing_else(
    window: tuple[Looker, Page], calm: dict[str, tuple[Any, ...]], maker: str, name: str
) -> None:
    text = HOSTILE[name]
    made = MAKERS[maker](text)
    made.encode()
    assert len(made.encode()) < LARGEST[maker]
    page = assert_harmless(window, made)
    # Markup is there to be read.
    if name in ("script", "comment", "picture", "attribute", "link", "address", "template"):
        assert text[:20] in (page.locator("main").text_content() or "")
    assert structure(page) == calm[maker]


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "a", "👩"])
def test_no_sign_makes_a_line_that_cannot_be_broken(window: tuple[Looker, Page], before: str) -> None:
    # Every sign of the first two planes but for ideographs, which are alike, 80 times in a row.
    signs = [chr(code) for code in [*range(0x80, 0x3400), *range(0xA000, 0xAC00), *range(0xD7A4, 0x17000)]]
    signs += [chr(code) for code in range(0x18D00, 0x20000)]
    signs = [sign for sign in signs if unicodedata.category(sign) not in ("Cn", "Cs", "Co")]
    assert len(signs) > 20_000
    page = window[1]
    # A page of ours that is still open would forbid the style.
    page.goto("about:blank")
    style = "<style>div { width: 300px; overflow-wrap: anywhere; font: 16px sans-serif }</style>"
    for at in range(0, len(signs), 2_500):
        part = signs[at : at + 2_500]
        page.set_content(style + "".join(f"<div>{safe_text(before + sign * 80, 500)}</div>" for sign in part))
        wide = page.evaluate(
            "() => [...document.querySelectorAll('div')].flatMap((d, at) => d.scrollWidth > 300 ? [at] : [])"
        )
        assert [hex(ord(part[at])) for at in wide] == []


@settings(max_examples=12)
@given(
    st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=()), max_size=30),
            st.sampled_from(sorted(HOSTILE.values(), key=len)[:12]),
            st.sampled_from(["\u202e", "\ud800", "\x1b[", "<", "</", "&#", "'\"", "\u0301" * 9, "W" * 900]),
        ),
        min_size=1,
        max_size=4,
    ).map("".join)
)
def test_any_text_is_shown_as_text(window: tuple[Looker, Page], text: str) -> None:
    for made in MAKERS.values():
        assert_harmless(window, made(text))


def test_a_class_of_hostile_names_stays_in_order(looker: Looker) -> None:
    records = [
        replace(failing(), submission=replace(info(text, f"s{at:02d}"), members=(text,)))
        for at, text in enumerate(HOSTILE.values())
    ]
    page = looker.open(class_page(records))
    ids = page.locator("#table td.id").all_inner_texts()
    assert ids == [f"s{at:02d}" for at in range(len(records))]
    # A name that is written from right to left leaves the columns beside it where they are.
    boxes = page.locator("#table td.id a")
    lefts = {round(boxes.nth(at).bounding_box()["x"]) for at in range(boxes.count())}  # type: ignore[index]
    assert len(lefts) == 1
    heights = [row.bounding_box()["height"] for row in page.locator("#table tbody tr").all()]  # type: ignore[index]
    assert max(heights) < 400


@pytest.mark.slow
@EVERY_MAKER
@pytest.mark.parametrize(
    "unit", ["<", "x", "\u202e", "\x1b[31m", "e\u0301\u0301\u0301", "\n", "😀", "\ud800"]
)
def test_fifty_megabytes_are_cut_and_harmless(window: tuple[Looker, Page], maker: str, unit: str) -> None:
    made = MAKERS[maker](unit * (MEGABYTES // len(unit.encode("utf-8", "surrogatepass"))))
    assert len(made.encode()) < LARGEST[maker]
    assert_harmless(window, made)
