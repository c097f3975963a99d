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
        content: What it holds at first; its length is the size when ``size`` is left out.
    """

    def __init__(self, size: int | None = None, content: bytes = b"") -> None:
        self.size = max(size if size is not None else len(content), 1)
        self.descriptor = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, self.size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
            self.map = mmap.mmap(self.descriptor, self.size)
        except BaseException:
            os.close(self.descriptor)
            raise
        if content:
            self.map[: len(content)] = content

    def __enter__(self) -> SharedMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unmap and close; a child that still holds it keeps only its own view."""
        self.map.close()
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


def read_only_file(content: bytes) -> int:
    """A descriptor of an anonymous file with fixed content, read from its start."""
    descriptor = os.memfd_create("source", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor
