"""Checking and grading where submissions can't be confined: the same verdicts, and it is said what it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handed_in import SUBMISSIONS
from support.commands import ROOT, grader
from support.packs import mlm_forward

from grader.batch.asking import asked_of
from grader.batch.runner import Runner
from grader.intake.collect import collect
from grader.result import Result
from grader.sandbox.levels import WATCHED, WITHOUT

# Its tests together take long.
pytestmark = pytest.mark.slow

WORKED = ROOT / "submissions" / "mlm_forward"
LIGHT = (
    *("right_cached", "right_callable_instance", "right_dataclass", "right_einsum", "right_loops"),
    *("wrong_causal_mask", "wrong_cache_ignores_embeddings", "wrong_embeddings_overwritten"),
    *("wrong_empty_selection_crash", "wrong_persistent_buffer", "wrong_returns_list", "wrong_tanh_overflow"),
    *("banned_eval_text", "banned_importlib", "banned_getattr_computed"),
)
HEAVY = ("right_torch", "right_torch_graph", "banned_scipy_softmax", "banned_vmap", "banned_functional_gelu")


def told(result: Result) -> dict[str, Any]:
    """The record without what hangs on the machine."""
    return {k: v for k, v in result.to_dict().items() if k not in ("timing", "isolation")}


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runner, Runner]]:
    """Two runners for one exercise: with forked children, and with spawned ones."""
    with pytest.MonkeyPatch.context() as patch:
        pack = mlm_forward(tmp_path_factory)
        forking = Runner(pack)
        patch.setenv(WITHOUT, "fork")
        spawning = Runner(pack)
    with forking, spawning:
        yield forking, spawning


def both(runners: tuple[Runner, Runner], path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    forking, spawning = runners
    (submission,) = collect([path], asked_of(forking.pack)).submissions
    forked = forking.grade(submission)
    # It is asked for when a kind of server is needed for the first time.
    monkeypatch.setenv(WITHOUT, "fork")
    spawned = spawning.grade(submission)
    assert forked.isolation.level != "none"
    assert (spawned.isolation.level, spawned.isolation.layers) == ("none", WATCHED)
    return [forked, spawned]


@pytest.mark.parametrize("name", LIGHT)
def test_a_worked_submission_gets_the_same_record(
    runners: tuple[Runner, Runner], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked, spawned = both(runners, WORKED / f"{name}.py", monkeypatch)
    assert told(spawned) == told(forked)
    assert forked.status == ("passed" if name.startswith("right") else "failed")


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY)
def test_a_worked_submission_with_more_packages_gets_the_same_record(
    runners: tuple[Runner, Runner], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked, spawned = both(runners, WORKED / f"{name}.py", monkeypatch)
    assert told(spawned) == told(forked)


# --- the commands ------------------------------------------------------------------------------


def test_a_whole_class_gets_the_same_marks(home: Path, tmp_path: Path) -> None:
    # A memory bomb ends the process here and is refused there, so that what is said of it differs.
    rows = []
    for environment in ({}, {WITHOUT: "fork"}):
        out = tmp_path / f"out{len(rows)}"
        done = grader(
            *("grade", "class", "--out", out, "--workers", "2", "--allow-weak-isolation", "--json"),
            cwd=home,
            **environment,
        )
        assert done.status == 0, done.err
        lines = (out / "results.jsonl").read_text("utf-8").splitlines()
        rows.append({r["submission"]["id"]: r for r in map(json.loads, lines)})
    forked, spawned = rows
    assert set(forked) == set(spawned) == set(SUBMISSIONS)
    for name, record in forked.items():
        for which in (record, spawned[name]):
            which.pop("timing")
            which.pop("isolation")
        if name == "memory":
            assert (spawned[name]["status"], spawned[name]["score"]) == (record["status"], record["score"])
            # It is watched from time to time: which of its limits it meets first depends on the machine.
            assert {c["verdict"] for c in spawned[name]["cases"]} & {"out_of_memory", "timed_out"}
        else:
            assert spawned[name] == record, name


def test_check_says_what_it_is(home: Path) -> None:
    done = grader("check", "class/right.py", cwd=home, **{WITHOUT: "fork"})
    assert done.status == 0
    assert "isolation: none (processes, time and memory watched)" in " ".join(done.out.split())


def test_grade_stops_unless_told_otherwise(home: Path, tmp_path: Path) -> None:
    command = ["grade", "class/right.py", "--out", str(tmp_path / "out")]
    done = grader(*command, cwd=home, **{WITHOUT: "fork"})
    assert done.status == 2 and "--allow-weak-isolation" in done.err
    said = " ".join(done.err.split())
    assert "the isolation level is none, full is asked for" in said
    assert f"the fork server is switched off by {WITHOUT}" in said
    assert grader(*command, "--allow-weak-isolation", cwd=home, **{WITHOUT: "fork"}).status == 0


def test_psutil_is_asked_for_where_it_is_missing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['psutil'] = None\n")
    path = f"{tmp_path}:{ROOT}"
    done = grader("check", "class/right.py", cwd=home, PYTHONPATH=path, **{WITHOUT: "fork"})
    assert done.status == 3 and "pip install psutil" in " ".join((done.out + done.err).split())
    # Where children are forked nothing needs it.
    assert grader("check", "class/right.py", cwd=home, PYTHONPATH=path).status == 0


def test_folders_with_blanks_and_other_letters(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "Größe und Maß 数"
    place.mkdir()
    shutil.copytree(ROOT / "grader", place / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(home / "class" / "right.py", place / "meine Lösung.py")
    (place / "tmp").mkdir()
    done = grader(
        *("check", place / "meine Lösung.py"),
        cwd=home,
        PYTHONPATH=str(place),
        TMPDIR=str(place / "tmp"),
        LC_ALL="C.UTF-8",
        **{WITHOUT: "fork"},
    )
    assert done.status == 0, done.out + done.err
    assert list((place / "tmp").iterdir()) == []


# --- other systems -----------------------------------------------------------------------------

# As far as Linux can show it: what they lack is gone before any module of the grader is imported. The modules
# of others have been imported before, as they choose at import what they can do on this system.
PRELUDE = """
import sys
import asyncio, concurrent.futures, ctypes, logging, multiprocessing, platform, shutil, sqlite3, subprocess
import tempfile, uuid, webbrowser
import jinja2, numpy, numpy.random, platformdirs, psutil, pydantic, safetensors.numpy, yaml
import rich.console, rich.progress, rich.table
import os, select, signal, socket, time
sys.platform = {platform!r}
for module in {modules!r}:
    sys.modules[module] = None
