"""Fork servers as seen from the judge: started fresh, asked for children."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.sandbox.children import Ended, PackageMissingError, SandboxError
from grader.sandbox.clock import ProcessClock, Reading
from grader.sandbox.environment import smallest
from grader.sandbox.inside.confinement import NONE, Level
from grader.sandbox.inside.protocol import LONGEST
from grader.sandbox.levels import left_out
from grader.sandbox.memory import SharedMemory
from grader.sandbox.packages import SERVER_KINDS, installed, locate, share

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

START_SECONDS = 120.0
CONTROL = 3


@cache
def _lasting_thread() -> ThreadPoolExecutor:
    # The kernel ends a server when the thread that started it ends; threads of pools do that.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "fork server starter")


def _start(command: Sequence[str], environment: Mapping[str, str], handle: int) -> subprocess.Popen[bytes]:
    def popen() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            pass_fds=[handle],
            start_new_session=True,
        )

    if threading.current_thread() is threading.main_thread():
        return popen()
    return _lasting_thread().submit(popen).result()


class ForkServer:
    """One fork server process.

    It is exec'ed with an empty environment and knows the policy's rules and package names, nothing else of
    the exercise.

    Starting takes as long as importing numpy (or torch) does; `configure` and `start` wait for it, so that
    other work can be done meanwhile.

    Args:
        kind: ``numpy``, ``scipy`` or ``torch``: what it imports before it forks.

    Raises:
        PackageMissingError: The kind's package is not installed.
    """

    def __init__(self, kind: str = "numpy") -> None:
        self.kind = kind
        self.layers: tuple[str, ...] = ()
        self.level: Level = NONE
        if kind != "numpy" and not installed(kind):
            raise PackageMissingError(f"{kind} is not installed here; install mlm-grader[{kind}]")
        root = str(Path(__file__).resolve().parents[2])
        paths = locate(["numpy"]).paths
        bootstrap = (
            f"import sys; sys.path[:] = [{root!r}, *sys.path, *{paths!r}]; "
            "from grader.sandbox.inside.server import main; main()"
        )
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            handle = theirs.fileno()
            # A descriptor that is inherited under the number that the server expects.
            launcher = (
                f"import os; os.dup2({handle}, {CONTROL}); {bootstrap}" if handle != CONTROL else bootstrap
            )
            self._process = _start([sys.executable, "-s", "-P", "-S", "-c", launcher], smallest(), handle)
        self._root = root
        self._ready = False
        self._unclaimed = 0
        self._ended: dict[int, Ended] = {}

    def configure(self, packages: Sequence[str], policy: Mapping[str, Any]) -> None:
        """Tell the server, once, what it needs to know.

        Args:
            packages: What submissions may import beside the standard library.
            policy: The rules of the policy check.

        Raises:
            SandboxError: The server is gone.
        """
        shared = share(self.kind, packages)
        found = locate(shared.here)
        settings = {
            "preload": [name for kind in shared.loaded for name in SERVER_KINDS[kind]],
            "paths": found.paths,
            "readable": found.readable,
            "packages": list(packages),
            "other_kinds": shared.elsewhere,
            "policy": dict(policy),
            "grader_path": self._root,
            "without": left_out(),
        }
        self._send(json.dumps(settings).encode(), [])

    def wait_ready(self) -> None:
        """Wait until the server can fork. Raises SandboxError when it can't."""
        if self._ready:
            return
        self._control.settimeout(START_SECONDS)
        answer = self._receive()[0]
        self._control.settimeout(None)
        if not answer["ready"]:
            raise SandboxError(f"the {self.kind} fork server can't start: {answer['message']}")
        if answer["threads"] != 1:
            raise SandboxError(f"the {self.kind} fork server has {answer['threads']} threads, expected 1")
        self.level, self.layers = answer["level"], tuple(answer["layers"])
        self._ready = True

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def memory(self, size: int) -> SharedMemory:
        """Memory to share with a child."""
        return SharedMemory(size)

    def start(self, job: Mapping[str, Any], memory: SharedMemory) -> ForkedChild:
        """Start a child.

        Args:
            job: What it is told: ``role``, ``memory`` and ``seconds`` (its limits), and what its role needs.
            memory: What it shares with the judge.

        Raises:
            SandboxError: The server is gone.
        """
        self.wait_ready()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asked = False
        try:
            with theirs:
                message = json.dumps({**job, "size": memory.size}).encode()
                self._send(message, [memory.descriptor, theirs.fileno()])
            asked = True
            while True:
                answer, handles = self._receive()
                if "pid" in answer and not self._unclaimed:
                    return ForkedChild(self, answer["pid"], handles[0], ours)
                self._note(answer, handles)
        except BaseException:
            # After an interrupt the answer is still to come.
            self._unclaimed += asked
            ours.close()
            raise

    def reap(self, pid: int) -> Ended:
        """How a child ended; waits for its end."""
        while pid not in self._ended:
            self._note(*self._receive())
        return self._ended.pop(pid)

    def _note(self, answer: Mapping[str, Any], handles: Sequence[int]) -> None:
        """Take what comes while something else is awaited: that a child has ended, or has begun too late."""
        if "pid" in answer:
            # An interrupt came while it was asked for, so nobody is there for it.
            self._unclaimed -= 1
            for handle in handles:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                os.close(handle)
        else:
            self._ended[answer["ended"]] = Ended(answer["code"], answer["cpu_s"])

    def close(self) -> None:
        """End the server and its children that still run."""
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def _send(self, message: bytes, descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [message], list(descriptors))
        except OSError as error:
            raise self._gone(error) from None

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        try:
            message, handles, _, _ = socket.recv_fds(self._control, 1 << 16, 4)
        except OSError as error:
            raise self._gone(error) from None
        if not message:
            raise self._gone(None)
        return json.loads(message), handles

    def _gone(self, error: OSError | None) -> SandboxError:
        said = ""
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
            self._process.kill()
            said = (self._process.communicate(timeout=5)[1] or b"").decode("utf-8", "replace").strip()[-400:]
        return SandboxError(f"the {self.kind} fork server is gone ({error or 'it ended'}) {said}".strip())


