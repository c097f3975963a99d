"""What a submission printed, cut into the segments of its calls."""

from __future__ import annotations

from grader.sandbox.children import Memory
from grader.sandbox.inside import streams


class Printed:
    """Captured output, cut into segments.

    Args:
        memory: The shared memory.
        at: Where the log begins in it.
        room: How many bytes each stream may have.
    """

    def __init__(self, memory: Memory, at: int, room: int) -> None:
        size = room + streams.HEADER
        self._parts = []
        self.cut = False
        for number in range(2):
            start = at + number * size
            length = int.from_bytes(memory.read(start, streams.HEADER), "little")
            self.cut |= length > room
            self._parts.append(memory.read(start + streams.HEADER, min(length, room)))
        self._memory = memory
        self._raw = (at + 2 * size, size)

    @property
    def empty(self) -> bool:
        """Whether nothing was printed."""
        return not any(self._parts)

    @property
    def raw(self) -> str:
        """What reached the descriptors past Python, such as the fault handler's report."""
        return self._memory.read(*self._raw).rstrip(b"\0").decode("utf-8", "replace")

    def out(self, start: int, end: int | None = None) -> str:
        return self._parts[0][start:end].decode("utf-8", "replace")

    def err(self, start: int, end: int | None = None) -> str:
        return self._parts[1][start:end].decode("utf-8", "replace")
