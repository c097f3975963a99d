"""The processes that a run has started, as the system shows them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def below(pid: int) -> list[int]:
    """All living descendants of a process."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    found: list[int] = []
    todo = [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return [p for p in found if alive(p)]


def workers_of(pid: int) -> list[int]:
    """The worker processes of a run."""
    return [p for p in below(pid) if "grader.batch.worker" in _command(p)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def all_end(pids: Sequence[int]) -> bool:
    """Wait until all have ended; those that don't are killed, and the answer is False."""
    for _ in range(3000):
        if not any(map(alive, pids)):
            return True
        time.sleep(0.01)
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
    return False
