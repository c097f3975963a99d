"""Everyone can read the pages, in light and dark, wide and narrow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from kinds import EVERY, source
from looking import LOOKS, NARROW, NARROWEST, SCHEMES, WIDE, Looker, ask, unfold, violations
from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def shown(chromium: Browser, kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of a kind with all that is folded opened; the tests of one kind share it."""
    looking = Looker(chromium, tmp_path_factory.mktemp("shown"))
    page = looking.open(source(kind))
    unfold(page)
    yield page
    looking.close()
    assert looking.noticed == []


def set_looks(page: Page, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})


@EVERY
def test_axe_finds_nothing(shown: Page, kind: str) -> None:
    set_looks(shown, "dark", NARROW)
    assert violations(shown) == []
    # Contrast in the light is what the next test is about.
    set_looks(shown, "light", WIDE)
    assert violations(shown, LOOKS) == []


@pytest.mark.slow
@EVERY
def test_axe_finds_nothing_in_either_scheme_at_either_width(looker: Looker, kind: str) -> None:
    for scheme, width in itertools.product(SCHEMES, (WIDE, NARROW)):
        page = looker.open(source(kind), scheme=scheme, width=width)
        assert violations(page) == [], (scheme, width)
        unfold(page)
        assert violations(page, ["color-contrast", *LOOKS]) == [], (scheme, width)


@EVERY
def test_every_text_stands_out_from_what_is_behind_it(shown: Page, kind: str) -> None:
    for scheme, width in itertools.product(SCHEMES, (WIDE, NARROW)):
        set_looks(shown, scheme, width)
        assert ask(shown, "poorContrast") == [], (scheme, width)


@EVERY
def test_the_dark_scheme_is_dark_and_the_light_one_light(shown: Page, kind: str) -> None:
    set_looks(shown, "dark", WIDE)
    dark = ask(shown, "brightness")
    set_looks(shown, "light", WIDE)
    assert dark < 0.05 < 0.8 < ask(shown, "brightness")


@EVERY
def test_structure_tells_where_one_is(shown: Page, kind: str) -> None:
    told = ask(shown, "structure")
    assert told["lang"] == "en"
    assert told["title"].strip()
    levels = [level for level, _ in told["headings"]]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(text for _, text in told["headings"])
    assert told["landmarks"] == ["header", "main", "footer"]
    script = set() if kind.startswith("statement") else {"script"}
    assert set(told["outside"]) == {"a", "header", "main", "footer"} | script
    assert told["nameless"] == told["clickable"] == told["untyped"] == []


@EVERY
def test_nothing_sticks_out_of_a_narrow_window_or_is_cut(shown: Page, kind: str) -> None:
    for width in (WIDE, WIDE // 2, NARROW, NARROWEST):
        set_looks(shown, "light", width)
        assert ask(shown, "overflowing") == [], width
