"""What attacks aim at, and what is to be seen of them from outside.

A `World` plants files, a process, listeners and secrets. `World.harm` says what has become of them.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# An attack knows how secrets begin; how they go on it can only have read.
NEEDLE = "zq7-secret-"
MARK = "zq7_attack"
TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))

# System calls that attacks make by number: (x86_64, aarch64).
CALLS = {
    "clone": (56, 220),
    "vfork": (58, None),
    "clone3": (435, 435),
    "fork": (57, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "rt_sigprocmask": (14, 135),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "timer_create": (222, 107),
    "timerfd_create": (283, 85),
    "clock_settime": (227, 112),
    "setuid": (105, 146),
    "capset": (126, 91),
    "personality": (135, 92),
    "prctl": (157, 167),
    "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444),
    "syslog": (103, 116),
    "swapon": (167, 224),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "kcmp": (312, 272),
    "process_madvise": (440, 440),
    "sched_setscheduler": (144, 119),
    "ioprio_set": (251, 30),
    "openat2": (437, 437),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "move_mount": (429, 429),
    "sendto": (44, 206),
    "splice": (275, 76),
    "vmsplice": (278, 75),
    "copy_file_range": (326, 285),
}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def in_session(session: int) -> list[int]:
    """The living processes of a session but for the one that leads it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != session:
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    found.append(int(folder.name))
    return found


