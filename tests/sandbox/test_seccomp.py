"""The filter of system calls: evaluated for every call, held against libseccomp, and put on for real."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import bpf, libseccomp
from support.confined import needs_seccomp, run
from test_syscalls import ALL_DANGEROUS

from grader.sandbox.inside import seccomp, syscalls

ALLOW, KILL = 0x7FFF0000, 0x80000000
NATIVE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386, ARM, X32_NUMBERS = 0x40000003, 0x40000028, 0x40000000
EVERY_NUMBER = (
    *range(1024),
    *(X32_NUMBERS + n for n in range(-2, 1024)),
    *(base + n for base in (2**31, 2**32) for n in (-1024, -512, -3, -2, -1)),
    *(2**31 + n for n in range(1024)),
)

FCNTL_ALLOWED = {fcntl.F_DUPFD, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_DUPFD_CLOEXEC}
# Bits of open's flags that ask for more than reading.
REFUSED_FLAGS = {os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_PATH}
REFUSED_FLAGS.add(os.O_TMPFILE & ~os.O_DIRECTORY)
# Those of which the arguments decide, with the argument that is looked at.
OPENING = {"open": 1, "openat": 2}
HALF = (1 << 32) - 1

PROGRAMS = [(machine, paths) for machine in syscalls.MACHINES for paths in (True, False)]
each_program = pytest.mark.parametrize(
    ("machine", "paths"), PROGRAMS, ids=[f"{m}-{'paths' if p else 'no_paths'}" for m, p in PROGRAMS]
)
words = st.one_of(
    st.integers(0, 2**64 - 1),
    st.sampled_from([0, 1, 2, 1 << 31, 1 << 32, 1 << 63, HALF, HALF << 32, 2**64 - 1]),
    st.integers(0, 63).map(lambda bit: 1 << bit),
    st.integers(0, 2000),
)
six_words = st.lists(words, min_size=6, max_size=6)


def refused(number: int) -> int:
    return 0x00050000 | number


@cache
def program(machine: str, paths: bool) -> list[bpf.Instruction]:
    made = seccomp.program(machine, paths=paths)
    bpf.check(made)
    return made


@cache
def built_by_libseccomp(machine: str, paths: bool) -> list[bpf.Instruction]:
    made = libseccomp.build(machine, paths=paths)
    bpf.check(made)
    return made


@cache
def names(machine: str) -> dict[int, str]:
    index = syscalls.MACHINES.index(machine)
    found = {numbers[index]: name for name, numbers in syscalls.NUMBERS.items()}
    return {number: name for number, name in found.items() if number is not None}


def expected(name: str | None, arguments: list[int], paths: bool) -> int:
    """What the lists say about a call under the native interface."""
    if name is None:
        return refused(errno.ENOSYS)
    if name in syscalls.REFUSED:
        return refused(errno.EPERM)
    if name in syscalls.WORK:
        return ALLOW
    if name in syscalls.PATHS:
        return ALLOW if paths else refused(errno.EACCES)
    if name in OPENING:
        flags = arguments[OPENING[name]]
        reading = not any(flags & bit for bit in REFUSED_FLAGS)
        return ALLOW if paths and reading else refused(errno.EACCES)
    if name == "fcntl":
        return ALLOW if arguments[1] & HALF in FCNTL_ALLOWED else refused(errno.EPERM)
    if name == "prlimit64":
        return ALLOW if arguments[0] == arguments[2] == 0 else refused(errno.EPERM)
    assert name == "ioctl"
    return refused(errno.ENOTTY)


def decide(machine: str, paths: bool, name: str | int, arguments: list[int]) -> int:
    number = syscalls.number(name, machine) if isinstance(name, str) else name
    assert number is not None
    return bpf.run(program(machine, paths), bpf.call(number, NATIVE[machine], arguments))


@each_program
def test_the_program_is_one_that_the_kernel_takes(machine: str, paths: bool) -> None:
    made = program(machine, paths)
    assert {code for code, *_ in made} <= {0x20, 0x15, 0x35, 0x45, 0x06}
    reached = {0}
    for at, instruction in enumerate(made):
        assert at in reached, f"nothing leads to instruction {at}"
        if instruction[0] not in bpf.RETURNS:
            reached |= set(bpf.targets(at, instruction)) or {at + 1}


@each_program
def test_every_call_is_decided_by_its_name(machine: str, paths: bool) -> None:
    for number in EVERY_NUMBER:
        want = expected(names(machine).get(number), [0] * 6, paths)
        if machine == "x86_64" and number >= X32_NUMBERS:
            want = KILL
        assert decide(machine, paths, number, [0] * 6) == want, hex(number)


@each_program
def test_every_call_under_another_interface_ends_the_process(machine: str, paths: bool) -> None:
    native = NATIVE[machine]
    others = {I386, ARM, *NATIVE.values(), 0, 2**32 - 1, native - 1, native + 1, native ^ 2**31} - {native}
    for architecture in others:
        for number in EVERY_NUMBER:
            assert bpf.run(program(machine, paths), bpf.call(number, architecture)) == KILL


@each_program
@given(number=st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 500)), arguments=six_words)
def test_no_arguments_change_what_is_decided_by_name(
    machine: str, paths: bool, number: int, arguments: list[int]
) -> None:
    want = expected(names(machine).get(number), arguments, paths)
    if machine == "x86_64" and number >= X32_NUMBERS:
        want = KILL
    assert decide(machine, paths, number, arguments) == want


@each_program
def test_each_flag_of_open(machine: str, paths: bool) -> None:
    for name, argument in OPENING.items():
        if syscalls.number(name, machine) is None:
            continue
        for flag in (1 << bit for bit in range(64)):
            arguments = [2**64 - 1] * 6
            arguments[argument] = flag
            want = ALLOW if paths and flag not in REFUSED_FLAGS else refused(errno.EACCES)
            assert decide(machine, paths, name, arguments) == want, hex(flag)


@each_program
@given(arguments=six_words)
@example(arguments=[0, os.O_RDONLY | os.O_CLOEXEC, os.O_RDONLY | os.O_CLOEXEC, 0, 0, 0])
@example(arguments=[0, os.O_ACCMODE, os.O_ACCMODE, 0, 0, 0])
def test_flags_of_open_together(machine: str, paths: bool, arguments: list[int]) -> None:
    for name in OPENING:
        if syscalls.number(name, machine) is not None:
            assert decide(machine, paths, name, arguments) == expected(name, arguments, paths)


@each_program
def test_each_command_of_fcntl(machine: str, paths: bool) -> None:
    for command in range(2001):
        want = ALLOW if command in FCNTL_ALLOWED else refused(errno.EPERM)
        for high in (0, 1, HALF):
            arguments = [1, high << 32 | command, 5, 6, 7, 8]
            assert decide(machine, paths, "fcntl", arguments) == want, command


@each_program
@given(arguments=six_words)
@example(arguments=[0, 7, 0, 2**64 - 1, 1, 1])
@example(arguments=[1, 7, 0, 0, 0, 0])
@example(arguments=[1 << 32, 7, 0, 0, 0, 0])
@example(arguments=[0, 7, 1, 0, 0, 0])
@example(arguments=[0, 7, 1 << 32, 0, 0, 0])
@example(arguments=[0, 7, 1 << 63, 0, 0, 0])
def test_limits_can_be_read_and_not_set(machine: str, paths: bool, arguments: list[int]) -> None:
    own_and_reading = arguments[0] == 0 and arguments[2] == 0
    want = ALLOW if own_and_reading else refused(errno.EPERM)
    assert decide(machine, paths, "prlimit64", arguments) == want


@each_program
@given(arguments=six_words)
def test_nothing_is_a_terminal(machine: str, paths: bool, arguments: list[int]) -> None:
    assert decide(machine, paths, "ioctl", arguments) == refused(errno.ENOTTY)


@each_program
def test_nothing_dangerous_gets_through_by_number(machine: str, paths: bool) -> None:
    looked_up = 0
    for name in ALL_DANGEROUS:
        try:
            number = libseccomp.resolve(name, machine)
        except ValueError:
            continue
        if number is not None:
            looked_up += 1
            for arguments in ([0] * 6, [2**64 - 1] * 6):
                want = (refused(errno.EPERM), refused(errno.ENOSYS))
                assert decide(machine, paths, number, arguments) in want, name
    assert looked_up > 150


def same(machine: str, paths: bool, data: tuple[int, ...]) -> bool:
    return bpf.run(program(machine, paths), data) == bpf.run(built_by_libseccomp(machine, paths), data)


@each_program
def test_libseccomp_decides_the_same_about_every_call(machine: str, paths: bool) -> None:
    for number in EVERY_NUMBER:
        # libseccomp lets -1 pass its test for x32, since a tracer sets it; here it ends the process.
        if machine == "x86_64" and number == 2**32 - 1:
            continue
        for arguments in ([], [2**64 - 1] * 6):
            assert same(machine, paths, bpf.call(number, NATIVE[machine], arguments)), hex(number)
        for architecture in (I386, ARM):
            assert same(machine, paths, bpf.call(number, architecture)), hex(number)


@each_program
@given(name=st.sampled_from(["open", "openat", "fcntl", "prlimit64", "ioctl"]), arguments=six_words)
@example(name="prlimit64", arguments=[0, 0, 1 << 32, 0, 0, 0])
@example(name="prlimit64", arguments=[1 << 32, 0, 0, 0, 0, 0])
@example(name="fcntl", arguments=[0, 1 << 32 | 1030, 0, 0, 0, 0])
def test_libseccomp_decides_the_same_about_arguments(
    machine: str, paths: bool, name: str, arguments: list[int]
) -> None:
    number = syscalls.number(name, machine)
    if number is not None:
        assert same(machine, paths, bpf.call(number, NATIVE[machine], arguments))


@each_program
def test_libseccomp_decides_the_same_about_each_command_and_flag(machine: str, paths: bool) -> None:
    for value in (*range(2001), *(1 << bit for bit in range(64))):
        for name, argument in {**OPENING, "fcntl": 1}.items():
            number = syscalls.number(name, machine)
            if number is not None:
                arguments = [0] * 6
                arguments[argument] = value
                assert same(machine, paths, bpf.call(number, NATIVE[machine], arguments)), (name, value)


class OtherKernel:
    """Stands for the C library on a kernel that answers in another way.

    Args:
        flags: What flags it takes.
        error: What it answers otherwise; without a program it's EFAULT.
    """

    def __init__(self, flags: tuple[int, ...], error: int) -> None:
        self.flags = flags
        self.error = error
        self.installed: list[int] = []

    def syscall(self, number: int, operation: int, flags: int, program: Any) -> int:
        assert (number, operation) == (syscalls.number("seccomp"), 1)
        if flags in self.flags and program is not None:
            self.installed.append(flags)
            return 0
        ctypes.set_errno(errno.EFAULT if flags in self.flags else self.error)
        return -1


known_machine = pytest.mark.skipif(platform.machine() not in syscalls.MACHINES, reason="no numbers for it")


@known_machine
@pytest.mark.parametrize(("flags", "installed"), [((0, 4), 4), ((0,), 0)])
def test_a_kernel_without_the_flag_gets_the_filter_without_it(flags: tuple[int, ...], installed: int) -> None:
    kernel: Any = OtherKernel(flags, errno.EINVAL)
    assert seccomp.available(kernel)
    assert not kernel.installed
    seccomp.Filter(paths=True).install(kernel)
    assert kernel.installed == [installed]


@known_machine
@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM, errno.EINVAL])
def test_a_kernel_without_filters_is_noticed(error: int) -> None:
    kernel: Any = OtherKernel((), error)
    assert not seccomp.available(kernel)
    with pytest.raises(OSError, match="can't be installed") as caught:
        seccomp.Filter(paths=True).install(kernel)
    assert caught.value.errno == error


def test_an_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    kernel: Any = OtherKernel((0, 4), errno.EINVAL)
    assert not seccomp.available(kernel)


INSTALL = "seccomp.Filter(paths=given['paths']).install(libc)\n"


@needs_seccomp
def test_an_installed_filter_refuses_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    text = """\
import socket, resource, tempfile, numpy
a = numpy.arange(12.0).reshape(3, 4)
pid = os.getpid()
"""
    text += INSTALL
    text += """\
