"""What a submission printed, cut into the segments of its calls."""

from __future__ import annotations

from grader.sandbox.inside import streams
from grader.sandbox.memory import SharedMemory


class Printed:
    """Captured output, cut into segments."""

    def __init__(self, log: SharedMemory, room: int) -> None:
        size = room + streams.HEADER
        self._parts = []
        self.cut = False
        for number in range(2):
            part = bytes(log.map[number * size : (number + 1) * size])
            length = int.from_bytes(part[: streams.HEADER], "little")
            self.cut |= length > room
            self._parts.append(part[streams.HEADER : streams.HEADER + min(length, room)])
        self._raw = (log, 2 * size, 3 * size)

    @property
    def raw(self) -> str:
        """What reached the descriptors past Python, such as the fault handler's report."""
        log, start, end = self._raw
        return log.map[start:end].rstrip(b"\0").decode("utf-8", "replace")

    def out(self, start: int, end: int | None = None) -> str:
        return self._parts[0][start:end].decode("utf-8", "replace")

    def err(self, start: int, end: int | None = None) -> str:
        return self._parts[1][start:end].decode("utf-8", "replace")
