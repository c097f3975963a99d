"""Children that are started one by one: outcomes as of forked ones, the judge unharmed, nothing left."""

from __future__ import annotations

import dataclasses
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_runs import IMPATIENT, LIMITS, X, only_step, phase, run, said

from grader.exercise.models import Policy
from grader.outcomes import Execution
from grader.sandbox import levels, spawned, usage
from grader.sandbox.analyst import Analyst
from grader.sandbox.children import PackageMissingError, SandboxError
from grader.sandbox.inside.protocol import ANALYST, SUBMISSION
from grader.sandbox.server import ForkServer
from grader.sandbox.servers import make_server
from grader.sandbox.spawned import MOST_MESSAGES, FileMemory, SpawnServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def started() -> SpawnServer:
    server = SpawnServer()
    server.configure(["numpy"], Policy().model_dump())
    return server


@pytest.fixture(scope="module")
def spawning() -> Iterator[SpawnServer]:
    server = started()
    yield server
    server.close()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SpawnServer]:
    """A server for a test that harms or inspects it, with a folder of its own for temporary files."""
    folder = tmp_path / "for temporary files, größer"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    server = started()
    yield server
    server.close()
    assert list(folder.iterdir()) == []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition: Callable[[], object]) -> bool:
    """Whether it comes true, given ample time."""
    for _ in range(6000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def untimed(execution: Execution) -> dict[str, Any]:
    """An execution without what hangs on the machine's speed."""
    fields = dataclasses.asdict(execution)
    fields = {k: v for k, v in fields.items() if k not in ("cpu_s", "call_cpu_s")}
    for outcome in (fields["load"], *(o for steps in fields["steps"].values() for o in steps)):
        if outcome is not None:
            outcome.pop("cpu_s")
    return fields


# --- the same as forked ones -------------------------------------------------------------------

SAME = {
    "an_argument": "def f(x): return x",
    "arrays": "import numpy as np\ndef f(x): return [x * 2, x[::-1], np.float32(3), x.astype('int8'), None]",
    "random_numbers": "import random, numpy as np\ndef f(x): return [random.random(), np.random.rand(3)]",
    "a_generator": "def f(x): yield x",
    "an_exception": "def g(x): raise KeyError(x.shape)\ndef f(x): return g(x)",
    "an_exception_at_import": "1 / 0",
    "no_entry": "def g(x): pass",
    "no_callable": "f = 3",
    "printed": "print('load')\ndef f(x):\n    print('ä', x)\n    print('e', file=__import__('sys').stderr)",
    "printed_past_python": "import os\ndef f(x): return [os.write(1, b'one'), os.write(2, b'two')]",
    "input": "def f(x): return input()",
    "standard_streams": "import sys\ndef f(x): return [sys.stdin.read(), sys.stdout.fileno()]",
    "another_package": "import yaml",
    "the_grader": "import grader.judge.compare",
    "arguments_changed": "def f(x):\n    x += 1\n    return x",
    "read_only": "def f(x):\n    x.flags.writeable = True\n    x[0] = 1",
    "deep_recursion": "def f(x): return f(x)",
    "sys_exit": "import sys\ndef f(x): sys.exit(3)",
    "os_exit": "import os\ndef f(x): os._exit(0)",
    "os_exit_at_import": "import os\nos._exit(0)",
    "segfault": "import ctypes\ndef f(x): ctypes.string_at(0)",
    "too_large": "import numpy as np\ndef f(x): return np.zeros(3 * 10**6)",
    "astronomic": "import numpy as np\ndef f(x): return np.broadcast_to(x[0, 0], (2**40,))",
    "main_module": "def f(x): return [__name__, __import__('sys').argv]",
    "clock_set_back": "import time\ntime.process_time_ns = lambda: 0\ndef f(x): return x",
    "no_streams": "import sys\nsys.stdout.close()\ndef f(x): return x",
}


@pytest.mark.parametrize("name", SAME)
def test_a_spawned_child_gives_what_a_forked_one_does(
    server: ForkServer, spawning: SpawnServer, name: str
) -> None:
    phases = [phase("public", X, "reread", X + 1), phase("hidden", X)]
    forked = run(server, SAME[name], phases)
    assert untimed(run(spawning, SAME[name], phases)) == untimed(forked)


def test_the_policy_check_gives_the_same(server: ForkServer, spawning: SpawnServer) -> None:
    for source in ("def f(x): return x", "def f(:", "import torch\nexec('1')", "(" * 300, "x = '\ud800'"):
        reports = []
        for each in (server, spawning):
            analyst = Analyst(each, LIMITS.memory)
            reports.append(analyst.analyze(source, "solution.py", "f").report)
            analyst.close()
        assert reports[0] == reports[1] and reports[0]


def test_the_policy_check_goes_on_in_one_process_without_numpy(own: SpawnServer) -> None:
    analyst = Analyst(own, LIMITS.memory)
    first = analyst.analyze("def f(x): return x", "solution.py", "f").report
    child = analyst._child
    assert first == analyst.analyze("def f(x): return x", "solution.py", "f").report
    assert analyst._child is child and child is not None
    assert "numpy" not in Path(f"/proc/{child.pid}/maps").read_text()  # type: ignore[attr-defined]
    os.kill(child.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    assert analyst.analyze("def f(x): return x", "solution.py", "f").report == first
    assert analyst._child is not child
    analyst.close()


def test_every_child_is_a_process_of_its_own_and_the_next_one_gets_ready_meanwhile(own: SpawnServer) -> None:
    source = "import os\ndef f(x): return str(os.getpid())"
    own.wait_ready()
    spare = own._spares[SUBMISSION]
    assert int(said(only_step(run(own, source)))) == spare.pid
    assert own._spares[SUBMISSION].pid != spare.pid
    assert int(said(only_step(run(own, source)))) != spare.pid


def test_a_child_knows_nothing_of_the_users_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("A_SECRET", "hidden")
    server = started()
    outcome = only_step(run(server, "import os\ndef f(x): return ' '.join(sorted(os.environ))"))
    server.close()
    assert "A_SECRET" not in said(outcome) and "HOME" not in said(outcome)
    assert "OMP_NUM_THREADS" in said(outcome)


# --- what it withstands ------------------------------------------------------------------------

LOOPS = {
    "in_python": "while True: pass",
    "in_c": "sum(iter(int, 1))",
    "asleep": "time.sleep(3600)",
    "catches_everything": "\n    while True:\n        try:\n            while True: pass\n"
    "        except BaseException: pass",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_call_without_end_is_timed_out_and_the_next_one_is_made(spawning: SpawnServer, name: str) -> None:
    body = LOOPS[name].replace("\n    ", "\n        ")
    source = f"import time\ndef f(x):\n    if x[0, 0] == 0:\n        {body}\n    return x"
    execution = run(spawning, source, [phase("public", X, X + 1)], limits=IMPATIENT)
    assert [o.state for o in execution.steps["public"]] == ["timed_out", "returned"]
    assert execution.children == 2


def test_a_file_without_end_is_timed_out(spawning: SpawnServer) -> None:
    load = run(spawning, "while True: pass", limits=IMPATIENT).load
    assert load is not None and load.state == "timed_out"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("os.abort()", "crashed (SIGABRT) in line 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed from outside"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "crashed (SIGTERM)"),
    ],
)
def test_the_signal_that_ended_a_call_is_named(spawning: SpawnServer, end: str, words: str) -> None:
    source = f"import os, signal\ndef f(x):\n    if x[0, 0] == 0: {end}\n    return x"
    first, second = run(spawning, source, [phase("public", X, X + 1)]).steps["public"]
    assert first.state == "crashed" and words in first.detail
    assert second.state == "returned"


BOMBS = {
    "arrays": "keep = []\n        while True: keep.append(np.ones(10**6))",
    "lists": "keep = []\n        while True: keep.append([0] * 10**6)",
    "shared": "import mmap\n        keep = []\n        while True:\n"
    "            keep.append(mmap.mmap(-1, 1 << 24)); keep[-1].write(b'1' * (1 << 24))",
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_beyond_the_limit_ends_the_call_and_the_next_one_is_made(
    spawning: SpawnServer, name: str
) -> None:
    source = f"import numpy as np\ndef f(x):\n    if x[0, 0] == 0:\n        {BOMBS[name]}\n    return x"
    execution = run(spawning, source, [phase("public", X, X + 1)])
    assert [o.state for o in execution.steps["public"]] == ["out_of_memory", "returned"]


def test_memory_within_the_limit_is_allowed(spawning: SpawnServer) -> None:
    source = """
    import numpy as np, time
    def f(x):
        keep = np.ones((LIMIT - (48 << 20)) // 8)
        begin = time.process_time()
        while time.process_time() - begin < 0.3: pass
        return float(keep[-1])
    """
    source = source.replace("LIMIT", str(LIMITS.memory))
    assert only_step(run(spawning, source)).state == "returned"


TO_ALL = """
import os
def to_all(data):
    for n in range(3, 20):
        try: os.write(n, data)
        except OSError: pass
"""
FLOODS = {
    "printed": "while True: print('x' * 1000)",
    "on_descriptor_1": "while True: os.write(1, b'x' * 1000)",
    "on_descriptor_2": "while True: os.write(2, b'x' * 1000)",
    "to_the_judge": "while True: to_all(b'x' * 1000)",
    "lines_to_the_judge": "while True: to_all(b'L\\n' * 500)",
    "once": "to_all(b'x' * (1 << 20))",
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends_in_a_verdict_and_bounded_memory(
    own: SpawnServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    most = 0
    listen = spawned.SpawnedChild._next

    def counted(self: spawned.SpawnedChild, seconds: float) -> tuple[bytes, bool]:
        nonlocal most
        most = max(most, sum(map(len, self._messages)))
        return listen(self, seconds)

    monkeypatch.setattr(spawned.SpawnedChild, "_next", counted)
    source = f"{TO_ALL}\ndef f(x):\n    {FLOODS[name]}"
    outcome = only_step(run(own, source, limits=IMPATIENT))
    assert outcome.state in ("timed_out", "raised", "crashed", "returned")
    assert most <= MOST_MESSAGES * spawned.LONGEST_MESSAGE
    assert only_step(run(own, "def f(x): return x")).state == "returned"


def test_the_file_that_is_shared_does_not_grow(spawning: SpawnServer) -> None:
    source = "import os\ndef f(x):\n    while True: os.write(2, b'x' * 4096)"
    outcome = only_step(run(spawning, source, limits=dataclasses.replace(LIMITS, seconds_per_call=60)))
    assert outcome.failure is not None and outcome.failure.type == "OSError"


@pytest.mark.parametrize("text", ["L\\nE\\nE\\n", "C\\n", "E\\n" * 20, '{\\"ready\\": true}\\n'])
def test_what_is_printed_is_not_taken_for_a_message(spawning: SpawnServer, text: str) -> None:
    source = f"""
    import os, sys
    print("{text}")
    os.write(1, b'{text}')
    def f(x):
        sys.__stdout__.write("{text}")
        os.write(1, b'{text}')
        return x
    """
    execution = run(spawning, source, [phase("public", X, X), phase("hidden", X)])
    states = [o.state for steps in execution.steps.values() for o in steps]
    assert states == ["returned"] * 3 and execution.children == 1


def test_a_forged_message_brings_no_phase_before_the_one_before_it_is_read(spawning: SpawnServer) -> None:
    source = """
    import os, time
    def f(x):
        for n in range(3, 20):
            try: os.write(n, b"E\\n" * 3)
            except OSError: pass
        return x
    """
    execution = run(spawning, source, [phase("public", X, X), phase("hidden", X)])
    assert {name: len(steps) for name, steps in execution.steps.items()} == {"public": 2, "hidden": 1}
    assert only_step(run(spawning, "def f(x): return x")).state == "returned"


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_shared_memory_that_was_cut_off_harms_nobody(spawning: SpawnServer, size: int) -> None:
    source = f"import os\ndef f(x):\n    os.ftruncate(2, {size})\n    return x"
    execution = run(spawning, source, [phase("public", X, X)])
    assert {o.state for o in execution.steps["public"]} <= {"crashed"}
    assert only_step(run(spawning, "def f(x): return x")).state == "returned"


def test_a_child_that_closes_everything_ends(spawning: SpawnServer) -> None:
    source = "import os\ndef f(x):\n    os.closerange(0, 100)\n    while True: pass"
    assert only_step(run(spawning, source, limits=IMPATIENT)).state in ("timed_out", "crashed")


FORKED = """
import os, time
def f(x):
    try:
        pid = os.fork()
    except OSError:
        return "refused"
    if pid == 0:
        {detach}
        time.sleep(3600)
        os._exit(0)
    print(pid)
    {then}
    return "forked"
"""


@pytest.mark.parametrize(
    ("detach", "then"), [("pass", "pass"), ("pass", "os._exit(0)"), ("os.setsid()", "while True: pass")]
)
def test_processes_that_a_child_started_end_with_it(spawning: SpawnServer, detach: str, then: str) -> None:
    outcome = only_step(run(spawning, FORKED.format(detach=detach, then=then), limits=IMPATIENT))
    # Root alone may fork at all.
    if os.geteuid() == 0:
        pid = int(outcome.stdout)
        assert wait_for(lambda: not alive(pid))
    else:
        assert said(outcome) == "refused"


# --- what goes wrong beside it -----------------------------------------------------------------


@pytest.mark.parametrize("role", [SUBMISSION, ANALYST])
@pytest.mark.parametrize("when", ["before it is ready", "when it is ready"])
def test_a_spare_that_was_killed_is_replaced(own: SpawnServer, role: str, when: str) -> None:
    spare = own._spares[role]
    if when == "when it is ready":
        assert spare.wait_ready() is None
    os.kill(spare.pid, signal.SIGKILL)
    spare.reap()
    if role == ANALYST:
        analyst = Analyst(own, LIMITS.memory)
        assert "imports" in analyst.analyze("def f(x): return x", "solution.py", "f").report
        analyst.close()
    else:
        assert only_step(run(own, "def f(x): return x")).state == "returned"
    assert not alive(spare.pid)


def test_processes_that_never_get_ready_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawned, "SERVER_KINDS", {"numpy": ("no_such_package_here",)})
    server = started()
    with pytest.raises(SandboxError, match="no_such_package_here can't be imported"):
        server.wait_ready()
    server.close()


def test_what_a_process_wrote_before_it_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    server = SpawnServer()
    monkeypatch.setattr(server, "_root", "/nowhere")
    for spare in server._spares.values():
        spare.close()
    server._spares.clear()
    with pytest.raises(SandboxError, match="No module named 'grader'"):
        server.wait_ready()
    server.close()


def test_psutil_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "psutil", None)
    with pytest.raises(PackageMissingError, match="pip install psutil"):
        SpawnServer()


def test_a_package_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawned, "installed", lambda package: False)
    with pytest.raises(PackageMissingError, match=r"torch is not installed.*mlm-grader\[torch\]"):
        SpawnServer("torch")


def test_executions_leak_no_descriptor_no_thread_and_no_process(own: SpawnServer) -> None:
    import threading

    def use(n: int) -> None:
        source = ["def f(x): return x", "import os\ndef f(x): os._exit(1)", "import os\nos._exit(1)", "f = 1"]
        run(own, source[n % 4], [phase("public", X), phase("hidden", X)])

    for n in range(4):
        use(n)
    own.wait_ready()
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for n in range(8):
        use(n)
    own.wait_ready()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    spares = {child.pid for child in own._spares.values()}
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert {int(pid) for pid in children if b"inside.spawned" in command(pid)} >= spares
    assert not any(c.pid in spares or alive(c.pid) for c in own._started)


def command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_closing_leaves_nothing_whenever_it_comes(own: SpawnServer) -> None:
    for wait in (False, True):
        server = started()
        if wait:
            server.wait_ready()
        pids = [child.pid for child in server._spares.values()]
        server.close()
        server.close()
        assert len(pids) == 2 and not any(map(alive, pids))


def test_a_judge_that_stops_in_the_middle_leaves_no_child_and_no_file(
    own: SpawnServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.wait_ready()
    pid = own._spares[SUBMISSION].pid

    def stop(self: object, seconds: float) -> tuple[bytes, bool]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(spawned.SpawnedChild, "wait", stop)
        with pytest.raises(KeyboardInterrupt):
            run(own, "def f(x): return x")
    assert not alive(pid)
    assert only_step(run(own, "def f(x): return x")).state == "returned"


OWNER = """
import sys, tempfile
sys.path[:0] = [{here!r}, {root!r}]
tempfile.tempdir = {folder!r}
from sandbox_runs import Limits, run
from grader.sandbox.spawned import SpawnServer
server = SpawnServer()
server.configure(["numpy"], {{"rules": []}})
server.wait_ready()
start = server.start
def told(job, memory):
    child = start(job, memory)
    print(child.pid, *[c.pid for c in server._spares.values()], flush=True)
    return child
server.start = told
run(server, {source!r}, limits=Limits(seconds_per_call=600, seconds=600))
"""


@pytest.mark.parametrize("source", ["def f(x):\n    while True: pass", "import time\ntime.sleep(3600)"])
def test_nothing_outlives_a_judge_that_was_killed(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    script = textwrap.dedent(OWNER).format(here=str(HERE), root=str(ROOT), source=source, folder=str(folder))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    owner = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 3 and all(map(alive, pids))
        # The child has mapped its memory as soon as the file has no name.
        assert wait_for(lambda: not list(folder.iterdir()))
    finally:
        owner.kill()
        owner.wait()
        assert owner.stdout is not None
        owner.stdout.close()
    assert wait_for(lambda: not any(map(alive, pids)))
    assert list(folder.iterdir()) == []


# --- its parts ---------------------------------------------------------------------------------


def test_memory_in_a_file_reads_as_zeros_where_it_was_cut_off() -> None:
    memory = FileMemory(10_000)
    assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600
    memory.write(9_000, b"abc")
    assert memory.read(8_999, 5) == b"\0abc\0"
    os.truncate(memory.path, 9_001)
    assert memory.read(8_999, 5) == b"\0a\0\0\0" and memory.read(9_500, 3) == b"\0\0\0"
    memory.write(9_998, b"yz")
    assert memory.read(9_997, 3) == b"\0yz"
    path = memory.path
    memory.close()
    assert not path.exists()


def test_no_room_for_memory_is_a_fault_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(SandboxError, match="temporary file"):
        FileMemory(10)


@pytest.mark.parametrize(
    ("wall", "cpu", "free", "idle"),
    [
        (1.0, 1.0, 0.5, 0.0),  # it works, one of two cores is free
        (1.0, 0.0, 0.0, 1.0),  # it sleeps while all cores are busy
        (1.0, 0.1, 0.9, 0.8),  # it hardly works, and neither do others
        (1.0, 0.1, 0.75, 0.65),  # it hardly works while another one works on one of four cores
        (1.0, 0.5, 0.0, 0.05),  # all cores are busy all the time: perhaps it waits
        (1.0, 0.2, 1.2, 0.8),  # never more than there was
        (1.0, 1.3, 0.0, 0.0),  # several threads
    ],
)
def test_idleness_is_what_cannot_have_been_a_wait_for_a_core(
    wall: float, cpu: float, free: float, idle: float
) -> None:
    assert usage.idle_within(wall, cpu, free) == pytest.approx(idle)


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows"), ("os9", "os9")])
def test_other_systems_have_no_level_and_say_so(
    monkeypatch: pytest.MonkeyPatch, platform: str, name: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert levels.probe() == ("none", ("processes", "time and memory watched"))
    assert levels.why_not_full() == f"confinement needs Linux, and this is {name}"


def test_the_fork_server_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(levels.WITHOUT, "namespaces")
    assert levels.forks()
    monkeypatch.setenv(levels.WITHOUT, "namespaces,fork")
    assert levels.probe() == ("none", levels.WATCHED)
    assert levels.why_not_full() == f"the fork server is switched off by {levels.WITHOUT}"
    server = make_server()
    assert isinstance(server, SpawnServer)
    assert (server.level, server.layers) == levels.probe()
    server.close()
