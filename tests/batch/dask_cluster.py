"""A Dask cluster of separate processes on the loopback, and a network that can be cut."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from processes import all_end, below

ROOT = Path(__file__).resolve().parents[2]
# A process that was asked to start is there long before.
SECONDS = 60.0
# Tests that are killed leave no cluster behind: their end of the pipe is closed then.
END_WITH_TESTS = """\
import os, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(true: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


class Cluster:
    """Processes that are all ended by `close`.

    Args:
        folder: For logs and Dask's own files.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self, settings: Mapping[str, str] | None = None, before: str = "") -> None:
        """Start one at the cluster's address, and wait until it listens.

        Args:
            settings: More of its environment.
            before: Python that it runs first.
        """
        arguments = ["--host", "127.0.0.1", "--port", str(self.port), "--dashboard-address", "127.0.0.1:0"]
        self.scheduler = self._start("scheduler", arguments, settings, before)

        def listens() -> bool:
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(listens, "the scheduler")

    def start_worker(
        self,
        *,
        threads: int = 1,
        settings: Mapping[str, str] | None = None,
        before: str = "",
        address: str = "",
    ) -> subprocess.Popen[bytes]:
        """Start one; it joins when it is ready."""
        arguments = [address or self.address, "--host", "127.0.0.1", "--nthreads", str(threads), "--no-nanny"]
        arguments += ["--dashboard-address", "127.0.0.1:0", "--local-directory", str(self.folder)]
        worker = self._start("worker", arguments, settings, before)
        self.workers.append(worker)
        return worker

    def _start(
        self, what: str, arguments: list[str], settings: Mapping[str, str] | None, before: str
    ) -> subprocess.Popen[bytes]:
        code = f"{END_WITH_TESTS}{before}\nfrom distributed.cli.dask_{what} import main\nmain()\n"
        # No folder of the tests: nothing that is there is on another host.
        path = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        with (self.folder / f"{len(self._all)}_{what}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **(settings or {})},
                start_new_session=True,
            )
        self._all.append(process)
        return process

    def log(self) -> str:
        return "\n".join(path.read_text("utf-8", "replace") for path in sorted(self.folder.glob("*.log")))

    def close(self) -> list[int]:
        """End all; what outlived the end of its Dask worker."""
        started = [pid for process in self._all if process.poll() is None for pid in below(process.pid)]
        for process in self._all:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
        return [] if all_end(started) else started


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2, threads: int = 1) -> Iterator[Cluster]:
    """A scheduler with some workers."""
    one = Cluster(folder)
    try:
        one.start_scheduler()
        for _ in range(workers):
            one.start_worker(threads=threads)
        yield one
    finally:
        assert one.close() == [], "processes outlived their Dask worker"


class Network:
    """A TCP proxy: a network that can be frozen and cut.

    Args:
        port: Where it leads to on the loopback.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._accept), threading.Thread(target=self._carry)]
        for thread in self._threads:
            thread.start()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"

    def freeze(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self._open.clear()

    def thaw(self) -> None:
        self._open.set()

    def cut(self) -> None:
        """All connections are closed; new ones are possible."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            for pair in pairs:
                for one in pair:
                    one.close()

    @property
    def connections(self) -> int:
        with self._lock:
            return len(self._pairs)

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            if not self._open.is_set():
                # A frozen network takes the connection and does nothing with it.
                far = socket.socket()
            else:
                far = socket.create_connection(("127.0.0.1", self._target))
            with self._lock:
                self._pairs.append((near, far))

    def _carry(self) -> None:
        while not self._ended.is_set():
            if not self._open.is_set():
                time.sleep(0.01)
                continue
            with self._lock:
                self._carry_once()

    def _carry_once(self) -> None:
        with selectors.DefaultSelector() as ready:
            for pair in self._pairs:
                for one, other in (pair, pair[::-1]):
                    ready.register(one, selectors.EVENT_READ, (other, pair))
            for key, _ in ready.select(0.005):
                other, pair = key.data
                if pair not in self._pairs:
                    continue
                try:
                    data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                    if data:
                        other.sendall(data)
                        continue
                except OSError:
                    pass
                self._pairs.remove(pair)
                for one in pair:
                    one.close()
