"""The fork server: imports what submissions need once, then forks a child for each job.

It is exec'ed fresh, knows nothing but the policy's rules and the names of packages, and ends when the
judge's end of the socket closes.
"""

import ctypes
import gc
import importlib
import json
import mmap
import os
import random
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from grader.policy.analysis import analyze
from grader.policy.rules import Rules
from grader.sandbox.inside import analyst, child, conveniences, imports, preparation
from grader.sandbox.inside.confinement import PARTIAL, Confinement, load_libc
from grader.sandbox.inside.limits import Ceiling, memory_in_use
from grader.sandbox.inside.protocol import ANALYST, LONGEST, NOT_CONFINED

if TYPE_CHECKING:
    from grader.sandbox.inside.recorder import Recorder

CONTROL = 3
PR_SET_PDEATHSIG = 1
# A child's descriptors: the shared memory and the socket to the judge.
MEMORY, JUDGE = 3, 4
FIRST_FREE = 5

WARM = (
    *("abc", "collections", "copy", "dataclasses", "enum", "functools", "itertools", "math", "operator"),
    *("random", "re", "string", "typing", "warnings"),
    *("numpy", "numpy.fft", "numpy.linalg", "numpy.ma", "numpy.random"),
)
# Where no file can be opened later, the usual modules are loaded before.
WARM_WITHOUT_FILES = (
    *(
        "argparse",
        "array",
        "base64",
        "bisect",
        "builtins",
        "cmath",
        "codecs",
        "collections.abc",
        "contextlib",
    ),
    *(
        "contextvars",
        "csv",
        "ctypes",
        "datetime",
        "decimal",
        "difflib",
        "fractions",
        "gc",
        "hashlib",
        "heapq",
    ),
    *(
        "html",
        "inspect",
        "io",
        "json",
        "keyword",
        "linecache",
        "locale",
        "logging",
        "numbers",
        "os",
        "pathlib",
    ),
    *("pickle", "platform", "pprint", "queue", "reprlib", "secrets", "shutil", "signal", "statistics"),
    *("struct", "subprocess", "symtable", "sys", "tempfile", "textwrap", "threading", "time", "timeit"),
    *("token", "tokenize", "traceback", "tracemalloc", "types", "unicodedata", "unittest", "uuid", "weakref"),
    *("zlib", "numpy.polynomial", "numpy.testing", "numpy.typing", "numpy.lib.stride_tricks"),
)


def main() -> None:
    """Serve until the control socket closes."""
    control = socket.socket(fileno=CONTROL)
    settings = json.loads(control.recv(1 << 20))
    sys.path += [path for path in settings["paths"] if path not in sys.path]
    libc = load_libc()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    failed = preparation.load([*WARM, *settings["preload"]])
    rules = Rules.from_dict(settings["policy"])
    _warm_up(rules)
    recorder = preparation.make_recorder(rules, settings)
    try:
        confinement = Confinement(settings["readable"], settings["without"])
    except OSError as error:
        control.send(json.dumps({"ready": False, "message": f"confinement: {error}"}).encode())
        return
    if confinement.level == PARTIAL:
        for name in WARM_WITHOUT_FILES:
            importlib.import_module(name)
    guard = imports.ImportGuard(
        settings["packages"], settings["other_kinds"], files=confinement.level != PARTIAL
    )
    sys.meta_path.insert(0, guard)
    conveniences.provide()
    preparation.hide_grader(settings["grader_path"])
    _know_folders()
    preparation.seed()
    gc.collect()
    gc.freeze()
    server = _Server(control, libc, rules, confinement, guard, recorder)
    ready = {"ready": not failed, "message": failed, "threads": _threads()}
    control.send(json.dumps(ready | {"level": confinement.level, "layers": confinement.layers}).encode())
    server.serve()


SAMPLE = """
import numpy as np
class A:
    def f(self, x, *, k=1): return [np.exp(v) for v in x if v > k]
def g(x): return A().f(x)
"""


def _warm_up(rules: Rules) -> None:
    """Use what the policy check, numpy and torch set up lazily, so that no child pays for it."""
    analyze(SAMPLE, rules, "g")
    preparation.use_libraries()


