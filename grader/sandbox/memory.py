"""Memory shared with a child, sealed so that the child can't change its size."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from types import TracebackType


class SharedMemory:
    """An anonymous file of fixed size, mapped here.

    A child that could shorten it would kill the judge with a bus error; the seals forbid it.

    Args:
        size: In bytes; untouched pages cost nothing.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.descriptor = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, self.size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
            self._map = mmap.mmap(self.descriptor, self.size)
        except BaseException:
            os.close(self.descriptor)
            raise

    def __enter__(self) -> SharedMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, at: int, length: int) -> bytes:
        """A copy of a part, read once: what is checked in it is what is used."""
        return self._map[at : at + length]

    def write(self, at: int, data: bytes) -> None:
        """Fill a part."""
        self._map[at : at + len(data)] = data

    def close(self) -> None:
        """Unmap and close; a child that still holds it keeps only its own view."""
        self._map.close()
        with contextlib.suppress(OSError):
            os.close(self.descriptor)
