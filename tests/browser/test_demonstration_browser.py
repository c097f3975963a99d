"""The examples of a demonstration: one at a time with scripts, all of them without and on paper."""

from __future__ import annotations

import pytest
from kinds import source
from looking import NARROW, WIDE, Looker, ask, violations
from playwright.sync_api import Page

# Its tests together take long.
pytestmark = pytest.mark.slow

KIND = "demonstration mlm_forward"
PANELS = "section.example"


def seen(page: Page) -> list[str | None]:
    return [one.get_attribute("id") for one in page.locator(PANELS).locator("visible=true").all()]


def focused(page: Page) -> str:
    return page.locator(":focus").inner_text()


def test_one_example_is_seen_and_its_tab_says_so(looker: Looker) -> None:
    page = looker.open(source(KIND))
    assert seen(page) == ["example-1"]
    tabs = page.get_by_role("tab")
    assert tabs.count() == page.locator(PANELS).count() == 4
    assert [t.get_attribute("aria-selected") for t in tabs.all()] == ["true", "false", "false", "false"]
    tabs.nth(2).click()
    assert seen(page) == ["example-3"] and page.url.endswith("#example-3")
    panel = page.get_by_role("tabpanel")
    assert panel.count() == 1 and panel.get_attribute("aria-labelledby") == tabs.nth(2).get_attribute("id")


def test_examples_are_switched_by_keyboard(looker: Looker) -> None:
    page = looker.open(source(KIND))
    names = page.get_by_role("tab").all_inner_texts()
    page.keyboard.press("Tab")  # the link past the head
    page.keyboard.press("Tab")
    assert focused(page) == names[0]
    for key, at in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", 3),
        ("ArrowRight", 0),
        ("ArrowLeft", 3),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        assert (focused(page), seen(page)) == (names[at], [f"example-{at + 1}"]), key
    # Every tab is a stop as well: it is a link, and is chosen where one says so.
    page.keyboard.press("Tab")
    assert (focused(page), seen(page)) == (names[1], ["example-1"])
    page.keyboard.press("Enter")
    assert (focused(page), seen(page)) == (names[1], ["example-2"])
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert (focused(page), seen(page)) == (names[2], ["example-3"])
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('section').id") == "example-3"


def test_a_link_to_an_example_shows_it(looker: Looker) -> None:
    path = looker.path(source(KIND))
    page = looker.page()
    page.goto(f"{path.as_uri()}#example-4")
    assert seen(page) == ["example-4"]
    page.evaluate("() => { location.hash = '#example-2'; }")
    page.wait_for_function("() => !document.getElementById('example-2').hidden")
    assert seen(page) == ["example-2"]
    page.goto(f"{path.as_uri()}#nothing")
    page.reload()
    assert seen(page) == ["example-1"]


def test_without_scripts_and_on_paper_all_are_there(looker: Looker) -> None:
    every = [f"example-{at}" for at in range(1, 5)]
    plain = looker.open(source(KIND), script=False)
    assert seen(plain) == every and plain.get_by_role("tab").count() == 0
    plain.get_by_role("link", name="One head, and four").click()
    assert plain.url.endswith("#example-3")
    page = looker.open(source(KIND))
    page.get_by_role("tab").nth(1).click()
    page.emulate_media(media="print")
    assert seen(page) == every
    assert page.locator("#pick").is_hidden()


@pytest.mark.parametrize("kind", ["demonstration telling", "demonstration large", KIND])
def test_every_example_can_be_read_by_everyone(looker: Looker, kind: str) -> None:
    page = looker.open(source(kind), scheme="dark", width=NARROW)
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.set_viewport_size({"width": NARROW, "height": 900})
        page.emulate_media(color_scheme="dark")
        assert violations(page) == []
        page.emulate_media(color_scheme="light")
        assert ask(page, "overflowing") == [] and ask(page, "poorContrast") == []
        page.set_viewport_size({"width": WIDE, "height": 900})
        assert ask(page, "overflowing") == [] and ask(page, "poorContrast") == []
