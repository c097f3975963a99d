"""Results to fill a gradebook with, and looks into its file past the grader."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.gradebook.journal import FILE
from grader.result import CaseResult, Isolation, Result, SubmissionInfo
from grader.summary import Record

OLD_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE results (
    number INTEGER PRIMARY KEY AUTOINCREMENT, submission TEXT NOT NULL, digest TEXT NOT NULL,
    pack TEXT NOT NULL, status TEXT NOT NULL, score REAL, graded_at REAL NOT NULL, place TEXT NOT NULL,
    record TEXT NOT NULL, summary TEXT
);
CREATE INDEX by_submission ON results (submission, number);
INSERT INTO about VALUES ('exercise', 'row_scale');
"""


def case(name: str, verdict: Any = "passed", points: float = 1.0) -> CaseResult:
    return CaseResult(name, "group", name, "shape", "public", verdict, points, 1.0)


def result(name: str = "ann", score: float | None = 1.0, pack: str = "sha256:p", **keys: Any) -> Result:
    made = Result(
        exercise={"name": "row_scale", "pack": pack},
        submission=SubmissionInfo(name, name.title(), (name,), f"class/{name}.py", f"sha256:{name}"),
        status="grader_fault" if score is None else "passed",
        score=score,
        max_score=2.0,
        message="",
        isolation=Isolation("none", ()),
    )
    return replace(made, **keys)


def stored(folder: Path) -> int:
    """How many results another process would see."""
    count: int = look(folder, "SELECT count(*) FROM results")[0][0]
    return count


def look(folder: Path, statement: str, *values: object) -> list[Any]:
    """What a statement gives that is run past the grader; what it changes is kept."""
    with closing(sqlite3.connect(folder / FILE, timeout=0)) as db, db:
        return db.execute(statement, values).fetchall()


def write_old(folder: Path, *results: Result, summaries: bool = True) -> None:
    """A gradebook as the grader wrote it before forms were counted."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.executescript("PRAGMA journal_mode = WAL;" + OLD_TABLES)
        if not summaries:
            db.execute("ALTER TABLE results DROP COLUMN summary")
        for one in results:
            record = Record.of(one)
            row = [one.submission.id, one.submission.digest, one.exercise["pack"], one.status, one.score, 1.0]
            row += [one.submission.path, record.text, *([record.summary.to_json()] if summaries else [])]
            marks = ", ".join("?" * len(row))
            names = "submission, digest, pack, status, score, graded_at, place, record"
            names += ", summary" if summaries else ""
            db.execute(f"INSERT INTO results ({names}) VALUES ({marks})", row)
