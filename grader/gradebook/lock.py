"""One run at a time: who writes into a run's folder holds a lock that ends with its process."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from grader.errors import GraderError

LOCK = ".gradebook.lock"

# A file system without locks: SQLite, which needs them too, says so where it matters.
_NO_LOCKS = {getattr(errno, name, -1) for name in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP")}
# On Windows what is locked can't be read, and the file tells who holds it.
_FAR_OFF = 1 << 30


@contextlib.contextmanager
def hold(folder: Path, doing: str) -> Iterator[None]:
    """Be the only one who writes into a run's folder.

    Args:
        folder: The folder, which must be there.
        doing: What the other one is told: ``grader grade``.

    Raises:
        GraderError: Another process holds it, or the folder can't be written.
    """
    path = folder / LOCK
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        raise GraderError(f"{path} can't be written: {error.strerror}; check the permissions") from None
    try:
        if not _lock(file):
            raise GraderError(
                f"{folder} is being written by another run ({_holder(path)}); "
                "wait until it has ended, or stop it: what it has graded is kept"
            )
        _sign(file, doing)
        yield
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _FAR_OFF, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS
    return True


def _sign(file: int, doing: str) -> None:
    about = {"process": os.getpid(), "machine": socket.gethostname(), "doing": doing, "since": time.time()}
    # Who holds it is told for convenience: a full disk is no reason not to run.
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps(about).encode())


def _holder(path: Path) -> str:
    """``grader grade, process 4711 on jupiter, since 14:05:12``; as much as the file tells."""
    try:
        about = json.loads(path.read_text("utf-8"))
        since = time.strftime("%H:%M:%S", time.localtime(float(about["since"])))
        return f"{about['doing']}, process {about['process']} on {about['machine']}, since {since}"
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return "which one is not told"
