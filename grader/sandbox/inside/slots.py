"""Records that a child leaves for the judge in the memory that they share.

The memory begins with the number of the record being worked on, so that the judge can time it, and with how
much of that work is done (`grader.sandbox.inside.progress`). At ``FIRST`` follows the table of records, all
of one size (`RECORD`); what a record describes lies where it says: its description as JSON, then the bytes of
its arrays. The commonest answer, one array of a usual dtype, needs no description: dtype and shape stand in
the record. The reader (`grader.sandbox.records`) trusts nothing of it.
"""

import mmap
import struct
from collections.abc import Sequence

# The record's number, and how much of the work on it is done, in parts of ``WHOLE``.
PROGRESS, FRACTION, FRACTION_AT = struct.Struct("<QI"), struct.Struct("<I"), struct.calcsize("<Q")
WHOLE = 1_000
FIRST = 64
# state, kind of the answer, dtype, number of dimensions; where it lies, length of its description and of its
# data; bits of changed and of aliased arguments; where this record's standard output and error begin;
# processor time in nanoseconds; up to four dimensions
RECORD = struct.Struct("<BBBBxxxxQIQQQIIQ4Q")
BEGIN, BEGIN_AT = struct.Struct("<II"), struct.calcsize("<BBBBxxxxQIQQQ")
STARTED, DONE, RAISED, TOO_LARGE, OUT_OF_MEMORY = 1, 2, 3, 4, 5
# Kinds: the description says it, or it is one array.
DESCRIBED, ARRAY = 0, 1
DTYPES = ("float64", "float32", "int64")
MAX_DIMS = 4
# A memory bomb costs seconds a call: after so many the child makes no more calls.
MAX_OUT_OF_MEMORY = 3
LOAD, FINDINGS, FIRST_STEP = 0, 1, 2


def table_size(count: int) -> int:
    """Bytes up to the end of a table of ``count`` records."""
    return FIRST + count * RECORD.size


class Slots:
    """Writes records.

    Args:
        out: The shared memory.
        start: Where descriptions and data may be written.
        room: How many bytes each record may have there.
        end: Where that part of the memory ends.
    """

    def __init__(self, out: mmap.mmap, start: int, room: int, end: int) -> None:
        self._out = out
        self._next = start
        self._end = end
        self.room = room

    def start(self, slot: int, stdout: int, stderr: int) -> None:
        """Say that the work on a record begins; its entry in the table is empty up to now."""
        at = FIRST + slot * RECORD.size
        self._out[at] = STARTED
        if stdout or stderr:
            BEGIN.pack_into(self._out, at + BEGIN_AT, stdout, stderr)
        PROGRESS.pack_into(self._out, 0, slot, 0)

    def array(
        self,
        slot: int,
        dtype: int,
        shape: tuple[int, ...],
        data: bytes,
        changed: int,
        begin: tuple[int, int],
        cpu_ns: int,
    ) -> bool:
        """Write the answer of a call that is one array; False when it has no room."""
        length, at = len(data), self._next
        if length > self.room or at + length > self._end:
            return False
        self._out[at : at + length] = data
        self._next = at + length
        RECORD.pack_into(
            self._out,
            FIRST + slot * RECORD.size,
            *(DONE, ARRAY, dtype, len(shape), at, 0, length, changed, 0, *begin, cpu_ns),
            *(*shape, 0, 0, 0, 0)[:MAX_DIMS],
        )
        return True

    def finish(
        self,
        slot: int,
        state: int,
        description: bytes,
        chunks: Sequence[bytes] = (),
        *,
        changed: int = 0,
        aliased: int = 0,
        begin: tuple[int, int] = (0, 0),
        cpu_ns: int = 0,
    ) -> None:
        """Write a record; its entry in the table comes last, so that a half-written one shows as started."""
        if len(description) + sum(map(len, chunks)) > min(self.room, self._end - self._next):
            state, description, chunks = TOO_LARGE, b"", ()
        at = here = self._next
        for chunk in (description, *chunks):
            self._out[here : here + len(chunk)] = chunk
            here += len(chunk)
        self._next = here
        RECORD.pack_into(
            self._out,
            FIRST + slot * RECORD.size,
            *(state, DESCRIBED, 0, 0, at, len(description), here - at - len(description)),
            *(changed, aliased, *begin, cpu_ns, 0, 0, 0, 0),
        )
