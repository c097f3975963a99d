"""Where everything lies in the memory that the judge and a child share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.sandbox.inside import slots, streams

PAGE = 4096
DESCRIPTION_ROOM = 8 << 10
# How often what was found of banned helpers may be written anew.
FINDINGS = 64


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


class Layout:
    """Offsets and sizes in bytes, in this order: progress and records, source, blocks, answers, log.

    The log is the last: what is written to a descriptor beyond its room meets the sealed end.

    Args:
        source: Length of the program: its source text and names.
        blocks: Length of each phase's block.
        steps: How many steps there are in all.
        answer: Size of the largest expected answer.
        answers: Size of all expected answers together.
        output: Room for each captured stream.
    """

    def __init__(
        self, *, source: int, blocks: Sequence[int], steps: int, answer: int, answers: int, output: int
    ) -> None:
        count = slots.FIRST_STEP + steps
        self.count = count
        self.source = (slots.table_size(count), source)
        at = _pages(sum(self.source))
        self.blocks: list[tuple[int, int]] = []
        for size in blocks:
            self.blocks.append((at, size))
            at += _pages(size)
        self.room = _pages(2 * answer + DESCRIPTION_ROOM)
        self.data = (at, _pages(2 * answers + self.room + (count + FINDINGS) * DESCRIPTION_ROOM))
        part = output + streams.HEADER
        self.log = (at + self.data[1], streams.PARTS * part)
        self.size = sum(self.log)

    def to_job(self) -> dict[str, Any]:
        """What the child has to know."""
        return {
            "source": self.source,
            "blocks": self.blocks,
            "data": self.data,
            "room": self.room,
            "log": self.log,
            "size": self.size,
        }
