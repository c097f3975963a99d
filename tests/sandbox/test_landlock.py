"""The Landlock ruleset: what each version of the interface is handed, and what it keeps from a process."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.confined import LIBC, needs_landlock, run

from grader.sandbox.inside import landlock

# Rights on files in the order of their bits, by the version that brought them.
FILE_RIGHTS = {
    1: """execute write_file read_file read_dir remove_dir remove_file make_char make_dir make_reg make_sock
        make_fifo make_block make_sym""",
    2: "refer",
    3: "truncate",
    5: "ioctl_dev",
    9: "resolve_unix",
}
NETWORK_RIGHTS = {4: "bind_tcp connect_tcp"}
SCOPES = {6: "abstract_unix_socket signal"}
# The struct's length: its first field, from version 4 the second, from version 6 the third.
LENGTHS = {1: 8, 4: 16, 6: 24}
VERSIONS = range(1, 10)
CREATE, ADD, RESTRICT = 444, 445, 446


def bits(table: dict[int, str], version: int) -> int:
    """All rights that a version knows."""
    return (1 << sum(len(names.split()) for since, names in table.items() if since <= version)) - 1


def bit(name: str) -> int:
    """The bit of a right on files."""
    return 1 << " ".join(FILE_RIGHTS.values()).split().index(name)


class OtherKernel:
    """Stands for the C library on a kernel with another version of Landlock.

    Args:
        version: What the kernel answers; a negative one is an error.
        fails: Calls that fail, with their errors.
    """

    def __init__(self, version: int, fails: dict[int, int] | None = None) -> None:
        self.version = version
        self.fails = fails or {}
        self.attributes: list[bytes] = []
        self.rules: list[tuple[int, tuple[int, int], int]] = []
        self.restricted: list[int] = []

    def syscall(self, number: int, *arguments: Any) -> int:
        if number == CREATE and arguments[0] is None:
            assert (arguments[1].value, arguments[2]) == (0, 1)
            return self.version
        if number in self.fails:
            ctypes.set_errno(self.fails[number])
            return -1
        if number == CREATE:
            attributes, length, flags = arguments
            assert flags == 0
            self.attributes.append(attributes[: length.value])
            return 77
        if number == ADD:
            descriptor, kind, rule, flags = arguments
            assert (kind, flags, len(rule)) == (1, 0, 12)
            rights, handle = struct.unpack("=Qi", rule)
            self.rules.append((descriptor, (rights, os.fstat(handle).st_ino), handle))
            return 0
        assert number == RESTRICT
        descriptor, flags = arguments
        assert flags == 0
        self.restricted.append(descriptor)
        return 0


def ruleset(kernel: OtherKernel, readable: list[Path]) -> landlock.Ruleset:
    libc: Any = kernel
    return landlock.Ruleset(libc, map(str, readable))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_handed_all_that_it_knows(version: int) -> None:
    kernel = OtherKernel(version)
    ruleset(kernel, [])
    (attributes,) = kernel.attributes
    fields = (bits(FILE_RIGHTS, version), bits(NETWORK_RIGHTS, version), bits(SCOPES, version))
    length = max(size for since, size in LENGTHS.items() if since <= version)
    assert len(attributes) == length
    assert attributes == struct.pack("=QQQ", *fields)[:length]
    # What is cut off asks for nothing.
    assert not any(struct.pack("=QQQ", *fields)[length:])


def test_a_later_version_is_handed_what_is_known_here() -> None:
    kernel, last = OtherKernel(50), OtherKernel(VERSIONS[-1])
    ruleset(kernel, [])
    ruleset(last, [])
    assert kernel.attributes == last.attributes


@pytest.mark.parametrize("version", [0, -1])
def test_a_kernel_without_landlock_makes_no_ruleset(version: int) -> None:
    libc: Any = OtherKernel(version)
    assert landlock.abi(libc) == 0
    with pytest.raises(OSError, match="no Landlock") as caught:
        ruleset(libc, [])
    assert caught.value.errno == errno.ENOSYS


@pytest.mark.parametrize("version", VERSIONS)
def test_rules_allow_reading_and_nothing_else(version: int, tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("text")
    kernel = OtherKernel(version)
    made = ruleset(kernel, [folder, tmp_path / "missing", file / "below", file])
    both = bit("read_file") | bit("read_dir")
    assert [(descriptor, rule) for descriptor, rule, _ in kernel.rules] == [
        (77, (both, folder.stat().st_ino)),
        (77, (bit("read_file"), file.stat().st_ino)),
    ]
    assert made.descriptor == 77
    for *_, handle in kernel.rules:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


@pytest.mark.parametrize("error", [errno.EPERM, errno.EACCES, errno.ENOENT, errno.EINVAL, errno.ENOMSG])
@pytest.mark.parametrize(
    ("call", "message"), [(CREATE, "no ruleset"), (ADD, "no rule for"), (RESTRICT, "put on")]
)
def test_a_refusal_of_the_kernel_is_raised(call: int, message: str, error: int, tmp_path: Path) -> None:
    kernel = OtherKernel(7, {call: error})
    libc: Any = kernel
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match=message) as caught:
        ruleset(kernel, [tmp_path]).restrict(libc)
    assert caught.value.errno == error
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_process_is_restricted_by_the_ruleset() -> None:
    kernel = OtherKernel(7)
    libc: Any = kernel
    ruleset(kernel, []).restrict(libc)
    assert kernel.restricted == [77]


class Pretending:
    """The C library, with a version of Landlock that is older than the kernel's."""

    def __init__(self, version: int) -> None:
        self.version = version

    def syscall(self, number: int, *arguments: Any) -> int:
        if number == CREATE and arguments[0] is None:
            return self.version
        return int(LIBC.syscall(number, *arguments))


