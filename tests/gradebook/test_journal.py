"""The journal keeps every result; the newest of a submission counts."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradebook.books import look, result, stored, write_old
from grader.errors import GraderError
from grader.gradebook.journal import FILE, Execution, Gradebook, Known, Made, place_of
from grader.people import Person
from grader.result import Adjustment
from grader.summary import Outline, Record, Summary


def test_results_come_back_as_they_were_in_the_order_of_ids(tmp_path: Path) -> None:
    made = [result(n, s) for n, s in (("cid", 0.5), ("ann", 2.0), ("bob", None))]
    with Gradebook(tmp_path, "row_scale") as book:
        for one in made:
            book.add(one)
        assert list(book.newest()) == sorted(made, key=lambda r: r.submission.id)


def test_the_newest_counts_and_the_older_ones_stay_as_history(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        for score in (0.0, 2.0, 1.0):
            book.add(result(score=score))
        assert [r.score for r in book.newest()] == [1.0]
    assert stored(tmp_path) == 3


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 2)), max_size=12), st.data())
def test_whatever_the_order_and_however_often_it_is_opened_the_last_of_each_counts(
    tmp_path_factory: pytest.TempPathFactory, graded: list[tuple[str, float]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("book")
    book = Gradebook(folder, "row_scale")
    for name, score in graded:
        if data.draw(st.booleans()):
            book.close()
            book = Gradebook(folder, "row_scale")
        book.add(result(name, score))
    with book:
        assert {r.submission.id: r.score for r in book.newest()} == dict(graded)
        assert book.graded().keys() == dict(graded).keys()


def test_what_was_graded_is_told_by_digest_pack_status_and_path(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        assert book.graded() == {}
        book.add(result("ann", 0.0))
        book.add(result("ann", None))
        book.add(result("bob"))
        assert book.graded() == {
            "ann": Known("sha256:ann", "sha256:p", "grader_fault", str(Path.cwd() / "class" / "ann.py")),
            "bob": Known("sha256:bob", "sha256:p", "passed", str(Path.cwd() / "class" / "bob.py")),
        }


def test_a_run_goes_on_where_another_stopped(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"))
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("bob"))
        assert [r.submission.id for r in book.newest()] == ["ann", "bob"]


def test_a_result_that_stands_alone_is_on_disk_at_once_and_hinders_no_other_writer(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale", commit_every=0.0) as book:
        for number, name in enumerate(("ann", "bob", "cid")):
            book.add(result(name))
            assert stored(tmp_path) == 2 * number + 1
            with sqlite3.connect(tmp_path / FILE, timeout=0) as other:
                other.execute(
                    "INSERT INTO results (submission, digest, pack, status, score, graded_at, place, record) "
                    "SELECT submission || '_2', digest, pack, status, score, graded_at, place, record "
                    "FROM results WHERE submission = ?",
                    (name,),
                )
            other.close()
        assert len(book.graded()) == 6


def test_results_that_follow_each_other_fast_are_written_together_and_lock_nothing(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale", commit_every=3600.0) as book:
        book.add(result("ann"))
        assert stored(tmp_path) == 1, "the first need not wait"
        book.add(result("bob"))
        book.add(result("cid"))
        assert stored(tmp_path) == 1
        with sqlite3.connect(tmp_path / FILE, timeout=0) as other:
            other.execute("INSERT INTO about VALUES ('note', 'written meanwhile')")
        other.close()
        book.commit()
        assert stored(tmp_path) == 3
        book.add(result("dot"))
        assert [r.submission.id for r in book.newest()] == ["ann", "bob", "cid", "dot"]
        book.add(result("eve"))
        assert "eve" in book.graded()
        book.add(result("fay"))
        assert [s.submission.id for s, _ in book.summaries()][-1] == "fay"
        book.add(result("gil"))
        assert len(list(book.lines())) == 7
        book.add(result("hal"))
    assert stored(tmp_path) == 8


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_what_waits_is_kept_when_the_run_ends_by_an_exception(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def ended() -> None:
        with Gradebook(tmp_path, "row_scale", commit_every=3600.0) as book:
            for name in ("ann", "bob", "cid"):
                book.add(result(name))
            raise error

    with pytest.raises(error):
        ended()
    assert stored(tmp_path) == 3


class _Interrupted:
    """A database at whose statements an interrupt comes: ``before`` one of them, or ``after``."""

    def __init__(self, db: sqlite3.Connection, statement: str, when: str) -> None:
        self._db = db
        self._statement = statement
        self._when = when

    def execute(self, statement: str, *values: Any) -> Any:
        wanted, self._statement = statement == self._statement, self._statement
        if wanted and self._when == "before":
            self._statement = ""
            raise KeyboardInterrupt
        done = self._db.execute(statement, *values)
        if wanted:
            self._statement = ""
            raise KeyboardInterrupt
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT"])
def test_an_interrupt_while_it_is_written_loses_and_doubles_nothing(
    tmp_path: Path, statement: str, when: str
) -> None:
    with Gradebook(tmp_path, "row_scale", commit_every=3600.0) as book:
        book.add(result("ann"))
        book.add(result("bob"), Made("plain:bob", "text", "sha256:e"), Execution("x = 1", b"gave"))
        book.adjust("ann", -2.0, "copied", "kim")
        whole = book._db
        book._db = _Interrupted(whole, statement, when)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            book.commit()
        book._db = whole
    assert look(tmp_path, "SELECT submission FROM results ORDER BY number") == [("ann",), ("bob",)]
    with Gradebook(tmp_path, "row_scale") as book:
        assert book.adjustments() == {"ann": (Adjustment("copied", -2.0),)}
        assert book.execution("text") == Execution("x = 1", b"gave")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file stays where it is")
@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_file_that_is_not_where_it_was_is_told(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    said = f"{folder / FILE} was moved, deleted or replaced by another program"
    with Gradebook(folder, "row_scale", commit_every=0.0) as book:
        book.add(result("ann"))
        if how == "deleted":
            shutil.rmtree(folder)
        else:
            folder.rename(tmp_path / "moved")
        if how == "replaced":
            folder.mkdir()
            with Gradebook(folder, "row_scale") as other:
                other.add(result("zoe"))
        with pytest.raises(GraderError, match=re.escape(said)):
            book.add(result("bob"))
        for use in (book.graded, book.entries, lambda: list(book.lines()), lambda: list(book.summaries())):
            with pytest.raises(GraderError, match=re.escape(said)):
                use()
    if how != "deleted":
        with Gradebook(tmp_path / "moved", "row_scale") as book:
            assert [r.submission.id for r in book.newest()] == ["ann", "bob"]
    if how == "replaced":
        with Gradebook(folder, "row_scale") as book:
            assert [r.submission.id for r in book.newest()] == ["zoe"]
    assert folder.exists() == (how == "replaced")


def test_what_could_not_be_written_is_told_once_and_kept_for_the_next_try(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale", commit_every=0.0) as book:
        book.add(result("ann"))
        book._db.execute("PRAGMA busy_timeout = 0")
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GraderError, match="locked"):
            book.add(result("bob"))
        other.execute("ROLLBACK")
        other.close()
        book.add(result("cid"))
        assert [r.submission.id for r in book.newest()] == ["ann", "bob", "cid"]
    assert stored(tmp_path) == 3


def test_a_failure_that_was_told_is_not_told_again_when_all_is_closed(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    with Gradebook(tmp_path, "row_scale", commit_every=0.0) as book:
        book._db.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GraderError, match="locked"):
            book.add(result("bob"))
    other.close()


def test_what_can_not_be_written_when_all_is_closed_is_told(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    book = Gradebook(tmp_path, "row_scale", commit_every=3600.0)
    book._db.execute("PRAGMA busy_timeout = 0")
    book.add(result("ann"))
    book.add(result("bob"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(GraderError, match="locked"):
        book.close()
    other.close()
    assert stored(tmp_path) == 1


def test_a_record_that_came_as_text_is_kept_as_it_came(tmp_path: Path) -> None:
    made = [result("ann", 0.5), result("bob", None)]
    with Gradebook(tmp_path, "row_scale") as book:
        for one in made:
            book.add(Record.from_bytes(Record.of(one).to_bytes()))
        assert list(book.newest()) == made
        assert list(book.lines()) == [one.to_json() + "\n" for one in made]
        assert book.graded()["bob"].status == "grader_fault"


def test_results_in_short_are_those_of_the_whole_records(tmp_path: Path) -> None:
    other = {"name": "row_scale", "pack": "q"}
    made = [result("ann", 0.5), result("bob", None), result("cid", exercise=other)]
    with Gradebook(tmp_path, "row_scale") as book:
        for one in [result("ann", 0.0), *made]:
            book.add(one)
        rows = list(book.summaries())
    assert [s for s, _ in rows] == [Summary.of(one) for one in made]
    assert [o for _, o in rows] == [Outline.of(one) for one in made]
    assert rows[0][1] is rows[1][1], "what is the same is kept once"


@pytest.mark.parametrize("summary", [None, "{", "[]", "{}", 7])
def test_without_a_summary_the_record_is_read(tmp_path: Path, summary: object) -> None:
    made = [result("ann", 0.5), result("bob")]
    with Gradebook(tmp_path, "row_scale") as book:
        for one in made:
            book.add(one)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE results SET summary = ?", (summary,))
    db.close()
    with Gradebook(tmp_path, "row_scale") as book:
        assert [s for s, _ in book.summaries()] == [Summary.of(one) for one in made]


def test_a_summary_that_tells_less_than_this_versions_is_made_anew(tmp_path: Path) -> None:
    made = replace(result("ann", 0.5), adjustments=(Adjustment("late by 2 days", -0.5),))
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(made)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE results SET summary = json_remove(summary, '$.adjustments'), seal = NULL")
    db.close()
    with Gradebook(tmp_path, "row_scale") as book:
        ((summary, _),) = book.summaries()
        assert summary == Summary.of(made) and summary.adjustments == made.adjustments


@pytest.mark.parametrize("summaries", [True, False])
def test_a_gradebook_of_an_earlier_version_goes_on(tmp_path: Path, summaries: bool) -> None:
    made = [result("ann", 0.5), result("bob")]
    write_old(tmp_path, *made, summaries=summaries)
    with Gradebook(tmp_path, "row_scale", reading=True) as book:
        assert list(book.newest()) == made and book.roster() == [] and book.entries() == []
    for count in (2, 3):
        with Gradebook(tmp_path, "row_scale") as book:
            assert [s for s, _ in book.summaries()] == [Summary.of(one) for one in made]
            assert book.graded()["ann"] == Known("sha256:ann", "sha256:p", "passed", "class/ann.py")
            assert book.made("ann") == Made("class/ann.py")
            assert stored(tmp_path) == count
            made[1] = result("bob", 0.25)
            book.add(made[1], Made("class/bob.py"))


def test_a_place_is_the_same_whatever_folder_the_command_was_run_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "class").mkdir()
    monkeypatch.chdir(tmp_path)
    place = place_of("class/ann.py")
    monkeypatch.chdir(tmp_path / "class")
    assert place_of("ann.py") == place_of("../class/./ann.py") == place == str(tmp_path / "class" / "ann.py")


def test_a_place_that_is_no_utf8_is_kept(tmp_path: Path) -> None:
    path = str(tmp_path / os.fsdecode(b"caf\xe9.py"))
    made = result("ann")
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(replace(made, submission=replace(made.submission, path=path)))
        assert book.graded()["ann"].place == place_of(path)


def test_a_link_is_a_place_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "ann.py").symlink_to(tmp_path / "bob.py")
    assert place_of(str(tmp_path / "ann.py")) == str(tmp_path / "ann.py")


def test_what_was_added_is_kept_when_the_run_is_interrupted(tmp_path: Path) -> None:
    def interrupted() -> None:
        with Gradebook(tmp_path, "row_scale") as book:
            book.add(result("ann"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stored(tmp_path) == 1


def test_a_gradebook_of_another_exercise_is_refused_and_left_alone(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result())
    with pytest.raises(GraderError) as caught:
        Gradebook(tmp_path, "mlm_forward")
    assert str(caught.value) == (
        f"{tmp_path / FILE} holds results of the exercise row_scale, not of mlm_forward; "
        "choose another folder, or start over with --fresh"
    )
    assert stored(tmp_path) == 1


def test_without_an_exercise_whichever_it_is_is_taken(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result())
    with Gradebook(tmp_path, None) as book:
        assert len(list(book.newest())) == 1
    Gradebook(tmp_path, "row_scale").close()


@pytest.mark.parametrize("record", ["{", "[]", "{}", '{"schema": "grader.result/9"}', "null"])
def test_a_damaged_record_is_told_by_its_submission(tmp_path: Path, record: str) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"))
        book.add(result("bob"))
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE results SET record = ? WHERE submission = 'bob'", (record,))
    db.close()
    with Gradebook(tmp_path, "row_scale") as book:
        for read in (book.newest, book.lines):
            with pytest.raises(GraderError) as caught:
                list(read())
            assert "the record of bob is damaged" in str(caught.value)
            assert str(caught.value).endswith("grade it anew with --only bob --force")


def test_what_was_graded_is_known_though_a_record_is_damaged(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"))
        known = book.graded()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE results SET record = '{'")
    db.close()
    with Gradebook(tmp_path, "row_scale") as book:
        assert book.graded() == known
        with pytest.raises(GraderError, match="the record of ann is damaged"):
            list(book.newest())


def test_a_table_that_is_gone_is_told(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        with sqlite3.connect(tmp_path / FILE) as db:
            db.execute("DROP TABLE results")
        db.close()
        for use in (book.graded, lambda: list(book.newest()), lambda: book.add(result())):
            with pytest.raises(GraderError, match="can't be used"):
                use()


def test_two_readers_and_a_writer_do_not_hinder_each_other(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as writer:
        writer.add(result("ann"))
        writer.commit()
        seen: list[str] = []

        def read() -> None:
            with Gradebook(tmp_path, "row_scale") as reader:
                seen.extend(r.submission.id for r in reader.newest())

        readers = [threading.Thread(target=read) for _ in range(2)]
        for one in readers:
            one.start()
        for one in readers:
            one.join()
        assert seen == ["ann", "ann"]


# --- Of what results are made ---------------------------------------------------------------------


def made(name: str, text: str = "", digest: str = "sha256:e") -> Made:
    return Made(f"plain:{name}", text, digest if text else "", f"inputs of {name}", f'{{"name": "{name}"}}')


def test_of_what_the_newest_result_was_made_is_told(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"), made("old"))
        book.add(result("ann"), made("ann", "t1"))
        assert book.made("ann") == made("ann", "t1")
        assert book.made("bob") is None
        known = book.graded()["ann"]
        assert known[3:] == ("plain:ann", "t1", "sha256:e", "inputs of ann", False)


def test_the_newest_execution_of_a_text_is_kept_for_all_that_share_it(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"), made("ann", "t1"), Execution("x = 1\n", b"\x00first"))
        book.add(result("bob"), made("bob", "t1"))
        book.add(result("cem"), made("cem", "t2"), Execution("caf\udce9", b""))
        assert book.executions() == {"t1": "sha256:e", "t2": "sha256:e"}
        assert book.execution("t1") == Execution("x = 1\n", b"\x00first")
        assert book.execution("t2") == Execution("caf\udce9", b"")
        assert book.execution("t3") is None
        book.add(result("ann"), made("ann", "t1", "sha256:f"), Execution("x = 1\n", b"second"))
        assert book.executions()["t1"] == "sha256:f"
        assert book.execution("t1") == Execution("x = 1\n", b"second")
    assert look(tmp_path, "SELECT count(*) FROM executions") == [(2,)]


def test_a_damaged_execution_is_none(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann"), made("ann", "t1"), Execution("x = 1\n", b"first"))
        book.commit()
        look(tmp_path, "UPDATE executions SET source = x'00'")
        assert book.execution("t1") is None


def test_what_no_newest_result_goes_back_to_is_forgotten(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        for identifier in ("sha256:p", "sha256:q"):
            book.keep_pack(identifier, identifier.encode())
            book.keep_pack(identifier, b"kept once")
        book.add(result("ann"), made("ann", "t1"), Execution("1", b""))
        book.add(result("bob"), made("bob", "t2"), Execution("2", b""))
        book.prune()
        assert set(book.executions()) == {"t1", "t2"}
        assert (book.pack("sha256:p"), book.pack("sha256:q")) == (b"sha256:p", None)
        book.add(result("ann"), made("ann", "t3"))
        book.prune()
        assert set(book.executions()) == {"t2"}
        assert stored(tmp_path) == 3, "history stays"


def test_a_result_and_what_it_goes_back_to_are_written_together(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale", commit_every=3600.0) as book:
        book.add(result("ann"), made("ann", "t1"), Execution("1", b""))
        book.adjust("bob", -1.0, "late", "kim")
        book.add(result("bob"), made("bob", "t2"), Execution("2", b""))
        counts = "SELECT (SELECT count(*) FROM results), (SELECT count(*) FROM executions), "
        counts += "(SELECT count(*) FROM adjustments)"
        assert look(tmp_path, counts) == [(1, 1, 0)]
        book.commit()
        assert look(tmp_path, counts) == [(2, 2, 1)]


def test_a_record_that_was_changed_is_told_by_its_checksum(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann", 1.0))
        book.commit()
        look(tmp_path, "UPDATE results SET record = replace(record, '1.0', '9.0')")
        for read in (book.newest, book.lines, lambda: [book.result("ann")]):
            with pytest.raises(GraderError, match=r"the record of ann is damaged .*checksum"):
                list(read())
        look(tmp_path, "UPDATE results SET record = x'80'")
        with pytest.raises(GraderError, match="the record of ann is damaged"):
            list(book.newest())


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("summary", "replace(summary, '\"score\": 1.0', '\"score\": 2.0')"),
        ("submission", "'bnn'"),
        ("place", "'plain:bnn'"),
        ("inputs", "'sha256:j'"),
        ("submitted", "'[]'"),
        ("score", "2.0"),
        ("seal", "'00000000'"),
        ("text", "x'80ff'"),
    ],
)
def test_a_row_that_was_changed_is_not_believed(tmp_path: Path, column: str, value: str) -> None:
    made = Made("plain:ann", "text", "sha256:e", "sha256:i", "{}")
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann", 1.0), made)
        book.add(result("bob", 0.5), replace(made, place="plain:bob"))
        (before,) = look(tmp_path, f"SELECT {column} FROM results WHERE number = 1")
        look(tmp_path, f"UPDATE results SET {column} = {value} WHERE number = 1")
        assert look(tmp_path, f"SELECT {column} FROM results WHERE number = 1") != [before]
        if column == "submission":
            for read in (book.newest, book.summaries, book.lines):
                with pytest.raises(GraderError, match=r"the record of bnn is damaged .*it is of ann"):
                    list(read())
            return
        # The record has a checksum of its own.
        assert list(book.newest()) == [result("ann", 1.0), result("bob", 0.5)]
        assert [s for s, _ in book.summaries()] == [Summary.of(one) for one in book.newest()]
        assert [json.loads(line) for line in book.lines()] == [one.to_dict() for one in book.newest()]
        assert (book.graded()["ann"].digest, book.graded()["ann"].inputs) == ("", "")
        assert book.graded()["bob"].inputs == "sha256:i"
        found = book.made("ann")
        assert found is not None and (found.text, found.submitted) == ("", "")


def test_whatever_byte_is_damaged_what_is_read_is_right_or_it_is_told(tmp_path: Path) -> None:
    made = Made("plain:x", "text", "sha256:e", "sha256:i", "{}")
    with Gradebook(tmp_path, "row_scale") as book:
        for name in ("ann", "bob", "cid", "ann"):
            book.add(result(name, 1.5), made)
        book.adjust("ann", -2.25, "copied", "kim")
        book.adjust("bob", 1.25, "drawing", "kim")
        book.remove(book.entry(1), "lee")
        book.keep_roster(PEOPLE)

    def read(folder: Path, *, reading: bool) -> list[object]:
        with Gradebook(folder, "row_scale", reading=reading) as book:
            lines = [json.loads(line) for line in book.lines()]
            return [list(book.newest()), list(book.summaries()), lines, book.adjustments(), book.roster()]

    data = (tmp_path / FILE).read_bytes()
    whole = read(tmp_path, reading=True)
    chance = random.Random(11)
    damaged = tmp_path / "damaged"
    told = 0
    for at in chance.sample([at for at, byte in enumerate(data) if byte], 300):
        shutil.rmtree(damaged, ignore_errors=True)
        damaged.mkdir()
        other = bytes([data[at] ^ (1 << chance.randrange(8))])
        (damaged / FILE).write_bytes(data[:at] + other + data[at + 1 :])
        for reading in (True, False):
            try:
                assert read(damaged, reading=reading) == whole, (at, data[at - 20 : at + 20])
            except GraderError:
                told += 1
    assert 300 < told < 600


def test_one_result_by_its_id(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.add(result("ann", 0.0))
        book.add(result("ann", 2.0))
        assert book.result("ann") == result("ann", 2.0)
        assert book.result("bob") is None


# --- Roster ---------------------------------------------------------------------------------------

PEOPLE = [Person("Ann Ä", "007", "ann@example.org", "12"), Person("Bob\u2028"), Person("Ann Ä")]


def test_the_last_class_list_is_kept(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        assert book.roster() == []
        book.keep_roster(PEOPLE)
        book.keep_roster(PEOPLE)
    with Gradebook(tmp_path, "row_scale") as book:
        assert book.roster() == PEOPLE
        book.keep_roster(PEOPLE[1:])
        assert book.roster() == PEOPLE[1:]
        look(tmp_path, "UPDATE roster SET person = '[]'")
        with pytest.raises(GraderError, match=r"the class list is damaged .*grade again with --roster FILE"):
            book.roster()
        book.keep_roster(PEOPLE)
        assert book.roster() == PEOPLE
        look(tmp_path, "UPDATE roster SET person = replace(person, '007', '008')")
        with pytest.raises(GraderError, match=r"the class list is damaged .*checksum"):
            book.roster()


# --- Adjustments ----------------------------------------------------------------------------------


def test_adjustments_count_until_they_are_removed_and_stay_on_record(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        book.adjust("ann", -2.0, "copied", "kim", "plain:ann")
        book.adjust("bob", 1.5, "explained it well", "lee")
        book.adjust("ann", 0.5, "a line\u2028break", "kim")
        given = {
            "ann": (Adjustment("copied", -2.0), Adjustment("a line\\u2028break", 0.5)),
            "bob": (Adjustment("explained it well", 1.5),),
        }
        assert book.adjustments() == given
        book.remove(book.entry(1), "lee")
        assert book.adjustments() == {**given, "ann": given["ann"][1:]}
    with Gradebook(tmp_path, "row_scale") as book:
        first, second, third = book.entries()
        assert (first.number, first.place, first.made_by, first.removed_by) == (1, "plain:ann", "kim", "lee")
        assert first.removed_at >= first.made_at > 0
        assert (second.removed_at, third.removed_at) == (0.0, 0.0)
        with pytest.raises(GraderError, match="adjustment 1 of ann was removed before, on 2"):
            book.entry(1)
        with pytest.raises(GraderError, match="there is no adjustment 4; those that count: 2, 3"):
            book.entry(4)
        for number in (2, 3):
            book.remove(book.entry(number), "lee")
        with pytest.raises(GraderError, match="there is no adjustment 9; none counts"):
            book.entry(9)
        assert book.adjustments() == {}


def test_an_adjustment_that_was_changed_counts_neither_way_until_it_is_taken_back(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale") as book:
        for points in (-2.0, 1.0, 0.5):
            book.adjust("ann", points, "why", "kim")
        book.remove(book.entry(3), "kim")
        book.commit()
        look(tmp_path, "UPDATE adjustments SET points = -2.5 WHERE number = 1")
        # A removal whose number was changed takes nothing back.
        look(tmp_path, "UPDATE adjustments SET removes = 2 WHERE number = 4")
        for number in (1, 4):
            assert [e.number for e in book.entries() if e.damaged and not e.removed_at] == [1, 4][
                number // 4 :
            ]
            with pytest.raises(
                GraderError, match=rf"adjustment {number}, .* of ann, is damaged .*--remove {number}"
            ):
                book.adjustments()
            book.remove(book.entry(number), "kim")
        assert book.adjustments() == {"ann": (Adjustment("why", 1.0), Adjustment("why", 0.5))}


def test_what_a_reader_reads_is_of_one_moment(tmp_path: Path) -> None:
    with Gradebook(tmp_path, "row_scale", commit_every=0.0) as writer:
        writer.add(result("ann", 0.5))
        with Gradebook(tmp_path, None, reading=True) as reader:
            assert [s.submission.id for s, _ in reader.summaries()] == ["ann"]
            writer.add(result("ann", 1.0))
            writer.add(result("bob"))
            assert list(reader.newest()) == [result("ann", 0.5)]
        with Gradebook(tmp_path, None, reading=True) as reader:
            assert [r.submission.id for r in reader.newest()] == ["ann", "bob"]


@settings(max_examples=25)
@given(
    st.lists(st.one_of(st.tuples(st.sampled_from("ab"), st.floats(-3, 3)), st.integers(1, 8)), max_size=10)
)
def test_what_counts_is_what_was_made_and_not_removed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, float] | int]
) -> None:
    expected: dict[int, tuple[str, float]] = {}
    made = 0
    rows = 0
    numbers: list[int] = []
    with Gradebook(tmp_path_factory.mktemp("book"), "row_scale") as book:
        for step in steps:
            if isinstance(step, int):
                # The numbers of entries count removals too, so the n-th entry has no number known ahead.
                if step <= made and numbers[step - 1] in expected:
                    book.remove(book.entry(numbers[step - 1]), "kim")
                    del expected[numbers[step - 1]]
                    rows += 1
            else:
                book.adjust(step[0], step[1], "why", "kim")
                made, rows = made + 1, rows + 1
                numbers.append(rows)
                expected[rows] = step
        counted = [(e.submission, e.points) for e in book.entries() if not e.removed_at]
        assert counted == list(expected.values())
        assert len(book.entries()) == made
