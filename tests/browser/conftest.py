"""A headless Chromium, one for each file of tests, and pages that are watched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import chromium as programs
import pytest
from looking import Looker
from playwright.sync_api import Browser, Error, sync_playwright


# Not for the whole session: while Playwright is at work, the thread has a running event loop, which
# other tests of the same process can't do with.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = programs.find(os.environ)
    refuse = pytest.fail if programs.is_required(os.environ) else pytest.skip
    if path is None:
        refuse(programs.MISSING)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path)
        except Error as error:
            refuse(f"{path} does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def looker(chromium: Browser, tmp_path: Path) -> Iterator[Looker]:
    """Opens pages; the test fails when one of them did anything else than being shown."""
    looking = Looker(chromium, tmp_path)
    yield looking
    looking.close()
    assert looking.noticed == []
