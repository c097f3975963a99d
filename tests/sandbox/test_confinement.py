"""What a server and its children have put on, seen from outside, and what happens where that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from sandbox_runs import EVERY_LAYER, LIMITS, Meddled, configured, phase, run

from grader.sandbox import server as server_module
from grader.sandbox.analyst import Analyst
from grader.sandbox.children import SandboxError
from grader.sandbox.inside import confinement, landlock, limits, seccomp
from grader.sandbox.inside.protocol import CONFINED, LOADED, NOT_CONFINED
from grader.sandbox.server import ForkedChild, ForkServer

ROOT = Path(__file__).resolve().parents[2]
LIBC = confinement.load_libc()
needs_landlock = pytest.mark.skipif(not landlock.abi(LIBC), reason="the kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not seccomp.available(LIBC), reason="the kernel takes no filters")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees this of such a process")
MEMORY = 256 << 20


# --- what may be read -------------------------------------------------------------------------


def test_the_standard_library_is_given_without_the_packages_installed_in_it() -> None:
    entries = confinement.standard_library()
    names = {Path(entry).name for entry in entries}
    assert {"os.py", "json", "lib-dynload", "encodings"} <= names
    assert not {"site-packages", "dist-packages"} & names
    home = Path(os.__file__).parent
    for entry in entries:
        assert Path(entry).exists() and not (home / "site-packages").is_relative_to(entry)
    for package in ("numpy", "grader", "pytest"):
        assert not any(
            Path(sys.modules[package].__file__ or "").is_relative_to(entry) for entry in entries
        ), package


def test_the_shared_libraries_of_the_system_are_found() -> None:
    found = confinement.system_libraries()
    mapped = {
        line.split()[5] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line
    }
    assert mapped and "/etc/ld.so.cache" in found
    for library in mapped:
        assert any(Path(library).is_relative_to(path) for path in found)
    # Neither everything nor what packages brought.
    assert not {"/", "/usr", "/lib", "/usr/lib", "/home", "/root", "/tmp"} & set(found)
    for path in found:
        assert "-packages" not in path and not (Path(path) / "site-packages").exists()
        assert not Path(sysconfig.get_path("purelib")).is_relative_to(path)


def test_a_folder_that_holds_more_than_libraries_is_given_one_by_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("mixed")
    source = next((Path(os.__file__).parent / "lib-dynload").glob("_bisect*.so"))
    for name in ("liba.so", "libb.so.1", "notes.txt", "c.sox"):
        shutil.copy(source, folder / name)
    (folder / "python3.99").mkdir()
    program = textwrap.dedent(
        f"""
        import ctypes, json, sys
        sys.path.insert(0, {str(ROOT)!r})
        from grader.sandbox.inside import confinement
        ctypes.CDLL({str(folder / "liba.so")!r})
        print(json.dumps(confinement.system_libraries()))
        """
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert f'"{folder / "liba.so"}"' in told and f'"{folder / "libb.so.1"}"' in told
    assert f'"{folder}"' not in told and "notes.txt" not in told and "c.sox" not in told


# --- seen from outside ------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """A child as ``/proc`` shows it once it is confined, and its server."""

    status: dict[str, str]
    limits: dict[str, str]
    namespaces: dict[str, str]
    score: str
    server: dict[str, str]
    server_score: str


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def limits_of(pid: int) -> dict[str, str]:
    """Soft limits by name."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
    return {line[:26].strip(): line[26:47].strip() for line in lines}


def namespaces_of(pid: int | str) -> dict[str, str]:
    return {
        name: os.readlink(f"/proc/{pid}/ns/{name}") for name in ("net", "ipc", "uts", "user", "pid", "mnt")
    }


def look_at(server: ForkServer) -> Seen:
    found: list[Seen] = []

    def look(child: ForkedChild, message: bytes) -> None:
        if message == LOADED:
            pid = child.pid
            found.append(
                Seen(
                    status_of(pid),
                    limits_of(pid),
                    namespaces_of(pid) if os.geteuid() == 0 else {},
                    Path(f"/proc/{pid}/oom_score_adj").read_text().strip(),
                    status_of(server.pid),
                    Path(f"/proc/{server.pid}/oom_score_adj").read_text().strip(),
                )
            )

    run(cast(ForkServer, Meddled(server, look)), "def f(x): return x")
    (seen,) = found
    return seen


