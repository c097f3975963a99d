"""Reading a page back."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from hypothesis import strategies as st

VOID = {"meta", "link", "br", "wbr", "hr", "img", "input", "col"}

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)

TAGS = """
html head meta title style body a header p h1 h2 h3 h4 main section b span div ul ol li svg rect line text
strong code bdi table thead tbody tfoot tr th td dl dt dd footer script article pre details summary mark
button nav figure label input path
figcaption select option noscript circle wbr
"""
ATTRIBUTES = """
lang charset http-equiv content name class href aria-labelledby aria-label aria-hidden id role tabindex scope
viewbox preserveaspectratio focusable width height x y x1 x2 y1 y2 rx d type hidden for placeholder
autocomplete spellcheck
data-sort data-rest data-low data-high data-group data-clause data-case data-status data-policy
data-value value min max step
aria-describedby cx cy r
"""
LINK = re.compile(
    r"#[a-z]+(-\d+)?|(\.\./)?(students|teacher)/[\w.~%-]*\.html|\.\./index\.html|gradebook\.csv|results\.jsonl"
)


class Page(HTMLParser):
    """What a page holds: its elements, its visible text, its tables; fails when a tag has no partner."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        # What a script element holds that is no script is under "data".
        self.raw: dict[str, list[str]] = {"style": [], "script": [], "data": []}
        self._raw = ""
        self.tables: list[list[list[str]]] = []
        self.headings: list[int] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"an attribute twice in {self.get_starttag_text()}"
        self.elements.append((tag, dict(attrs)))
        if tag in VOID:
            return
        self._open.append(tag)
        if tag in self.raw:
            self._raw = "data" if ("type", "application/json") in attrs else tag
            self.raw[self._raw].append("")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> inside <{self._open[-1]}>, line {self.getpos()[0]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.raw:
            self.raw[self._raw][-1] += data
            return
        self.text += data
        if {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute: str) -> list[str]:
        """Every value of that attribute."""
        return [a[attribute] or "" for _, a in self.elements if attribute in a]


def assert_inert(source: str) -> Page:
    """Only elements and attributes of the templates, and links that stay in the folder."""
    page = Page(source)
    assert {tag for tag, _ in page.elements} <= set(TAGS.split())
    assert {name for _, attributes in page.elements for name in attributes} <= set(ATTRIBUTES.split())
    for href in page.values("href"):
        assert LINK.fullmatch(href), href
    assert len(page.raw["script"]) == len(page.raw["style"]) == 1
    for text in page.raw["data"]:
        json.loads(text)
    return page
