"""The statement: ``statement.md``, read and looked through for what would not work on a page of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from grader.errors import ExerciseError, GraderError, Problem
from grader.exercise.near import did_you_mean
from grader.exercise.source import ExerciseSource, shown
from grader.handout.patterns import BLOCK, Pattern, PatternError, drawn_as_text, read_pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_BYTES = 1 << 20
# Ids that a heading may not have; the page's others hold a sign that no heading's has.
OWN_IDS = frozenset({"main"})
SCHEMES = ("https://", "http://", "mailto:")


@dataclass(frozen=True)
class Heading:
    """A heading.

    Attributes:
        level: 1 to 6.
        text: Without its markup.
        anchor: The id by which links reach it, as GitHub makes it.
        line: Of the file, from 1.
    """

    level: int
    text: str
    anchor: str
    line: int


@dataclass(frozen=True)
class Statement:
    """A statement.

    Attributes:
        file: As a user would write it.
        text: The Markdown.
        tokens: The parsed text; ``meta`` of a heading holds ``heading``, of a figure ``pattern``.
        headings: All of them, in order; the first is the title.
        problems: Everything in it that would not work, by line.
    """

    file: str
    text: str
    tokens: Sequence[Token]
    headings: tuple[Heading, ...]
    problems: tuple[Problem, ...]

    @property
    def title(self) -> str:
        """The text of the first heading."""
        return self.headings[0].text if self.headings else ""


def statement_path(source: ExerciseSource) -> Path:
    """Where an exercise's statement lies."""
    return source.root / "cases" / source.name / "statement.md"


def load_statement(source: ExerciseSource) -> Statement:
    """The statement of an exercise, which is sound.

    Raises:
        GraderError: There is none, or it can't be read.
        ExerciseError: Something in it would not work.
    """
    path = statement_path(source)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise GraderError(
            f"{source.name} has no statement; write {shown(path)}, which begins with a line such as "
            f"'# {source.exercise.title}'"
        ) from None
    except OSError as error:
        raise GraderError(f"{shown(path)} can't be read: {error.strerror}") from None
    statement = read_statement(raw, shown(path))
    if statement.problems:
        raise ExerciseError(statement.problems)
    return statement