@pytest.fixture(scope="module")
def seen(server: ForkServer) -> Seen:
    return look_at(server)


@pytest.fixture(scope="module")
def bare_seen(bare_server: ForkServer) -> Seen:
    return look_at(bare_server)


def test_no_process_can_gain_rights(seen: Seen, bare_seen: Seen) -> None:
    for one in (seen, bare_seen):
        for status in (one.status, one.server):
            assert status["NoNewPrivs"] == "1"
            assert {int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Amb")} == {0}


@needs_seccomp
def test_a_child_has_the_filter_and_its_server_has_not(seen: Seen, bare_seen: Seen) -> None:
    assert seen.status["Seccomp"] == "2"
    assert int(seen.status["Seccomp_filters"]) == int(seen.server.get("Seccomp_filters", "0")) + 1
    assert bare_seen.status["Seccomp"] == bare_seen.server["Seccomp"] == seen.server["Seccomp"]


def test_the_kernel_ends_these_processes_first(seen: Seen, bare_seen: Seen) -> None:
    for one in (seen, bare_seen):
        assert one.score == one.server_score == "1000"


def test_a_child_has_one_thread_and_every_limit(seen: Seen, bare_seen: Seen) -> None:
    for one in (seen, bare_seen):
        assert one.status["Threads"] == one.server["Threads"] == "1"
        expected = {
            "Max processes": "0",
            "Max core file size": "0",
            "Max open files": str(limits.OPEN_FILES),
            "Max stack size": str(limits.STACK),
            "Max locked memory": "0",
            "Max msgqueue size": "0",
            "Max pending signals": "0",
            "Max realtime priority": "0",
            "Max cpu time": str(int(LIMITS.seconds) + 10),
        }
        assert {name: one.limits[name] for name in expected} == expected
        data, space = int(one.limits["Max data size"]), int(one.limits["Max address space"])
        used = int(one.server["VmData"].split()[0]) * 1024, int(one.server["VmSize"].split()[0]) * 1024
        # What the server used when it was ready, and the allowance.
        assert LIMITS.memory < data <= used[0] + LIMITS.memory
        assert LIMITS.memory < space <= used[1] + LIMITS.memory + limits.SHARED_ROOM + (16 << 20)
        assert int(one.limits["Max file size"]) < 1 << 20


@needs_root
def test_namespaces_are_those_that_are_named(
    seen: Seen, bare_seen: Seen, server: ForkServer, bare_server: ForkServer
) -> None:
    ours = namespaces_of("self")
    layer = [layer for layer in server.layers if layer.startswith("namespaces")]
    named = layer[0].partition("(")[2].rstrip(")").split(", ") if layer else []
    kinds = {"network": "net"}
    expected = {kinds.get(name, name) for name in named}
    assert {name for name in ours if seen.namespaces[name] != ours[name]} == expected
    assert bare_seen.namespaces == ours
    assert not [layer for layer in bare_server.layers if layer.startswith("namespaces")]


@needs_seccomp
@needs_landlock
def test_the_analyst_is_confined_as_a_submission_is(server: ForkServer, seen: Seen) -> None:
    analyst = Analyst(server, MEMORY)
    try:
        assert analyst.analyze("x = 1", "a.py", "f").problem == ""
        pid = cast(ForkedChild, analyst._child).pid
        status, found = status_of(pid), limits_of(pid)
    finally:
        analyst.close()
    assert {status[name] for name in ("NoNewPrivs", "Seccomp")} == {"1", "2"}
    assert int(status["CapEff"], 16) == 0
    # It may live long: the judge watches the time of each source.
    assert found["Max cpu time"] == "unlimited"
    for name in ("Max processes", "Max open files", "Max core file size", "Max stack size"):
        assert found[name] == seen.limits[name]


# --- what can't be put on ---------------------------------------------------------------------

BROKEN = {
    "landlock": "landlock.Ruleset.restrict = fail",
    "filter": "seccomp.Filter.install = fail",
    "limits": "limits.Ceiling.apply = fail",
}


def broken(change: str, patch: pytest.MonkeyPatch) -> ForkServer:
    """A fork server in which something of the confinement fails."""
    start = server_module._start
    code = (
        "from grader.sandbox.inside import landlock, limits, seccomp\n"
        "def fail(*a, **k): raise OSError(1, 'broken on purpose')\n"
        f"{change}\n"
    )

    def start_broken(command: Sequence[str], *rest: Any) -> Any:
        *options, program = command
        before, found, _ = program.partition("from grader.sandbox.inside.server import main")
        assert found
        return start([*options, f"{before}exec({code!r}); {found}; main()"], *rest)

    patch.setattr(server_module, "_start", start_broken)
    return configured()


@pytest.fixture(params=BROKEN)
def unconfining(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    server = broken(BROKEN[request.param], monkeypatch)
    server.wait_ready()
    yield server
    server.close()


@needs_seccomp
@needs_landlock
def test_a_child_that_cannot_be_confined_runs_nothing_of_a_student(unconfining: ForkServer) -> None:
    logs: list[bytes] = []
    memories: list[tuple[Any, tuple[int, int]]] = []
    messages: list[bytes] = []

    def start(number: int, job: Mapping[str, Any], memory: Any) -> None:
        memories.append((memory, job["log"]))

    def hear(child: ForkedChild, message: bytes) -> None:
        memory, log = memories[-1]
        messages.append(message)
        logs.append(memory.read(0, 4096) + memory.read(*log))

    source = "print('STUDENT')\nimport os\nos.write(2, b'STUDENT')\ndef f(x): return x\n"
    meddled = cast(ForkServer, Meddled(unconfining, hear, start))
    with pytest.raises(SandboxError, match=rf"before it was confined \(exit code {NOT_CONFINED}\)"):
        run(meddled, source)
    assert b"STUDENT" not in logs[-1].partition(b"print(")[0] and CONFINED not in messages
    assert len(memories) == 1
    analyst = Analyst(unconfining, MEMORY)
    with pytest.raises(SandboxError, match="could not be confined"):
        analyst.analyze("x = 1", "a.py", "f")
    analyst.close()


def test_a_server_whose_confinement_cannot_be_prepared_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = "from grader.sandbox.inside import confinement; confinement.system_libraries = fail"
    if not landlock.abi(LIBC):
        pytest.skip("nothing is to be prepared")
    server = broken(change, monkeypatch)
    try:
        with pytest.raises(SandboxError, match=r"can't start: confinement: .*broken on purpose"):
            server.wait_ready()
    finally:
        server.close()


@pytest.mark.parametrize("place", ["module", "call"])
def test_a_submission_that_ends_with_the_same_code_is_a_crash_of_its_own(
    any_server: ForkServer, place: str
) -> None:
    leave = f"os._exit({NOT_CONFINED})"
    source = f"import os\n{leave if place == 'module' else ''}\ndef f(x): {leave}\n"
    result = run(any_server, source, [phase("public")])
    outcome = result.load if place == "module" else result.steps["public"][0]
    assert outcome is not None and outcome.state == "crashed"
    assert f"exit code {NOT_CONFINED}" in outcome.detail


def test_a_submission_that_says_that_it_is_confined_gains_nothing(any_server: ForkServer) -> None:
    source = f"import os\nos.write(4, {CONFINED!r} * 3)\nos.write(4, {CONFINED!r})\ndef f(x): return 1.5\n"
    (outcome,) = run(any_server, source).steps["public"]
    assert outcome.state == "returned"


def test_all_layers_are_left_out_of_the_bare_server(bare_server: ForkServer) -> None:
    """Or the tests that use it would test nothing that they mean to."""
    bare_server.wait_ready()
    assert bare_server.level == "none" and bare_server.layers == ("processes", "resource limits")
    assert EVERY_LAYER.split(",") == list(confinement.LAYERS)
