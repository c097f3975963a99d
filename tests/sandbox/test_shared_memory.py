"""What a child can't do to the memory that it shares with the judge."""

from __future__ import annotations

import fcntl
import os

import pytest
from sandbox_runs import X, phase, run, said

from grader.sandbox.memory import SharedMemory, read_only_file
from grader.sandbox.server import ForkServer


@pytest.mark.parametrize("size", [0, 10, 10**6])
def test_the_size_of_shared_memory_is_fixed(size: int) -> None:
    with SharedMemory(4096) as memory, pytest.raises(PermissionError):
        os.ftruncate(memory.descriptor, size)
    with SharedMemory(content=b"abc") as memory:
        assert memory.size == 3 and memory.map[:] == b"abc"
        memory.map[:1] = b"x"
        with pytest.raises(PermissionError):
            fcntl.fcntl(memory.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def test_shared_memory_closes_once_and_again() -> None:
    memory = SharedMemory(10)
    memory.close()
    memory.close()
    with pytest.raises(OSError):
        os.fstat(memory.descriptor)


@pytest.mark.parametrize("content", [b"", b"def f(): pass\n", b"x" * (3 << 20)])
def test_a_read_only_file_can_be_read_and_nothing_else(content: bytes) -> None:
    descriptor = read_only_file(content)
    try:
        with pytest.raises(PermissionError):
            os.pwrite(descriptor, b"z", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, 0 if content else 1)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            assert file.read() == content
    finally:
        os.close(descriptor)


def test_a_child_can_neither_shorten_nor_lengthen_what_it_shares(server: ForkServer) -> None:
    source = """
    import os
    def f(x):
        told = []
        for descriptor in range(3, 8):
            for size in (0, 1, 1 << 30):
                try: os.ftruncate(descriptor, size)
                except OSError as error: told.append(error.strerror)
                else: told.append("done")
        return ", ".join(sorted(set(told)))
    """
    outcomes = run(server, source, [phase("public", X, X)]).steps["public"]
    for outcome in outcomes:
        assert "done" not in said(outcome) and "not permitted" in said(outcome)


def test_a_child_holds_nothing_open_but_what_it_shares_with_the_judge(server: ForkServer) -> None:
    source = """
    import os
    def f(x):
        found = []
        for n in os.listdir("/proc/self/fd"):
            try: found.append(os.readlink(f"/proc/self/fd/{n}").split("[")[0])
            except OSError: pass
        return "\\n".join(sorted(found))
    """
    (outcome,) = run(server, source).steps["public"]
    lines = said(outcome).splitlines()
    assert set(lines) == {"/dev/null", "/memfd:shared (deleted)", "socket:"}
    assert lines.count("socket:") == 1
