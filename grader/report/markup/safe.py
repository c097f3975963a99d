"""Text as safe HTML: cleaned and escaped, whoever wrote it and whatever the pattern it goes into says."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

from grader.report.texts import clean, one_line

MAX_SHOWN = 1_000_000

# Ids, titles, hints and messages come again and again; what is longer is not worth the memory.
_MAX_KEPT = 500


def safe(value: Any) -> Markup:
    """Any value as safe HTML; what is `Markup` already stays as it is."""
    if type(value) is Markup:
        return value
    return safe_text(value if isinstance(value, str) else str(value), MAX_SHOWN)


def safe_text(text: str, limit: int) -> Markup:
    """The text cleaned, cut to ``limit`` characters and escaped; see `grader.report.texts.clean`."""
    return _kept_text(text, limit) if len(text) <= _MAX_KEPT else _escaped(clean(text, limit))


def safe_line(text: str, limit: int) -> Markup:
    """The same on one line; see `grader.report.texts.one_line`."""
    return _kept_line(text, limit) if len(text) <= _MAX_KEPT else _escaped(one_line(text, limit))


def broken(text: str) -> Markup:
    """The text, which is cleaned already, with places at which a long id may be broken.

    Example:
        >>> broken("row_0<")
        Markup('row_<wbr>0&lt;')
    """
    return Markup("<wbr>").join(re.split("(?<=[_.-])", text))


def _escaped(text: str) -> Markup:
    # What calls itself safe is a text here all the same.
    return escape(str(text))


@lru_cache(maxsize=4_096)
def _kept_text(text: str, limit: int) -> Markup:
    return _escaped(clean(text, limit))


@lru_cache(maxsize=4_096)
def _kept_line(text: str, limit: int) -> Markup:
    return _escaped(one_line(text, limit))


def fill(pattern: str, *values: Any) -> Markup:
    """The pattern, which is HTML of ours, with each ``%s`` replaced by a value as `safe` gives it.

    Example:
        >>> fill("<td>%s</td>", "<b>")
        Markup('<td>&lt;b&gt;</td>')
    """
    return _markup(pattern % tuple([v if type(v) is Markup else safe(v) for v in values]))


def joined(parts: list[Markup], between: str = "") -> Markup:
    """Parts that are safe, one after another."""
    return _markup(between.join(parts))


def _markup(text: str) -> Markup:
    # What Markup(text) gives, without its look at what the text may be.
    return str.__new__(Markup, text)