if sys.platform == "win32":
    # Windows' own, which locks files there; here nobody else is at work.
    sys.modules["msvcrt"] = type(sys)("msvcrt")
    sys.modules["msvcrt"].LK_NBLCK, sys.modules["msvcrt"].locking = 2, lambda file, mode, count: None
for owner, names in {{
    os: {os!r}, signal: {signal!r}, socket: ["AF_UNIX", "SOCK_SEQPACKET", "send_fds", "recv_fds"],
    select: ["epoll", "poll"], time: {time!r},
}}.items():
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
sys.argv[0] = "grader"
from grader.cli import main
main()
"""
NOT_ON_MACOS = {
    "modules": ["spwd"],
    "os": [
        *("memfd_create", "fork", "forkpty", "pidfd_open", "eventfd"),
        *("sched_getaffinity", "sched_setaffinity"),
    ],
    "signal": ["pidfd_send_signal"],
    "time": ["pthread_getcpuclockid"],
}
NOT_ON_WINDOWS = {
    "modules": ["fcntl", "resource", "pwd", "grp", "termios", "pty", "spwd"],
    "os": [
        *NOT_ON_MACOS["os"],
        *("wait4", "waitid", "wait3", "killpg", "setsid", "getsid", "getuid", "geteuid", "getgid", "nice"),
        *("O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "pread", "pwrite", "mkfifo", "uname"),
    ],
    "signal": ["pidfd_send_signal", "SIGXCPU", "SIGALRM", "setitimer", "pthread_sigmask", "sigwait"],
    "time": ["clock_gettime", "clock_gettime_ns", "pthread_getcpuclockid", "tzset"],
}


@pytest.mark.parametrize(
    ("platform", "missing"), [("darwin", NOT_ON_MACOS), ("win32", NOT_ON_WINDOWS)], ids=["macos", "windows"]
)
def test_check_and_grade_where_the_system_lacks_what_linux_has(
    home: Path, tmp_path: Path, platform: str, missing: dict[str, list[str]]
) -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        # A child of ours is a process of this system and must not be told otherwise.
        script = textwrap.dedent(PRELUDE).format(platform=platform, **missing)
        return subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=home,
            env=os.environ | {"PYTHONPATH": str(ROOT), WITHOUT: "fork", "GRADER_DEBUG": "1"},
            capture_output=True,
            text=True,
        )

    names = ("right", "wrong", "endless", "memory", "segfault", "banned")
    paths = [f"class/{name}.py" for name in names]
    done = command("check", *paths, "--json")
    assert done.returncode == 1, done.stderr
    results = json.loads(done.stdout)
    by_name = {r["submission"]["id"]: r for r in results}
    assert {n: by_name[n]["status"] for n in names} == dict.fromkeys(names, "failed") | {"right": "passed"}
    for result in results:
        assert result["isolation"] == {"level": "none", "layers": ["processes", "time and memory watched"]}
    verdicts = {n: {c["verdict"] for c in by_name[n]["cases"]} for n in names}
    assert "timed_out" in verdicts["endless"]
    assert verdicts["memory"] & {"out_of_memory", "timed_out"}, "whichever the watching judge sees first"
    assert "crashed" in verdicts["segfault"]

    refused = command("grade", *paths[:2], "--out", str(tmp_path / "out"))
    name = "macOS" if platform == "darwin" else "Windows"
    assert refused.returncode == 2 and f"this is {name}" in " ".join(refused.stderr.split())
    graded = command(
        *("grade", *paths[:2], "--out", str(tmp_path / "out"), "--allow-weak-isolation", "--workers", "2")
    )
    assert graded.returncode == 0, graded.stderr
    assert (tmp_path / "out" / "gradebook.csv").read_text("utf-8-sig").count(",none") == 2