@needs_landlock
def test_the_kernel_takes_every_version_up_to_its_own(tmp_path: Path) -> None:
    for version in range(1, landlock.abi(LIBC) + 1):
        libc: Any = Pretending(version)
        os.close(landlock.Ruleset(libc, [str(tmp_path)]).descriptor)


@needs_landlock
@pytest.mark.skipif(landlock.abi(LIBC) > VERSIONS[-1], reason="the kernel's is newer")
def test_no_right_that_this_kernel_knows_is_left_out() -> None:
    version = landlock.abi(LIBC)
    fields = [bits(FILE_RIGHTS, version), bits(NETWORK_RIGHTS, version), bits(SCOPES, version)]
    for number, known in enumerate(fields):
        more = list(fields)
        more[number] = known * 2 + 1
        attributes = struct.pack("=QQQ", *more)
        # Either the bit or the whole field is unknown to it.
        assert LIBC.syscall(CREATE, attributes, ctypes.c_size_t(24), 0) == -1
        assert ctypes.get_errno() in (errno.EINVAL, errno.E2BIG)


CONFINE = "landlock.Ruleset(libc, given['readable']).restrict(libc)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Folders ``open`` and ``closed`` with ``file`` and ``below/file`` each, and links out."""
    for name in ("open", "closed"):
        (tmp_path / name / "below").mkdir(parents=True)
        for file in (tmp_path / name / "file", tmp_path / name / "below" / "file"):
            file.write_text(name)
            file.chmod(0o755)
    (tmp_path / "single").write_text("single")
    (tmp_path / "beside").write_text("beside")
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed" / "file")
    (tmp_path / "open" / "folder").symlink_to(tmp_path / "closed")
    return tmp_path


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        str(p.relative_to(folder)): (p.lstat().st_mode, p.read_text() if p.is_file() else "")
        for p in sorted(folder.rglob("*"))
    }


def confined(tree: Path, text: str, paths: Iterable[str] = ()) -> Any:
    """What the text told when only ``open`` and ``single`` may be read."""
    readable = [str(tree / name) for name in ("open", "single", "missing")]
    data = {"tree": str(tree), "readable": readable, "paths": list(paths)}
    found, status = run(text, data)
    assert status == 0
    return found


@needs_landlock
def test_only_what_is_allowed_can_be_read(tree: Path) -> None:
    text = CONFINE
    text += """\
def read(path):
    with open(os.path.join(given["tree"], path)) as file:
        return file.read()
tell({path: attempt(read, path) for path in given["paths"]})
"""
    read = {"open/file": "open", "open/below/file": "open", "single": "single"}
    refused = "closed/file beside open/link open/folder/file open/../closed/file"
    outside = "/proc/self/status /proc/1/environ /etc/passwd /dev/null"
    paths = [*read, *refused.split(), *outside.split()]
    assert confined(tree, text, paths) == {path: read.get(path, "EACCES") for path in paths}


