"""Fork servers as seen from the judge: started fresh, asked for one child at a time."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER_KINDS: Mapping[str, tuple[str, ...]] = {
    "numpy": (),
    "scipy": ("scipy.special", "scipy.linalg"),
    "torch": ("torch",),
}
KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LANG", "LC_ALL", "TZ")
THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
START_SECONDS = 120.0
CONTROL = 3


class SandboxError(Exception):
    """The fork server failed; a fault of the grader, not of a submission."""


class PackageMissingError(SandboxError):
    """A package that submissions may use is not installed on this machine."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit code (negative for a signal) and what it used."""

    code: int
    cpu_s: float


@dataclass(frozen=True)
class Running:
    """A child that runs: its process id and a descriptor that becomes readable when it ends."""

    pid: int
    pidfd: int


def _package_paths(names: Sequence[str]) -> list[str]:
    """The folders from which the named packages are imported here."""
    found: list[str] = []
    for name in names:
        spec = importlib.util.find_spec(name)
        for location in (spec.submodule_search_locations or []) if spec else []:
            folder = str(Path(location).parent)
            if folder not in found:
                found.append(folder)
    return found


def installed(package: str) -> bool:
    """Whether a package can be imported on this machine, without importing it."""
    return importlib.util.find_spec(package) is not None


class ForkServer:
    """One fork server process.

    It is exec'ed with an empty environment and knows the policy's rules and package names, nothing else of
    the exercise.

    Starting takes as long as importing numpy (or torch) does; `configure` and `fork` wait for it, so that
    other work can be done meanwhile.

    Args:
        kind: ``numpy``, ``scipy`` or ``torch``: what it imports before it forks.

    Raises:
        PackageMissingError: The kind's package is not installed.
    """

    def __init__(self, kind: str = "numpy") -> None:
        self.kind = kind
        if kind != "numpy" and not installed(kind):
            raise PackageMissingError(f"{kind} is not installed here; install mlm-grader[{kind}]")
        root = str(Path(__file__).resolve().parents[2])
        paths = _package_paths(["numpy"])
        bootstrap = (
            f"import sys; sys.path[:] = [{root!r}, *sys.path, *{paths!r}]; "
            "from grader.sandbox.inside.server import main; main()"
        )
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {k: os.environ[k] for k in KEPT_ENVIRONMENT if k in os.environ}
        environment |= dict.fromkeys(THREAD_LIMITS, "1") | {"PYTHONHASHSEED": "0"}
        with theirs:
            handle = theirs.fileno()
            # A descriptor that is inherited under the number that the server expects.
            launcher = (
                f"import os; os.dup2({handle}, {CONTROL}); {bootstrap}" if handle != CONTROL else bootstrap
            )
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-S", "-c", launcher],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                cwd="/",
                pass_fds=[handle],
                start_new_session=True,
            )
        self._root = root
        self._ready = False

    def configure(self, packages: Sequence[str], policy: Mapping[str, Any]) -> None:
        """Tell the server, once, what it needs to know.

        Args:
            packages: What submissions may import beside the standard library.
            policy: The rules of the policy check.

        Raises:
            SandboxError: The server is gone.
        """
        settings = {
            "preload": list(SERVER_KINDS[self.kind]),
            "paths": _package_paths(packages),
            "packages": list(packages),
            "policy": dict(policy),
            "grader_path": self._root,
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
        self._ready = True

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def fork(self, job: Mapping[str, Any], descriptors: Sequence[int]) -> Running:
        """Start a child. Raises SandboxError when the server is gone."""
        self.wait_ready()
        self._send(json.dumps(job).encode(), descriptors)
        answer, handles = self._receive()
        return Running(answer["pid"], handles[0])

    def reap(self) -> Ended:
        """How the child ended that was started last; waits for its end."""
        answer, _ = self._receive()
        return Ended(answer["code"], answer["cpu_s"])

    def close(self) -> None:
        """End the server and a child of it that still runs."""
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
