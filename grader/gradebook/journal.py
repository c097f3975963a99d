"""The gradebook: a journal of Result records in one SQLite file."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from grader import __version__
from grader.errors import GraderError
from grader.gradebook import database
from grader.gradebook.database import FILE as FILE
from grader.gradebook.roster import not_submitted
from grader.people import ListFile, Person
from grader.result import BEGIN, Adjustment, Result, SubmissionInfo, dumps, one_line
from grader.summary import Outline, Record, Summary

# Seconds: writing each result on its own takes as long as making its pages.
COMMIT_EVERY = 0.1
# What the table `about` calls the class list's file.
_LIST_FILE = "class list"

# What the seal of a result covers: all but the record, which the checksum covers.
_ROW = (
    "submission, digest, pack, status, score, graded_at, place, summary, text, execution_digest, inputs, "
    "submitted, judged_by, checksum"
)
_INSERT = f"INSERT INTO results ({_ROW}, seal, record) VALUES ({'?, ' * 15}?)"
_INSERT_EXECUTION = (
    "INSERT OR REPLACE INTO executions (text, execution_digest, source, execution) VALUES (?, ?, ?, ?)"
)
_ENTRY = "submission, place, points, reason, made_by, made_at, removes"
_INSERT_ENTRY = f"INSERT INTO adjustments ({_ENTRY}, seal) VALUES ({'?, ' * 7}?)"
_COUNT = "submission NOT IN (SELECT submission FROM withdrawn)"
_EACH = f"FROM results WHERE {_COUNT} GROUP BY submission"
_NEWEST = f"SELECT submission, max(number) {_EACH} ORDER BY submission"
_NUMBERS = f"SELECT max(number) {_EACH}"
_ALL_NUMBERS = "SELECT max(number) FROM results GROUP BY submission"


class Known(NamedTuple):
    """The newest result of a submission in short: what was graded, by what, from where.

    Attributes:
        place: As `Made.place`.
        text, execution_digest, inputs: As in `Made`; empty in what an earlier version wrote.
        withdrawn: It counts no more, see `Gradebook.withdraw`.
    """

    digest: str
    pack: str
    status: str
    place: str
    text: str = ""
    execution_digest: str = ""
    inputs: str = ""
    withdrawn: bool = False


@dataclass(frozen=True)
class Made:
    """Of what a result was made.

    Attributes:
        place: By what the submission is known from run to run.
        text: The key of the text that was run; submissions with the same text share an execution. Empty when
            there was none to run.
        execution_digest: Of all that decides what running the text gives, beside the text.
        inputs: The digest of all else by which it was judged.
        submitted: The submission as it was read, without its text, as JSON.
    """

    place: str
    text: str = ""
    execution_digest: str = ""
    inputs: str = ""
    submitted: str = ""


@dataclass(frozen=True)
class Execution:
    """A text that was run.

    Attributes:
        source: The text.
        gave: What running it gave, as whoever ran it wrote it down.
    """

    source: str
    gave: bytes


@dataclass(frozen=True)
class Entry:
    """Points that a teacher gave or took by hand.

    Attributes:
        number: By which it can be removed.
        submission: The submission's id.
        place: As `Made.place`.
        made_by, made_at: Who wrote it down and when, in seconds since 1970.
        removed_by, removed_at: Who removed it; empty and 0 while it counts.
        damaged: What the file says of it is not what was written.
    """

    number: int
    submission: str
    place: str
    points: float
    reason: str
    made_by: str
    made_at: float
    removed_by: str = ""
    removed_at: float = 0.0
    damaged: bool = False

    @property
    def adjustment(self) -> Adjustment:
        """As in the record."""
        return Adjustment(self.reason, self.points)


def place_of(path: str) -> str:
    """Where a submission lies, whatever folder the command was run in; fit for UTF-8."""
    # A link is a place of its own, so it is not resolved.
    absolute = os.path.abspath(path)  # noqa: PTH100
    return absolute.encode("utf-8", "backslashreplace").decode()


class Gradebook:
    """Remembers every result; the newest of a submission counts, the older ones stay as history.

    Results that follow each other fast are written together; what is read from it is written before.

    Args:
        folder: The output folder of a run.
        exercise: The exercise's name, as a gradebook belongs to one; None takes whichever it is.
        commit_every: Seconds for which an added result may wait for others before it is written.
        reading: Nothing is to be written, so the folder need not be writable.

    Raises:
        GraderError: The file is damaged, locked, of another exercise, program or version, or can't be
            written.
    """

    def __init__(
        self,
        folder: Path,
        exercise: str | None,
        *,
        commit_every: float = COMMIT_EVERY,
        reading: bool = False,
    ) -> None:
        self.path = folder / FILE
        self._every = commit_every
        self._results: list[tuple[object, ...]] = []
        self._settled: list[tuple[str]] = []
        self._executions: list[tuple[object, ...]] = []
        self._entries: list[tuple[object, ...]] = []
        self._written_at = -math.inf
        self._failed = False
        self._reading = reading
        opened = database.open_to_read if reading else database.open_to_write
        self._db = opened(self.path, exercise)
        # Text that is damaged is told by its seal, whatever bytes it is of.
        self._db.text_factory = lambda data: data.decode("utf-8", "replace")
        self._file = None if reading else _identity(self.path)

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- Writing ----------------------------------------------------------------------------------

    def add(
        self,
        result: Result | Record,
        made: Made | None = None,
        execution: Execution | None = None,
        *,
        settles: bool = True,
    ) -> None:
        """Append a result. It is on disk with the next that comes, after `commit`, or when all is closed.

        Args:
            result: The result, or its text.
            made: Of what it was made; without it nothing is known but the path.
            execution: What running the text gave; kept with the result, in place of an earlier one.
            settles: It is of what was handed in last, so that nothing is pending.

        Raises:
            GraderError: It can't be written; it is kept for the next try.
        """
        record = result if isinstance(result, Record) else Record.of(result)
        summary = record.summary
        submission = summary.submission
        made = made or Made(place_of(submission.path))
        row = (
            submission.id,
            submission.digest,
            summary.pack,
            summary.status,
            # SQLite knows no -0.0.
            None if summary.score is None else float(summary.score) + 0.0,
            time.time(),
            made.place,
            summary.to_json(),
            made.text,
            made.execution_digest,
            made.inputs,
            one_line(made.submitted),
            __version__,
            _checksum(record.text.encode()),
        )
        self._results.append((*row, _seal(row), record.text))
        if settles:
            self._settled.append((submission.id,))
        if execution is not None and made.text:
            source = zlib.compress(execution.source.encode("utf-8", "surrogatepass"))
            self._executions.append((made.text, made.execution_digest, source, execution.gave))
        if time.monotonic() - self._written_at >= self._every:
            self.commit()

    def commit(self) -> None:
        """Write what was added to disk, all of it or nothing.

        Raises:
            GraderError: It can't be written, or the file is not where it was.
        """
        if self._results or self._entries:
            self._write()
        if self._file is not None and _identity(self.path) != self._file:
            # Or another run's folder would get the pages and tables of this one.
            self._failed = True
            raise GraderError(
                f"{self.path} was moved, deleted or replaced by another program while results were written; "
                "where it was moved, what was graded is kept in it, and the same command goes on with that "
                "folder as --out"
            )

    def _write(self) -> None:
        begun = False
        try:
            self._db.execute("BEGIN IMMEDIATE")
            begun = True
            self._db.executemany(_INSERT, self._results)
            self._db.executemany(_INSERT_EXECUTION, self._executions)
            self._db.executemany(_INSERT_ENTRY, self._entries)
            for table in ("pending", "withdrawn"):
                self._db.executemany(f"DELETE FROM {table} WHERE submission = ?", self._settled)
            self._db.execute("COMMIT")
        except BaseException as error:
            told = isinstance(error, sqlite3.Error)
            if begun and not told and not self._db.in_transaction:
                # An interrupt that came when all was on disk: the next try would write it twice.
                self._forget()
            else:
                self._undo()
            if not told:
                raise
            self._failed = True
            assert isinstance(error, sqlite3.Error)
            raise database.fault(self.path, error) from None
        self._forget()

    def _forget(self) -> None:
        """What was added is written."""
        self._results.clear()
        self._settled.clear()
        self._executions.clear()
        self._entries.clear()
        self._written_at = time.monotonic()

    def _undo(self) -> None:
        # Some errors have undone it already.
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """What is written within is written at once, all of it or nothing."""
        if self._reading:
            raise GraderError(f"{self.path} can't be written: it was opened to be read")
        self.commit()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise database.fault(self.path, error) from None
        except BaseException:
            self._undo()
            raise

    # --- What runs leave open ---------------------------------------------------------------------

    def begin(self, handed_in: Iterable[SubmissionInfo]) -> None:
        """Note down whose submissions are to get a result; each is pending until it has one."""
        rows = []
        for one in handed_in:
            told = {"members": one.members, "people": [vars(person) for person in one.people]}
            rows.append((one.id, one_line(json.dumps(told, ensure_ascii=False))))
        if rows:
            with self._changing():
                self._db.executemany("INSERT OR REPLACE INTO pending VALUES (?, ?)", rows)

    def pending(self) -> list[SubmissionInfo]:
        """Who handed in and has no result yet, or none of what was handed in last.

        A run is at work on them, or was ended before its time; nothing but id and people is known.

        Raises:
            GraderError: The file is damaged.
        """
        self.commit()
        found = []
        for name, text in self._all("SELECT submission, handed_in FROM pending ORDER BY submission"):
            try:
                told = json.loads(text)
                people = tuple([Person.from_dict(person) for person in told["people"]])
                found.append(
                    SubmissionInfo(name, name, tuple(map(str, told["members"])), "", "", people=people)
                )
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise GraderError(
                    f"{self.path}: what is known of {name}, which is to be graded, is damaged "
                    f"({type(error).__name__}); run grader grade again for the whole class"
                ) from None
        return found

    def waiting(self) -> set[str]:
        """The ids of those that are pending. Raises GraderError."""
        self.commit()
        return {name for (name,) in self._all("SELECT submission FROM pending")}

    def settle(self, names: Iterable[str]) -> None:
        """Note down that the newest results of some are as they should be. Raises GraderError."""
        rows = [(name,) for name in names]
        if rows:
            with self._changing():
                self._db.executemany("DELETE FROM pending WHERE submission = ?", rows)

    def withdraw(self, names: Iterable[str]) -> None:
        """Let the results of some count no more until they get a new one. Raises GraderError."""
        rows = [(name,) for name in names]
        if rows:
            with self._changing():
                self._db.executemany("INSERT OR IGNORE INTO withdrawn VALUES (?)", rows)

    def not_submitted(self, submissions: Iterable[SubmissionInfo]) -> list[Person]:
        """Who of the class list handed in nothing.

        Args:
            submissions: Those that have results; who is pending handed in as well.

        Raises:
            GraderError: The file is damaged.
        """
        people = self.roster()
        return not_submitted(people, [*submissions, *self.pending()]) if people else []

    def keep_pack(self, identifier: str, data: bytes) -> None:
        """Keep a pack, so that what was judged by it can be judged again without the exercise at hand."""
        if not self._all("SELECT 1 FROM packs WHERE id = ?", identifier):
            with self._changing():
                self._db.execute("INSERT INTO packs VALUES (?, ?)", (identifier, data))

    def keep_roster(self, people: Sequence[Person]) -> None:
        """Keep the class list, in place of an earlier one."""
        # One that is damaged is replaced like any other.
        with contextlib.suppress(GraderError):
            if list(people) == self.roster():
                return
        texts = [one_line(json.dumps(vars(person), ensure_ascii=False)) for person in people]
        with self._changing():
            self._db.execute("DELETE FROM roster")
            rows = [(text, _seal((text,))) for text in texts]
            self._db.executemany("INSERT INTO roster (person, seal) VALUES (?, ?)", rows)

    def keep_list_file(self, file: ListFile | None) -> None:
        """Keep the file of the class list, in place of an earlier one."""
        text = ""
        if file is not None:
            data = base64.b64encode(zlib.compress(file.data)).decode()
            text = dumps({"shown": file.shown, "data": data, "seal": _seal((file.shown, data))})
        with self._changing():
            self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (_LIST_FILE, text))

    def prune(self) -> None:
        """Forget executions and packs to which no newest result goes back."""
        with self._changing():
            self._db.execute(
                "DELETE FROM executions WHERE text NOT IN "
                f"(SELECT text FROM results WHERE number IN ({_NUMBERS}) AND text IS NOT NULL)"
            )
            self._db.execute(
                f"DELETE FROM packs WHERE id NOT IN (SELECT pack FROM results WHERE number IN ({_NUMBERS}))"
            )

    # --- What was graded --------------------------------------------------------------------------

    def graded(self) -> dict[str, Known]:
        """What is known of each submission's newest result; of a damaged row too little to keep it.

        Raises:
            GraderError: The file is damaged.
        """
        self.commit()
        known = {}
        withdrawn = {name for (name,) in self._all("SELECT submission FROM withdrawn")}
        for *row, seal in self._each(f"SELECT {_ROW}, seal FROM results WHERE number IN ({_ALL_NUMBERS})"):
            name, digest, pack, status, _score, _at, place, _summary, *made = row[:11]
            if seal is not None and seal != _seal(row):
                known[name] = Known("", pack, status, place, withdrawn=name in withdrawn)
            else:
                text, execution_digest, inputs = (value or "" for value in made)
                counts_no_more = name in withdrawn
                known[name] = Known(
                    digest, pack, status, place, text, execution_digest, inputs, counts_no_more
                )
        return known

    def newest(self) -> Iterator[Result]:
        """The newest result of each submission, by id.

        Raises:
            GraderError: A record is damaged.
        """
        for name, number in self._newest():
            yield self._result(name, number)

    def result(self, submission: str) -> Result | None:
        """The newest result of one submission; None when there is none. Raises GraderError."""
        self.commit()
        ((number,),) = self._all("SELECT max(number) FROM results WHERE submission = ?", submission)
        return self._result(submission, number) if number is not None else None

    def made(self, submission: str) -> Made | None:
        """Of what the newest result of a submission was made; of a damaged row only its place.

        Raises:
            GraderError: The file is damaged.
        """
        self.commit()
        rows = self._all(
            f"SELECT {_ROW}, seal FROM results WHERE submission = ? ORDER BY number DESC LIMIT 1", submission
        )
        if not rows:
            return None
        *row, seal = rows[0]
        return Made(row[6], *[value or "" for value in row[8:12]] if _intact(submission, row, seal) else ())

    def lines(self) -> Iterator[str]:
        """The records of `newest` as lines of JSON, not parsed.

        Raises:
            GraderError: A record is damaged as far as one sees without parsing it.
        """
        for name, number in self._newest():
            text = self._record(name, number)
            if not text.startswith(BEGIN) or not text.endswith("}") or "\n" in text:
                raise self._damaged(name, "it is no line of JSON of this version")
            yield text + "\n"

    def summaries(self) -> Iterator[tuple[Summary, Outline]]:
        """The results of `newest` in short; outlines that are the same are one object.

        Raises:
            GraderError: A record is damaged.
        """
        outlines: dict[str, Outline] = {}
        for name, number in self._newest():
            *row, seal = self._one(name, number, f"{_ROW}, seal")
            summary = _summary(row[7]) if _intact(name, row, seal) else None
            if summary is None or summary.outline not in outlines:
                result = self._result(name, number)
                summary = Summary.of(result)
                outlines.setdefault(summary.outline, Outline.of(result))
            yield summary, outlines[summary.outline]

    def packs(self) -> list[str]:
        """The packs by which anything was graded, the last one first. Raises GraderError."""
        self.commit()
        return [
            row[0] for row in self._all("SELECT pack FROM results GROUP BY pack ORDER BY max(number) DESC")
        ]

    def earlier(self, pack: str = "") -> Iterator[tuple[Result, Result]]:
        """Two results of each submission that has both, by id: an earlier one and the newest.

        Faults of the grader are passed over.

        Args:
            pack: The earlier one is by this pack; without it, by the last that is another than the newest's.

        Raises:
            GraderError: A record is damaged.
        """
        self.commit()
        another = "old.pack = ?" if pack else "old.pack != new.pack"
        rows = self._all(
            "SELECT submission, number, (SELECT max(number) FROM results AS old WHERE "
            f"old.submission = new.submission AND old.status != 'grader_fault' AND {another}) "
            f"FROM results AS new WHERE number IN ({_NUMBERS}) AND status != 'grader_fault' "
            "ORDER BY submission",
            *([pack] if pack else []),
        )
        for name, number, before in rows:
            if before is not None and before != number:
                yield self._result(name, before), self._result(name, number)

    # --- What it was made of ----------------------------------------------------------------------

    def executions(self) -> dict[str, str]:
        """The keys of the texts whose executions are kept, each with its execution digest."""
        self.commit()
        return dict(self._all("SELECT text, execution_digest FROM executions"))

    def execution(self, text: str) -> Execution | None:
        """A text and what running it gave; None when that is not kept, or is damaged. Raises GraderError."""
        self.commit()
        rows = self._all("SELECT source, execution FROM executions WHERE text = ?", text)
        try:
            return Execution(zlib.decompress(rows[0][0]).decode("utf-8", "surrogatepass"), bytes(rows[0][1]))
        except (IndexError, zlib.error, UnicodeDecodeError, TypeError):
            return None

    def pack(self, identifier: str) -> bytes | None:
        """The data of a pack; None when it is not kept. Raises GraderError."""
        rows = self._all("SELECT CAST(data AS BLOB) FROM packs WHERE id = ?", identifier)
        return bytes(rows[0][0]) if rows else None

    def roster(self) -> list[Person]:
        """The class list of the last run that had one; may be empty. Raises GraderError."""
        try:
            people = []
            for text, seal in self._all("SELECT person, seal FROM roster ORDER BY number"):
                if seal is not None and seal != _seal((text,)):
                    raise ValueError("its checksum is another")
                people.append(Person.from_dict(json.loads(text)))
            return people
        except (ValueError, TypeError, AttributeError) as error:
            raise GraderError(
                f"{self.path}: the class list is damaged ({error}); grade again with --roster FILE"
            ) from None

    def list_file(self) -> ListFile | None:
        """The file of that class list; None when there is none. Raises GraderError."""
        rows = self._all("SELECT value FROM about WHERE key = ?", _LIST_FILE)
        if not rows or not rows[0][0]:
            return None
        try:
            kept = json.loads(rows[0][0])
            if kept["seal"] != _seal((kept["shown"], kept["data"])):
                raise ValueError("its checksum is another")
            return ListFile(str(kept["shown"]), zlib.decompress(base64.b64decode(kept["data"])))
        except (ValueError, TypeError, KeyError, zlib.error) as error:
            raise GraderError(
                f"{self.path}: the class list is damaged ({error}); grade again with --roster FILE"
            ) from None

    # --- Adjustments ------------------------------------------------------------------------------

    def adjust(self, submission: str, points: float, reason: str, made_by: str, place: str = "") -> None:
        """Note down points that a teacher gives or takes; on disk with the next result, or after `commit`."""
        row = (submission, place, float(points), one_line(reason), one_line(made_by), time.time(), None)
        self._entries.append((*row, _seal(row)))

    def remove(self, entry: Entry, made_by: str) -> None:
        """Note down that an adjustment counts no more; on disk with the next result, or after `commit`."""
        row = (entry.submission, entry.place, 0.0, "", one_line(made_by), time.time(), entry.number)
        self._entries.append((*row, _seal(row)))

    def entry(self, number: int) -> Entry:
        """An adjustment that counts.

        Raises:
            GraderError: There is none of that number, or it was removed.
        """
        entries = {entry.number: entry for entry in self.entries()}
        found = entries.get(number)
        if found is None:
            known = ", ".join([str(e.number) for e in entries.values() if not e.removed_at])
            said = f"those that count: {known}" if known else "none counts"
            raise GraderError(f"there is no adjustment {number}; {said}")
        if found.removed_at:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.removed_at))
            raise GraderError(f"adjustment {number} of {found.submission} was removed before, on {when}")
        return found

    def entries(self) -> list[Entry]:
        """All adjustments that were ever made, by number. Raises GraderError."""
        self.commit()
        found: dict[int, Entry] = {}
        rows = self._all(f"SELECT number, {_ENTRY}, seal FROM adjustments ORDER BY number")
        for number, *row, seal in rows:
            *told, removes = row
            damaged = seal is not None and seal != _seal(row)
            if damaged:
                # Of whatever type its values are now.
                name, place, points, reason, made_by, made_at = told
                found[number] = Entry(
                    number,
                    str(name),
                    str(place),
                    points if isinstance(points, int | float) else 0.0,
                    str(reason),
                    str(made_by),
                    made_at if isinstance(made_at, int | float) else 0.0,
                    damaged=True,
                )
            elif removes is None:
                found[number] = Entry(number, *told)
            elif removes in found and not found[removes].removed_at:
                found[removes] = replace(found[removes], removed_by=told[4], removed_at=told[5])
        return list(found.values())

    def adjustments(self) -> dict[str, tuple[Adjustment, ...]]:
        """The adjustments that count, by the submission's id.

        Raises:
            GraderError: One of them is damaged.
        """
        given: dict[str, tuple[Adjustment, ...]] = {}
        for entry in self.entries():
            if entry.damaged and not entry.removed_at:
                raise GraderError(
                    f"{self.path}: the adjustment {entry.number}, as it seems of {entry.submission}, is "
                    "damaged (its checksum is another); all else is kept: take it back with grader adjust "
                    f"{self.path.parent} --remove {entry.number}, then make it anew"
                )
            if not entry.removed_at:
                given[entry.submission] = (*given.get(entry.submission, ()), entry.adjustment)
        return given

    # --- Reading ----------------------------------------------------------------------------------

    def _newest(self) -> list[tuple[str, int]]:
        # Numbers alone, so that records are read one at a time: together they may fill the memory.
        self.commit()
        return self._all(_NEWEST)

    def _record(self, name: str, number: int) -> str:
        data, *row, seal = self._one(name, number, f"CAST(record AS BLOB), {_ROW}, seal")
        checksum = row[-1]
        try:
            if checksum is not None and checksum != _checksum(bytes(data)):
                raise self._damaged(name, "its checksum is another")
            text = bytes(data).decode()
            # Where all beside the record is as it was written, it says whose the record is.
            if not _intact(name, row, seal) and (found := json.loads(text)["submission"]["id"]) != name:
                raise self._damaged(name, f"it is of {found}")
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(name, error) from None
        return text

    def _one(self, name: str, number: int, columns: str) -> Any:
        """A result's row. Raises GraderError."""
        rows = self._all(f"SELECT {columns} FROM results WHERE number = ?", number)
        if not rows:
            raise self._damaged(name, "its row is gone")
        return rows[0]

    def _result(self, name: str, number: int) -> Result:
        try:
            return Result.from_dict(json.loads(self._record(name, number)))
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, why: object) -> GraderError:
        return GraderError(
            f"{self.path}: the record of {name} is damaged ({why}); all others are kept: "
            f"grade it anew with --only {name} --force"
        )

    def _all(self, statement: str, *values: object) -> list[Any]:
        return list(self._each(statement, *values))

    def _each(self, statement: str, *values: object) -> Iterator[Any]:
        """Rows as they are read, without holding all of them. Raises GraderError."""
        try:
            yield from self._db.execute(statement, values)
        except database.ERRORS as error:
            raise database.fault(self.path, error) from None

    def close(self) -> None:
        """Write what was added and close.

        Raises:
            GraderError: It can't be written, and this was not told before.
        """
        told = self._failed
        try:
            self.commit()
        except GraderError:
            if not told:
                raise
        finally:
            self._db.close()


def _checksum(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def _seal(row: Sequence[object]) -> str:
    """The checksum of a row's values; damage may have made bytes of any of them."""
    return _checksum(json.dumps(list(row), default=repr).encode())


def _intact(name: str, row: Sequence[object], seal: object) -> bool:
    """Whether a result's row, but for its record, is as it was written, and that of a submission."""
    return row[0] == name and (seal is None or seal == _seal(row))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _summary(data: object) -> Summary | None:
    """The summary; None when there is none, as in gradebooks of earlier versions, or it is damaged."""
    if not isinstance(data, str):
        return None
    try:
        return Summary.from_json(data)
    except (ValueError, KeyError, TypeError):
        return None
