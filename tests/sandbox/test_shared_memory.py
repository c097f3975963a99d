"""What a child can't do to the memory that it shares with the judge, and what else it holds open."""

from __future__ import annotations

import fcntl
import os
from typing import cast

import pytest
from sandbox_runs import JUDGE, Meddled, X, phase, run, said

from grader.sandbox.inside.protocol import LOADED
from grader.sandbox.memory import SharedMemory
from grader.sandbox.server import ForkedChild, ForkServer


@pytest.mark.parametrize("size", [0, 10, 10**6])
def test_the_size_of_shared_memory_is_fixed(size: int) -> None:
    with SharedMemory(4096) as memory, pytest.raises(PermissionError):
        os.ftruncate(memory.descriptor, size)


@pytest.mark.parametrize("seal", [fcntl.F_SEAL_WRITE, fcntl.F_SEAL_SHRINK])
def test_no_seal_can_be_added(seal: int) -> None:
    with SharedMemory(4096) as memory, pytest.raises(PermissionError):
        fcntl.fcntl(memory.descriptor, fcntl.F_ADD_SEALS, seal)


def test_what_is_written_is_read_as_a_copy() -> None:
    with SharedMemory(10) as memory:
        assert memory.size == 10 and memory.read(0, 10) == bytes(10)
        memory.write(3, b"abc")
        before = memory.read(2, 5)
        memory.write(3, b"xyz")
        assert before == b"\0abc\0" and memory.read(2, 5) == b"\0xyz\0"
        with pytest.raises((ValueError, IndexError)):
            memory.write(8, b"abc")
        assert os.pread(memory.descriptor, 20, 0) == b"\0\0\0xyz\0\0\0\0"


def test_shared_memory_closes_once_and_again() -> None:
    memory = SharedMemory(10)
    memory.close()
    memory.close()
    with pytest.raises(OSError):
        os.fstat(memory.descriptor)


def test_a_child_can_neither_shorten_nor_lengthen_what_it_shares(any_server: ForkServer) -> None:
    source = """
    import os
    def f(x):
        told = []
        for descriptor in range(8):
            for size in (0, 1, 1 << 30):
                try: os.ftruncate(descriptor, size)
                except OSError as error: told.append(error.strerror)
                else: told.append("done")
        return ", ".join(sorted(set(told)))
    """
    outcomes = run(any_server, source, [phase("public", X, X)]).steps["public"]
    for outcome in outcomes:
        assert "done" not in said(outcome) and "not permitted" in said(outcome)


def test_a_child_that_writes_past_the_end_harms_itself_alone(any_server: ForkServer) -> None:
    source = """
    import os
    def f(x):
        told = set()
        for _ in range(3):
            try: told.add("written" if os.write(2, b"y" * (1 << 20)) else "nothing")
            except OSError as error: told.add(error.strerror)
        return ", ".join(sorted(told))
    """
    outcomes = run(any_server, source, [phase("public", X, X)]).steps["public"]
    for outcome in outcomes:
        assert said(outcome).startswith("File too large")
    assert "written" in said(outcomes[0])


def test_a_child_holds_nothing_open_but_what_it_shares_with_the_judge(any_server: ForkServer) -> None:
    source = """
    import os, stat
    def f(x):
        found = []
        for n in range(1 << 12):
            try: found.append((n, stat.S_IFMT(os.fstat(n).st_mode)))
            except OSError: pass
        return " ".join(f"{n}:{kind:o}" for n, kind in found)
    """
    # The null device twice, the memory as standard error, the socket to the judge, the memory as mapped.
    (outcome,) = run(any_server, source).steps["public"]
    assert said(outcome) == f"0:20000 1:20000 2:100000 {JUDGE}:140000 5:100000"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what such a process holds open")
def test_what_a_child_holds_open_is_seen_from_outside(server: ForkServer) -> None:
    found: list[dict[str, str]] = []

    def look(child: ForkedChild, message: bytes) -> None:
        if message == LOADED:
            folder = f"/proc/{child.pid}/fd"
            found.append({n: os.readlink(f"{folder}/{n}").split("[")[0] for n in os.listdir(folder)})

    run(cast(ForkServer, Meddled(server, look)), "def f(x): return x")
    memory = "/memfd:shared (deleted)"
    assert found == [{"0": "/dev/null", "1": "/dev/null", "2": memory, str(JUDGE): "socket:", "5": memory}]
