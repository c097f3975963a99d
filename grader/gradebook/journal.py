"""The gradebook: a journal of Result records in one SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from grader.errors import GraderError
from grader.result import Result

FILE = "gradebook.sqlite"

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
    record TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_submission ON results (submission, number);
"""


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

    Args:
        folder: The output folder of a run.
        exercise: The exercise's name, as a gradebook belongs to one; None takes whichever it is.

    Raises:
        GraderError: The file is damaged, locked, of another exercise, or can't be written.
    """

    def __init__(self, folder: Path, exercise: str | None) -> None:
        self.path = folder / FILE
        try:
            self._db = sqlite3.connect(self.path, timeout=10)
            self._db.execute("PRAGMA journal_mode = WAL")
            # With a write-ahead log this loses nothing but to a power cut, and then only the last moments.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)
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

    def add(self, result: Result) -> None:
        """Append a result and write it to disk."""
        submission = result.submission
        row = (
            submission.id,
            submission.digest,
            str(result.exercise["pack"]),
            result.status,
            result.score,
            time.time(),
            place_of(submission.path),
            result.to_json(),
        )
        try:
            self._db.execute(
                "INSERT INTO results (submission, digest, pack, status, score, graded_at, place, record) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        except sqlite3.Error as error:
            raise self._fault(error) from None
        self.commit()

    def commit(self) -> None:
        """Write what was added to disk."""
        try:
            self._db.commit()
        except sqlite3.Error as error:
            raise self._fault(error) from None

    def graded(self) -> dict[str, Known]:
        """What is known of each submission's newest result.

        Raises:
            GraderError: The file is damaged.
        """
        try:
            rows = self._db.execute(
                "SELECT submission, digest, pack, status, place FROM results "
                "WHERE number IN (SELECT max(number) FROM results GROUP BY submission)"
            ).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from None
        return {row[0]: Known(*row[1:]) for row in rows}

    def newest(self) -> Iterator[Result]:
        """The newest result of each submission, by id.

        Raises:
            GraderError: A record is damaged.
        """
        try:
            rows = self._db.execute(
                "SELECT submission, record FROM results "
                "WHERE number IN (SELECT max(number) FROM results GROUP BY submission) ORDER BY submission"
            ).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from None
        for name, record in rows:
            try:
                yield Result.from_dict(json.loads(record))
            except (ValueError, KeyError, TypeError) as error:
                raise GraderError(f"{self.path}: the record of {name} is damaged ({error})") from None

    def close(self) -> None:
        """Commit and close."""
        try:
            self._db.commit()
            self._db.close()
        except sqlite3.Error as error:
            raise self._fault(error) from None
