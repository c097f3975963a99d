"""Children that are started one by one, for platforms where they can't be forked and confined.

This keeps the judge from crashing and from waiting without end, and a submission's memory in bounds. It keeps
nothing from a submission that means harm: for self-checks only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from grader.sandbox.children import Ended, PackageMissingError, SandboxError
from grader.sandbox.clock import Reading
from grader.sandbox.environment import smallest
from grader.sandbox.inside.confinement import NONE, Level
from grader.sandbox.inside.protocol import ANALYST, SUBMISSION
from grader.sandbox.levels import WATCHED
from grader.sandbox.packages import KINDS, SERVER_KINDS, installed, locate, share
from grader.sandbox.usage import Usage, require_psutil

START_SECONDS = 120.0
# What a child says is short; longer messages, and more of them that wait, come from student code.
LONGEST_MESSAGE = 4096
MOST_MESSAGES = 64
# How long what a dead child said may still be on its way.
DRAIN_SECONDS = 1.0
DELETE_TRIES = 40
# Windows' exit codes of processes that crashed, as the signals that they are elsewhere.
CRASHES = {
    0xC0000005: signal.SIGSEGV,
    0xC00000FD: signal.SIGSEGV,  # the stack overflowed
    0xC000001D: signal.SIGILL,
    0xC0000094: signal.SIGFPE,
    0xC0000409: signal.SIGABRT,
}


class FileMemory:
    """A file of fixed size that a child maps and the judge only reads and writes.

    A child can shorten it: what is missing then counts as zeros. A mapping here would kill the judge.

    Args:
        size: In bytes; untouched pages cost nothing where files can have holes.

    Raises:
        SandboxError: There is no room for temporary files.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        try:
            # Readable by this user alone.
            descriptor, path = tempfile.mkstemp(prefix="grader-memory-")
            self.path = Path(path)
            self._file = os.fdopen(descriptor, "r+b", buffering=0)
            self._file.truncate(size)
        except OSError as error:
            raise SandboxError(f"no temporary file can be made: {error}") from None

    def read(self, at: int, length: int) -> bytes:
        """A copy of a part, read once: what is checked in it is what is used."""
        parts = []
        missing = length
        self._file.seek(at)
        while missing > 0 and (part := self._file.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts) + bytes(missing)

    def write(self, at: int, data: bytes) -> None:
        """Fill a part. Raises SandboxError when the disk is full."""
        try:
            self._file.seek(at)
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise SandboxError(f"a temporary file can't be written: {error}") from None

    def close(self) -> None:
        """Close and delete it; the child has ended, or holds it open without a name."""
        self._file.close()
        for _ in range(DELETE_TRIES):
            try:
                self.path.unlink(missing_ok=True)
            except PermissionError:
                # Windows closes the files of an ended process a little later.
                time.sleep(0.05)
            else:
                return