@needs_landlock
def test_only_what_is_allowed_can_be_listed(tree: Path) -> None:
    text = CONFINE
    text += """\
def names(path):
    return sorted(os.listdir(os.path.join(given["tree"], path)))
tell({path: attempt(names, path) for path in given["paths"]})
"""
    read = {
        "open": ["below", "file", "folder", "link"],
        "open/below": ["file"],
    }
    paths = [*read, ".", "closed", "open/folder", "/", "/proc", "/tmp", "/etc"]
    assert confined(tree, text, paths) == {path: read.get(path, "EACCES") for path in paths}


@needs_landlock
def test_nothing_can_be_written_anywhere(tree: Path) -> None:
    before = contents(tree)
    text = CONFINE
    text += """\
def tried(folder):
    file, below, new = (os.path.join(given["tree"], folder, name) for name in ("file", "below", "new"))
    return {
        "write": attempt(open, file, "r+"),
        "append": attempt(open, file, "a"),
        "new file": attempt(open, new, "w"),
        "new folder": attempt(os.mkdir, new),
        "fifo": attempt(os.mkfifo, new),
        "symlink": attempt(os.symlink, "file", new),
        "remove": attempt(os.unlink, file),
        "remove folder": attempt(os.rmdir, below),
        "rename": attempt(os.rename, file, new),
        "unnamed": attempt(os.open, below, os.O_TMPFILE | os.O_RDWR),
        "execute": attempt(os.execv, file, ["file"]),
    }
tell({path: tried(path) for path in given["paths"]})
"""
    deeds = "write,append,new file,new folder,fifo,symlink,remove,remove folder,rename,unnamed,execute"
    paths = ["open", "closed"]
    nothing = dict.fromkeys(deeds.split(","), "EACCES")
    assert confined(tree, text, paths) == dict.fromkeys(paths, nothing)
    assert contents(tree) == before


@needs_landlock
def test_files_are_not_moved_and_cut_only_by_old_kernels(tree: Path) -> None:
    text = CONFINE
    text += """\
file, new = (os.path.join(given["tree"], "open", name) for name in ("file", "below/new"))
tell([attempt(os.rename, file, new), attempt(os.link, file, new), attempt(os.truncate, file, 0)])
"""
    *moves, cut = confined(tree, text)
    # Between folders the error is another one where the interface is older or the right is nowhere given.
    assert set(moves) <= {"EACCES", "EXDEV"}
    assert cut == ("EACCES" if landlock.abi(LIBC) >= 3 else None)
    assert not (tree / "open" / "below" / "new").exists()


@needs_landlock
@pytest.mark.skipif(landlock.abi(LIBC) < 4, reason="Landlock knows the network from version 4 on")
def test_no_tcp(tree: Path) -> None:
    text = "import socket\n" + CONFINE
    text += """\
def tcp(act):
    with socket.socket() as s:
        return attempt(lambda: getattr(s, act)(("127.0.0.1", 9)))
tell([tcp("connect"), tcp("bind")])
"""
    assert confined(tree, text) == ["EACCES", "EACCES"]


@needs_landlock
@pytest.mark.skipif(landlock.abi(LIBC) < 6, reason="Landlock knows signals and sockets from version 6 on")
def test_no_signal_and_no_abstract_socket_of_others(tree: Path) -> None:
    text = "import socket\n" + CONFINE
    text += """\
with socket.socket(socket.AF_UNIX) as s:
    tell([attempt(os.kill, os.getppid(), 0), attempt(s.connect, "\\0" + given["tree"]),
          attempt(os.kill, os.getpid(), 0)])
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{tree}")
        server.listen()
        assert confined(tree, text) == ["EPERM", "EPERM", None]


class Refusing(OtherKernel):
    """A kernel that makes a ruleset but takes no rule."""

    def syscall(self, number: int, *arguments: Any) -> int:
        if number == landlock.ADD_RULE:
            ctypes.set_errno(errno.EPERM)
            return -1
        return super().syscall(number, *arguments)


def test_a_rule_that_the_kernel_refuses_is_not_passed_over(tmp_path: Path) -> None:
    libc: Any = Refusing(VERSIONS[-1])
    with pytest.raises(OSError, match="no rule for") as caught:
        landlock.Ruleset(libc, [str(tmp_path)])
    assert caught.value.errno == errno.EPERM


@needs_landlock
def test_the_ruleset_does_not_outlive_an_exec() -> None:
    made = landlock.Ruleset(LIBC, [])
    try:
        assert not os.get_inheritable(made.descriptor)
    finally:
        os.close(made.descriptor)
