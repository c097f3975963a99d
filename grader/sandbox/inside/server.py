"""The fork server: imports what submissions need once, then forks a child for each job.

It is exec'ed fresh, knows nothing but the policy's rules and the names of packages, and ends when the
judge's end of the socket closes.
"""

import ctypes
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
from typing import Any

import numpy as np

from grader.policy.analysis import analyze
from grader.policy.rules import Rules
from grader.sandbox.inside import child, imports, limits

CONTROL = 3
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
JOB_DESCRIPTORS = 4

WARM = (
    *("abc", "collections", "copy", "dataclasses", "enum", "functools", "itertools", "math", "operator"),
    *("random", "re", "string", "typing", "warnings"),
    *("numpy", "numpy.fft", "numpy.linalg", "numpy.ma", "numpy.random"),
)


def main() -> None:
    """Serve until the control socket closes."""
    control = socket.socket(fileno=CONTROL)
    settings = json.loads(control.recv(1 << 20))
    sys.path += [path for path in settings["paths"] if path not in sys.path]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    failed = ""
    for name in [*WARM, *settings["preload"]]:
        try:
            importlib.import_module(name)
        except Exception as error:
            failed = f"{name} can't be imported: {error}"
    rules = Rules.from_dict(settings["policy"])
    _warm_up(rules)
    guard = imports.ImportGuard(settings["packages"])
    sys.meta_path.insert(0, guard)
    # A submission finds no module of the grader by name.
    for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if path != settings["grader_path"]]
    sys.dont_write_bytecode = True
    _seed()
    gc.collect()
    gc.freeze()
    in_use = limits.memory_in_use()
    control.send(json.dumps({"ready": not failed, "message": failed, "threads": _threads()}).encode())
    while True:
        message, handles, _flags, _address = socket.recv_fds(control, 1 << 16, JOB_DESCRIPTORS)
        if not message:
            return
        _serve(control, json.loads(message), handles, rules, guard, libc, in_use)


SAMPLE = """
import numpy as np
class A:
    def f(self, x, *, k=1): return [np.exp(v) for v in x if v > k]
def g(x): return A().f(x)
"""


def _warm_up(rules: Rules) -> None:
    """Use what the policy check, numpy and torch set up lazily, so that no child pays for it."""
    analyze(SAMPLE, rules, "g")
    a = np.ones((2, 2))
    np.einsum("ij,jk->ik", a, a @ a)
    np.tanh(np.exp(a)).mean(axis=-1, keepdims=True).var()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        t = torch.ones(2, 2, dtype=torch.float64)
        torch.einsum("ij,jk->ik", t, torch.tanh(torch.exp(t @ t)))


def _seed() -> None:
    """The same submission gets the same random numbers in every run."""
    np.random.seed(0)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _serve(
    control: socket.socket,
    job: dict[str, Any],
    handles: list[int],
    rules: Rules,
    guard: imports.ImportGuard,
    libc: ctypes.CDLL,
    in_use: tuple[int, int],
) -> None:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            # Above the fixed numbers first: a descriptor may lie where another one has to go.
            high = [os.dup2(handle, 100 + n) for n, handle in enumerate(handles)]
            for number, handle in enumerate(high):
                os.dup2(handle, 3 + number)
            os.closerange(3 + len(high), 1 << 16)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(71)
            libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # Python seeds this one anew at every fork.
            random.seed(0)
            guard.filename = job["filename"]
            limits.apply(job, in_use)
            child.live(job, rules)
        finally:
            os._exit(72)
    for handle in handles:
        os.close(handle)
    watch = os.pidfd_open(pid)
    socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [watch])
    while True:
        readable, _, _ = select.select([watch, control.fileno()], [], [])
        if watch in readable:
            break
        # The judge says nothing while a child runs: the socket has closed.
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os._exit(0)
    os.close(watch)
    _, status, usage = os.wait4(pid, 0)
    answer = {
        "code": os.waitstatus_to_exitcode(status),
        "cpu_s": usage.ru_utime + usage.ru_stime,
    }
    control.send(json.dumps(answer).encode())
