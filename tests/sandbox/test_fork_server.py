"""Fork servers start clean, stay clean, and leave nothing behind."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from sandbox_runs import IMPATIENT, Meddled, X, configured, only_step, phase, run

from grader.outcomes import Execution
from grader.sandbox import server as server_module
from grader.sandbox.children import Ended, PackageMissingError, SandboxError
from grader.sandbox.inside.protocol import CONFINED, LOADED, PHASE_DONE
from grader.sandbox.packages import Located
from grader.sandbox.server import ForkedChild, ForkServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition: Callable[[], object]) -> bool:
    """Whether it comes true, given ample time."""
    for _ in range(3000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def children(pid: int) -> list[int]:
    try:
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def open_descriptors(pid: int | str = "self") -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        # A process that may not be dumped shows its descriptors to root alone; the count of ours remains.
        return 0


def test_a_fork_server_has_one_thread(own_server: ForkServer) -> None:
    assert len(os.listdir(f"/proc/{own_server.pid}/task")) == 1


def test_a_fork_server_with_threads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    server = configured()
    try:
        monkeypatch.setattr(server, "_receive", lambda: ({"ready": True, "threads": 2}, []))
        with pytest.raises(SandboxError, match="2 threads"):
            server.wait_ready()
    finally:
        server.close()


def test_a_package_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "installed", lambda package: False)
    with pytest.raises(PackageMissingError, match=r"torch is not installed.*mlm-grader\[torch\]"):
        ForkServer("torch")


def test_a_package_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SERVER_KINDS", {"numpy": ("no_such_package_here",)})
    server = configured()
    try:
        with pytest.raises(SandboxError, match="no_such_package_here can't be imported"):
            server.wait_ready()
    finally:
        server.close()


def test_a_server_that_is_gone_is_told_on_every_use() -> None:
    server = configured()
    server.wait_ready()
    os.kill(server.pid, signal.SIGKILL)
    assert wait_for(lambda: not alive(server.pid))
    for _ in range(2):
        with pytest.raises(SandboxError, match="numpy fork server is gone"):
            run(server, "def f(x): return x")
    server.close()
    server.close()


def test_what_a_server_wrote_before_it_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "locate", lambda names: Located([], []))
    server = ForkServer()
    try:
        with pytest.raises(SandboxError, match="numpy"):
            server.configure(["numpy"], {"rules": []})
            server.wait_ready()
    finally:
        server.close()


def test_fifty_executions_leak_no_descriptor_and_no_process(own_server: ForkServer) -> None:
    def use(n: int) -> None:
        source = [
            "def f(x): return x",
            "def f(x): raise ValueError",
            "import os\ndef f(x): os._exit(1)",
            "import os\nos._exit(1)",
            "def f(x: ",
        ][n % 5]
        run(own_server, source, [phase("public", X), phase("hidden", X)])

    for n in range(5):
        use(n)
    ours, theirs = open_descriptors(), open_descriptors(own_server.pid)
    for n in range(50):
        use(n)
    assert open_descriptors() == ours and open_descriptors(own_server.pid) == theirs
    assert children(own_server.pid) == []


def test_a_failed_execution_leaks_no_descriptor() -> None:
    server = configured()
    server.wait_ready()
    os.kill(server.pid, signal.SIGKILL)
    assert wait_for(lambda: not alive(server.pid))
    with pytest.raises(SandboxError):
        run(server, "def f(x): return x")
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(SandboxError):
            run(server, "def f(x): return x")
    assert open_descriptors() == before
    server.close()


def test_closing_leaves_no_server_and_no_descriptor() -> None:
    before = open_descriptors()
    server = configured()
    assert only_step(run(server, "def f(x): return x")).state == "returned"
    server.close()
    assert not alive(server.pid) and open_descriptors() == before


def test_closing_before_anything_was_asked_works() -> None:
    server = ForkServer()
    server.close()
    assert not alive(server.pid)


def test_a_judge_that_stops_in_the_middle_leaves_no_child_and_a_usable_server(own_server: ForkServer) -> None:
    heard: list[bytes] = []

    def stop(child: ForkedChild, message: bytes) -> None:
        heard.append(message)
        if message == moment:
            raise KeyboardInterrupt

    before = open_descriptors()
    for moment in (CONFINED, LOADED, PHASE_DONE):
        with pytest.raises(KeyboardInterrupt):
            run(cast(ForkServer, Meddled(own_server, stop)), "def f(x): return x")
        assert heard[-1] == moment
        assert children(own_server.pid) == [] and open_descriptors() == before
        assert only_step(run(own_server, "def f(x): return x")).state == "returned"


def test_an_interrupt_from_the_terminal_reaches_no_child(own_server: ForkServer) -> None:
    groups: list[tuple[int, int]] = []

    def look(child: ForkedChild, message: bytes) -> None:
        if message == LOADED:
            groups.append((os.getpgid(child.pid), os.getsid(child.pid)))

    meddled = cast(ForkServer, Meddled(own_server, look))
    run(meddled, "def f(x): return x")
    os.kill(own_server.pid, signal.SIGINT)
    assert only_step(run(meddled, "def f(x): return x")).state == "returned"
    assert groups == [(own_server.pid, own_server.pid)] * 2 and own_server.pid != os.getpgid(0)


OWNER = """
import sys
sys.path[:0] = [{here!r}, {root!r}]
from sandbox_runs import configured, run, Limits
from grader.sandbox.analyst import Analyst
server = configured()
analyst = Analyst(server, 256 << 20)
assert analyst.analyze("def f(x): return x", "solution.py", "f").report
print(server.pid, flush=True)
run(server, {source!r}, limits=Limits(seconds_per_call=600, seconds=600))
"""


@pytest.mark.parametrize("source", ["def f(x):\n    while True: pass", "import time\ntime.sleep(3600)"])
def test_nothing_outlives_a_judge_that_was_killed(source: str) -> None:
    script = textwrap.dedent(OWNER).format(here=str(HERE), root=str(ROOT), source=source)
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        assert wait_for(lambda: len(children(server)) == 2)
        analyst, child = children(server)
        assert alive(server) and alive(analyst) and alive(child)
    finally:
        owner.kill()
        owner.wait()
        assert owner.stdout is not None
        owner.stdout.close()
    for pid in (child, analyst, server):
        assert wait_for(lambda pid=pid: not alive(pid)), pid


def test_a_child_ends_with_its_server() -> None:
    server = configured()
    server.wait_ready()
    pids: list[int] = []

    def harm(child: ForkedChild, message: bytes) -> None:
        if message == CONFINED:
            pids.append(child.pid)
            os.kill(server.pid, signal.SIGKILL)

    with pytest.raises(SandboxError, match="is gone"):
        run(cast(ForkServer, Meddled(server, harm)), "while True: pass")
    assert len(pids) == 1 and wait_for(lambda: not alive(pids[0]))
    server.close()


def test_a_killed_child_is_not_taken_for_a_fault_of_the_server(own_server: ForkServer) -> None:
    def harm(child: ForkedChild, message: bytes) -> None:
        if message == CONFINED:
            os.kill(child.pid, signal.SIGKILL)

    result = run(cast(ForkServer, Meddled(own_server, harm)), "while True: pass")
    assert result.load is not None and result.load.state == "crashed"
    assert "killed from outside" in result.load.detail


def test_a_child_that_ends_before_it_is_confined_is_a_fault_of_the_sandbox(own_server: ForkServer) -> None:
    def start(number: int, job: Mapping[str, Any], memory: Any) -> None:
        # No room for what the confinement itself needs.
        cast(dict[str, Any], job)["log"] = "nonsense"

    with pytest.raises(SandboxError, match="before it was confined"):
        run(cast(ForkServer, Meddled(own_server, start=start)), "def f(x): return x")
    assert only_step(run(own_server, "def f(x): return x")).state == "returned"


def test_many_children_of_one_server_live_at_once(own_server: ForkServer) -> None:
    """Each answers its own judge, and what ends one of them ends no other."""
    names = ("returns", "raises", "exits", "loops", "again")
    bodies = (
        "return x + 1",
        "raise ValueError",
        "import os; os._exit(5)",
        "while True: pass",
        "return x + 1",
    )
    count: list[int] = []
    meeting = threading.Barrier(len(names), timeout=60)
    lock = threading.Lock()

    class Locked(Meddled):
        """One judge at a time speaks with the server; all children are alive when the first one goes on."""

        def start(self, job: Mapping[str, Any], memory: Any) -> Any:
            with lock:
                child = self._server.start(job, memory)
            if self._count == 0:
                meeting.wait()
                count.append(len(children(own_server.pid)))
                meeting.wait()
            self._count += 1
            reap = child.reap

            def reap_alone() -> Ended:
                with lock:
                    return reap()

            child.reap = reap_alone  # type: ignore[method-assign]
            return child

    def work(body: str) -> Execution:
        return run(cast(ForkServer, Locked(own_server)), f"def f(x):\n    {body}", limits=IMPATIENT)

    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        results = dict(zip(names, pool.map(work, bodies), strict=True))
    assert count == [len(names)] * len(names)
    assert {name: only_step(result).state for name, result in results.items()} == {
        "returns": "returned",
        "raises": "raised",
        "exits": "crashed",
        "loops": "timed_out",
        "again": "returned",
    }
    assert "exit code 5" in only_step(results["exits"]).detail
    assert children(own_server.pid) == []


def test_an_end_that_is_told_while_another_child_starts_is_kept(own_server: ForkServer) -> None:
    """Ends arrive on the same socket as process ids, in any order."""
    job = {"role": "analyst", "memory": 256 << 20, "seconds": None}
    memories = [own_server.memory(1 << 16) for _ in range(4)]
    started = [own_server.start(job, memory) for memory in memories[:3]]
    for n in (2, 0):
        started[n].kill()
        assert wait_for(lambda n=n: not alive(started[n].pid))
    started.append(own_server.start(job, memories[3]))
    assert started[0].reap().code == started[2].reap().code == -signal.SIGKILL
    started[3].hang_up()
    started[1].hang_up()
    assert started[1].reap().code == started[3].reap().code == 0
    for child, memory in zip(started, memories, strict=True):
        child.close()
        memory.close()
    assert children(own_server.pid) == []


def test_a_child_whose_start_was_interrupted_is_nobody_elses(
    own_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert only_step(run(own_server, "def f(x): return x")).state == "returned"
    before = open_descriptors(), len(children(own_server.pid))

    def interrupted() -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(own_server, "_receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(own_server, "def f(x): return x")
    # What comes next is the answer to the request that was given up.
    for _ in range(2):
        assert only_step(run(own_server, "def f(x): return x + 1")).state == "returned"
    assert wait_for(lambda: (open_descriptors(), len(children(own_server.pid))) == before)


def test_a_server_started_from_a_thread_that_ends_lives_on() -> None:
    """The kernel's signal at a parent's death comes when the thread that started the process ends."""
    found: list[ForkServer] = []
    thread = threading.Thread(target=lambda: found.append(configured()))
    thread.start()
    thread.join()
    (server,) = found
    try:
        server.wait_ready()
        for _ in range(3):
            thread = threading.Thread(target=lambda: run(server, "def f(x): return x"))
            thread.start()
            thread.join()
        assert alive(server.pid) and only_step(run(server, "def f(x): return x")).state == "returned"
    finally:
        server.close()
    assert not alive(server.pid)


def test_a_server_sleeps_between_submissions(own_server: ForkServer) -> None:
    def asleep() -> bool:
        stat = Path(f"/proc/{own_server.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "S"

    run(own_server, "def f(x):\n    while True: pass", limits=IMPATIENT)
    assert wait_for(asleep)


def test_modules_of_the_grader_cannot_be_imported_by_name(server: ForkServer) -> None:
    for name in ("grader", "grader.judge.compare", "grader.sandbox.inside.child", "reference", "tests"):
        load = run(server, f"import {name}").load
        assert load is not None and load.failure is not None
        assert "ModuleNotFoundError" in (load.failure.type, *load.failure.bases)


TORCH = """
import torch
def f(x):
    t = torch.from_numpy(x)
    {body}
