"""Submissions of a class that have something in common, as its page names them and its table shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.report.texts import clean, one_line
from grader.result import SubmissionInfo
from grader.summary import Summary

# So many are in the page itself; the script shows the others when somebody asks.
MAX_NAMES = 5


@dataclass(frozen=True)
class Who:
    """A submission as the page names it.

    Attributes:
        href: Its id, of which its pages are called.
        name: For people.
        told: What is said of it beside the name; mostly empty.
    """

    href: str
    name: str
    told: str = ""


def page_id(identifier: str) -> str:
    """The id as it stands in a link, before it is quoted."""
    return clean(identifier, 300)


def who(summary: Summary, told: str = "") -> Who:
    """The student, or what is known instead."""
    info = summary.submission
    return Who(page_id(info.id), one_line(info.name or info.id, 80), told)


def told_apart(info: SubmissionInfo) -> str:
    """A name with what tells it from the same name of another student."""
    name = one_line(info.name or info.id, 80)
    return name if name == info.id else f"{name} ({one_line(info.id, 80)})"


@dataclass(frozen=True)
class Group:
    """Some submissions, of which the page names the first.

    Attributes:
        number: By which the page's table shows all of them.
        first: The first of them.
        count: How many there are.
    """

    number: int
    first: Sequence[Who]
    count: int

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.first)


class Groups:
    """All groups of a page.

    Attributes:
        listed: Of each its label, the rows of its members, and what is said of each beside the name, which is
            empty where nothing is said of anybody.
    """

    def __init__(self) -> None:
        self.listed: list[tuple[str, list[int], list[str]]] = []

    def add(self, label: str, rows: Sequence[int], named: Iterable[Who]) -> Group:
        """Another group.

        Args:
            label: What its members have in common, for the line above the table.
            rows: The members' places in the table.
            named: The same members, in this order.
        """
        members = list(named)
        told = [one.told for one in members]
        self.listed.append((one_line(label, 200), list(rows), told if any(told) else []))
        return Group(len(self.listed) - 1, members[:MAX_NAMES], len(rows))