def _know_folders() -> None:
    """Let the import system list its folders now: a child may read modules but not every folder."""
    for name in ("a_module_that_is_nowhere", "encodings.a_module_that_is_nowhere"):
        try:
            importlib.import_module(name)
        except ImportError:
            pass


def _threads() -> int:
    # Of /proc/self/status and not by listing: that needs no right to look into this process.
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"Threads:"):
                return int(line.split()[1])
    return 0


class _Server:
    """Forks children and tells the judge when they end."""

    def __init__(
        self,
        control: socket.socket,
        libc: ctypes.CDLL,
        rules: Rules,
        confinement: Confinement,
        guard: imports.ImportGuard,
        recorder: "Recorder | None",
    ) -> None:
        self.control = control
        self.libc = libc
        self.rules = rules
        self.confinement = confinement
        self.guard = guard
        self.recorder = recorder
        self.in_use = memory_in_use()
        self.pid = os.getpid()
        # Process ids by the descriptors that tell their end.
        self.children: dict[int, int] = {}

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        while True:
            events = [descriptor for descriptor, _ in poll.poll()]
            for descriptor in events:
                if descriptor in self.children:
                    poll.unregister(descriptor)
                    self.ended(descriptor)
            if self.control.fileno() in events:
                message, handles, _flags, _address = socket.recv_fds(self.control, 1 << 16, 2)
                if not message:
                    self.end()
                poll.register(self.fork(json.loads(message), handles), select.POLLIN)

    def end(self) -> None:
        """The judge is gone: so are its children."""
        for pid in self.children.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os._exit(0)

    def ended(self, descriptor: int) -> None:
        """Tell how a child ended."""
        pid = self.children.pop(descriptor)
        os.close(descriptor)
        _, status, usage = os.wait4(pid, 0)
        answer = {
            "ended": pid,
            "code": os.waitstatus_to_exitcode(status),
            "cpu_s": usage.ru_utime + usage.ru_stime,
        }
        self.control.send(json.dumps(answer).encode())

    def fork(self, job: dict[str, Any], handles: list[int]) -> int:
        """Start a child; a descriptor that tells its end."""
        pid = os.fork()
        if pid == 0:
            try:
                self.live(job, handles)
            finally:
                os._exit(70)
        for handle in handles:
            os.close(handle)
        watch = os.pidfd_open(pid)
        self.children[watch] = pid
        socket.send_fds(self.control, [json.dumps({"pid": pid}).encode()], [watch])
        return watch

    def live(self, job: dict[str, Any], handles: list[int]) -> None:
        """The child: nothing of the student's runs before it is confined."""
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.pid:
            os._exit(71)
        ceiling = Ceiling(self.in_use, job["memory"], job["seconds"], job["size"])

        def lock() -> None:
            try:
                self.confinement.restrict_calls(ceiling)
            except BaseException:
                os._exit(NOT_CONFINED)

        try:
            self.confinement.restrict_files()
        except OSError:
            os._exit(NOT_CONFINED)
        # Above the fixed numbers first: a descriptor may lie where another one has to go.
        memory, judge = (os.dup2(handle, 100 + n) for n, handle in enumerate(handles))
        os.dup2(memory, MEMORY)
        os.dup2(judge, JUDGE)
        os.closerange(FIRST_FREE, 1 << 16)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Python seeds this one anew at every fork.
        random.seed(0)
        shared = mmap.mmap(MEMORY, job["size"])
        if job["role"] == ANALYST:
            os.close(MEMORY)
            lock()
            analyst.answer(shared, _Socket(), self.rules)
        else:
            child.Child(job, shared, MEMORY, _Socket(), lock, self.guard, self.recorder).run()
        # Nothing of the student's runs at exit.
        os._exit(0)


_read = os.read
_write = os.write


class _Socket:
    """The judge at the other end of the socket, where each message arrives as a whole."""

    def say(self, message: bytes) -> None:
        _write(JUDGE, message)

    def hear(self) -> bytes:
        return _read(JUDGE, LONGEST)
