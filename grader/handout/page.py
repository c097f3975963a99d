"""The statement as a page of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from grader.handout.drawing import figures
from grader.handout.patterns import Pattern
from grader.handout.statement import (
    Heading,
    Statement,
    begins_section,
    heading_of,
    parser,
    pattern_of,
    sections_named,
)
from grader.report.html import statement_page
from grader.report.markup.safe import fill

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A longer line of code may need to be scrolled on a small screen.
_NARROW = 40


class Requirement(NamedTuple):
    """A clause of the exercise."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        heading: None for what stands before the first heading.
        body: The rendered text, its heading included.
        parts: The headings within it.
    """

    heading: Heading | None
    body: Markup
    parts: tuple[Heading, ...] = ()


def page_of(statement: Statement, requirements: Sequence[Requirement], facts: Mapping[str, Any]) -> str:
    """The page.

    Args:
        statement: What is told; sound.
        requirements: All clauses. Those without a heading of their own are listed at the end.
        facts: What the template says of the files beside the page.
    """
    titles = {one.name: one.title for one in requirements}
    named = sections_named(statement, titles)
    intro, *sections = _Renderer(titles).sections(statement.tokens)
    return statement_page(
        {
            "title": statement.title,
            "intro": intro.body,
            "sections": sections,
            "titles": titles,
            "others": [one for one in requirements if one.name not in named],
            "facts": facts,
        }
    )


class _Renderer:
    """Tokens as HTML; every text in them is escaped by the renderer."""

    def __init__(self, titles: Mapping[str, str]) -> None:
        self._titles = titles
        self._patterns = 0
        self._parser = _with_rules(parser(), titles)

    def sections(self, tokens: Sequence[Token]) -> list[Section]:
        """What stands before the first heading of the second level, and what stands below each of them."""
        cuts = [0, *(at for at, token in enumerate(tokens) if begins_section(token)), len(tokens)]
        return [self._section(list(tokens[start:end])) for start, end in pairwise(cuts)]

    def _section(self, tokens: list[Token]) -> Section:
        found = [heading for token in tokens if (heading := heading_of(token)) is not None]
        if found and found[0].level == 1:
            # The title stands at the top of the page.
            at = next(n for n, token in enumerate(tokens) if token.type == "heading_close")
            return Section(None, self._body(tokens[at + 1 :]), tuple(found[1:]))
        return Section(found[0] if found else None, self._body(tokens), tuple(found[1:]))

    def _body(self, tokens: Sequence[Token]) -> Markup:
        parts: list[str] = []
        plain: list[Token] = []
        group: list[Pattern] = []
        for token in [*tokens, None]:
            pattern = pattern_of(token) if token is not None else None
            if pattern is None and group:
                parts.append(figures(group, self._patterns + 1))
                self._patterns += len(group)
                group = []
            if pattern is not None:
                parts.append(self._html(plain))
                plain = []
                group.append(pattern)
            elif token is not None:
                plain.append(token)
        parts.append(self._html(plain))
        return Markup("".join(parts))

    def _html(self, tokens: Sequence[Token]) -> str:
        for token in tokens:
            _fit(token)
        html: str = self._parser.renderer.render(tokens, self._parser.options, {})
        return html


def _fit(token: Token) -> None:
    """Attributes as the page wants them: ids, scopes, and classes in place of styles."""
    heading = heading_of(token)
    if heading is not None:
        token.attrSet("id", heading.anchor)
    if token.type in ("th_open", "td_open"):
        style = str(token.attrs.pop("style", ""))
        if "right" in style or "center" in style:
            token.attrSet("class", "n" if "right" in style else "mid")
        if token.type == "th_open":
            token.attrSet("scope", "col")


def _with_rules(md: MarkdownIt, titles: Mapping[str, str]) -> MarkdownIt:
    def code(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        text = tokens[at].content
        scrolls = any(len(line) > _NARROW for line in text.splitlines())
        within = ' role="group" tabindex="0" aria-label="Code"' if scrolls else ""
        return fill("<pre%s><code>%s</code></pre>\n", Markup(within), text)

    def table_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return '<div class="scroll" role="group" tabindex="0" aria-label="Table"><table class="list">\n'

    def table_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def heading_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        heading = heading_of(token)
        text = fill('<%s id="%s">', token.tag, token.attrGet("id"))
        return f"{text}<code>" if heading is not None and heading.text in titles else text

    def heading_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        heading = heading_of(tokens[at - 2])
        if heading is not None and heading.text in titles:
            return fill('</code> <span class="called">%s</span></%s>\n', titles[heading.text], tokens[at].tag)
        return f"</{tokens[at].tag}>\n"

    for name, rule in {
        "fence": code,
        "code_block": code,
        "table_open": table_open,
        "table_close": table_close,
        "heading_open": heading_open,
        "heading_close": heading_close,
    }.items():
        md.add_render_rule(name, rule)
    return md
