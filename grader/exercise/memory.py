"""What trusted but changed code may take of this process's memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Less than this leaves no room for what libraries map on the way.
LEAST = 512 << 20


@contextmanager
def limited_memory(room: int) -> Iterator[None]:
    """Lets this process take that many bytes more than it has; beyond, MemoryError is raised. Linux only.

    Args:
        room: In bytes; at least `LEAST` is given.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + max(room, LEAST)
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, soft)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