path = given["path"]
tell({
    "pid": os.getpid() == pid,
    "number": float((a @ a.T).sum()),
    "memory": len(bytearray(8 << 20)),
    "reading": attempt(lambda: open(path).read()),
    "looking": attempt(lambda: os.stat(path).st_size),
    "writing": attempt(lambda: open(path, "w")),
    "making": attempt(lambda: os.open(path + "2", os.O_CREAT)),
    "a path only": attempt(lambda: os.open(path, os.O_PATH)),
    "unnamed": attempt(lambda: os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR)),
    "removing": attempt(lambda: os.unlink(path)),
    "socket": attempt(lambda: socket.socket()),
    "pair": attempt(lambda: socket.socketpair()),
    "fork": attempt(lambda: os.fork()),
    "signal": attempt(lambda: os.kill(os.getppid(), 0)),
    "memfd": attempt(lambda: os.memfd_create("x")),
    "limit": attempt(lambda: len(resource.getrlimit(resource.RLIMIT_CORE))),
    "parent's limit": attempt(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE)),
    "own limit": attempt(lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))),
    "another filter": call("seccomp", 1, 0, 0),
    "unknown": call(1000),
    "clone3": call(435, 0, 0),
    "terminal": call("ioctl", 0, 0x5401, 0),
    "owner": call("fcntl", 0, 8, os.getpid()),
})
"""
    found, status = run(text, {"paths": True, "path": str(tmp_path / "file")})
    assert found == {
        "pid": True,
        "number": 1134.0,
        "memory": 8 << 20,
        "reading": "text",
        "looking": 4,
        "writing": "EACCES",
        "making": "EACCES",
        "a path only": "EACCES",
        "unnamed": "EACCES",
        "removing": "EPERM",
        "socket": "EPERM",
        "pair": "EPERM",
        "fork": "EPERM",
        "signal": "EPERM",
        "memfd": "EPERM",
        "limit": 2,
        "parent's limit": "EPERM",
        "own limit": "EPERM",
        "another filter": "EPERM",
        "unknown": "ENOSYS",
        "clone3": "ENOSYS",
        "terminal": "ENOTTY",
        "owner": "EPERM",
    }
    assert status == 0
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "text"


@needs_seccomp
def test_without_paths_no_file_is_opened_or_looked_at(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    text = "import numpy\nopen_before = open(given['path'])\n" + INSTALL
    text += """\
