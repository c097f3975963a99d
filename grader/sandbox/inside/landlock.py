"""Landlock: which files a child may read. Nothing else of the file system, network and other processes.

The three system calls and all constants are those of <linux/landlock.h>.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable

# The same numbers on every machine.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
PATH_BENEATH = 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
# How many rights on files there are from an ABI version on: those of version 1, then moving, truncating,
# device commands, UNIX sockets by path.
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16, 9: 17}
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 1, 2


def abi(libc: ctypes.CDLL) -> int:
    """The version of the kernel's Landlock; 0 where there is none or it is switched off."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), CREATE_RULESET_VERSION)))


class Ruleset:
    """A ruleset that handles every right and allows reading below given paths, built once.

    Args:
        libc: The C library, loaded with ``use_errno``.
        readable: Files and folders; those that don't exist or can't be reached are left out.

    Raises:
        OSError: The kernel refuses.
    """

    def __init__(self, libc: ctypes.CDLL, readable: Iterable[str]) -> None:
        version = abi(libc)
        if not version:
            raise OSError(errno.ENOSYS, "this kernel has no Landlock")
        files = (1 << max(count for since, count in FILE_RIGHTS.items() if since <= version)) - 1
        network = BIND_TCP | CONNECT_TCP if version >= 4 else 0
        scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL if version >= 6 else 0
        attributes = struct.pack("=QQQ", files, network, scoped)
        # An older kernel takes the struct's beginning only.
        length = 8 if version < 4 else 16 if version < 6 else 24
        self.descriptor = int(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(length), 0))
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "Landlock makes no ruleset")
        for path in readable:
            self._allow(libc, path)

    def _allow(self, libc: ctypes.CDLL, path: str) -> None:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        try:
            # The kernel refuses rights on a file that only folders can have.
            rights = READ_FILE | READ_DIR if stat.S_ISDIR(os.fstat(handle).st_mode) else READ_FILE
            rule = struct.pack("=Qi", rights, handle)
            if libc.syscall(ADD_RULE, self.descriptor, PATH_BENEATH, rule, 0):
                raise OSError(ctypes.get_errno(), f"Landlock takes no rule for {path}")
        finally:
            os.close(handle)

    def restrict(self, libc: ctypes.CDLL) -> None:
        """Confine this process for good. Raises OSError."""
        if libc.syscall(RESTRICT_SELF, self.descriptor, 0):
            raise OSError(ctypes.get_errno(), "Landlock can't be put on")