class SpawnServer:
    """Starts a process for each child, one ahead of need: it imports while another one works.

    Each process takes one job and ends. It is started with an almost empty environment and knows the policy's
    rules and package names, nothing else of the exercise.

    Args:
        kind: ``numpy``, ``scipy`` or ``torch``: what its children have loaded.

    Raises:
        PackageMissingError: The kind's package is not installed, or psutil.
        SandboxError: No process can be started.
    """

    def __init__(self, kind: str = "numpy") -> None:
        self.kind = kind
        self.level: Level = NONE
        self.layers: tuple[str, ...] = WATCHED
        require_psutil()
        if kind != "numpy" and not installed(kind):
            raise PackageMissingError(f"{kind} is not installed here; install mlm-grader[{kind}]")
        self._root = str(Path(__file__).resolve().parents[2])
        self._paths = locate(["numpy"]).paths
        self._settings = b""
        # What processes say that end before they can say it to us.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._spares: dict[str, SpawnedChild] = {}
        self._started: list[SpawnedChild] = []
        # The policy check is asked of the lightest server.
        for role in (SUBMISSION, ANALYST) if kind == KINDS[0] else (SUBMISSION,):
            self._spares[role] = self._spawn(role)

    def configure(self, packages: Sequence[str], policy: Mapping[str, Any]) -> None:
        """Tell the server, once, what submissions may import and the rules of the policy check."""
        shared = share(self.kind, packages)
        settings = {
            "preload": [name for kind in shared.loaded for name in SERVER_KINDS[kind]],
            "paths": locate(shared.here).paths,
            "packages": list(packages),
            "other_kinds": shared.elsewhere,
            "policy": dict(policy),
            "grader_path": self._root,
        }
        self._settings = json.dumps(settings).encode()
        for child in self._spares.values():
            child.tell(self._settings)

    def wait_ready(self) -> None:
        """Wait until a child for a submission can begin. Raises SandboxError when none can."""
        self._ready(SUBMISSION)

    def memory(self, size: int) -> FileMemory:
        """Memory to share with a child."""
        return FileMemory(size)

    def start(self, job: Mapping[str, Any], memory: FileMemory) -> SpawnedChild:
        """Start a child.

        Args:
            job: What it is told: ``role``, ``memory`` and ``seconds`` (its limits), and what its role needs.
            memory: What it shares with the judge.

        Raises:
            SandboxError: No process gets ready.
        """
        role = job["role"]
        child = self._ready(role)
        del self._spares[role]
        self._started = [c for c in self._started if not c.closed]
        self._started.append(child)
        child.begin({**job, "size": memory.size, "path": str(memory.path)})
        if role == SUBMISSION:
            self._spares[role] = self._spawn(role)
        return child

    def close(self) -> None:
        """End all processes."""
        for child in (*self._spares.values(), *self._started):
            child.close()
        self._spares.clear()
        self._started.clear()
        self._errors.close()

    def _ready(self, role: str) -> SpawnedChild:
        """A spare that waits for its job; one that has ended meanwhile is replaced once."""
        for _ in range(2):
            if role not in self._spares:
                self._spares[role] = self._spawn(role)
            child = self._spares[role]
            problem = child.wait_ready()
            if problem is None:
                return child
            del self._spares[role]
            child.close()
            if problem:
                break
        raise SandboxError(f"no {self.kind} process gets ready: {problem or self._said()}")

    def _said(self) -> str:
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()
        return said[-400:] or "it ended"

    def _spawn(self, role: str) -> SpawnedChild:
        bootstrap = (
            f"import sys; sys.path[:] = [{self._root!a}, *sys.path, *{self._paths!a}]; "
            f"from grader.sandbox.inside.spawned import main; main({role!a})"
        )
        child = SpawnedChild(bootstrap, self._errors)
        if self._settings:
            child.tell(self._settings)
        return child


