"""Archives as trees of files.

Nothing is written to disk: every member is read by itself, when it is asked for.
"""

from __future__ import annotations

import io
import math
import os
import stat
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from grader.intake.tree import (
    ENVIRONMENT_MARKS,
    LINK,
    MAX_FILES,
    MAX_FOLDER_DEPTH,
    NO_FILE,
    READING,
    TOO_DEEP,
    Entry,
    HandedIn,
    LeftOut,
    Tree,
    UnreadableError,
    folder_tree,
    is_environments,
    is_litter,
    parents,
    refuse,
)
from grader.intake.unpack import CHUNK, DAMAGED, ZIP_METHODS, Kind, Unpacked, inflate

# The archives of students.
MAX_ARCHIVE = 64 << 20
MAX_MEMBERS = 20_000
MAX_UNPACKED = 256 << 20
MAX_NESTED = 2
# The archives that a teacher names. A class packs to a fifth; what grows beyond this is a bomb.
MAX_GROWTH = 100
MAX_DIRECTORY = 256 << 20
# Members of a compressed tar that are kept in memory from the pass that lists them.
KEPT = 128 << 20
KEPT_EACH = 2 << 20
MAX_PATH = 1024

HEAD = 512
# What each member in a zip's list begins with, and the flag of a name in UTF-8.
MEMBER = b"PK\x01\x02"
MARKED_UTF8 = 0x800
ENDINGS = (
    ".zip",
    ".tar",
    ".tar.gz",
    ".tgz",
    ".tar.bz2",
    ".tbz2",
    ".tbz",
    ".tar.xz",
    ".txz",
    ".gz",
    ".bz2",
    ".xz",
    ".rar",
    ".7z",
    ".tar.zst",
    ".zst",
)
# Files of programs, which are zip archives inside and are no hand-in of files.
OTHER_FORMATS = (
    *(".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".odg", ".pages", ".numbers", ".key", ".epub"),
    *(".jar", ".war", ".apk", ".whl", ".egg", ".npz", ".pt", ".pth", ".ckpt", ".keras", ".sb3", ".ggb"),
    *(".kmz", ".xpi", ".vsix", ".nupkg", ".mlx"),
)
UNREAD = {
    b"Rar!\x1a\x07": "RAR",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}
TWICE = "The archive holds two different files of this name, so that it can't be told which one is meant."
BOMB = "The archive is a bomb: unpacked it is more than {} times its size."
TOO_BIG = (
    f"Unpacked the archive has more than {MAX_UNPACKED:,} bytes, which is the most that is read; hand in the "
    "source files alone."
)


def archive_kind(head: bytes) -> Kind:
    """What kind of archive begins with these bytes: ``zip``, ``tar``, ``gzip``, ``bzip2``, ``xz``, or none.

    Raises:
        UnreadableError: It is an archive of a kind that is not read.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    if head.startswith(b"\xfd7zXZ\0"):
        return "xz"
    for mark, name in UNREAD.items():
        if head.startswith(mark):
            raise UnreadableError(f"This is a {name} archive, which is not read; expected a zip or tar.")
    return "tar" if _is_tar(head) else ""


def has_archive_ending(name: str) -> bool:
    """Whether a file's name says that it is an archive."""
    return name.lower().endswith(ENDINGS)


def without_ending(name: str) -> str:
    """A name without an archive's ending."""
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return name


def open_tree(path: Path) -> Tree:
    """The files of a folder or of an archive that a user names.

    An archive is told by its content. Its members are listed here and read later, one by one, so that a
    class of many gigabytes takes little memory.

    Raises:
        UnreadableError: It can't be read, or is neither.
    """
    if path.is_dir():
        return folder_tree(path)
    try:
        return _archive_tree(path)
    except UnreadableError as error:
        said = str(error)
        raise UnreadableError(said if said.startswith(str(path)) else f"{path}: {said}") from None


def _archive_tree(path: Path) -> Tree:
    source = _Source(str(path), path)
    with source.open() as file:
        head = file.read(HEAD)
        kind = archive_kind(head)
        if kind not in ("zip", "tar", ""):
            file.seek(0)
            head = Unpacked(file, kind, HEAD, BOMB).read(HEAD)
            if not _is_tar(head):
                raise UnreadableError(f"{path} is compressed, but no tar archive; expected a zip or tar")
    if not kind:
        raise UnreadableError(
            f"{path} is no folder and no archive; expected a zip, tar, tar.gz, tar.bz2 or tar.xz"
        )
    limit = source.size() * MAX_GROWTH + MAX_UNPACKED
    listed = _list(source, kind, _Caps(MAX_FILES, limit, BOMB.format(MAX_GROWTH), keep=KEPT))
    return _tree(without_ending(path.name), str(path), listed)


def tree_within(entry: Entry) -> Tree:
    """The files of an archive that lies in a folder or in another archive, and is no student's.

    Raises:
        UnreadableError: It can't be read, or is none.
    """
    path = Path(entry.shown)
    if path.is_file() and not path.is_symlink():
        return open_tree(path)
    raw = entry.read(MAX_ARCHIVE)
    kind = archive_kind(raw[:HEAD])
    if kind not in ("zip", "tar"):
        raise UnreadableError(f"{entry.shown} is no zip and no tar")
    listed = _list(_Source(entry.shown, raw), kind, _Caps(MAX_FILES, MAX_UNPACKED, TOO_BIG))
    return _tree(without_ending(entry.name), entry.shown, listed)


@dataclass(frozen=True)
class Expanded:
    """What an archive that a student handed in holds.

    Attributes:
        files: Its files, and those of the archives in it.
        left_out: What is not among them, with the reason.
        problem: Why it could not be read, or not to its end; a sentence, or empty.
    """

    files: tuple[HandedIn, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    problem: str = ""


def is_archive(handed_in: HandedIn, *, look: bool = True) -> bool:
    """Whether a file claims by its name to be an archive, or is one by its content.

    Args:
        handed_in: The file.
        look: Look into it, too.
    """
    name = handed_in.name.lower()
    if name.endswith(OTHER_FORMATS):
        return False
    if has_archive_ending(name):
        return True
    try:
        return look and archive_kind(handed_in.entry.read(MAX_ARCHIVE)[:HEAD]) in ("zip", "tar")
    except UnreadableError:
        return False


def expand(handed_in: HandedIn, prefix: str = "") -> Expanded:
    """The files of an archive that a student handed in, also of archives in it.

    Args:
        handed_in: The archive.
        prefix: Put before the names of the files; empty, or a folder's name and ``/``.
    """
    return _expand(handed_in, prefix, _Budget(MAX_UNPACKED), 1)


class _Budget:
    """Bytes that may still be read from what one student handed in."""

    def __init__(self, left: int) -> None:
        self.left = left

    def read(self, reader: Callable[[int], bytes], limit: int) -> bytes:
        data = reader(min(limit, self.left))
        self.left -= len(data)
        if self.left < 0:
            self.left = 0
            raise UnreadableError(TOO_BIG)
        return data


def _expand(handed_in: HandedIn, prefix: str, budget: _Budget, depth: int) -> Expanded:
    entry = handed_in.entry
    try:
        raw = entry.read(MAX_ARCHIVE)
        kind = archive_kind(raw[:HEAD])
        if not kind:
            raise UnreadableError(_no_archive(handed_in.name, raw))
        if kind not in ("zip", "tar"):
            raw = Unpacked(io.BytesIO(raw), kind, MAX_UNPACKED, TOO_BIG).read()
            if not _is_tar(raw[:HEAD]):
                return Expanded((_one_file(handed_in, raw),))
            kind = "tar"
        listed = _list(_Source(entry.shown, raw), kind, _Caps(MAX_MEMBERS, MAX_UNPACKED, TOO_BIG))
    except UnreadableError as error:
        return Expanded(problem=str(error))
    tree = _tree(handed_in.name, entry.shown, listed)
    files: list[HandedIn] = []
    left_out = list(tree.left_out)
    problems = list(listed.problems)
    for member in tree.entries:
        one = HandedIn(prefix + member.path, replace(member, reader=partial(budget.read, member.reader)))
        if not has_archive_ending(member.name):
            files.append(one)
        elif depth == MAX_NESTED:
            left_out.append(LeftOut(member.shown, f"an archive within {depth} others is not opened"))
        else:
            inner = _expand(one, f"{one.name}/" if len(tree.entries) > 1 else prefix, budget, depth + 1)
            files += inner.files
            left_out += inner.left_out
            if inner.problem:
                left_out.append(LeftOut(member.shown, inner.problem))
                problems += [inner.problem] if len(tree.entries) == 1 else []
    return Expanded(tuple(files), tuple(left_out), " ".join(problems))


def _one_file(handed_in: HandedIn, raw: bytes) -> HandedIn:
    """The file that was compressed without an archive around it."""
    entry = handed_in.entry
    name = without_ending(entry.name)
    plain = Entry(name, len(raw), entry.modified, lambda limit: raw[: limit + 1], f"{entry.shown}/{name}")
    return HandedIn(without_ending(handed_in.name), plain)


def _no_archive(name: str, raw: bytes) -> str:
    if not raw:
        return f"{name} is empty."
    return f"{name} is no archive that can be read; hand in a .py or .ipynb file, or a zip of them."


# --- what zip and tar have in common -----------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """An archive: a path, or the bytes themselves."""

    shown: str
    data: Path | bytes

    def open(self) -> BinaryIO:
        """A new file at its start. Raises UnreadableError."""
        if isinstance(self.data, bytes):
            return io.BytesIO(self.data)
        try:
            file = os.fdopen(os.open(self.data, READING), "rb")
        except OSError as error:
            raise UnreadableError(f"{self.shown} can't be read: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise UnreadableError(f"{self.shown} is no regular file")
        return file

    def size(self) -> int:
        if isinstance(self.data, bytes):
            return len(self.data)
        try:
            return self.data.stat().st_size
        except OSError as error:
            raise UnreadableError(f"{self.shown} can't be read: {error.strerror}") from None


@dataclass(frozen=True)
class _Caps:
    """Limits of an archive: members, unpacked bytes and what is said of more; bytes kept while listing."""

    members: int
    unpacked: int
    explain: str
    keep: int = 0


@dataclass(frozen=True)
class _Member:
    """A member as the archive tells of it.

    Attributes:
        name: As it stands there; a folder's may end with ``/``.
        folder: It is one.
        content: What two members of the same name must have in common to be the same file; None when that
            can't be told.
    """

    name: str
    size: int
    modified: float | None
    reader: Callable[[int], bytes]
    folder: bool = False
    content: object = None


@dataclass(frozen=True)
class _Listed:
    members: Sequence[_Member]
    problems: tuple[str, ...] = ()


def _list(source: _Source, kind: Kind, caps: _Caps) -> _Listed:
    try:
        return _list_zip(source, caps) if kind == "zip" else _list_tar(source, kind, caps)
    except UnreadableError:
        raise
    except Exception as error:  # parsers of hostile bytes fail in every way there is
        raise UnreadableError(DAMAGED.format(str(error) or type(error).__name__)) from None


def _tree(name: str, shown: str, listed: _Listed) -> Tree:
    files: dict[str, _Member] = {}
    twice: set[str] = set()
    folders: set[str] = set()
    left_out: list[LeftOut] = []
    environments: set[str] = set()
    for member in listed.members:
        # Some tools under Windows write backslashes between the names, platforms pack those into folders.
        raw = member.name.replace("\\", "/")
        path, reason = _clean(raw)
        is_folder = member.folder or raw.endswith("/")
        if path and is_litter(path, folder=is_folder):
            # Who handed in nothing but litter handed in.
            folders.update(above for above in parents(path) if not is_litter(above, folder=True))
            continue
        if reason:
            left_out.append(LeftOut(f"{shown}/{member.name}", reason))
        elif not path:
            continue
        elif is_folder:
            folders.add(path)
        elif path in files and (member.content is None or member.content != files[path].content):
            twice.add(path)
        else:
            files[path] = member
        if path.rpartition("/")[2] in ENVIRONMENT_MARKS and "/" in path:
            environments.add(path.rpartition("/")[0])
    for path in files:
        folders.update(parents(path))
    for folder in tuple(folders):
        folders.update(parents(folder))
        if folder.rpartition("/")[2] in ENVIRONMENT_MARKS and "/" in folder:
            environments.add(folder.rpartition("/")[0])
    if environments:
        inside = partial(_is_environments, environments)
        files = {path: member for path, member in files.items() if not inside(path, folder=False)}
        folders = {path for path in folders if not inside(path, folder=True)}
    entries = []
    for path in sorted(files):
        member = files[path]
        here = f"{shown}/{path}"
        if path in folders:
            left_out.append(LeftOut(here, "the archive also holds a folder of this name"))
            continue
        reader = partial(refuse, TWICE) if path in twice else member.reader
        entries.append(Entry(path, member.size, member.modified, reader, here))
    left_out = sorted(set(left_out), key=str)
    problems = tuple(f"{shown}: {problem}" for problem in listed.problems)
    return Tree(name, shown, tuple(entries), frozenset(folders), tuple(left_out), problems)


def _is_environments(environments: set[str], path: str, *, folder: bool) -> bool:
    """Whether a path is within what tools put into one of the virtual environments."""
    inner, inner_is_folder = path, folder
    for above in parents(path):
        if above in environments and is_environments(inner.rpartition("/")[2], folder=inner_is_folder):
            return True
        inner, inner_is_folder = above, True
    return False


def _clean(name: str) -> tuple[str, str]:
    """A member's path without ``.`` and empty names, or why it is refused."""
    if "\0" in name:
        return "", "its name holds a NUL byte"
    if len(name) > MAX_PATH:
        return "", f"its name has more than {MAX_PATH:,} characters"
    if name.startswith("/") or (name[1:2] == ":" and name[2:3] in ("/", "\\") and name[0].isalpha()):
        return "", "its name is an absolute path, which leads out of the archive"
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        return "", "its name holds .., which leads out of the archive"
    if len(parts) > MAX_FOLDER_DEPTH + 1:
        return "", TOO_DEEP
    return "/".join(parts), ""


# --- zip ---------------------------------------------------------------------------------------


class _Directory(io.BufferedIOBase):
    """A zip file as its list of members is read: no list beyond the limit is taken into memory."""

    def __init__(self, file: BinaryIO, members: int) -> None:
        self._file = file
        self._members = members

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None else size
        # The list is read at once. Each member in it begins with these four bytes and has 46 at least.
        if wanted > MAX_DIRECTORY:
            raise UnreadableError(f"The archive's list of members has {wanted:,} bytes.")
        data = self._file.read(wanted)
        if len(data) > 46 * self._members and data.count(MEMBER) > self._members:
            raise UnreadableError(f"The archive holds more than {self._members:,} files.")
        return _readable_names(data) if data.startswith(MEMBER) else data


def _readable_names(listed: bytes) -> bytes:
    """A zip's list of members in which only such names are marked as UTF-8 as are that.

    One that isn't would keep all others from being read.
    """
    clean = bytearray(listed)
    at = 0
    while listed.startswith(MEMBER, at) and at + 46 <= len(listed):
        flags, name, extra, comment = struct.unpack_from("<8xH18x3H", listed, at)
        start = at + 46
        if flags & MARKED_UTF8:
            try:
                listed[start : start + name].decode()
            except UnicodeDecodeError:
                struct.pack_into("<H", clean, at + 8, flags & ~MARKED_UTF8)
        at = start + name + extra + comment
    return bytes(clean)


def _list_zip(source: _Source, caps: _Caps) -> _Listed:
    with source.open() as file:
        try:
            with zipfile.ZipFile(_Directory(file, caps.members)) as archive:
                infos = archive.infolist()
        except zipfile.BadZipFile as error:
            # The list of members stands at the end, so that a zip that is cut off has none.
            said = "it is cut off or damaged" if "not a zip file" in str(error) else str(error)
            raise UnreadableError(f"The archive can't be read: {said}.") from None
    if len(infos) > caps.members:
        raise UnreadableError(f"The archive holds more than {caps.members:,} files.")
    return _Listed([_zip_member(source, info) for info in infos])


def _zip_member(source: _Source, info: zipfile.ZipInfo) -> _Member:
    raw = info.orig_filename.encode("utf-8" if info.flag_bits & MARKED_UTF8 else "cp437", "surrogateescape")
    name = _zip_name(info, raw)
    mode = info.external_attr >> 16
    kind = stat.S_IFMT(mode)
    windows_folder = bool(info.external_attr & 0x10) and info.create_system == 0
    reason = ""
    if kind == stat.S_IFLNK:
        reason = LINK
    elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        reason = NO_FILE
    elif info.flag_bits & 0x41:
        reason = "The file is encrypted within the archive; hand it in without a password."
    elif info.compress_type not in ZIP_METHODS:
        reason = (
            f"The file is compressed within the archive by a method that is not read (number "
            f"{info.compress_type}); hand in a plain zip."
        )
    reader = partial(refuse, reason) if reason else partial(_read_zip, source, info, raw)
    return _Member(
        name,
        info.file_size,
        _zip_time(info.date_time),
        reader,
        kind == stat.S_IFDIR or windows_folder,
        (info.file_size, info.CRC, kind),
    )


def _zip_name(info: zipfile.ZipInfo, raw: bytes) -> str:
    """A name that is not marked as UTF-8 mostly is, when it can be."""
    if info.flag_bits & MARKED_UTF8:
        return info.orig_filename
    told = _unicode_path(info.extra, raw)
    if told:
        return told
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp437")


def _unicode_path(extra: bytes, raw: bytes) -> str:
    """The name in the field that Info-ZIP writes for names beyond ASCII, or nothing."""
    while len(extra) >= 4:
        number, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if number == 0x7075 and len(field) > 5 and field[0] == 1:
            if struct.unpack_from("<L", field, 1)[0] != zlib.crc32(raw):
                return ""
            try:
                return field[5:].decode()
            except UnicodeDecodeError:
                return ""
    return ""


def _zip_time(told: tuple[int, int, int, int, int, int]) -> float | None:
    """Seconds since 1970 of a local time; a zip tells no zone."""
    try:
        return time.mktime((*told, 0, 0, -1))
    except (ValueError, OverflowError):
        return None


def _read_zip(source: _Source, info: zipfile.ZipInfo, raw: bytes, limit: int) -> bytes:
    if info.file_size > limit:
        raise UnreadableError(f"The file has {info.file_size:,} bytes; at most {limit:,} are read.")
    with source.open() as file:
        try:
            file.seek(info.header_offset)
            head = file.read(30)
            mark, name_size, extra_size = struct.unpack("<4s22xHH", head)
            same = mark == b"PK\x03\x04" and file.read(name_size) == raw
            file.seek(extra_size, os.SEEK_CUR)
        except (OSError, ValueError, OverflowError, struct.error):
            same = False
        if not same:
            raise UnreadableError(
                "The file is damaged within the archive: its header is not where it should be."
            )
        data = inflate(info.compress_type, file, info.compress_size, limit)
    if len(data) <= limit and (len(data) != info.file_size or zlib.crc32(data) != info.CRC):
        raise UnreadableError("The file is damaged within the archive: its checksum does not fit.")
    return data


# --- tar ---------------------------------------------------------------------------------------


def _is_tar(head: bytes) -> bool:
    """Whether a block is a tar's header, by its checksum."""
    if len(head) < HEAD:
        return False
    try:
        told = tarfile.nti(head[148:156])  # type: ignore[attr-defined]
    except tarfile.TarError:
        return False
    return bool(head[0]) and told == 256 + sum(head[:148]) + sum(head[156:HEAD])


class _Header(tarfile.TarInfo):
    """A header; that one is damaged is kept, where tarfile takes it for the end."""

    @classmethod
    def fromtarfile(cls, tarfile_: Any) -> Any:
        try:
            return super().fromtarfile(tarfile_)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            tarfile_.fault = str(error)
            raise


def _list_tar(source: _Source, kind: Kind, caps: _Caps) -> _Listed:
    plain = kind == "tar"
    members: list[_Member] = []
    problems: list[str] = []
    unrolled = None if plain else _Unrolled(source, kind, caps)
    with source.open() as file:
        stream = Unpacked(file, kind, caps.unpacked, caps.explain)
        try:
            for info, archive in _tar_infos(stream):
                if len(members) == caps.members:
                    raise UnreadableError(f"The archive holds more than {caps.members:,} files.")
                regular = info.isreg() and not info.issparse()
                if unrolled and regular and not is_litter(info.name):
                    unrolled.note(info.offset_data, info.size, archive.extractfile(info))
                members.append(_tar_member(source, unrolled, info, regular))
            while stream.read(CHUNK):
                pass
        except UnreadableError as error:
            if not members:
                raise
            problems.append(f"{error} What comes after {members[-1].name!r} is not read.")
    return _Listed(members, tuple(problems))


def _tar_infos(stream: Unpacked) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """The members, in order. Raises UnreadableError."""
    try:
        with tarfile.open(
            fileobj=stream,
            mode="r|",
            tarinfo=_Header,
            errors="surrogateescape",
            encoding="utf-8",
            bufsize=CHUNK,
        ) as archive:
            before = -1
            while info := archive.next():
                # What was listed is kept by tarfile, too.
                archive.members.clear()  # type: ignore[attr-defined]
                if info.size < 0 or info.offset_data <= before:
                    raise UnreadableError(DAMAGED.format("a member's size is wrong"))
                before = info.offset_data
                yield info, archive
            if fault := getattr(archive, "fault", ""):
                raise UnreadableError(DAMAGED.format(fault))
    except UnreadableError:
        raise
    except Exception as error:  # a parser of hostile bytes fails in every way there is
        raise UnreadableError(DAMAGED.format(str(error) or type(error).__name__)) from None


def _tar_member(source: _Source, unrolled: _Unrolled | None, info: tarfile.TarInfo, regular: bool) -> _Member:
    reader: Callable[[int], bytes]
    if regular and unrolled:
        reader = partial(unrolled.read, info.offset_data, info.size)
    elif regular:
        reader = partial(_read_tar, source, info.offset_data, info.size)
    elif info.issym() or info.islnk():
        reader = partial(refuse, LINK)
    else:
        reader = partial(refuse, NO_FILE)
    modified = float(info.mtime)
    return _Member(
        info.name,
        info.size if regular else 0,
        modified if math.isfinite(modified) else None,
        reader,
        info.isdir(),
    )


def _read_tar(source: _Source, offset: int, size: int, limit: int) -> bytes:
    _check_size(size, limit)
    with source.open() as file:
        file.seek(offset)
        data = file.read(size)
    if len(data) < size:
        raise UnreadableError("The file is cut off within the archive.")
    return data


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise UnreadableError(f"The file has {size:,} bytes; at most {limit:,} are read.")


class _Unrolled:
    """A compressed tar, which can only be read from its start.

    The pass that lists the members keeps the small ones. One that is not kept, or no longer, costs another
    pass, which keeps those that follow it.
    """

    def __init__(self, source: _Source, kind: Kind, caps: _Caps) -> None:
        self._source = source
        self._kind = kind
        self._caps = caps
        self._sizes: dict[int, int] = {}
        self._kept: dict[int, bytes] = {}
        self._used = 0

    def note(self, offset: int, size: int, file: Any) -> None:
        """A member that the first pass stands at; ``file`` gives its bytes."""
        self._sizes[offset] = size
        if self._fits(size):
            self._keep(offset, _checked(file.read(size), size))

    def read(self, offset: int, size: int, limit: int) -> bytes:
        """A member's bytes. Raises UnreadableError."""
        _check_size(size, limit)
        kept = self._kept.pop(offset, None)
        if kept is not None:
            self._used -= len(kept)
            return zlib.decompress(kept)
        return self._pass(offset, size)

    def _pass(self, offset: int, size: int) -> bytes:
        with self._source.open() as file:
            stream = Unpacked(file, self._kind, self._caps.unpacked, self._caps.explain)
            stream.skip(offset)
            wanted = _checked(stream.read(size), size)
            for other, length in self._sizes.items():
                if other <= offset or other in self._kept:
                    continue
                if not self._fits(length):
                    if length <= KEPT_EACH:
                        break
                    continue
                stream.skip(other - stream.given)
                self._keep(other, _checked(stream.read(length), length))
        return wanted

    def _fits(self, size: int) -> bool:
        return size <= KEPT_EACH and self._used + size <= self._caps.keep

    def _keep(self, offset: int, data: bytes) -> None:
        packed = zlib.compress(data, 1)
        self._kept[offset] = packed
        self._used += len(packed)


def _checked(data: bytes, size: int) -> bytes:
    if len(data) < size:
        raise UnreadableError("The file is cut off within the archive.")
    return data
