"""What of a class a person should look at, in short, with the places on its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.report.class_page.item_analysis import Flag
from grader.report.class_page.table import Row

# Words of a record, for which the table has filters.
UNREAD, SUSPICIOUS, VIOLATED = "not_loadable", "suspicious", "violated"


@dataclass(frozen=True)
class Hint:
    """A line of the list.

    Attributes:
        count: How many of them there are.
        words: What they are.
        tone: A class of the style sheet.
        place: Id of the section that tells more.
        key, value: The filter of the table that shows them; empty when there is none.
    """

    count: int
    words: str
    tone: str
    place: str
    key: str = ""
    value: str = ""


def class_hints(table: Sequence[Row], flags: Iterable[Flag], alike: int, *, findings: bool) -> list[Hint]:
    """What there is to look at, the most pressing first.

    Args:
        table: The submissions.
        flags: What the item analysis says of each check.
        alike: How many groups have the same text.
        findings: Whether the page has a section about banned helpers and suspicions.
    """
    marked = list(flags)
    unread = sum([row.status == UNREAD for row in table])
    suspicious = sum([row.policy == SUSPICIOUS for row in table])
    violated = sum([row.policy == VIOLATED for row in table])
    negative, nobody = marked.count("negative"), marked.count("nobody")
    # A record from elsewhere may have broken a rule and not say which.
    rules = "rules" if findings else "submissions"
    hints = [
        Hint(unread, _form("file", unread, "that can’t be loaded"), "warn", "submissions", "status", UNREAD),
        Hint(suspicious, _form("source", suspicious, "with suspicions"), "warn", rules, "policy", SUSPICIOUS),
        Hint(alike, _form("group", alike, "with the same text"), "warn", "alike"),
        Hint(violated, _form("source", violated, "with a banned helper"), "bad", rules, "policy", VIOLATED),
        Hint(negative, _form("check", negative, "that strong submissions fail more often"), "warn", "checks"),
        Hint(nobody, _form("check", nobody, "that nobody passes"), "warn", "checks"),
    ]
    return [hint for hint in hints if hint.count]


def _form(one: str, count: int, rest: str) -> str:
    return f"{one if count == 1 else one + 's'} {rest}"
