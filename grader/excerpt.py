"""The lines of a submission's text that its record refers to, with some lines around them.

A record holds no text of a submission but these lines, so that a page shows a finding where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Lines before and after one that is referred to.
AROUND = 2
MAX_LINES = 80
MAX_LINE = 160
MAX_CHARACTERS = 6_000


@dataclass(frozen=True)
class SourceLine:
    """A line of a submission's text.

    Attributes:
        number: Its number in the text, as findings and tracebacks have it; see `grader.positions`.
        text: Without its end; of a line of more than ``MAX_LINE`` characters the first of them and ``…``.
    """

    number: int
    text: str


def source_lines(text: str) -> list[str]:
    """The lines as Python counts them: other readers end a line at a form feed too."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    # What ends in a newline has no line after it.
    return lines if lines[-1] else lines[:-1]


def around(numbers: Iterable[int]) -> set[int]:
    """These lines and those near them."""
    return {near for number in numbers for near in range(number - AROUND, number + AROUND + 1)}


def excerpt(text: str, numbers: Sequence[int]) -> tuple[SourceLine, ...]:
    """The lines with these numbers and those near them, in their order, as far as there is room.

    Args:
        text: The submission's text.
        numbers: The most important first; what comes first finds room first, and before any line around it.
    """
    if not numbers or not text:
        return ()
    lines = source_lines(text)
    wanted = dict.fromkeys([number for number in numbers if 0 < number <= len(lines)])
    # The neighbours of the first line come before those of the second.
    nearby = [near for number in wanted for near in sorted(around([number]))]
    kept: dict[int, str] = {}
    left = MAX_CHARACTERS
    for number in dict.fromkeys([*wanted, *nearby]):
        if not 0 < number <= len(lines):
            continue
        line = lines[number - 1].rstrip()
        line = line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
        if len(kept) >= MAX_LINES or len(line) > left:
            break
        left -= len(line)
        kept[number] = line
    return tuple([SourceLine(number, kept[number]) for number in sorted(kept)])
