"""Whatever is wrong with the file is told, with what is kept and what to do, and nothing is overwritten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gradebook.books import look, result, stored, write_old
from grader.errors import GraderError
from grader.gradebook.database import APPLICATION, FILE, VERSION
from grader.gradebook.journal import Execution, Gradebook, Made

ROOT = Path(__file__).resolve().parents[2]


def fill(folder: Path, count: int = 60) -> Path:
    """A closed gradebook of many pages."""
    with Gradebook(folder, "row_scale") as book:
        for number in range(count):
            made = Made(f"plain:{number}", f"t{number}", "sha256:e")
            book.add(result(f"s{number:02d}"), made, Execution("x = 1", os.urandom(3_000)))
    return folder / FILE


def told(folder: Path, *, reading: bool = False) -> str:
    with pytest.raises(GraderError) as caught, Gradebook(folder, "row_scale", reading=reading) as book:
        list(book.newest())
    return str(caught.value)


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize(
    "content",
    [b"this is no database, it is text\n" * 50, b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 4096],
)
def test_a_file_without_a_header_is_told_and_left_as_it_is(
    tmp_path: Path, content: bytes, reading: bool
) -> None:
    path = tmp_path / FILE
    path.write_bytes(content)
    said = told(tmp_path, reading=reading)
    assert said.startswith(f"{path} is damaged (")
    assert "nothing was written to it" in said and "start over with --fresh" in said
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.15, 0.5, 0.95])
def test_a_damaged_page_is_told_before_anything_is_written(tmp_path: Path, share: float) -> None:
    path = fill(tmp_path)
    data = bytearray(path.read_bytes())
    pages = len(data) // 4096
    assert pages > 40
    # A page of a tree, not one that only holds the rest of a long row: those have no form to be broken.
    kinds = [at for at in range(1, pages) if data[at * 4096] in (2, 5, 10, 13)]
    at = kinds[int(share * len(kinds))]
    data[at * 4096 : at * 4096 + 200] = b"\xff" * 200
    path.write_bytes(data)
    assert told(tmp_path).startswith(f"{path} is damaged (")
    assert path.read_bytes() == data


def test_an_index_that_tells_of_another_is_told(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("unlike"))
    path = tmp_path / FILE
    data = path.read_bytes()
    (root,) = look(tmp_path, "SELECT rootpage FROM sqlite_master WHERE name = 'by_submission'")[0]
    (size,) = look(tmp_path, "PRAGMA page_size")[0]
    at = data.index(b"unlike", (root - 1) * size, root * size)
    path.write_bytes(data[:at] + b"unlikf" + data[at + 6 :])
    for reading in (False, True):
        assert told(tmp_path, reading=reading).startswith(f"{path} is damaged (")


def test_a_message_of_damaged_text_is_told(tmp_path: Path) -> None:
    path = fill(tmp_path, 1)
    data = path.read_bytes()
    # SQLite quotes what it can't read, and Python can't read that either.
    path.write_bytes(data.replace(b"place TEXT NOT NULL", b"place TEXT NOT N\xdeLL"))
    for reading in (False, True):
        assert told(tmp_path, reading=reading).startswith(f"{path} is damaged (a text in it can't be read)")


def test_a_file_that_was_cut_short_is_told(tmp_path: Path) -> None:
    path = fill(tmp_path)
    data = path.read_bytes()[: 4096 * 20]
    path.write_bytes(data)
    assert told(tmp_path).startswith(f"{path} is damaged (")
    assert path.read_bytes() == data


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize(
    "statements",
    ["CREATE TABLE photos (name TEXT)", "PRAGMA application_id = 7", "PRAGMA user_version = 3"],
)
def test_a_database_of_another_program_is_left_as_it_is(
    tmp_path: Path, statements: str, reading: bool
) -> None:
    look(tmp_path, statements)
    data = (tmp_path / FILE).read_bytes()
    said = told(tmp_path, reading=reading)
    assert f"{tmp_path / FILE} is no gradebook, but a database of something else" in said
    assert "it is left as it is: choose another folder" in said
    assert (tmp_path / FILE).read_bytes() == data


@pytest.mark.parametrize("reading", [False, True])
def test_a_newer_form_is_left_as_it_is(tmp_path: Path, reading: bool) -> None:
    path = fill(tmp_path, 3)
    look(tmp_path, f"PRAGMA user_version = {VERSION + 1}")
    data = path.read_bytes()
    assert f"was written by a newer version of the grader (form {VERSION + 1}" in told(
        tmp_path, reading=reading
    )
    assert path.read_bytes() == data


@pytest.mark.parametrize("reading", [False, True])
def test_a_table_that_is_gone_is_told(tmp_path: Path, reading: bool) -> None:
    fill(tmp_path, 3)
    look(tmp_path, "DROP TABLE executions")
    look(tmp_path, "DROP TABLE adjustments")
    with Gradebook(tmp_path, "row_scale", reading=reading) as book:
        for use in (book.executions, book.entries):
            with pytest.raises(GraderError, match="can't be used"):
                use()


def test_a_full_disk_is_told_and_what_was_written_stays(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    with Gradebook(tmp_path, "row_scale", commit_every=0.0) as book:
        (pages,) = book._db.execute("PRAGMA page_count").fetchone()
        book._db.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(GraderError) as caught:
            for number in range(20, 60):
                book.add(result(f"s{number}"))
        assert str(caught.value) == (
            f"{tmp_path / FILE} can't be written: the disk is full; what was graded before is kept: "
            "make room and run the same command again, which goes on where it was"
        )
        written = stored(tmp_path)
        assert 20 < written < 60
    assert stored(tmp_path) == written
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("zoe"))
        assert [r.submission.id for r in book.newest()][-1] == "zoe"


# A file that may not grow is what a used-up quota looks like.
NO_ROOM = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from gradebook.books import result
from grader.errors import GraderError
from grader.gradebook.journal import Gradebook
folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
try:
    with Gradebook(folder, "row_scale", commit_every=0.0) as book:
        for number in range(10_000):
            book.add(result(f"s{{number:04d}}"))
except GraderError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("most", [2_000, 30_000, 200_000])
def test_a_file_that_may_not_grow_any_more_holds_what_was_written(tmp_path: Path, most: int) -> None:
    script = NO_ROOM.format(tests=str(ROOT / "tests"), most=most)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{tmp_path / FILE} can't be "), done.stdout + done.stderr
    assert "what was graded before is kept" in done.stdout and done.stdout.count("\n") == 1
    with Gradebook(tmp_path, "row_scale") as book:
        found = [r.submission.id for r in book.newest()]
        assert found == [f"s{number:04d}" for number in range(len(found))]
        assert (len(found) > 0) == (most == 200_000)
        book.add(result("zoe"))
        assert len(list(book.newest())) == len(found) + 1


def test_another_program_that_has_the_file_open_is_told_of(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    with closing(other), Gradebook(tmp_path, "row_scale") as book:
        book._db.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GraderError) as caught:
            book.keep_roster([])
            book.prune()
        assert "is in use by another program (database is locked)" in str(caught.value)
        other.execute("ROLLBACK")
        book.prune()
    assert stored(tmp_path) == 3


def test_a_file_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    with Gradebook(tmp_path, "row_scale", commit_every=0.0) as book:
        # What SQLite says of a file without write permission; as root every file has it.
        book._db.execute("PRAGMA query_only = 1")
        with pytest.raises(GraderError, match=r"can't be written .*check the permissions of its folder"):
            book.add(result("zoe"))
        book._db.execute("PRAGMA query_only = 0")
    assert stored(tmp_path) == 4


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"can't be written .*check the permissions of its folder"):
        Gradebook(tmp_path / "gone", "row_scale")
    with pytest.raises(GraderError, match="is not there; name the --out folder of a grader grade"):
        Gradebook(tmp_path / "gone", "row_scale", reading=True)


def test_a_reader_writes_nothing_and_needs_no_permission_to(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    path = fill(folder, 3)
    data = path.read_bytes()
    with Gradebook(folder, None, reading=True) as book:
        assert len(list(book.newest())) == 3
        with pytest.raises(GraderError, match="can't be written"):
            book.prune()
    assert path.read_bytes() == data and [p.name for p in folder.iterdir()] == [FILE]
    if os.geteuid():
        folder.chmod(0o500)
        path.chmod(0o400)
        try:
            with Gradebook(folder, None, reading=True) as book:
                assert len(list(book.newest())) == 3
        finally:
            folder.chmod(0o700)


def test_a_reader_sees_what_a_writer_has_committed(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as writer:
        writer.add(result("ann"))
        with Gradebook(tmp_path, None, reading=True) as reader:
            assert [r.submission.id for r in reader.newest()] == ["ann"]


@pytest.mark.parametrize("reading", [False, True])
def test_an_odd_name_of_a_folder_is_no_hindrance(tmp_path: Path, reading: bool) -> None:
    folder = tmp_path / "100% sure? #1 käse"
    folder.mkdir()
    fill(folder, 2)
    with Gradebook(folder, "row_scale", reading=reading) as book:
        assert len(list(book.newest())) == 2


def test_a_run_that_ended_before_it_began_left_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    with pytest.raises(GraderError, match="is empty"):
        Gradebook(tmp_path, None, reading=True)
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"))
        assert len(list(book.newest())) == 1


def test_a_log_that_was_left_behind_is_read(tmp_path: Path) -> None:
    # What is there when a process was killed: the file, and the log that was not copied into it yet.
    (tmp_path / "killed").mkdir()
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"))
        for path in tmp_path.glob(f"{FILE}*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, tmp_path / "killed")
    for reading in (True, False):
        with Gradebook(tmp_path / "killed", "row_scale", reading=reading) as book:
            assert [r.submission.id for r in book.newest()] == ["ann"]


def test_the_form_before_seals_goes_on(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"), Made("plain:ann", "t", "sha256:e", "sha256:i"))
        book.adjust("ann", 1.0, "why", "kim")
    for table in ("results", "adjustments", "roster"):
        look(tmp_path, f"ALTER TABLE {table} DROP COLUMN seal")
    look(tmp_path, "PRAGMA user_version = 2")
    for reading in (True, False):
        with Gradebook(tmp_path, "row_scale", reading=reading) as book:
            assert list(book.newest()) == [result("ann")] and book.graded()["ann"].inputs == "sha256:i"
            assert [e.damaged for e in book.entries()] == [False] and len(book.adjustments()) == 1
            assert book.pack("sha256:p") is None and book.roster() == []
    assert look(tmp_path, "PRAGMA user_version") == [(VERSION,)]


def test_taking_over_an_earlier_form_is_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_old(tmp_path, result("ann"))
    with monkeypatch.context() as patch:
        patch.setattr("grader.gradebook.database._ADDED_TABLES", ("CREATE TABLE roster (a)", "no statement"))
        assert "can't be used" in told(tmp_path)
    assert look(tmp_path, "SELECT name FROM sqlite_master WHERE name = 'roster'") == []
    assert look(tmp_path, "PRAGMA user_version") == [(0,)]
    for _ in range(2):
        with Gradebook(tmp_path, "row_scale") as book:
            assert list(book.newest()) == [result("ann")]
    assert look(tmp_path, "PRAGMA user_version") == [(VERSION,)]
    assert look(tmp_path, "PRAGMA application_id") == [(APPLICATION,)]
