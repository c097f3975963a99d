"""What a submission printed, cut into the segments of its calls."""

from __future__ import annotations

from grader.sandbox.children import Memory
from grader.sandbox.inside import streams

# Where a segment begins or ends in standard output and standard error.
Position = tuple[int, int]


class Kept:
    """How much of a submission's output was taken: nothing is taken twice, and never more than the room.

    Where segments begin is told by the child, which may say anything.

    Args:
        room: How many bytes of each stream are kept, over all children of the submission.
    """

    def __init__(self, room: int) -> None:
        self._left = [room, room]
        self._upto = [0, 0]

    def begin_child(self) -> None:
        """Another child begins, with a log of its own."""
        self._upto = [0, 0]

    def take(self, stream: int, part: bytes, begin: int, end: int | None) -> bytes:
        """What is new between two places of a stream, as far as there is room."""
        start = max(begin, self._upto[stream])
        text = part[start:] if end is None else part[start : max(end, start)]
        self._upto[stream] = max(self._upto[stream], min(start + len(text), len(part)))
        text = text[: self._left[stream]]
        self._left[stream] -= len(text)
        return text


class Printed:
    """A child's captured output, read once.

    Args:
        memory: The shared memory.
        at: Where the log begins in it.
        room: How many bytes each stream may have.
        kept: What was taken so far.

    Attributes:
        cut: More was printed than there was room for.
    """

    def __init__(self, memory: Memory, at: int, room: int, kept: Kept) -> None:
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
        self._kept = kept

    @property
    def empty(self) -> bool:
        """Whether nothing was printed."""
        return not any(self._parts)

    @property
    def raw(self) -> str:
        """What reached the descriptors past Python, such as the fault handler's report."""
        return self._memory.read(*self._raw).rstrip(b"\0").decode("utf-8", "replace")

    def take(self, begin: Position, end: Position | None) -> tuple[str, str]:
        """Standard output and error of the segment between two positions, or to what was printed last."""
        ends = end or (None, None)
        taken = [self._kept.take(n, part, begin[n], ends[n]) for n, part in enumerate(self._parts)]
        return taken[0].decode("utf-8", "replace"), taken[1].decode("utf-8", "replace")
