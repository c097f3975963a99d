"""YAML read as plain data, with the line of every key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from grader.errors import ExerciseError, Problem

MAX_BYTES = 1 << 20
MAX_DEPTH = 40
MAX_DIGITS = 100

KeyPath = tuple[str | int, ...]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)\Z")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F]+\Z")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+\Z")
# PyYAML follows YAML 1.1, in which 1e-6 (no point, or no sign in the exponent) is text.
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    "null": None,
    "~": None,
    "": None,
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    ".inf": float("inf"),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
}


@dataclass(frozen=True)
class Document:
    """A YAML file's data and where each key stands.

    Attributes:
        file: The file's path as shown in messages.
        data: Dictionaries, lists, text, numbers, booleans and None.
        lines: 1-based line of each key path; the empty path is the document's first line.
    """

    file: str
    data: Any
    lines: dict[KeyPath, int] = field(repr=False)

    def line(self, path: KeyPath) -> int:
        """The line of ``path``, or of the nearest key around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(frozen=True)
class Item:
    """One item of a document, with the lines of its keys."""

    document: Document
    path: KeyPath

    def line(self, *key: str | int) -> int:
        """The line of a key of the item, or of the nearest key around it."""
        return self.document.line((*self.path, *key))


def show_path(path: KeyPath) -> str:
    """A key path as text: ``("cases", 3, "id")`` becomes ``cases[3].id``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def load(path: Path, shown_as: str | None = None) -> Document:
    """Read one YAML file.

    Raises:
        ExerciseError: The file can't be read, is too large, is no YAML, or uses a tag, an alias,
            a duplicate key or an ambiguous number.
    """
    name = shown_as or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ExerciseError([Problem(name, 0, "", f"can't be read: {error.strerror}")]) from None
    if len(raw) > MAX_BYTES:
        raise ExerciseError([Problem(name, 0, "", f"has {len(raw):,} bytes; at most {MAX_BYTES:,} are read")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ExerciseError([Problem(name, line, "", "is not UTF-8 text; save the file as UTF-8")]) from None
    return parse(text, name)


def parse(text: str, file: str) -> Document:
    """Parse YAML text; ``file`` is the name that messages carry. Raises as `load` does."""
    try:
        events = yaml.parse(text, Loader=_Loader)
        return _Builder(file).document(iter(events))
    except yaml.MarkedYAMLError as error:
        line, what = _what_is_wrong(error)
        raise ExerciseError([Problem(file, line, "", f"is not valid YAML: {what}")]) from None
    except yaml.YAMLError as error:
        raise ExerciseError([Problem(file, 0, "", f"is not valid YAML: {error}")]) from None


def _what_is_wrong(error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """The line at fault, and what is wrong there."""
    mark: Any = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    what, context = error.problem or error.context or "can't be parsed", error.context or ""
    begun: Any = error.context_mark
    if begun is not None and begun.line + 1 < line:
        if context.endswith(("a simple key", "quoted scalar")):
            # What lacks its end is noticed where the next thing begins, or at the end of the file.
            line = begun.line + 1
        elif context.startswith("while parsing a flow"):
            what += f"; the bracket is opened in line {begun.line + 1}"
    return line, what


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {}

    def fail(self, event: Any, path: KeyPath, message: str) -> ExerciseError:
        return ExerciseError([Problem(self.file, event.start_mark.line + 1, show_path(path), message)])

    def document(self, events: Iterator[Any]) -> Document:
        data: Any = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self.fail(event, (), "holds a second YAML document; keep one document a file")
                first = next(events)
                self.lines[()] = first.start_mark.line + 1
                data = self.node(first, events, ())
        return Document(self.file, data, self.lines)

    def node(self, event: Any, events: Iterator[Any], path: KeyPath) -> Any:
        if len(path) > MAX_DEPTH:
            raise self.fail(event, path[:3], f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent):
            raise self.fail(event, path, f"uses the alias *{event.anchor}; write the value out instead")
        self.plain(event, path)
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(item := next(events), yaml.SequenceEndEvent):
                here = (*path, len(items))
                self.lines[here] = item.start_mark.line + 1
                items.append(self.node(item, events, here))
            return items
        return self.mapping(events, path)

    def plain(self, event: Any, path: KeyPath) -> None:
        if event.anchor is not None:
            raise self.fail(event, path, f"uses the anchor &{event.anchor}; write the value out instead")
        if event.tag is not None:
            raise self.fail(event, path, f"uses the tag {event.tag}; only plain values are read")

    def mapping(self, events: Iterator[Any], path: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(key_event := next(events), yaml.MappingEndEvent):
            if not isinstance(key_event, yaml.ScalarEvent):
                raise self.fail(key_event, path, "has a key that is not plain text")
            key = key_event.value
            here = (*path, key)
            self.plain(key_event, here)
            if key == "<<":
                raise self.fail(key_event, path, "uses the merge key <<; write the keys out instead")
            if key in found:
                first = self.lines[here]
                raise self.fail(key_event, here, f"is given twice; the first stands in line {first}")
            mark: Any = key_event.start_mark
            self.lines[here] = mark.line + 1
            found[key] = self.node(next(events), events, here)
        return found

    def scalar(self, event: Any, path: KeyPath) -> Any:
        text = event.value
        if event.style in ("'", '"', "|", ">"):
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.match(text):
            if len(text) > MAX_DIGITS:
                raise self.fail(event, path, f"has {len(text)} digits; at most {MAX_DIGITS} are read")
            return int(text.replace("_", ""))
        if _HEXADECIMAL.match(text):
            return int(text, 16)
        if _LEADING_ZERO.match(text):
            raise self.fail(
                event,
                path,
                f"is {text}, which some YAML readers take for octal; write it without the leading zero, "
                "or in quotes if text is meant",
            )
        if _FLOAT.match(text):
            return float(text)
        return text
