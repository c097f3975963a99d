"""Slots of the shared ``out`` mapping: one record each for the policy report, the load and every step.

The mapping begins with 8 bytes that hold the number of the slot being worked on. A slot begins with a
header (`HEADER`), then the description as JSON, then the bytes of arrays. The reader
(`grader.sandbox.records`) trusts nothing in it.
"""

import mmap
import struct
from collections.abc import Sequence

PROGRESS = struct.Struct("<Q")
FIRST_SLOT = 64
# state, length of the description, length of the data, bits of changed arguments, bits of aliased
# arguments, where this slot's standard output and error begin, processor and wall time in nanoseconds
HEADER = struct.Struct("<IIQQQIIQQ")
STARTED, DONE, RAISED, TOO_LARGE, OUT_OF_MEMORY = 1, 2, 3, 4, 5
# A memory bomb costs seconds a call: after so many the child makes no more calls.
MAX_OUT_OF_MEMORY = 3
POLICY_SLOT, LOAD_SLOT, FIRST_STEP_SLOT = 0, 1, 2
POLICY_ROOM = 256 << 10


def position(slot: int, size: int) -> tuple[int, int]:
    """Where a slot begins and how long it is, when the slots after the policy's have ``size`` bytes."""
    if slot == POLICY_SLOT:
        return FIRST_SLOT, POLICY_ROOM
    return FIRST_SLOT + POLICY_ROOM + (slot - 1) * size, size


def total_size(count: int, size: int) -> int:
    """Bytes of a mapping with ``count`` slots."""
    return position(count, size)[0]


class Slots:
    """Writes records into the mapping."""

    def __init__(self, out: mmap.mmap, size: int) -> None:
        self._out = out
        self._size = size
        self.capacity = size - HEADER.size

    def start(self, slot: int, stdout: int, stderr: int) -> None:
        """Say that the work on a slot begins."""
        at, _ = position(slot, self._size)
        HEADER.pack_into(self._out, at, STARTED, 0, 0, 0, 0, stdout, stderr, 0, 0)
        PROGRESS.pack_into(self._out, 0, slot)

    def finish(
        self,
        slot: int,
        state: int,
        description: bytes,
        chunks: Sequence[bytes] = (),
        *,
        changed: int = 0,
        aliased: int = 0,
        stdout: int = 0,
        stderr: int = 0,
        cpu_ns: int = 0,
        wall_ns: int = 0,
    ) -> None:
        """Write a record; its header comes last, so that a half-written record shows as started only."""
        at, room = position(slot, self._size)
        if len(description) + sum(map(len, chunks)) > room - HEADER.size:
            state, description, chunks = TOO_LARGE, b'{"kind":"object","type":"..."}', ()
        here = at + HEADER.size
        self._out[here : here + len(description)] = description
        here += len(description)
        total = 0
        for chunk in chunks:
            self._out[here : here + len(chunk)] = chunk
            here += len(chunk)
            total += len(chunk)
        HEADER.pack_into(
            self._out, at, state, len(description), total, changed, aliased, stdout, stderr, cpu_ns, wall_ns
        )