class SpawnedChild:
    """A process that was started for one job: what the judge hears from it, tells it, and sees of it.

    Two threads wait for what it says and for its end: not every platform can wait for both at once.

    Args:
        bootstrap: The Python text that it runs.
        errors: Where its standard error goes until its job begins.

    Raises:
        SandboxError: It can't be started.
    """

    def __init__(self, bootstrap: str, errors: IO[bytes]) -> None:
        try:
            self._process = subprocess.Popen(
                [_python(), "-s", "-P", "-S", "-c", bootstrap],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=smallest(),
                cwd=Path(sys.executable).anchor or None,
                # An interrupt from the terminal is for the judge alone.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise SandboxError(f"no process can be started: {error}") from None
        self.pid = self._process.pid
        self.closed = False
        self._usage = Usage(self.pid)
        self._most_memory = 0
        self._out_of_memory = False
        self._is_ready = False
        self._changed = threading.Condition()
        self._messages: deque[bytes] = deque()
        self._end: tuple[int, float | None] | None = None
        self._threads = [
            threading.Thread(target=run, name=f"child {self.pid}", daemon=True)
            for run in (self._listen, self._follow)
        ]
        for thread in self._threads:
            thread.start()

    # --- before its job --------------------------------------------------------------------

    def wait_ready(self) -> str | None:
        """Wait until it can take its job: None when it can, else why not, or an empty text if it ended."""
        if not self._is_ready:
            message, ended = self._next(START_SECONDS)
            if not message:
                return "" if ended else f"it was not ready after {START_SECONDS:g} s"
            told = json.loads(message)
            if not told["ready"]:
                return str(told["message"])
            self._most_memory = self._usage.begin(told["cpu_s"])
            self._is_ready = True
        return None if self._end is None else ""

    def begin(self, job: Mapping[str, Any]) -> None:
        """Give it its job."""
        # What both share counts as the child's as soon as it is touched.
        self._most_memory = self._usage.begin(self._usage.cpu_before) + job["memory"] + job["size"]
        self.tell(json.dumps(job).encode())

    # --- what the judge does ---------------------------------------------------------------

    def wait(self, seconds: float) -> tuple[bytes, bool]:
        """What the child says next (nothing if it says nothing), and whether it has ended.

        A child with more memory than it may have is ended here.
        """
        message, ended = self._next(seconds)
        if not ended:
            self._usage.read()
            if not self._out_of_memory and self._usage.resident() > self._most_memory:
                self._out_of_memory = True
                self.kill()
        return message, ended

    def tell(self, message: bytes) -> None:
        """Say something to the child; one that has ended doesn't hear it."""
        assert self._process.stdin is not None
        rest = memoryview(message + b"\n")
        with contextlib.suppress(OSError, ValueError):
            while rest:
                rest = rest[self._process.stdin.write(rest) :]

    def hang_up(self) -> None:
        """Tell the child that nothing more comes."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """End it now, with the processes that it started as far as they can be found."""
        if self._end is None:
            self._usage.kill()
            if self._process.returncode is None:
                self._kill_session()

    def read_clock(self) -> Reading:
        """The time that it has used."""
        return self._usage.read() if self._end is None else Reading(0.0, 0.0)

    def reap(self) -> Ended:
        """How it ended; waits for its end."""
        with self._changed:
            self._changed.wait_for(lambda: self._end is not None)
        assert self._end is not None
        code, cpu = self._end
        cpu = self._usage.last_cpu if cpu is None else cpu - self._usage.cpu_before
        return Ended(code, max(0.0, cpu), self._out_of_memory)

    def close(self) -> None:
        """End it if it lives, and give back what it holds here."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        self.hang_up()
        self.kill()
        self.reap()
        for thread in self._threads:
            thread.join(DRAIN_SECONDS)
        if not self._threads[0].is_alive():
            assert self._process.stdout is not None
            self._process.stdout.close()

    # --- the threads -----------------------------------------------------------------------

    def _next(self, seconds: float) -> tuple[bytes, bool]:
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._end is not None, seconds)
            message = b""
            if self._messages:
                message = self._messages.popleft()
                self._changed.notify_all()
            return message, self._end is not None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        rest = b""
        while True:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                return
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[:LONGEST_MESSAGE]
            for line in filter(None, lines):
                with self._changed:
                    # A child that talks without end waits; the judge's memory is not its own.
                    self._changed.wait_for(lambda: len(self._messages) < MOST_MESSAGES or self.closed)
                    if self.closed:
                        return
                    self._messages.append(line[:LONGEST_MESSAGE])
                    self._changed.notify_all()

    def _follow(self) -> None:
        code, cpu = self._await_end()
        # What it started and left behind; a group that is empty now is nobody's.
        self._kill_session()
        self._threads[0].join(DRAIN_SECONDS)
        with self._changed:
            self._end = code, cpu
            self._changed.notify_all()

    def _await_end(self) -> tuple[int, float | None]:
        """Exit code, negative for a signal, and processor seconds where the system tells them."""
        if sys.platform == "win32":
            code = self._process.wait()
            return (-CRASHES[code] if code in CRASHES else code), None
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_utime + usage.ru_stime

    def _kill_session(self) -> None:
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


def _python() -> str:
    # In a virtual environment on Windows the executable only starts another one, and nothing of that would be
    # seen; everything that is imported is found without the environment.
    if sys.platform == "win32":
        return str(getattr(sys, "_base_executable", sys.executable))
    return sys.executable
