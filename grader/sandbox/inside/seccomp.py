"""The filter of system calls: a program for the kernel's classic BPF, built once and installed in each child.

The layout of the data that it looks at is that of ``struct seccomp_data`` in <linux/seccomp.h>.
"""

import ctypes
import platform
import struct

from grader.sandbox.inside import syscalls

Instruction = tuple[int, int, int, int]

# Opcodes of <linux/bpf_common.h>: load a word at a fixed offset; jump if equal, if not below, if any bit is
# set; return.
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, EACCES, EFAULT, ENOTTY, ENOSYS = 1, 13, 14, 25, 38

# Bits of open's flags, the same on both machines: O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_PATH,
# __O_TMPFILE.
NOT_READING = 0x1 | 0x2 | 0x40 | 0x200 | 0x400 | 0x200000 | 0x400000
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. Others set who gets signals (F_SETOWN), locks, seals.
FCNTL_COMMANDS = (0, 1, 2, 3, 1030)

SECCOMP_SET_MODE_FILTER = 1
SPEC_ALLOW = 4


def program(machine: str, *, paths: bool) -> list[Instruction]:
    """The filter's instructions.

    Args:
        machine: ``x86_64`` or ``aarch64``.
        paths: Calls that take paths are allowed (for reading); False where nothing else guards the files.
    """
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 1, 0, AUDIT_ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    if machine == "x86_64":
        code += [(JUMP_AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL_PROCESS)]

    def when(name: str, then: list[Instruction]) -> None:
        number = syscalls.number(name, machine)
        if number is not None:
            code.append((JUMP_EQUAL, 0, len(then), number))
            code.extend(then)

    def errno(number: int) -> Instruction:
        return (RETURN, 0, 0, ERRNO | number)

    allow = (RETURN, 0, 0, ALLOW)
    for name in syscalls.WORK + (syscalls.PATHS if paths else ()):
        when(name, [allow])
    # Python asks whether a file is a terminal; it is none.
    when("ioctl", [errno(ENOTTY)])
    commands = [(JUMP_EQUAL, len(FCNTL_COMMANDS) - n, 0, c) for n, c in enumerate(FCNTL_COMMANDS)]
    when("fcntl", [_low(1), *commands, errno(EPERM), allow])
    # Reading its own limits (process 0 is itself, no new limits): everything else is refused.
    parts = [_low(0), _high(0), _low(2), _high(2)]
    zeros = [i for n, load in enumerate(parts) for i in (load, (JUMP_EQUAL, 0, 2 * (3 - n) + 1, 0))]
    when("prlimit64", [*zeros, allow, errno(EPERM)])
    for name, argument in (("open", 1), ("openat", 2)):
        if paths:
            when(name, [_low(argument), (JUMP_ANY_BIT, 1, 0, NOT_READING), allow, errno(EACCES)])
        else:
            when(name, [errno(EACCES)])
    for name in syscalls.REFUSED + (() if paths else syscalls.PATHS):
        when(name, [errno(EPERM if paths or name not in syscalls.PATHS else EACCES)])
    return [*code, errno(ENOSYS)]


def _low(argument: int) -> Instruction:
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument)


def _high(argument: int) -> Instruction:
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument + 4)


def available(libc: ctypes.CDLL) -> bool:
    """Whether the kernel takes filters, and this machine's calls are known here.

    Args:
        libc: The C library, loaded with ``use_errno``.
    """
    call = syscalls.number("seccomp")
    if call is None:
        return False
    # A kernel that takes filters looks for the program, and there is none at address 0.
    return libc.syscall(call, SECCOMP_SET_MODE_FILTER, 0, None) != 0 and ctypes.get_errno() == EFAULT


class Filter:
    """A program in the form that the kernel takes."""

    def __init__(self, *, paths: bool) -> None:
        code = program(platform.machine(), paths=paths)
        self._code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *i) for i in code))
        self._call = syscalls.number("seccomp")
        # struct sock_fprog: the number of instructions, and where they are.
        self._program = ctypes.create_string_buffer(
            struct.pack("@HP", len(code), ctypes.addressof(self._code)), struct.calcsize("@HP")
        )

    def install(self, libc: ctypes.CDLL) -> None:
        """Confine this process for good. Raises OSError."""
        # The flag keeps speculation, and with it speed; gVisor and kernels before 4.17 take none.
        for flags in (SPEC_ALLOW, 0):
            if libc.syscall(self._call, SECCOMP_SET_MODE_FILTER, flags, self._program) == 0:
                return
        raise OSError(ctypes.get_errno(), "the filter of system calls can't be installed")