class World:
    """Planted in a folder of its own that every user may enter. `close` ends and removes everything."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="zq7-world-"))
        self.folder.chmod(0o755)
        self.secrets = {
            place: secrets.token_hex(8)
            for place in ("file", "home", "other", "environment", "memory", "argument", "reference")
        }
        # Kept in this process's memory, which a forked child of it would inherit.
        self.kept = self.secret("memory")
        for name in ("home", "other", "victim", "cwd"):
            (self.folder / name).mkdir()
        self._write("secret.txt", self.secret("file"))
        self._write("home/notes.txt", self.secret("home"))
        self._write("other/ann.py", f"# {self.secret('other')}\n")
        self._write("reference.py", f"# {self.secret('reference')}\n")
        self._write("victim/a.txt", "a" * 100)
        self._write("victim/b.txt", "b" * 100)
        self._write("cwd/c.txt", "c" * 100)
        (self.folder / "link.txt").symlink_to(self.folder / "secret.txt")
        (self.folder / "link_to_folder").symlink_to(self.folder / "home")
        script = self._write("script.sh", f"#!/bin/sh\ntouch {self.folder}/victim/by_script\n")
        script.chmod(0o777)
        for name in ("victim", "cwd"):
            # Rights of the file system protect nothing here: the confinement alone does.
            (self.folder / name).chmod(0o777)
            for file in (self.folder / name).iterdir():
                file.chmod(0o666)
        self.variable = f"GRADER_TEST_{secrets.token_hex(4)}"
        os.environ[self.variable] = self.secret("environment")
        self.descriptor = os.open(self.folder / "secret.txt", os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)
        self.tcp = self._listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = self._listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.tcp6 = self.udp6 = None
        with contextlib.suppress(OSError):
            self.tcp6 = self._listener(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
            self.udp6 = self._listener(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0))
        path = str(self.folder / "listener.sock")
        self.unix = self._listener(socket.AF_UNIX, socket.SOCK_STREAM, path)
        Path(path).chmod(0o777)
        self.unix_datagrams = self._listener(socket.AF_UNIX, socket.SOCK_DGRAM, f"{path}.dgram")
        Path(f"{path}.dgram").chmod(0o777)
        self.abstract = f"\0zq7-{secrets.token_hex(8)}"
        self.abstract_listener = self._listener(socket.AF_UNIX, socket.SOCK_STREAM, self.abstract)
        self.bystander = self._process()
        self.before = self._state()

    def secret(self, place: str) -> str:
        """The whole text that was planted there."""
        return NEEDLE + self.secrets[place]

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        path.chmod(0o644)
        return path

    @staticmethod
    def _listener(family: int, kind: int, address: Any) -> socket.socket:
        made = socket.socket(family, kind)
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen(8)
        made.setblocking(False)
        return made

    def _process(self) -> subprocess.Popen[bytes]:
        """Somebody else's process, with a secret on its command line and in its environment."""
        code = f"import time; kept = {self.secret('argument')!r}; time.sleep(36000)"
        return subprocess.Popen(
            [sys.executable, "-S", "-c", code], start_new_session=True, stdin=subprocess.DEVNULL
        )

    def values(self, *, machine: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What an attack is told of the world."""
        column = {"x86_64": 0, "aarch64": 1}.get(machine, 0)
        library = Path(os.__file__).parent
        import numpy

        return {
            "needle": NEEDLE,
            "mark": MARK,
            "folder": str(self.folder),
            "machine": machine,
            "calls": {name: numbers[column] or -1 for name, numbers in CALLS.items()},
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "tcp6": self.tcp6.getsockname()[1] if self.tcp6 else 9,
            "udp6": self.udp6.getsockname()[1] if self.udp6 else 9,
            "abstract": self.abstract,
            "bystander": self.bystander.pid,
            "grader": os.getpid(),
            "descriptor": self.descriptor,
            "numpy": str(Path(numpy.__file__).parent),
            "library": str(library),
            "repository": str(Path(__file__).resolve().parents[2]),
        } | dict(more or {})

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        for path in sorted(self.folder.rglob("*")):
            about = path.lstat()
            content = b""
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
            state[f"file {path.relative_to(self.folder)}"] = (
                oct(about.st_mode),
                about.st_uid,
                about.st_size,
                about.st_mtime_ns,
                content,
            )
        for name, pid in (("the grader's process", 0), ("a bystander", self.bystander.pid)):
            limits = [resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE]
            with contextlib.suppress(OSError):
                state[f"limits of {name}"] = [resource.prlimit(pid, one) for one in limits]
                state[f"cores of {name}"] = sorted(os.sched_getaffinity(pid))
                state[f"priority of {name}"] = os.getpriority(os.PRIO_PROCESS, pid)
        state["host name"] = socket.gethostname()
        state["folder of the grader"] = str(Path.cwd())
        return state

    def harm(self) -> list[str]:
        """What has been done to the world since it was made, one line each; nothing in a world unharmed."""
        found = []
        now = self._state()
        for name in sorted(self.before.keys() | now.keys()):
            if self.before.get(name) != now.get(name):
                found.append(f"{name}: was {str(self.before.get(name))[:200]}, is {str(now.get(name))[:200]}")
        for listener in (self.tcp, self.tcp6, self.unix, self.abstract_listener):
            if listener is not None:
                with contextlib.suppress(BlockingIOError):
                    connection, _ = listener.accept()
                    connection.close()
                    found.append(f"a connection came to {listener}")
        for receiver in (self.udp, self.udp6, self.unix_datagrams):
            if receiver is not None:
                with contextlib.suppress(BlockingIOError):
                    found.append(f"a datagram came to {receiver}: {receiver.recv(100)!r}")
        if self.bystander.poll() is not None or not is_alive(self.bystander.pid):
            found.append("the bystander was killed")
        else:
            stat = Path(f"/proc/{self.bystander.pid}/stat").read_text()
            if stat.rpartition(")")[2].split()[0] in "Tt":
                found.append("the bystander was stopped")
        for folder in self._elsewhere():
            if folder.is_dir():
                found += [f"{path} was written" for path in folder.glob(f"*{MARK}*")]
        return found

    def _elsewhere(self) -> list[Path]:
        import numpy

        library = Path(os.__file__).parent
        packages = Path(numpy.__file__).parent
        return [*TEMPORARY, Path.home(), Path.cwd(), Path("/"), library, library / "__pycache__", packages,
                packages / "__pycache__", packages.parent]  # fmt: skip

    def repair(self) -> None:
        """After harm was found: forget it, so that the next attack is not blamed."""
        for folder in self._elsewhere():
            for path in folder.glob(f"*{MARK}*"):
                with contextlib.suppress(OSError):
                    path.unlink()
        if self.bystander.poll() is not None:
            self.bystander = self._process()
        with contextlib.suppress(OSError):
            os.kill(self.bystander.pid, signal.SIGCONT)
        self.before = self._state()

    def close(self) -> None:
        """End the process, close what is open, remove the folder."""
        self.bystander.kill()
        self.bystander.wait()
        os.environ.pop(self.variable, None)
        os.close(self.descriptor)
        for made in (self.tcp, self.tcp6, self.udp, self.udp6, self.unix, self.unix_datagrams):
            if made is not None:
                made.close()
        self.abstract_listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it comes true, given ample time: a process that was killed has to be reaped."""
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False