"""


@pytest.mark.slow
def test_tensors_in_every_form() -> None:
    from grader.outcomes import ArrayValue

    server = configured("torch")
    try:
        server.wait_ready()

        def answer(body: str, **options: bool) -> tuple[object, ...]:
            outcome = only_step(run(server, TORCH.format(body=body), [phase("public", X, **options)]))
            value = outcome.value
            assert isinstance(value, ArrayValue), outcome
            return value.kind, value.dtype, value.shape, value.data is not None, outcome.overwritten

        whole = ("tensor", "float64", (2, 3), True, frozenset())
        assert answer("return t * 2") == whole
        assert answer("return (t.clone().requires_grad_() * 2)") == whole
        assert answer("return torch.nn.Parameter(t * 2)") == whole
        assert answer("return (t * 2).T.contiguous().T") == whole
        assert answer("return torch.conj(t + 0j).imag") == whole
        assert answer("return (t * 2).bfloat16()") == ("tensor", "bfloat16", (2, 3), False, frozenset())
        assert answer("return (t * 2).to_sparse()") == ("tensor", "float64", (2, 3), False, frozenset())
        assert answer("return (t * 2).to('meta')") == ("tensor", "float64", (2, 3), False, frozenset())
        half = answer("return (t * 2).to(torch.float8_e5m2)")
        assert half[0] == "tensor" and half[2:4] == ((2, 3), False)
        assert answer("t += 1; return t * 2", read_only=True)[4] == {0}
        assert answer("return t + 1", read_only=True)[4] == frozenset()
        bomb = run(server, TORCH.format(body="return torch.ones(10**11)"))
        assert only_step(bomb).state == "out_of_memory"
        assert len(os.listdir(f"/proc/{server.pid}/task")) == 1
    finally:
        server.close()
