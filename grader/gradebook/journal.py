"""The gradebook: a journal of Result records in one SQLite file."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from grader.errors import GraderError
from grader.result import BEGIN, Result
from grader.summary import Outline, Record, Summary

FILE = "gradebook.sqlite"

# Seconds: writing each result on its own takes as long as making its pages.
COMMIT_EVERY = 0.1

_TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    submission TEXT NOT NULL,
    digest TEXT NOT NULL,
    pack TEXT NOT NULL,
    status TEXT NOT NULL,
    score REAL,
    graded_at REAL NOT NULL,
    place TEXT NOT NULL,
    record TEXT NOT NULL,
    summary TEXT
);
CREATE INDEX IF NOT EXISTS by_submission ON results (submission, number);
"""


_INSERT = (
    "INSERT INTO results (submission, digest, pack, status, score, graded_at, place, record, summary) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NEWEST = "SELECT submission, max(number) FROM results GROUP BY submission ORDER BY submission"


class Known(NamedTuple):
    """The newest result of a submission in short: what was graded, by what, from where."""

    digest: str
    pack: str
    status: str
    place: str


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

    Raises:
        GraderError: The file is damaged, locked, of another exercise, or can't be written.
    """

    def __init__(self, folder: Path, exercise: str | None, *, commit_every: float = COMMIT_EVERY) -> None:
        self.path = folder / FILE
        self._every = commit_every
        self._waiting: list[tuple[object, ...]] = []
        self._written_at = -math.inf
        self._failed = False
        try:
            self._db = sqlite3.connect(self.path, timeout=10)
            self._db.execute("PRAGMA journal_mode = WAL")
            # With a write-ahead log this loses nothing but to a power cut, and then only the last moments.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)
            if "summary" not in {row[1] for row in self._db.execute("PRAGMA table_info(results)")}:
                self._db.execute("ALTER TABLE results ADD COLUMN summary TEXT")
            row = self._db.execute("SELECT value FROM about WHERE key = 'exercise'").fetchone()
            if row is None and exercise is not None:
                self._db.execute("INSERT INTO about VALUES ('exercise', ?)", (exercise,))
                self._db.commit()
        except sqlite3.Error as error:
            raise self._fault(error) from None
        if row is not None and exercise is not None and row[0] != exercise:
            self._db.close()
            raise GraderError(
                f"{self.path} holds results of the exercise {row[0]}, not of {exercise}; "
                "choose another folder, or start over with --fresh"
            )

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fault(self, error: sqlite3.Error) -> GraderError:
        if "readonly" in str(error) or "unable to open" in str(error):
            return GraderError(f"{self.path} can't be written ({error}); check the permissions of its folder")
        if "full" in str(error):
            return GraderError(f"{self.path} can't be written ({error}); what was graded before is kept")
        return GraderError(
            f"{self.path} can't be used ({error}); what it holds is kept: "
            "move it away, or start over with --fresh"
        )

    def add(self, result: Result | Record) -> None:
        """Append a result. It is on disk with the next that comes, after `commit`, or when all is closed."""
        record = result if isinstance(result, Record) else Record.of(result)
        summary = record.summary
        submission = summary.submission
        self._waiting.append(
            (
                submission.id,
                submission.digest,
                summary.pack,
                summary.status,
                summary.score,
                time.time(),
                place_of(submission.path),
                record.text,
                summary.to_json(),
            )
        )
        if time.monotonic() - self._written_at >= self._every:
            self.commit()

    def commit(self) -> None:
        """Write what was added to disk."""
        if not self._waiting:
            return
        try:
            self._db.executemany(_INSERT, self._waiting)
            self._db.commit()
        except BaseException as error:
            # What is not known to be on disk is kept for the next try; in the worst case it is there twice.
            with contextlib.suppress(sqlite3.Error):
                self._db.rollback()
            if not isinstance(error, sqlite3.Error):
                raise
            self._failed = True
            raise self._fault(error) from None
        self._waiting.clear()
        self._written_at = time.monotonic()

    def graded(self) -> dict[str, Known]:
        """What is known of each submission's newest result.

        Raises:
            GraderError: The file is damaged.
        """
        self.commit()
        rows = self._all(
            "SELECT submission, digest, pack, status, place FROM results "
            "WHERE number IN (SELECT max(number) FROM results GROUP BY submission)"
        )
        return {row[0]: Known(*row[1:]) for row in rows}

    def newest(self) -> Iterator[Result]:
        """The newest result of each submission, by id.

        Raises:
            GraderError: A record is damaged.
        """
        for name, text in self._records():
            yield self._read(name, text)

    def lines(self) -> Iterator[str]:
        """The records of `newest` as lines of JSON, not parsed.

        Raises:
            GraderError: A record is damaged as far as one sees without parsing it.
        """
        for name, text in self._records():
            if not text.startswith(BEGIN) or not text.endswith("}") or "\n" in text:
                raise self._damaged(name, "it is no line of JSON of this version")
            yield text + "\n"

    def summaries(self) -> Iterator[tuple[Summary, Outline]]:
        """The results of `newest` in short; outlines that are the same are one object.

        Raises:
            GraderError: A record is damaged.
        """
        self.commit()
        outlines: dict[str, Outline] = {}
        for name, number in self._all(_NEWEST):
            ((text,),) = self._all("SELECT summary FROM results WHERE number = ?", number)
            summary = _summary(text)
            if summary is None or summary.outline not in outlines:
                result = self._read(name, self._record(number))
                summary = Summary.of(result)
                outlines.setdefault(summary.outline, Outline.of(result))
            yield summary, outlines[summary.outline]

    def _records(self) -> Iterator[tuple[str, str]]:
        """Submission and text of each newest record, one at a time: together they may fill the memory."""
        self.commit()
        for name, number in self._all(_NEWEST):
            yield name, self._record(number)

    def _record(self, number: int) -> str:
        ((text,),) = self._all("SELECT record FROM results WHERE number = ?", number)
        return str(text)

    def _read(self, name: str, text: str) -> Result:
        try:
            return Result.from_dict(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, why: object) -> GraderError:
        return GraderError(f"{self.path}: the record of {name} is damaged ({why})")

    def _all(self, statement: str, *values: object) -> list[Any]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from None

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


def _summary(text: object) -> Summary | None:
    """The summary; None when there is none, as in gradebooks of earlier versions, or it is damaged."""
    if not isinstance(text, str):
        return None
    try:
        return Summary.from_json(text)
    except (ValueError, KeyError, TypeError):
        return None
