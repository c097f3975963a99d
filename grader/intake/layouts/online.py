"""Code that was typed, or pasted, into a learning platform's text field and comes as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.intake.layouts.levels import is_work
from grader.intake.tree import Entry, HandedIn, UnreadableError

MAX_BYTES = 256 * 1024
NAME = "online_text.py"
# What ends a line in a browser.
_BLOCKS = frozenset(
    {"p", "div", "br", "li", "ul", "ol", "tr", "table", "pre", "blockquote", "section", "article", "hr"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
_UNSEEN = frozenset({"head", "style", "script", "title", "template"})
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][A-Za-z0-9]*|!--|[!?])")
_BLANKS = re.compile(r"[ \t\r\n\f]+")
# A text without any of these is no page: its "<" are the student's.
_HTML = re.compile(r"</?(?:html|body|p|div|br|pre|span|code|li|h[1-6])(?:[ \t\r\n/][^<>]*)?>", re.IGNORECASE)
# Code that is asked for defines something; prose may well hold a line that begins with "import" or "x =".
_CODE = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[:(])", re.MULTILINE)


def with_typed_code(files: Sequence[HandedIn], pages: Sequence[Entry]) -> tuple[tuple[HandedIn, ...], str]:
    """The files of an attempt and, where none of them could be work, the code of a page among them.

    Args:
        files: What was handed in.
        pages: The platform's pages with what was typed, read only when there is nothing else.

    Returns:
        The files, perhaps with ``online_text.py``, and a note for the student or nothing.
    """
    if any(is_work(file.name) for file in files):
        return tuple(files), ""
    for page in pages:
        try:
            code = code_of(page.read(MAX_BYTES).decode("utf-8", "replace"))
        except UnreadableError:
            continue
        if code:
            return with_code(files, page, code)
    return tuple(files), ""


def with_code(files: Sequence[HandedIn], page: Entry, code: str) -> tuple[tuple[HandedIn, ...], str]:
    """The files of an attempt and code that was typed; what `with_typed_code` returns."""
    data = code.encode()
    entry = replace(page, size=len(data), reader=lambda limit: data[: limit + 1])
    typed = (*files, HandedIn(NAME, entry))
    note = f"No file was handed in; the code was taken from the text that was typed ({page.name})."
    return tuple(sorted(typed, key=lambda file: file.name)), note


def code_of(page: str) -> str:
    """The code in an HTML page or in plain text; empty when it doesn't plainly hold any.

    It plainly does when a line begins a function or a class. Where text is set as code (``<pre>``), only that
    is taken; else the lines are those of a browser.
    """
    if not _HTML.search(page):
        return _code(page)
    lines = _Lines()
    for kind, text in _tokens(page):
        if kind == "text":
            lines.text(html.unescape(text))
        elif kind == "start":
            lines.start(text)
        else:
            lines.end(text)
    return _code("".join(lines.preformatted)) or _code("".join(lines.flowing))


def _code(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ").split("\n")
    text = "\n".join(line.rstrip() for line in lines)
    return text.strip("\n") + "\n" if _CODE.search(text) else ""


def _tokens(page: str) -> Iterator[tuple[str, str]]:
    """Texts, and the names of tags that start or end; in time linear in the page's length.

    The standard library's parser takes a minute for a page of nothing but ``<!--``, and a student could write
    that one.
    """
    at = 0
    for found in _TAG.finditer(page):
        if found.start() < at:
            continue
        if found.start() > at:
            yield "text", page[at : found.start()]
        name = found["name"].lower()
        # What is never closed goes to the end of the page.
        end = "-->" if name == "!--" else ">"
        stop = page.find(end, found.end())
        at = stop + len(end) if stop >= 0 else len(page)
        if name[0] not in "!?":
            yield ("end" if found["slash"] else "start"), name
    yield "text", page[at:]


class _Lines:
    """The text of a page as a browser's lines, and of it what is preformatted."""

    def __init__(self) -> None:
        self.preformatted: list[str] = []
        self.flowing: list[str] = []
        self._unseen = 0
        self._pre = 0
        self._headed = False

    def start(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "pre":
            self._break()
            self._pre += 1
        elif tag in _BLOCKS:
            self._break(always=tag == "br")

    def end(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag == "pre":
            self.preformatted.append("\n")
            self.flowing.append("\n")
            self._pre = max(0, self._pre - 1)
        elif tag == "h1" and not self._headed:
            # Canvas heads its page with the exercise's and the student's name.
            self._headed = True
            self.flowing.clear()
        elif tag in _BLOCKS and tag != "br":
            self._break()

    def text(self, text: str) -> None:
        if self._unseen or not text:
            return
        if self._pre:
            self.preformatted.append(text)
            self.flowing.append(text)
            return
        # A browser shows any run of blanks as one, and none at the start of a line; &nbsp; stays.
        text = _BLANKS.sub(" ", text)
        if not self.flowing or self.flowing[-1].endswith("\n"):
            text = text.lstrip(" ")
        if text:
            self.flowing.append(text)

    def _break(self, *, always: bool = False) -> None:
        """A new line; a block begins one only where text stands before it."""
        if self._pre:
            if always:
                self.preformatted.append("\n")
                self.flowing.append("\n")
        elif always or (self.flowing and not self.flowing[-1].endswith("\n")):
            self.flowing.append("\n")
