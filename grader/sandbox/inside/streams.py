"""What a submission prints: kept up to a cap, the rest dropped, with no error for the student's code."""

import io
import mmap
from typing import Any

# A log is three parts of equal size: standard output, standard error, and what reaches the descriptors
# past Python. The first two begin with 8 bytes that count what was written to them.
PARTS = 3
HEADER = 8


class CappedRaw(io.RawIOBase):
    """A binary stream into a part of a shared mapping.

    Args:
        log: The mapping.
        start: Where the part begins.
        size: Its length.
        descriptor: The number that programs expect to find behind such a stream.
    """

    def __init__(self, log: mmap.mmap, start: int, size: int, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._log = log
        self._start = start
        self._room = size - HEADER
        self.written = 0

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        kept = view[: max(0, self._room - self.written)]
        if kept:
            at = self._start + HEADER + self.written
            self._log[at : at + len(kept)] = kept
        # What was dropped still counts, up to one past the room: so the reader knows that it was cut.
        self.written = min(self.written + len(view), self._room + 1)
        self._log[self._start : self._start + HEADER] = self.written.to_bytes(HEADER, "little")
        return len(view)


def text_stream(raw: CappedRaw) -> io.TextIOWrapper:
    """A text stream that passes every character on at once, as a crash may come next."""
    # Straight onto the raw stream, as `python -u` does it: even the smallest buffer keeps a last byte back.
    return io.TextIOWrapper(
        raw,  # type: ignore[arg-type]
        encoding="utf-8",
        errors="backslashreplace",
        newline="\n",
        write_through=True,
    )
