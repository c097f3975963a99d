"""Everything can be done without a mouse, and one always sees where one is."""

from __future__ import annotations

import re

import pytest
from kinds import source
from looking import NARROW, SCHEMES, Looker, ask, unfold
from playwright.sync_api import Page
from samples import class_of, diagnosed

from grader.report.html import class_page

# Its tests together take long.
pytestmark = pytest.mark.slow

KINDS = ("student diagnosed", "teacher diagnosed", "class of 24", "author weak", "demonstration mlm_forward")
CLASS = class_page(class_of(24))


def of(kind: str) -> str:
    return CLASS if kind == "class of 24" else source(kind)


def walk(page: Page, key: str, most: int) -> list[dict[str, object]]:
    """Where the focus comes to until it leaves the page."""
    seen: list[dict[str, object]] = []
    for _ in range(most):
        page.keyboard.press(key)
        at = ask(page, "focused")
        if at is None or (seen and at["at"] == seen[0]["at"]):
            break
        seen.append(at)
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_tab_key_comes_to_everything_and_the_focus_is_always_seen(
    looker: Looker, kind: str, scheme: str
) -> None:
    # Both ways, as what sticks to an edge hides different things.
    page = looker.open(of(kind), scheme=scheme, width=NARROW if scheme == "dark" else 1000, height=600)
    unfold(page)
    stops = ask(page, "stops")
    assert stops > 5
    there = walk(page, "Tab", stops + 2)
    # Chromium also stops at boxes that scroll; those must be made for it, with a name.
    assert [at["told"] for at in there if at["at"] == -1] == []
    assert [at["at"] for at in there] == list(range(stops))
    assert [at for at in there if at["faults"]] == []
    if scheme == "dark":
        back = walk(page, "Shift+Tab", stops + 2)
        assert [at for at in back if at["faults"]] == []


def test_the_first_stop_leads_past_the_head(looker: Looker) -> None:
    for kind in KINDS:
        page = looker.open(of(kind))
        page.keyboard.press("Tab")
        skip = page.locator(":focus")
        assert skip.inner_text() == "Skip to the content"
        assert skip.bounding_box()["x"] >= 0  # type: ignore[index]
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")


def test_the_focus_changes_what_is_seen(looker: Looker) -> None:
    for kind in KINDS:
        page = looker.open(of(kind), height=2000)
        unfold(page)
        for what in ("a[href]:not(.skip)", "button", "input", "summary", "[tabindex='0']"):
            found = page.locator(what).locator("visible=true")
            if not found.count():
                continue
            one = found.first
            one.scroll_into_view_if_needed()
            page.evaluate("() => document.activeElement.blur()")
            before = page.screenshot()
            # A page that is worked by keyboard: only then is the focus drawn on links and buttons.
            page.keyboard.press("Shift")
            one.focus()
            assert page.screenshot() != before, (kind, what)


def names(page: Page) -> list[str]:
    return page.locator("#table tbody th:visible").all_inner_texts()


def test_the_class_is_sorted_by_keyboard(looker: Looker) -> None:
    page = looker.open(CLASS)
    first = names(page)
    head = page.get_by_role("columnheader", name="Name")
    button = head.get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    rising = names(page)
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert names(page) == rising[::-1]
    assert sorted(first) == sorted(rising) != first
    score = page.get_by_role("columnheader", name="Score")
    score.get_by_role("button").focus()
    page.keyboard.press("Enter")
    column = page.locator("#table thead th").all_inner_texts().index(score.inner_text())
    shown = page.locator(f"#table tbody tr td:nth-child({column + 1})").all_inner_texts()
    scores = [float(text) for text in shown if re.fullmatch(r"[\d.]+", text)]
    assert scores == sorted(scores, reverse=True) and len(scores) > 5
    assert head.get_attribute("aria-sort") is None


def test_the_class_is_filtered_by_keyboard_and_the_number_is_said(looker: Looker) -> None:
    page = looker.open(CLASS)
    everyone = names(page)
    chosen = everyone[3]
    page.get_by_role("searchbox").focus()
    page.keyboard.type(chosen.upper())
    kept = names(page)
    assert chosen in kept and len(kept) < len(everyone)
    assert f"{len(kept)} of {len(everyone)}" in page.get_by_role("status").first.inner_text()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    assert names(page) == everyone


def test_the_kill_map_is_filtered_by_keyboard(looker: Looker) -> None:
    page = looker.open(source("author weak"))
    rows = page.locator("#kills tbody tr:not(.group) th[scope=row]")
    page.get_by_role("searchbox").focus()
    page.keyboard.type("causal")
    assert [re.sub(r"\W", "", text) for text in rows.locator("visible=true").all_inner_texts()] == ["causal"]
    assert page.get_by_role("status").inner_text() == "1 of 4"


def test_what_is_folded_opens_by_keyboard(looker: Looker) -> None:
    page = looker.open(source("student diagnosed"))
    summary = page.locator("summary").locator("visible=true").first
    summary.focus()
    page.keyboard.press("Enter")
    assert summary.evaluate("(one) => one.parentElement.open")
    page.keyboard.press("Space")
    assert not summary.evaluate("(one) => one.parentElement.open")


# --- Copying ----------------------------------------------------------------------------------------

NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"


@pytest.mark.parametrize("clipboard", [True, False], ids=["clipboard", "the old way"])
def test_a_paste_gives_what_was_copied(looker: Looker, clipboard: bool) -> None:
    record = diagnosed()
    wanted = [record.counterexample["snippet"]]
    wanted += [c.details["snippet"] for c in record.cases if c.details.get("snippet")]
    page = looker.open(source("student diagnosed"), init=None if clipboard else NO_CLIPBOARD)
    unfold(page)
    buttons = page.locator("button.copy")
    assert buttons.count() >= len(wanted)
    paper = page.context.new_page()
    paper.set_content("<textarea></textarea>")
    pasted = []
    for at in range(buttons.count()):
        page.bring_to_front()
        button = buttons.nth(at)
        button.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("(one) => one.firstChild.data === 'Copied'", arg=button.element_handle())
        paper.bring_to_front()
        paper.locator("textarea").fill("")
        paper.locator("textarea").focus()
        paper.keyboard.press("Control+V")
        pasted.append(paper.locator("textarea").input_value())
    assert {text.strip() for text in wanted} <= {text.strip() for text in pasted}
    for text in wanted:
        assert any(text.rstrip("\n") == got.rstrip("\n") for got in pasted), text
