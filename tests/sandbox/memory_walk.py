"""Searches for given bytes: by a submission in everything it can reach, and in a process from outside."""

from __future__ import annotations

import contextlib
import os
import textwrap
from collections.abc import Mapping

KEY = 0x5A

# The needles stand in it under a key, and each piece of memory is searched under the same key: otherwise the
# search would find itself.
WALK = """
import os, sys, ctypes
import numpy as np

NEEDLES = {needles!r}
KEY = {key}
PIECE = 1 << 20
keyed_needles = [(name, bytes.fromhex(text)) for name, text in NEEDLES.items()]
found = {{name: set() for name in NEEDLES}}
known = {{}}

def look(place, piece):
    # Most pages of a child are those of the fork server, and the same ones in the next search.
    if hash(piece) not in known:
        keyed = (np.frombuffer(piece, np.uint8) ^ KEY).tobytes()
        known[hash(piece)] = [name for name, needle in keyed_needles if needle in keyed]
    for name in known[hash(piece)]:
        found[name].add(place)

def look_at_file(place, path):
    try:
        # A pipe may be among them: it must not be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", 0) as file:
            while piece := file.read(PIECE):
                look(place, piece)
    except OSError:
        pass

def regions(pid):
    try:
        with open(f"/proc/{{pid}}/maps") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        span, rights, *rest = line.split(None, 5)
        name = rest[-1] if len(rest) == 4 else ""
        if rights[0] == "r" and name not in ("[vvar]", "[vsyscall]", "[vdso]", "[vvar_vclock]"):
            low, high = (int(part, 16) for part in span.split("-"))
            yield low, high

def look_at_memory(place, pid):
    try:
        memory = os.open(f"/proc/{{pid}}/mem", os.O_RDONLY)
    except OSError:
        memory = None
    if memory is None and pid != "self":
        return
    for low, high in regions(pid):
        for at in range(low, high, PIECE):
            # Pieces overlap, so that nothing is missed where they meet.
            size = min(high, at + PIECE + 64) - at
            try:
                piece = os.pread(memory, size, at) if memory is not None else ctypes.string_at(at, size)
            except (OSError, OverflowError):
                continue
            look(place, piece)
    if memory is not None:
        os.close(memory)

def walk():
    for places in found.values():
        places.clear()
    look_at_memory("memory", "self")
    parent = os.getppid()
    look_at_memory("memory of the parent", parent)
    for pid, who in (("self", "self"), (parent, "parent")):
        for name in ("environ", "cmdline", "auxv", "comm", "status", "mountinfo"):
            look_at_file(f"{{name}} of {{who}}", f"/proc/{{pid}}/{{name}}")
        try:
            open_files = os.listdir(f"/proc/{{pid}}/fd")
        except OSError:
            open_files = []
        for number in open_files:
            if pid == "self":
                try:
                    look(f"descriptor {{number}}", os.pread(int(number), 64 << 20, 0))
                except OSError:
                    pass
            else:
                look_at_file(f"descriptor {{number}} of the parent", f"/proc/{{pid}}/fd/{{number}}")
    names = sorted(name for name in sys.modules if name.split(".")[0] in ("grader", "reference", "tests"))
    return {{name: sorted(places) for name, places in found.items() if places}} | {{"modules": names}}
"""


def walk_source(needles: Mapping[str, bytes]) -> str:
    """Source text that defines ``walk()``: where each needle was found, and which modules give it away."""
    keyed = {name: bytes(b ^ KEY for b in needle).hex() for name, needle in needles.items()}
    return textwrap.dedent(WALK).format(needles=keyed, key=KEY)


def memory_of(pid: int) -> bytes:
    """Everything that a process may write to or has in no file, as root sees it from outside."""
    pieces = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights, _, _, inode, *_ = line.split(None, 5)
            if rights[0] == "r" and (rights[1] == "w" or inode == "0") and "[v" not in line:
                low, high = (int(part, 16) for part in span.split("-"))
                for at in range(low, high, 1 << 20):
                    with contextlib.suppress(OSError):
                        pieces.append(os.pread(memory.fileno(), min(high, at + (1 << 20)) - at, at))
    return b"".join(pieces)