class ForkedChild:
    """A child that was forked: what the judge hears from it, tells it, and sees of it from outside."""

    def __init__(self, server: ForkServer, pid: int, pidfd: int, judge: socket.socket) -> None:
        self.pid = pid
        self._server = server
        self._pidfd = pidfd
        self._socket = judge
        self._clock = ProcessClock(pid)
        self._poll = select.poll()
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(judge, select.POLLIN)
        self._silent = False
        self._reaped: Ended | None = None

    def wait(self, seconds: float) -> tuple[bytes, bool]:
        """What the child says next (nothing if it says nothing), and whether it has ended."""
        events = dict(self._poll.poll(seconds * 1000))
        message = b""
        if not self._silent and self._socket.fileno() in events:
            with contextlib.suppress(OSError):
                message = self._socket.recv(64)
            if not message:
                self._silent = True
                self._poll.unregister(self._socket)
        return message, self._pidfd in events

    def tell(self, message: bytes) -> None:
        """Say something to the child; one that has ended doesn't hear it."""
        assert len(message) <= LONGEST
        with contextlib.suppress(OSError):
            self._socket.send(message, socket.MSG_DONTWAIT)

    def hang_up(self) -> None:
        """Tell the child that nothing more comes."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def read_clock(self) -> Reading:
        """The time that it has used."""
        return self._clock.read()

    def reap(self) -> Ended:
        """How it ended; waits for its end. Raises SandboxError when the server is gone."""
        if self._reaped is None:
            self._reaped = self._server.reap(self.pid)
        return self._reaped

    def close(self) -> None:
        """End it if it lives, and give back what it holds here."""
        try:
            if self._reaped is None:
                self.kill()
                self.reap()
        finally:
            self._socket.close()
            os.close(self._pidfd)
