"""Everything that keeps a child from doing harm: prepared once in the fork server, put on in each child.

Three layers lie over each other. Limits on resources hold everywhere. Landlock decides which files can be
read and lets nothing be written, no TCP and no signal through. The filter of system calls stops what Landlock
doesn't see: processes, threads, sockets of every kind, shared memory that no limit counts, and the rest of
the kernel that a computation doesn't need.
"""

import ctypes
import os
import re
from collections.abc import Iterable
from typing import Literal

from grader.sandbox.inside import landlock, seccomp
from grader.sandbox.inside.limits import Ceiling

Level = Literal["full", "partial", "none"]
FULL: Level = "full"
PARTIAL: Level = "partial"
NONE: Level = "none"
LANDLOCK, SECCOMP, NAMESPACES = "landlock", "seccomp", "namespaces"
LAYERS = (LANDLOCK, SECCOMP, NAMESPACES)

PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE = 38, 4
# Flags of unshare in <linux/sched.h>.
NEW_USER, NEW_NETWORK, NEW_IPC, NEW_UTS = 0x10000000, 0x40000000, 0x08000000, 0x04000000
# Read by programs that mute themselves, and by `locale`.
ALWAYS = ("/dev/null", "/usr/lib/locale")
LIBRARY = re.compile(r"\.so(\.|$)")


def load_libc() -> ctypes.CDLL:
    """The C library."""
    return ctypes.CDLL(None, use_errno=True)


def level(layers: Iterable[str]) -> Level:
    """The isolation level that these layers are: ``full``, ``partial`` or ``none``."""
    present = {layer.partition(" ")[0] for layer in layers}
    if SECCOMP not in present:
        return NONE
    return FULL if LANDLOCK in present else PARTIAL


def available(libc: ctypes.CDLL, without: Iterable[str] = ()) -> list[str]:
    """The layers that this machine's kernel has, asked by the calls themselves."""
    layers = []
    if LANDLOCK not in without and (version := landlock.abi(libc)):
        layers.append(f"{LANDLOCK} (version {version})")
    if SECCOMP not in without and seccomp.available(libc):
        layers.append(SECCOMP)
    return layers


class Confinement:
    """The layers as prepared in the fork server.

    Args:
        readable: Folders and files that submissions may read beside the standard library and the system's
            shared libraries.
        without: Layers to leave out, for tests and for measuring; the level says so.

    Raises:
        OSError: The kernel has a layer but refuses to prepare it.
    """

    def __init__(self, readable: Iterable[str], without: Iterable[str] = ()) -> None:
        self._libc = load_libc()
        without = tuple(without)
        # No child can gain rights by executing a file; both layers below need it.
        self._libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _last_for_memory()
        spaces = [] if NAMESPACES in without else _unshare(self._libc)
        _drop_capabilities(self._libc)
        found = available(self._libc, without)
        self._ruleset: landlock.Ruleset | None = None
        self._filter: seccomp.Filter | None = None
        names = {layer.partition(" ")[0] for layer in found}
        if LANDLOCK in names:
            self._ruleset = landlock.Ruleset(
                self._libc, [*standard_library(), *system_libraries(), *ALWAYS, *readable]
            )
        if SECCOMP in names:
            self._filter = seccomp.Filter(paths=LANDLOCK in names)
        self.layers = ["processes", "resource limits", *found]
        if spaces:
            self.layers.append(f"{NAMESPACES} ({', '.join(spaces)})")
        self.level = level(self.layers)
        # Neither its memory nor what lies under /proc is to be seen by others of the same user.
        self._libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)

    def restrict_files(self) -> None:
        """The first step in a child. Raises OSError."""
        if self._ruleset is not None:
            self._ruleset.restrict(self._libc)

    def restrict_calls(self, ceiling: Ceiling) -> None:
        """The last step in a child, when all that it needs is open. Raises OSError."""
        ceiling.apply()
        if self._filter is not None:
            self._filter.install(self._libc)


def _last_for_memory() -> None:
    """Let the kernel end these processes first when the machine's memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def _unshare(libc: ctypes.CDLL) -> list[str]:
    """Leave the network and the other processes' shared memory; the names of the new namespaces, if any."""
    spaces = NEW_NETWORK | NEW_IPC | NEW_UTS
    user, group = os.getuid(), os.getgid()
    # In one call: either all are to be had, or nothing has changed.
    if libc.unshare(spaces) == 0:
        return ["network", "ipc", "uts"]
    if libc.unshare(NEW_USER | spaces):
        return []
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError:
            pass  # unmapped, it is nobody's; files that everyone may read stay readable
    return ["user", "network", "ipc", "uts"]


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up whatever root or a new user namespace gave."""
    # struct __user_cap_header_struct of version 3 for this process, and two empty sets of three words.
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capabilities can't be given up")


def standard_library() -> list[str]:
    """What lies in the standard library's folder, without the packages that were installed into it."""
    home = os.path.dirname(os.__file__)
    names = sorted(os.listdir(home))
    return [os.path.join(home, n) for n in names if n not in ("site-packages", "dist-packages")]


def system_libraries() -> list[str]:
    """Where the shared libraries lie that this process has mapped, and the loader's cache.

    A folder that holds a Python too (and so perhaps installed packages) is given library by library.
    """
    folders = set()
    with open("/proc/self/maps") as file:
        for line in file:
            path = line.split(maxsplit=5)[5].strip() if line.count(" ") > 5 and "/" in line else ""
            if LIBRARY.search(os.path.basename(path)):
                folders.add(os.path.dirname(path))
    home = os.path.dirname(os.__file__)
    found = ["/etc/ld.so.cache"]
    for folder in sorted(folders):
        if "-packages" in folder or folder.startswith(home):
            continue  # named by the standard library or by the packages
        names = os.listdir(folder)
        if any(name.startswith("python") for name in names):
            found += [os.path.join(folder, name) for name in names if LIBRARY.search(name)]
        else:
            found.append(folder)
    return found
