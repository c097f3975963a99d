"""A process started for one job, where children can't be forked: a submission, or the policy check.

It talks with the judge over the pipes that were its standard streams. It listens before it imports anything
large, so that the judge never waits to be heard.
"""

import _thread
import json
import mmap
import os
import queue
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

try:
    import resource
except ModuleNotFoundError:  # Windows
    pass

from grader.sandbox.inside.protocol import ANALYST

# Exit code of a process whose judge is gone.
ABANDONED = 74
GRACE_SECONDS = 1.0
OPEN_FILES = 64

_read = os.read
_write = os.write
_sleep = time.sleep
_exit = os._exit

Work = Callable[[dict[str, Any]], None]


def main(role: str) -> None:
    """Get ready for a role, take one job, end."""
    judge = _Pipes()
    if sys.platform == "win32":
        import msvcrt

        # A crash ends the process at once, with no window that waits for a click.
        msvcrt.SetErrorMode(msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    work: Work | None = None
    failed = ""
    try:
        work = _analyst(judge) if role == ANALYST else _submission(judge)
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    told = {"ready": not failed, "message": failed[:400], "cpu_s": time.process_time()}
    judge.say(json.dumps(told).encode())
    message = judge.hear()
    if message and work is not None:
        work(json.loads(message))
    # Nothing of the student's runs at exit.
    _exit(0)


def _analyst(judge: "_Pipes") -> Work:
    from grader.policy.rules import Rules
    from grader.sandbox.inside import analyst

    rules = Rules.from_dict(_settings(judge)["policy"])

    def work(job: dict[str, Any]) -> None:
        descriptor, shared = _open(job)
        os.close(descriptor)
        _limit(job)
        analyst.answer(shared, judge, rules)

    return work


def _submission(judge: "_Pipes") -> Work:
    # Slow, and needed whatever the settings are.
    import random

    from grader.policy.rules import Rules
    from grader.sandbox.inside import child, imports, preparation

    settings = _settings(judge)
    sys.path += [path for path in settings["paths"] if path not in sys.path]
    if failed := preparation.load(["numpy.random", *settings["preload"]]):
        raise ImportError(failed)
    preparation.use_libraries()
    recorder = preparation.make_recorder(Rules.from_dict(settings["policy"]), settings)
    guard = imports.ImportGuard(settings["packages"], settings["other_kinds"], files=True)
    sys.meta_path.insert(0, guard)
    preparation.hide_grader(settings["grader_path"])
    preparation.seed()
    random.seed(0)

    def work(job: dict[str, Any]) -> None:
        descriptor, shared = _open(job)
        child.Child(job, shared, descriptor, judge, lambda: _limit(job), guard, recorder).run()

    return work


def _settings(judge: "_Pipes") -> dict[str, Any]:
    message = judge.hear()
    if not message:
        _exit(0)
    settings: dict[str, Any] = json.loads(message)
    return settings


def _open(job: dict[str, Any]) -> tuple[int, mmap.mmap]:
    """The memory shared with the judge: a descriptor of the file, and the file mapped."""
    descriptor = os.open(job["path"], os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        # Where an open file can lose its name, nothing stays behind even if the judge is killed.
        os.unlink(job["path"])
    except OSError:
        pass
    return descriptor, mmap.mmap(descriptor, job["size"])


def _limit(job: dict[str, Any]) -> None:
    """What the system itself can limit here; the judge watches the rest."""
    if sys.platform == "win32":
        return
    limits = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES, 0),
        # Only the log is written to as a file, and it lies in the shared memory.
        (resource.RLIMIT_FSIZE, job["size"], 0),
    ]
    if job["seconds"] is not None:
        # The judge ends a process that uses up its time; this ends one whose judge is gone.
        limits.append((resource.RLIMIT_CPU, int(job["seconds"] + time.process_time()) + 10, 10))
    for which, value, room in limits:
        most = value + room
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        try:
            resource.setrlimit(which, (min(value, most), most))
        except (OSError, ValueError):
            pass  # one limit less, at a level that promises none


class _Pipes:
    """The judge at the other end of two pipes, where each message is a line."""

    def __init__(self) -> None:
        self._from, self._to = os.dup(0), os.dup(1)
        # What is printed, and what asks for input, meets nothing.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        self._heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        _thread.start_new_thread(self._listen, ())

    def say(self, message: bytes) -> None:
        _write(self._to, message + b"\n")

    def hear(self) -> bytes:
        return self._heard.get()

    def _listen(self) -> None:
        rest = b""
        while True:
            try:
                data = _read(self._from, 1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._heard.put(line)
        self._heard.put(b"")
        # One that waits to hear ends by itself; one that works on has lost its judge. Code that never lets
        # other threads run is ended by its limit on processor time alone.
        _sleep(GRACE_SECONDS)
        _exit(ABANDONED)
