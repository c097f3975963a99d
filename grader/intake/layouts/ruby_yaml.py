"""YAML as Ruby writes it, read as plain text, lists and dictionaries.

It is read event by event: no tag makes an object, an alias is the one value that it names, what is not needed
is skipped, and every value stays text, so that ids keep their leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

MAX_DEPTH = 12
_END = re.compile(r"^\.\.\.[ \t]*\r?$", re.MULTILINE)
_SKIPPED = frozenset({"results", "history"})
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class DamagedError(ValueError):
    """The text is no YAML; ``line`` is where that shows, or 0."""

    def __init__(self, error: yaml.YAMLError) -> None:
        super().__init__(getattr(error, "problem", None) or "it can't be read as YAML")
        mark: Any = getattr(error, "problem_mark", None)
        self.line: int = mark.line + 1 if mark else 0


def documents(text: str) -> Iterator[Any]:
    """The documents of a text. Raises DamagedError."""
    try:
        yield from _documents(text)
    except yaml.YAMLError as error:
        raise DamagedError(error) from None


def _documents(text: str) -> Iterator[Any]:
    reader = _Reader(text)
    for event in reader.events:
        if isinstance(event, yaml.DocumentStartEvent):
            yield reader.node(next(reader.events), 0)


class _Reader:
    """YAML as dictionaries, lists and text; keys without the colons of Ruby's symbols."""

    def __init__(self, text: str) -> None:
        # PyYAML wants a start of each document but the first. In the same line, lines keep their numbers.
        text = _END.sub("---", text)
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=_Loader))
        self._named: dict[str, Any] = {}

    def node(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._named.get(str(event.anchor), "")
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            value = "" if plain and event.value in _NOTHING else event.value
        elif depth > MAX_DEPTH:
            return self.skip(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
                value.append(self.node(item, depth + 1))
        else:
            value = {}
            while not isinstance(item := next(self.events), yaml.MappingEndEvent):
                key = self.node(item, depth + 1)
                key = key.strip(":") if isinstance(key, str) else ""
                unneeded = key in _SKIPPED and depth == 1
                item = next(self.events)
                value[key] = self.skip(item) if unneeded else self.node(item, depth + 1)
        if event.anchor is not None:
            self._named[event.anchor] = value
        return value

    def skip(self, event: Any) -> str:
        """Go past a node; text in it that has a name may be meant by an alias later."""
        depth = 0
        while True:
            if isinstance(event, yaml.ScalarEvent):
                if event.anchor is not None:
                    self._named[event.anchor] = event.value
            elif isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth == 0:
                return ""
            event = next(self.events)
