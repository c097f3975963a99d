"""Looking at pages in a browser, and hearing of everything that a page tries to do beside being shown."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

HERE = Path(__file__).parent
HELPERS = (HERE / "helpers.js").read_text("utf-8")
WIDE, NARROW, NARROWEST = 1280, 390, 320
SCHEMES = ("light", "dark")
# Everything that axe-core can tell without guessing. By default it leaves out target-size.
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What depends on colours or on the width of the window, but for contrast, which takes long.
LOOKS = ["link-in-text-block", "target-size", "scrollable-region-focusable"]


class Looker:
    """Opens pages in contexts of their own.

    Attributes:
        noticed: What pages did that they must not, one text each: requests for anything but themselves,
            messages on the console, violations of their policy, errors, dialogs, windows, downloads.
    """

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.noticed: list[str] = []
        self._contexts: list[BrowserContext] = []
        self._numbers = itertools.count()

    def path(self, source: str) -> Path:
        """A new file with this text."""
        path = self.folder / f"page{next(self._numbers)}.html"
        path.write_text(source, "utf-8")
        return path

    def page(self, allowed: Callable[[str], bool] | None = None, **context: Any) -> Page:
        """An empty page whose doings are noticed.

        Args:
            allowed: Which addresses may be asked for; files of the test's folder when None.
            context: Further arguments of Playwright's ``new_context``.
        """
        # Not the plain prefix of the folder: a page must not ask for another one by itself.
        made = self.browser.new_context(**context)
        self._contexts.append(made)
        page = made.new_page()
        self._listen(page, allowed or self._is_document)
        return page

    def _is_document(self, url: str) -> bool:
        return url == "about:blank" or url.startswith(self.folder.as_uri() + "/page")

    def _listen(self, page: Page, allowed: Callable[[str], bool]) -> None:
        def note(kind: str) -> Callable[[Any], None]:
            return lambda what: self.noticed.append(f"{kind}: {getattr(what, 'url', what)}")

        def request(made: Any) -> None:
            if not made.is_navigation_request() or not allowed(made.url):
                self.noticed.append(f"request: {made.url[:200]}")

        def dialog(shown: Any) -> None:
            self.noticed.append(f"dialog: {shown.message[:200]}")
            shown.dismiss()

        def failed(made: Any) -> None:
            # Playwright tells of requests that the page's policy stopped, too; the console has those.
            told = f"request: {made.url[:200]}"
            if made.failure == "csp" and told in self.noticed:
                self.noticed.remove(told)

        page.on("request", request)
        page.on("requestfailed", failed)
        page.on("dialog", dialog)
        page.on("console", lambda message: self.noticed.append(f"console: {message.text[:300]}"))
        page.on("pageerror", lambda error: self.noticed.append(f"error: {error}"))
        page.on("popup", note("window"))
        page.on("download", note("download"))
        page.on("websocket", note("socket"))
        page.on("worker", note("worker"))

    def open(
        self,
        what: str | Path,
        *,
        scheme: str = "light",
        width: int = WIDE,
        height: int = 900,
        script: bool = True,
        init: str | None = None,
        **context: Any,
    ) -> Page:
        """A page, given by its source or its file, as one opens it by a double click.

        Args:
            what: The source, or a file.
            scheme: ``light`` or ``dark``.
            width: Of the window, as the height, in CSS pixels.
            height: As the width.
            script: Whether the browser runs scripts.
            init: A script of the test's that runs before those of the page.
            context: Further arguments of `page`.
        """
        path = self.path(what) if isinstance(what, str) else what
        if isinstance(what, Path) and "allowed" not in context:
            context["allowed"] = lambda url: url in ("about:blank", path.as_uri())
        page = self.page(
            color_scheme=scheme,
            viewport={"width": width, "height": height},
            java_script_enabled=script,
            **context,
        )
        if init:
            page.add_init_script(init)
        page.goto(path.as_uri())
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self._contexts.clear()


def ask(page: Any, question: str, argument: Any = None) -> Any:
    """What a function of helpers.js answers about a page or a frame; nothing is left in the page."""
    return page.evaluate(f"(argument) => {{ {HELPERS}\nreturn {question}(argument); }}", argument)


def unfold(page: Any) -> None:
    """Open all that is folded, so that it is looked at as well."""
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")


AXE = Axe()


def violations(page: Page, rules: Collection[str] = ()) -> list[str]:
    """What axe-core objects to, whatever its impact: rule, impact, and the elements.

    Args:
        page: As it is shown at the time.
        rules: Only these; all of `AXE_TAGS` when empty.
    """
    only = {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": AXE_TAGS}
    options = {"resultTypes": ["violations"], "runOnly": only, "rules": {"target-size": {"enabled": True}}}
    found = AXE.run(page, options=options).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): " + "; ".join(node["html"][:160] for node in one["nodes"][:4])
        for one in found
    ]