def read_statement(raw: bytes, file: str) -> Statement:
    """A statement from the bytes of its file; whatever is at fault in it is among its problems.

    Args:
        raw: UTF-8 text in Markdown (CommonMark and tables), with `grader.handout.patterns` as fenced blocks.
            HTML in it is shown as text.
        file: The file's name for messages.

    Raises:
        GraderError: It is no such text, or longer than 1 MiB.
    """
    if len(raw) > MAX_BYTES:
        raise GraderError(f"{file} has {len(raw):,} bytes; at most {MAX_BYTES:,} are read")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise GraderError(f"{file}:{line}: is no UTF-8 text; save it as UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = parser().parse(text)
    problems: list[Problem] = []

    def fault(line: int, message: str) -> None:
        problems.append(Problem(file, line, "", message))

    headings = tuple(_headings(tokens))
    for line, message in _levels(headings):
        fault(line, message)
    anchors = [heading.anchor for heading in headings]
    for line, token in _inline(tokens):
        if token.type == "link_open":
            if wrong := _link_fault(str(token.attrs.get("href", "")), anchors):
                fault(line, wrong)
        elif token.type == "image":
            fault(line, f"holds a picture; draw with a {BLOCK} block, or say it in words")
    for token in tokens:
        if token.type == "fence" and token.info.split()[:1] == [BLOCK] and token.map is not None:
            if token.level:
                fault(token.map[0] + 1, f"the {BLOCK} block stands within a list or a quotation; take it out")
                continue
            try:
                token.meta["pattern"] = read_pattern(token.content)
            except PatternError as error:
                fault(token.map[0] + 2 + error.line, f"the {BLOCK} block: {error}")
    return Statement(file, text, tokens, headings, tuple(sorted(problems)))


def parser() -> MarkdownIt:
    """What reads the Markdown: CommonMark with tables, and without HTML."""
    # Takes a tenth of a second to import.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def pattern_of(token: Token) -> Pattern | None:
    """The pattern that a token of a statement stands for, if any."""
    found: Pattern | None = token.meta.get("pattern")
    return found


def heading_of(token: Token) -> Heading | None:
    """The heading that a token of a statement opens, if any."""
    found: Heading | None = token.meta.get("heading")
    return found


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    taken: set[str] = set(OWN_IDS)
    for at, token in enumerate(tokens):
        if token.type != "heading_open" or token.map is None:
            continue
        text = plain_text(tokens[at + 1])
        base = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") or "section"
        anchor, count = base, 0
        while anchor in taken:
            count += 1
            anchor = f"{base}-{count}"
        taken.add(anchor)
        heading = Heading(int(token.tag[1]), text, anchor, token.map[0] + 1)
        token.meta["heading"] = heading
        yield heading


def plain_text(token: Token) -> str:
    """The words of an inline token, without markup."""
    parts = (child.content if child.type != "softbreak" else " " for child in token.children or ())
    return "".join(parts)


def _levels(headings: Sequence[Heading]) -> Iterator[tuple[int, str]]:
    """What is wrong with the order of the headings."""
    if not headings or headings[0].level != 1:
        line = headings[0].line if headings else 1
        yield line, "expected a title first: a line that begins with '# '"
    last = 1
    for heading in headings[1:]:
        if heading.level == 1:
            yield heading.line, f"{heading.text!r} is a second title; begin it with '## '"
        elif heading.level > last + 1:
            said = f"{heading.text!r} has {heading.level} signs # below a heading with {last}"
            yield heading.line, f"{said}; expected {last + 1} at most"
        last = heading.level


def _inline(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Every piece within paragraphs, headings and cells, with its line."""
    line = 1
    for token in tokens:
        if token.map is not None:
            line = token.map[0] + 1
        here = line
        for child in token.children or ():
            yield here, child
            here += child.type in ("softbreak", "hardbreak")


def _link_fault(target: str, anchors: Sequence[str]) -> str:
    """Why a link would lead nowhere; empty where it is sound."""
    if target.startswith("#"):
        name = unquote(target[1:])
        if name in anchors:
            return ""
        return f"links to #{name}, but no heading has that name{did_you_mean(name, anchors)}"
    if target.startswith(SCHEMES):
        return ""
    return f"links to {target!r}, which a student does not get; link to a heading (#name) or to https://…"


def begins_section(token: Token) -> bool:
    """Whether a token opens a heading of the second level that stands in no list or quotation."""
    return token.type == "heading_open" and token.tag == "h2" and not token.level


def pieces(statement: Statement) -> list[str]:
    """The Markdown cut before every heading of the second level, for cells of a notebook.

    Groups of patterns that stand side by side are replaced by one block of plain text.
    """
    lines = statement.text.split("\n")
    for start, end, patterns in reversed(list(pattern_groups(statement.tokens))):
        # From the last to the first, so that the lines above keep their numbers.
        lines[start:end] = ["```text", *drawn_as_text(patterns).split("\n"), "```"]
    text = "\n".join(lines)
    starts = [t.map[0] for t in parser().parse(text) if begins_section(t) and t.map is not None]
    lines = text.split("\n")
    cuts = [0, *starts, len(lines)]
    cells = ("\n".join(lines[a:b]).strip("\n") for a, b in pairwise(cuts))
    return [cell for cell in cells if cell]


def pattern_groups(tokens: Sequence[Token]) -> Iterator[tuple[int, int, list[Pattern]]]:
    """Patterns that follow one another without anything between: first line, last line + 1, the patterns."""
    group: list[Pattern] = []
    start = end = 0
    for token in tokens:
        pattern = pattern_of(token)
        if pattern is not None and token.map is not None:
            start = start if group else token.map[0]
            end = token.map[1]
            group.append(pattern)
        elif group:
            yield start, end, group
            group = []
    if group:
        yield start, end, group


def sections_named(statement: Statement, names: Mapping[str, object]) -> frozenset[str]:
    """Those of the names that have a heading of their own."""
    return frozenset(heading.text for heading in statement.headings if heading.text in names)
