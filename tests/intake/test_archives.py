"""Archives: every member, whatever packed it; nothing beyond the caps, whatever they claim."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.intake import archives, unpack
from grader.intake.archives import (
    MAX_NESTED,
    TWICE,
    Expanded,
    expand,
    has_archive_ending,
    is_archive,
    open_tree,
    without_ending,
)
from grader.intake.tree import LINK, NO_FILE, Tree, UnreadableError
from tests.intake.made import GOOD, contents, handed_in, tarred, write_files, zipped

FILES = {"ann/solution.py": GOOD, "ann/notes/a.txt": b"", "bob.py": b"b" * 70_000, "zoë/ü.py": b"u"}
KINDS = {
    "zip": zipped,
    "tar": tarred,
    "tar.gz": lambda files: tarred(files, "gz"),
    "tar.bz2": lambda files: tarred(files, "bz2"),
    "tar.xz": lambda files: tarred(files, "xz"),
}


def opened(tmp_path: Path, data: bytes, name: str = "class.zip") -> Tree:
    path = tmp_path / name
    path.write_bytes(data)
    return open_tree(path)


def read(found: Expanded, limit: int = 1 << 21) -> dict[str, bytes | str]:
    told: dict[str, bytes | str] = {}
    for one in found.files:
        try:
            told[one.name] = one.entry.read(limit)
        except UnreadableError as error:
            told[one.name] = str(error)
    return told


def reasons(tree: Tree | Expanded) -> list[str]:
    return [str(left) for left in tree.left_out]


# --- the same whatever it is packed in ---------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["class", "class.zip", "class.bin"])
def test_an_archive_is_told_by_its_content(tmp_path: Path, kind: str, name: str) -> None:
    tree = opened(tmp_path, KINDS[kind](FILES), name)
    assert contents(tree.entries) == FILES
    assert [entry.path for entry in tree.entries] == sorted(FILES)
    assert tree.folders == {"ann", "ann/notes", "zoë"}
    assert tree.entries[0].shown == f"{tmp_path / name}/{tree.entries[0].path}"
    assert (tree.left_out, tree.problems) == ((), ())
    assert tree.name == ("class" if name != "class.bin" else name)


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=6
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 100)
PATHS = st.lists(
    NAMES | st.sampled_from(["ann", "Ann", "a.py", "__MACOSX", "venv", "pyvenv.cfg", "._x"]),
    min_size=1,
    max_size=4,
)


@st.composite
def file_trees(draw: st.DrawFn) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    taken: set[str] = set()
    for parts in draw(st.lists(PATHS, max_size=8)):
        path = "/".join(parts)
        above = {"/".join(parts[:n]) for n in range(1, len(parts))}
        if path in taken or above & files.keys() or path in files:
            continue
        taken |= above
        files[path] = draw(st.binary(max_size=40))
    return files


@settings(max_examples=60, deadline=None)
@given(file_trees())
@example({"mine/pyvenv.cfg": b"", "mine/x.py": b"", "y/__MACOSX/z": b"", "y/venv": b"1"})
@example({"pyvenv.cfg": b"", "x.py": b""})
@example({"a/conda-meta/b": b"", "a/x": b""})
def test_a_folder_and_its_archives_are_the_same_tree(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    top = tmp_path_factory.mktemp("trees")
    folder = open_tree(write_files(top / "class", files))
    for kind, pack in KINDS.items():
        packed = pack(files)
        if not packed.strip(b"\0"):
            continue  # a tar without members has nothing by which it is known
        if not files and kind != "zip":
            continue
        tree = opened(top, packed, f"class.{kind}")
        assert contents(tree.entries) == contents(folder.entries)
        assert tree.name == folder.name
        # An archive tells of folders through the files in them; a folder that holds litter alone is none.
        named = {f for f in folder.folders if any(e.path.startswith(f"{f}/") for e in folder.entries)}
        assert named <= tree.folders <= folder.folders


def test_folders_are_told_of_also_when_they_are_empty(tmp_path: Path) -> None:
    files = {"empty/": b"", "a/b/": b"", "venv/": b"", "x.py": b""}
    for kind, pack in KINDS.items():
        assert opened(tmp_path, pack(files), f"x.{kind}").folders == {"empty", "a", "a/b"}


def test_a_name_is_known_without_its_ending() -> None:
    assert [without_ending(n) for n in ("a.zip", "a.TAR.GZ", "a.tgz", "a.b", ".zip", "a.tar.zip")] == [
        "a", "a", "a", "a.b", ".zip", "a.tar",
    ]  # fmt: skip
    assert has_archive_ending("A.ZIP")
    assert not has_archive_ending("zip.py")


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"def f(): pass\n", b"PK", b"\0" * 1024):
        with pytest.raises(UnreadableError, match="is no folder and no archive; expected a zip"):
            opened(tmp_path, data)
    with pytest.raises(UnreadableError, match="RAR archive, which is not read; expected a zip or tar"):
        opened(tmp_path, b"Rar!\x1a\x07\x01\x00")
    with pytest.raises(UnreadableError, match="is compressed, but no tar archive"):
        opened(tmp_path, gzip.compress(GOOD * 100))
    with pytest.raises(UnreadableError, match="No such file"):
        open_tree(tmp_path / "gone.zip")
    os.mkfifo(tmp_path / "fifo.zip")
    with pytest.raises(UnreadableError, match="is no regular file"):
        open_tree(tmp_path / "fifo.zip")


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for kind, pack in KINDS.items():
        tree = opened(tmp_path, pack(FILES), f"x.{kind}")
        contents(tree.entries)
    assert os.listdir("/proc/self/fd") == before


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/passwd.py", "absolute path"),
        ("../x.py", "holds .."),
        ("a/../../x.py", "holds .."),
        ("C:/x.py", "absolute path"),
        ("c:\\x.py", "absolute path"),
        ("a\\..\\b.py", "holds .."),
        ("x" * 1100, "more than 1,024 characters"),
        ("a/" * 30 + "x.py", "folders deep"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_and_the_rest_goes_on(
    tmp_path: Path, name: str, said: str
) -> None:
    files = {"a/ann.py": b"1", name: b"2"}
    for kind, pack in KINDS.items():
        tree = opened(tmp_path, pack(files), f"x.{kind}")
        assert contents(tree.entries) == {"a/ann.py": b"1"}
        (told,) = reasons(tree)
        assert said in told


def test_names_are_cleaned_of_dots_and_doubled_slashes(tmp_path: Path) -> None:
    for pack in (zipped, tarred):
        tree = opened(tmp_path, pack({"./a//b/./x.py": b"1"}))
        assert contents(tree.entries) == {"a/b/x.py": b"1"}


def test_backslashes_are_slashes_where_a_tool_of_windows_wrote_them_everywhere(tmp_path: Path) -> None:
    tree = opened(tmp_path, zipped({"class\\ann\\x.py": b"1", "class\\bob\\": b"", "class\\..\\y.py": b"2"}))
    assert contents(tree.entries) == {"class/ann/x.py": b"1"}
    assert "class/bob" in tree.folders
    assert len(reasons(tree)) == 1


def test_a_name_that_is_wrongly_marked_as_utf8_costs_nobody_else_theirs(tmp_path: Path) -> None:
    raw = zipped({"Zoé/x.py": b"1", "bob/x.py": b"2", "Jörg/x.py": b"3"}).replace("é".encode(), b"\xe9x")
    tree = opened(tmp_path, raw)
    assert contents(tree.entries) == {"Zo\u0398x/x.py": b"1", "bob/x.py": b"2", "Jörg/x.py": b"3"}


def test_backslashes_within_the_folders_of_a_platform_are_slashes(tmp_path: Path) -> None:
    files = {"ann/code\\x.py": b"1", "bob/x.py": b"2", "bob\\x.py": b"3", "cid\\x.py": b"4"}
    for kind, pack in KINDS.items():
        tree = opened(tmp_path, pack(files), f"x.{kind}")
        found = contents(tree.entries)
        assert "two different files of this name" in str(found.pop("bob/x.py"))
        assert found == {"ann/code/x.py": b"1", "cid/x.py": b"4"}


@pytest.mark.parametrize("name", ["mine", "venv", ".venv", "env"])
def test_work_in_a_virtual_environment_is_no_litter(tmp_path: Path, name: str) -> None:
    kept = {f"ann/{name}/{path}": b"1" for path in ("solution.py", "a.ipynb", "src/tools.py")}
    dropped = {
        f"ann/{name}/{path}": b"0"
        for path in (
            "pyvenv.cfg",
            ".gitignore",
            "lib/x.py",
            "Lib/y/x.py",
            "bin/z",
            "Scripts/activate_this.py",
        )
    }
    packed = kept | dropped | {"bob/conda-meta/history": b"", "bob/bin/x.py": b"", "bob/x.py": b"1"}
    folder = open_tree(write_files(tmp_path / "class", packed))
    assert contents(folder.entries) == kept | {"bob/x.py": b"1"}
    for kind, pack in KINDS.items():
        tree = opened(tmp_path, pack(packed), f"class.{kind}")
        assert contents(tree.entries) == contents(folder.entries)
        assert tree.folders == folder.folders


def test_who_handed_in_nothing_but_litter_has_a_folder(tmp_path: Path) -> None:
    files = {
        "ann/._x.py": b"",
        "bob/__MACOSX/._x.py": b"",
        "cid/pyvenv.cfg": b"",
        "cid/lib/x.py": b"",
        "dan/__pycache__/x.pyc": b"",
        "__MACOSX/ann/._x.py": b"",
    }
    folder = open_tree(write_files(tmp_path / "class", files))
    assert folder.folders == {"ann", "bob", "cid", "dan"}
    for kind, pack in KINDS.items():
        assert opened(tmp_path, pack(files), f"class.{kind}").folders == folder.folders


def raw_named(raw: bytes, extra: bytes = b"") -> bytes:
    """A zip with one member whose name has these bytes and is not marked as UTF-8."""
    placeholder = "n" * len(raw)
    info = zipfile.ZipInfo(placeholder)
    info.extra = extra
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, b"1")
    return out.getvalue().replace(placeholder.encode(), raw)


def test_a_name_that_is_not_marked_as_utf8_is_guessed(tmp_path: Path) -> None:
    for raw, name in (
        ("Zoë.py".encode(), "Zoë.py"),
        ("Zoe\u0308.py".encode(), "Zoe\u0308.py"),
        ("Zoë.py".encode("cp437"), "Zoë.py"),
        (b"Zo\xeb.py", "Zoδ.py"),
    ):
        tree = opened(tmp_path, raw_named(raw))
        assert contents(tree.entries) == {name: b"1"}
    raw = b"Zoe?.py"
    field = b"\1" + struct.pack("<L", zlib.crc32(raw)) + "Zoë李.py".encode()
    tree = opened(tmp_path, raw_named(raw, struct.pack("<HH", 0x7075, len(field)) + field))
    assert contents(tree.entries) == {"Zoë李.py": b"1"}


def test_a_nul_byte_in_a_name_is_refused(tmp_path: Path) -> None:
    tree = opened(tmp_path, raw_named(b"ann.py\0.txt"))
    assert tree.entries == ()
    assert "NUL byte" in reasons(tree)[0]


def test_names_that_differ_in_case_or_form_only_are_two_files(tmp_path: Path) -> None:
    files = {"Ann.py": b"1", "ann.py": b"2", "Zo\u00eb.py": b"3", "Zoe\u0308.py": b"4"}
    for pack in (zipped, tarred):
        assert contents(opened(tmp_path, pack(files)).entries) == files


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_different_files_of_one_name_are_not_read(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in (
            ("ann.py", b"1"),
            ("ann.py", b"2"),
            ("bob.py", b"3"),
            ("bob.py", b"3"),
            ("./cid.py", b"4"),
        ):
            archive.writestr(name, data)
    for found in (opened(tmp_path, out.getvalue()), expand(handed_in("a.zip", out.getvalue()))):
        told = contents(found.entries) if isinstance(found, Tree) else read(found)
        assert told == {"ann.py": TWICE, "bob.py": b"3", "cid.py": b"4"}
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for data in (b"1", b"2"):
            info = tarfile.TarInfo("ann.py")
            info.size = 1
            archive.addfile(info, io.BytesIO(data))
    assert contents(opened(tmp_path, tar.getvalue()).entries) == {"ann.py": TWICE}


def test_a_file_and_a_folder_of_one_name(tmp_path: Path) -> None:
    tree = opened(tmp_path, zipped({"ann": b"1", "ann/x.py": b"2"}))
    assert contents(tree.entries) == {"ann/x.py": b"2"}
    assert reasons(tree) == [f"{tmp_path / 'class.zip'}/ann: the archive also holds a folder of this name"]


# --- what is no file ----------------------------------------------------------------------------


def test_links_devices_and_fifos_are_there_and_not_read(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (
            ("sym.py", tarfile.SYMTYPE),
            ("hard.py", tarfile.LNKTYPE),
            ("dev.py", tarfile.CHRTYPE),
            ("block.py", tarfile.BLKTYPE),
            ("fifo.py", tarfile.FIFOTYPE),
            ("sparse.py", tarfile.GNUTYPE_SPARSE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    tree = opened(tmp_path, out.getvalue())
    told = contents(tree.entries)
    assert told["sym.py"] == told["hard.py"] == LINK
    assert {told[f"{n}.py"] for n in ("dev", "block", "fifo", "sparse")} == {NO_FILE}
    zip_ = io.BytesIO()
    with zipfile.ZipFile(zip_, "w") as archive:
        for name, mode in (("link.py", stat.S_IFLNK), ("fifo.py", stat.S_IFIFO), ("ok.py", stat.S_IFREG)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode | 0o644) << 16
            archive.writestr(info, "/etc/passwd")
    assert contents(opened(tmp_path, zip_.getvalue()).entries) == {
        "link.py": LINK,
        "fifo.py": NO_FILE,
        "ok.py": b"/etc/passwd",
    }


def patched(data: bytes, central: int, local: int, form: str, *values: int) -> bytes:
    """A zip of one member with a field changed in both of its headers."""
    out = bytearray(data)
    struct.pack_into(form, out, out.rindex(b"PK\x01\x02") + central, *values)
    struct.pack_into(form, out, out.index(b"PK\x03\x04") + local, *values)
    return bytes(out)


def test_an_encrypted_member_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    tree = opened(tmp_path, patched(zipped({"ann.py": GOOD}), 8, 6, "<H", 1))
    assert "encrypted" in str(contents(tree.entries)["ann.py"])


@pytest.mark.parametrize("method", [9, 14, 93, 98])
def test_an_unknown_compression_is_refused_and_named(tmp_path: Path, method: int) -> None:
    tree = opened(tmp_path, patched(zipped({"ann.py": GOOD}), 10, 8, "<H", method))
    assert f"(number {method})" in str(contents(tree.entries)["ann.py"])


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_the_usual_compressions_are_read(tmp_path: Path, method: int) -> None:
    files = {"ann.py": GOOD * 5000, "bob.py": b"", "cid.py": b"x"}
    assert contents(opened(tmp_path, zipped(files, method)).entries) == files


def test_a_wrong_checksum_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    data = zipped({"ann.py": b"abcdef", "bob.py": b"1"}, zipfile.ZIP_STORED).replace(b"abcdef", b"abcdeF")
    tree = opened(tmp_path, data)
    told = contents(tree.entries)
    assert "checksum does not fit" in str(told["ann.py"])
    assert told["bob.py"] == b"1"


@pytest.mark.parametrize("size", [0, 1, 41, 43, 1000, 0xFFFFFFFE])
def test_a_size_that_is_a_lie_is_told(tmp_path: Path, size: int) -> None:
    assert len(GOOD) == 42
    tree = opened(tmp_path, patched(zipped({"ann.py": GOOD}), 24, 22, "<L", size))
    assert isinstance(contents(tree.entries)["ann.py"], str)


# --- cut and damaged ----------------------------------------------------------------------------


def test_a_zip_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    data = zipped(FILES)
    for size in (30, len(data) // 2, len(data) - 10):
        with pytest.raises(
            UnreadableError, match=r"class\.zip: The archive (can't be read: it is cut off or )?damaged"
        ):
            opened(tmp_path, data[:size])


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_a_tar_that_is_cut_off_gives_what_came_before_and_a_problem(tmp_path: Path, kind: str) -> None:
    files = {f"s{i:03}.py": os.urandom(30_000) for i in range(100)}
    data = KINDS[kind](files)
    tree = opened(tmp_path, data[: len(data) * 3 // 4], f"x.{kind}")
    told = contents(tree.entries)
    whole = {path: found for path, found in told.items() if isinstance(found, bytes)}
    assert 0 < len(whole) < 100
    assert whole.items() <= files.items()
    # The member in which a plain tar is cut is listed, and told of when it is read.
    assert len(told) - len(whole) <= 1
    assert len(tree.problems) == 1
    assert "is not read" in tree.problems[0]


def test_a_damaged_header_in_a_tar_is_not_taken_for_its_end(tmp_path: Path) -> None:
    data = bytearray(tarred({"ann.py": b"1", "bob.py": b"2", "cid.py": b"3"}))
    data[1024 + 5] ^= 0xFF
    tree = opened(tmp_path, bytes(data))
    assert contents(tree.entries) == {"ann.py": b"1"}
    assert "What comes after 'ann.py' is not read" in tree.problems[0]


def test_a_damaged_checksum_at_the_end_of_a_gzip_is_told(tmp_path: Path) -> None:
    data = bytearray(tarred(FILES, "gz"))
    data[-6] ^= 0xFF
    tree = opened(tmp_path, bytes(data))
    assert contents(tree.entries).items() <= FILES.items()
    assert "damaged" in tree.problems[0]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_damaged_nothing_but_what_is_said_is_raised(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    raw = bytearray(KINDS[kind]({"ann.py": GOOD, "b/c.py": GOOD * 30}))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw
    found = expand(handed_in(f"x.{kind}", bytes(raw)))
    for one in found.files:
        try:
            assert len(one.entry.read(5000)) <= 5000
        except UnreadableError as error:
            assert str(error)
    assert found.problem or found.files or found.left_out or not raw.strip(b"\0")


# --- bombs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_no_more_is_unpacked_than_is_asked_for(
    tmp_path: Path, method: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    class Counted:
        def __init__(self) -> None:
            self._decoder = make()

        def __getattr__(self, name: str) -> object:
            return getattr(self._decoder, name)

        def decode(self, raw: bytes, most: int) -> bytes:
            piece = self._decoder.decode(raw, most)
            given.append(len(piece))
            return piece

    make = archives.ZIP_METHODS[method]
    monkeypatch.setitem(archives.ZIP_METHODS, method, Counted)
    # It claims to be small.
    data = patched(zipped({"ann.py": b"\0" * (50 << 20)}, method), 24, 22, "<L", 100)
    tree = opened(tmp_path, data)
    with pytest.raises(UnreadableError):
        tree.entries[0].read(1000)
    assert 1000 < sum(given) <= 1001


def test_the_files_of_one_archive_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10_000)
    found = expand(handed_in("a.zip", zipped({f"{i}.py": b"x" * 3000 for i in range(5)})))
    told = read(found)
    assert [len(v) for v in list(told.values())[:3]] == [3000] * 3
    assert all(isinstance(v, str) for v in list(told.values())[3:])


@pytest.mark.parametrize("packed", ["gz", "bz2", "xz"])
def test_a_students_tar_that_grows_without_end_is_refused(
    packed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 20)
    found = expand(handed_in("a.tar.gz", tarred({"ann.py": GOOD, "big": b"\0" * (2 << 20)}, packed)))
    assert found.files == ()
    assert found.problem == archives.TOO_BIG


def test_a_classes_tar_that_grows_a_hundredfold_is_a_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 16)
    tree = opened(tmp_path, tarred({"ann.py": GOOD, "big": b"\0" * (30 << 20), "bob.py": GOOD}, "bz2"))
    assert contents(tree.entries)["ann.py"] == GOOD
    assert "bomb" in tree.problems[0]


def test_a_list_of_members_beyond_the_limit_is_not_taken_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 100)
    made = 0
    real = zipfile.ZipInfo.__init__

    def counting(*args: object, **named: object) -> None:
        nonlocal made
        made += 1
        real(*args, **named)  # type: ignore[arg-type]

    for pack in (zipped, tarred):
        ok, more = (pack({f"{i}.py": b"" for i in range(n)}) for n in (100, 101))
        assert len(expand(handed_in("a.zip", ok)).files) == 100
        monkeypatch.setattr(zipfile.ZipInfo, "__init__", counting)
        found = expand(handed_in("a.zip", more))
        monkeypatch.setattr(zipfile.ZipInfo, "__init__", real)
        assert "more than 100 files" in found.problem
    assert made == 0


def test_archives_in_archives_are_opened_and_no_deeper_than_the_limit() -> None:
    assert MAX_NESTED == 2
    inner = zipped({"solution.py": GOOD, "deeper.zip": zipped({"x.py": b"1"})})
    found = expand(handed_in("a.zip", zipped({"hw.zip": inner, "readme.txt": b"r"})))
    assert read(found) == {"hw.zip/solution.py": GOOD, "readme.txt": b"r"}
    assert reasons(found) == ["class/a.zip/hw.zip/deeper.zip: an archive within 2 others is not opened"]
    assert [f.entry.shown for f in found.files] == [
        "class/a.zip/hw.zip/solution.py",
        "class/a.zip/readme.txt",
    ]


def test_a_lone_archive_in_an_archive_is_as_if_it_was_handed_in_itself() -> None:
    for pack in KINDS.values():
        found = expand(handed_in("a.zip", zipped({"hw.tar.gz": pack({"hw/solution.py": GOOD})})), "a.zip/")
        assert read(found) == {"a.zip/hw/solution.py": GOOD}


def test_an_archive_that_holds_itself_ends() -> None:
    # Each level holds the next; a true quine is cut at the same depth.
    data = zipped({"solution.py": GOOD})
    for _ in range(30):
        data = zipped({"again.zip": data, "solution.py": GOOD})
    found = expand(handed_in("again.zip", data))
    assert sorted(read(found)) == ["again.zip/solution.py", "solution.py"]


def test_overlapping_members_cost_no_more_than_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 5 << 20)
    kernel = zipped({"k.py": b"\0" * (1 << 20)})
    start, body = kernel.index(b"PK\x01\x02"), kernel.index(b"PK\x05\x06")
    one = kernel[start:body]
    many = kernel[:start] + one * 500 + kernel[body:]
    many = bytearray(many)
    struct.pack_into("<HHLL", many, many.rindex(b"PK\x05\x06") + 8, 500, 500, len(one) * 500, start)
    found = expand(handed_in("a.zip", bytes(many)))
    # All are the same member, so they are one file.
    assert [len(v) for v in read(found).values()] == [1 << 20]


# --- what students hand in ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("hw.zip", b"", "hw.zip is empty."),
        (
            "hw.zip",
            GOOD,
            "hw.zip is no archive that can be read; hand in a .py or .ipynb file, or a zip of them.",
        ),
        ("hw.rar", b"Rar!\x1a\x07\x00", "This is a RAR archive, which is not read; expected a zip or tar."),
        (
            "hw.7z",
            b"7z\xbc\xaf\x27\x1c",
            "This is a 7-Zip archive, which is not read; expected a zip or tar.",
        ),
    ],
)
def test_what_can_not_be_read_is_said(name: str, data: bytes, said: str) -> None:
    assert is_archive(handed_in(name, data))
    assert expand(handed_in(name, data)).problem == said


def test_an_archive_that_is_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_ARCHIVE", 1000)
    assert "more than 1,000 bytes" in expand(handed_in("hw.zip", zipped({"a": os.urandom(2000)}))).problem


def test_files_of_other_programs_are_no_archives() -> None:
    data = zipped({"a.py": GOOD})
    assert is_archive(handed_in("hw", data))
    assert is_archive(handed_in("hw.txt", tarred({"a.py": GOOD})))
    for name in ("hw.docx", "weights.npz", "model.pt"):
        assert not is_archive(handed_in(name, data))
    assert not is_archive(handed_in("hw.py", GOOD))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_is_compressed_by_itself_is_one_file(pack: object) -> None:
    found = expand(handed_in("solution.py.gz", pack(GOOD)))  # type: ignore[operator]
    assert read(found) == {"solution.py": GOOD}


def test_a_broken_archive_beside_files_is_told_and_the_files_stay() -> None:
    found = expand(handed_in("a.zip", zipped({"solution.py": GOOD, "data.zip": b"broken"})))
    assert read(found) == {"solution.py": GOOD}
    assert found.problem == ""
    assert "no archive that can be read" in reasons(found)[0]
    assert "data.zip is no archive" in expand(handed_in("a.zip", zipped({"data.zip": b"broken"}))).problem


def test_what_is_not_kept_of_a_packed_tar_is_read_in_another_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "KEPT", 10_000)
    monkeypatch.setattr(archives, "KEPT_EACH", 4000)
    files = {f"s{i:02}.py": os.urandom(3000 if i % 5 else 6000) for i in range(40)}
    tree = opened(tmp_path, tarred(files, "gz"), "x.tar.gz")
    assert contents(tree.entries) == files
    assert contents(reversed(tree.entries)) == files
    assert contents(tree.entries) == files


class _Counting:
    """A decoder that counts what it gives."""

    given = 0

    def __init__(self, make: Callable[[], Any]) -> None:
        self._decoder = make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def decode(self, raw: bytes, most: int) -> bytes:
        piece: bytes = self._decoder.decode(raw, most)
        _Counting.given += len(piece)
        return piece


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_an_archive_claims_no_more_is_unpacked_than_the_caps_allow(data: st.DataObject) -> None:
    cap, members = 100_000, data.draw(st.integers(1, 8))
    sizes = data.draw(st.lists(st.integers(0, 300_000), min_size=members, max_size=members))
    method = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))
    packed = data.draw(st.sampled_from(["zip", "gz", "bz2"]))
    files = {f"{n}.py": b"\0" * size for n, size in enumerate(sizes)}
    if data.draw(st.booleans()):
        files = {"inner.zip": zipped(files, method), "x.py": b"1"}
    raw = bytearray(zipped(files, method) if packed == "zip" else tarred(files, packed))
    if packed == "zip":
        start = raw.index(b"PK\x01\x02")
        while start >= 0:
            claim = data.draw(st.none() | st.integers(0, 2000) | st.integers(0, 0xFFFFFFFE))
            if claim is not None:
                struct.pack_into("<L", raw, start + 24, claim)
            if data.draw(st.booleans()):
                struct.pack_into("<L", raw, start + 42, data.draw(st.integers(0, len(raw))))
            start = raw.find(b"PK\x01\x02", start + 46)
    _Counting.given = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archives, "MAX_UNPACKED", cap)
        for table in (unpack.ZIP_METHODS, unpack.STREAMS):
            for name, make in table.items():
                patch.setitem(table, name, partial(_Counting, make))
        found = expand(handed_in(f"x.{packed}", bytes(raw)))
        reads = 0
        for one in found.files:
            reads += 1
            try:
                one.entry.read(data.draw(st.sampled_from([10, 70_000, 1 << 20])))
            except UnreadableError:
                pass
    # Each read takes one byte more than it may, to see that there is more.
    nested = sum(name.endswith(".zip") for name in files)
    # A packed tar is unpacked as a whole and then gone through once.
    streams = 2 * (cap + 1) if packed != "zip" else 0
    assert _Counting.given <= cap + reads + nested + streams