tell({
    "opening": attempt(lambda: os.open(given["path"], os.O_RDONLY)),
    "looking": attempt(lambda: os.stat(given["path"])),
    "what is open": open_before.read(),
    "number": float(numpy.linalg.solve(2 * numpy.eye(3), numpy.ones(3)).sum()),
})
"""
    found, status = run(text, {"paths": False, "path": str(tmp_path / "file")})
    assert found == {"opening": "EACCES", "looking": "EACCES", "what is open": "text", "number": 1.5}
    assert status == 0


@needs_seccomp
@pytest.mark.parametrize("paths", [True, False], ids=["paths", "no_paths"])
def test_the_kernel_refuses_every_call_as_the_interpreter_says(paths: bool) -> None:
    machine = platform.machine()
    # Arguments that would do nothing even where the filter let them through.
    arguments = [2**64 - 1] * 6
    actions = {number: decide(machine, paths, number, arguments) for number in range(1024)}
    if machine == "x86_64":
        # uretprobe and uprobe, which the kernel itself plants into a traced process, pass all filters on some
        # kernels; made from anywhere else they do nothing or end the process.
        del actions[335], actions[336]
    errors = {number: action & 0xFFFF for number, action in actions.items() if action >> 16 == 0x0005}
    assert len(errors) > 900
    text = INSTALL + "minus = [ctypes.c_long(-1)] * 6\n"
    text += "tell([[n, libc.syscall(n, *minus), ctypes.get_errno()] for n in given['numbers']])"
    found, status = run(text, {"paths": paths, "numbers": sorted(errors)})
    assert status == 0
    assert found == [[number, -1, error] for number, error in sorted(errors.items())]


only_x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="interfaces of x86_64")


@needs_seccomp
@only_x86_64
@pytest.mark.parametrize("number", [0, 39, 41, 512, 547])
def test_a_number_of_x32_ends_the_process(number: int) -> None:
    text = INSTALL + "tell('before')\ntell(call(0x40000000 + given['number']))"
    assert run(text, {"paths": True, "number": number}) == ("before", -signal.SIGSYS)


# getpid by the 32-bit interface: mov eax, 20; int 0x80; ret
INT_80 = """\
import mmap
memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(bytes.fromhex("b814000000" "cd80" "c3"))
getpid = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
"""


@needs_seccomp
@only_x86_64
def test_the_32_bit_interface_ends_the_process() -> None:
    found, status = run(INT_80 + "tell(getpid() == os.getpid())")
    if status < 0:
        pytest.skip("the kernel has no 32-bit interface")
    assert (found, status) == (True, 0)
    text = INT_80 + INSTALL + "tell('before')\ntell(getpid())"
    assert run(text, {"paths": True}) == ("before", -signal.SIGSYS)
