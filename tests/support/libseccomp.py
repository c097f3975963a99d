"""The filter's policy written down a second time, for libseccomp to build."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

import pytest

from grader.sandbox.inside import syscalls
from support import bpf

# Python's O_TMPFILE has the bit of O_DIRECTORY too, which is allowed.
NOT_READING = (
    *(os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_PATH),
    os.O_TMPFILE & ~os.O_DIRECTORY,
)
FCNTL_COMMANDS = (0, 1, 2, 3, 1030)
WORD_BITS = 32
# The first with the action that ends a process.
API_LEVEL = 3


def library() -> Any:
    """pyseccomp; skips the test where the library that it binds is missing."""
    try:
        import pyseccomp
    except RuntimeError as error:
        pytest.skip(f"libseccomp is not installed: {error}")
    # It only builds here: what the running kernel lacks doesn't matter.
    if pyseccomp.get_api() < API_LEVEL:
        pyseccomp.set_api(API_LEVEL)
    return pyseccomp


def architecture(machine: str) -> int:
    """The library's token of a machine."""
    return int(getattr(library().Arch, machine.upper()))


def resolve(name: str, machine: str) -> int | None:
    """A call's number by the library's tables; None where the machine has no such call.

    Raises:
        ValueError: The library doesn't know the name.
    """
    try:
        number = library().resolve_syscall(architecture(machine), name)
    except (OSError, ValueError) as error:
        raise ValueError(f"libseccomp doesn't know {name}") from error
    # Other machines' calls have negative numbers.
    return number if number >= 0 else None


def outside(values: tuple[int, ...]) -> list[tuple[int, int]]:
    """Disjoint pairs (mask, value) that match every word but these values."""
    found = []
    prefixes = {0}
    for bit in reversed(range(WORD_BITS)):
        taken = {value >> bit for value in values}
        mask = ((1 << WORD_BITS) - 1) >> bit << bit
        for prefix in sorted(prefixes):
            found += [(mask, n << bit) for n in (2 * prefix, 2 * prefix + 1) if n not in taken]
        prefixes = taken
    return found


def build(machine: str, *, paths: bool) -> list[bpf.Instruction]:
    """The program that libseccomp makes of the policy."""
    s = library()
    policy = s.SyscallFilter(s.ERRNO(errno.ENOSYS))
    policy.set_attr(s.Attr.ACT_BADARCH, s.KILL_PROCESS)
    if not policy.exist_arch(architecture(machine)):
        policy.add_arch(architecture(machine))
        policy.remove_arch(s.Arch.NATIVE)

    def rule(action: int, name: str, *conditions: Any) -> None:
        if resolve(name, machine) is not None:
            policy.add_rule(action, name, *conditions)

    def masked(argument: int, mask: int, value: int) -> Any:
        return s.Arg(argument, s.MASKED_EQ, mask, value)

    for name in syscalls.WORK:
        rule(s.ALLOW, name)
    for name in syscalls.PATHS:
        rule(s.ALLOW if paths else s.ERRNO(errno.EACCES), name)
    for name in syscalls.REFUSED:
        rule(s.ERRNO(errno.EPERM), name)
    rule(s.ERRNO(errno.ENOTTY), "ioctl")
    for command in FCNTL_COMMANDS:
        rule(s.ALLOW, "fcntl", masked(1, (1 << WORD_BITS) - 1, command))
    for mask, value in outside(FCNTL_COMMANDS):
        rule(s.ERRNO(errno.EPERM), "fcntl", masked(1, mask, value))
    rule(s.ALLOW, "prlimit64", s.Arg(0, s.EQ, 0), s.Arg(2, s.EQ, 0))
    rule(s.ERRNO(errno.EPERM), "prlimit64", s.Arg(0, s.NE, 0))
    rule(s.ERRNO(errno.EPERM), "prlimit64", s.Arg(0, s.EQ, 0), s.Arg(2, s.NE, 0))
    for name, argument in (("open", 1), ("openat", 2)):
        if not paths:
            rule(s.ERRNO(errno.EACCES), name)
            continue
        rule(s.ALLOW, name, masked(argument, sum(NOT_READING), 0))
        seen = 0
        for bit in NOT_READING:
            seen |= bit
            rule(s.ERRNO(errno.EACCES), name, masked(argument, seen, bit))
    with tempfile.TemporaryFile() as file:
        policy.export_bpf(file)
        file.seek(0)
        return bpf.read(file.read())
