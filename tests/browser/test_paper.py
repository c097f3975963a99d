"""On paper and without scripts the pages say the same."""

from __future__ import annotations

from collections import Counter

import pytest
from kinds import EVERY, source
from looking import Looker, ask, unfold
from playwright.sync_api import Page

# Its tests together take long.
pytestmark = pytest.mark.slow

# The width of a sheet of A4 with the margins that browsers give it, in CSS pixels.
SHEET = 718


@EVERY
def test_paper_folds_and_cuts_nothing(looker: Looker, kind: str) -> None:
    page = looker.open(source(kind), scheme="dark", width=SHEET)
    page.emulate_media(media="print")
    # The event itself is what the next test is about.
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert ask(page, "cutOnPaper") == []
    # Ink on white, whatever the screen shows.
    assert ask(page, "brightness") > 0.9
    assert ask(page, "poorContrast") == []
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == page.content().count("<details open")


@pytest.mark.parametrize("kind", ["student diagnosed", "class large", "author weak"])
def test_printing_unfolds_what_is_folded_and_folds_it_again(looker: Looker, kind: str) -> None:
    page = looker.open(source(kind))
    folded = page.locator("details:not([open])").count()
    assert folded
    page.evaluate(
        "() => { addEventListener('beforeprint', () => { document.body.dataset.open ="
        # A snippet is there to be run.
        " document.querySelectorAll('details:not([open]):not(.code details)').length; }); }"
    )
    assert len(page.pdf(format="A4")) > 10_000
    assert page.evaluate("() => document.body.dataset.open") == "0"
    page.wait_for_function(
        "(many) => document.querySelectorAll('details:not([open])').length === many", arg=folded
    )


@EVERY
def test_without_scripts_all_can_be_read_and_nothing_pretends_to_work(looker: Looker, kind: str) -> None:
    plain = looker.open(source(kind), script=False)
    for what in ("button", "input", "[role=status]"):
        assert plain.locator(what).locator("visible=true").count() == 0
    folded = plain.locator("summary").locator("visible=true")
    if folded.count():
        folded.first.click()
        assert plain.locator("details[open]").count() == 1
    with_scripts, without = (read(page) for page in (looker.open(source(kind)), plain))
    assert without
    # What scripts make of a heading of the table is a button in it: gone above, and readable without.
    assert not with_scripts - without


def read(page: Page) -> Counter[str]:
    """The words of a page that has everything unfolded and lost what only scripts can use."""
    unfold(page)
    # Names beyond the first few are there for scripts alone; without them their number is told.
    page.evaluate(
        "() => document.querySelectorAll('button, .filter, .readout, details[data-rest]')"
        ".forEach((e) => e.remove())"
    )
    return Counter(page.locator("body").inner_text().split())
