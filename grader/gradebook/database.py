"""The gradebook's SQLite file: opened, checked, brought to the present form; its faults in words."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from urllib.parse import quote

from grader.errors import GraderError

FILE = "gradebook.sqlite"

# The form of the tables. 0 is that of before forms were counted: results alone. 3 has seals, and
# what runs leave open.
VERSION = 3
# "grdr", in the file's header: what else is called like our file is told from it.
APPLICATION = 0x67726472

WAIT_S = 10.0
KEPT = "what was graded before is kept"
GO_ON = "run the same command again, which goes on where it was"

# What runs leave open: who handed in and has no result yet, and whose result counts no more.
_OPEN_TABLES = (
    "CREATE TABLE IF NOT EXISTS pending (submission TEXT PRIMARY KEY, handed_in TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS withdrawn (submission TEXT PRIMARY KEY)",
)

_TABLES = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE results (
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
    )""",
    "CREATE INDEX by_submission ON results (submission, number)",
)

_ADDED_TABLES = (
    """CREATE TABLE executions (
        text TEXT PRIMARY KEY,
        execution_digest TEXT NOT NULL,
        source BLOB NOT NULL,
        execution BLOB NOT NULL
    )""",
    "CREATE TABLE packs (id TEXT PRIMARY KEY, data BLOB NOT NULL)",
    """CREATE TABLE adjustments (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        submission TEXT NOT NULL,
        place TEXT NOT NULL,
        points REAL NOT NULL,
        reason TEXT NOT NULL,
        made_by TEXT NOT NULL,
        made_at REAL NOT NULL,
        removes INTEGER
    )""",
    "CREATE TABLE roster (number INTEGER PRIMARY KEY, person TEXT NOT NULL)",
)

# What a result was made of beside the pack, and seals, which are checksums of rows: NULL in those that an
# earlier version wrote.
_ADDED = {
    "results": (
        "summary",
        "text",
        "execution_digest",
        "inputs",
        "submitted",
        "judged_by",
        "checksum",
        "seal",
    ),
    "adjustments": ("seal",),
    "roster": ("seal",),
}

# What SQLite's module raises; its messages may quote damaged text.
ERRORS = (sqlite3.Error, UnicodeDecodeError)


def require_gradebook(folder: Path) -> None:
    """Refuse a folder that no class was graded into.

    Raises:
        GraderError: There is no gradebook in it.
    """
    if not (folder / FILE).is_file():
        raise GraderError(f"{folder} holds no {FILE}; name the --out folder of a grader grade")


def open_to_write(path: Path, exercise: str | None) -> sqlite3.Connection:
    """A checked database in the present form, made when there is none; every statement is its own commit.

    A file that can't be used is left as it is.

    Args:
        path: The file.
        exercise: Whose results it holds; None takes whichever it is.

    Raises:
        GraderError: It is damaged, locked, of another exercise, program or version, or can't be written.
    """
    try:
        db = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    except sqlite3.Error as error:
        raise fault(path, error) from None
    try:
        tables = _tables(db, path)
        if tables:
            _check(db, path)
            _check_exercise(db, path, exercise)
        db.execute("PRAGMA journal_mode = WAL")
        # With a write-ahead log this loses nothing but to a power cut, and then only the last moments.
        db.execute("PRAGMA synchronous = NORMAL")
        if not tables or _version(db) < VERSION:
            _bring_up_to_date(db, path)
        if exercise is not None:
            db.execute("INSERT OR IGNORE INTO about VALUES ('exercise', ?)", (exercise,))
    except ERRORS as error:
        db.close()
        raise fault(path, error) from None
    except GraderError:
        db.close()
        raise
    return db


def open_to_read(path: Path, exercise: str | None) -> sqlite3.Connection:
    """The same for one who writes nothing, also in a folder that can't be written.

    Raises:
        GraderError: There is none, it is damaged, of another exercise, program or version, or can't be read.
    """
    if not path.is_file():
        raise GraderError(f"{path} is not there; name the --out folder of a grader grade")
    try:
        db = _read_only(path)
        try:
            if not _tables(db, path):
                raise GraderError(f"{path} is empty; the run that made it was ended before it began")
            _check(db, path)
            _check_exercise(db, path, exercise)
            if _version(db) < VERSION:
                copy = sqlite3.connect(":memory:", isolation_level=None)
                db.backup(copy)
                db.close()
                db = copy
                _bring_up_to_date(db, path)
            # All that is read is of one moment, whatever a run writes meanwhile.
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            db.close()
            raise
    except ERRORS as error:
        raise fault(path, error) from None
    return db


def _read_only(path: Path) -> sqlite3.Connection:
    # Where it may be written SQLite keeps its log beside it meanwhile, and takes it away in the end.
    name = f"file:{quote(str(path.absolute()))}"
    db = sqlite3.connect(f"{name}?mode=rw", timeout=WAIT_S, isolation_level=None, uri=True)
    try:
        db.execute("PRAGMA query_only = 1")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        # Where it may not, and no log is open, the file alone has everything.
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        db = sqlite3.connect(f"{name}?mode=ro&immutable=1", isolation_level=None, uri=True)
    return db


def _tables(db: sqlite3.Connection, path: Path) -> set[str]:
    """The tables' names; none in a new file. Raises GraderError for a file that is not ours."""
    tables = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    application = _pragma(db, "application_id")
    version = _version(db)
    if application == APPLICATION and version > VERSION:
        raise GraderError(
            f"{path} was written by a newer version of the grader (form {version} of the tables; this one "
            f"knows those up to {VERSION}); it is left as it is: update the grader, or choose another folder"
        )
    theirs = application not in (0, APPLICATION) or (application == 0 and version != 0)
    if theirs or (tables and not {"about", "results"} <= tables):
        shown = ", ".join(sorted(tables)[:4]) or "none"
        raise GraderError(
            f"{path} is no gradebook, but a database of something else (its tables: {shown}); "
            "it is left as it is: choose another folder"
        )
    return tables


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Look at every page: what is written into a damaged file may be lost, and may take more with it.

    Raises:
        GraderError: The file is damaged.
    """
    # The quick check leaves out whether index and table agree on whose results they are.
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise damaged(path, str(found).replace("\n", " "))


def _check_exercise(db: sqlite3.Connection, path: Path, exercise: str | None) -> None:
    row = db.execute("SELECT value FROM about WHERE key = 'exercise'").fetchone()
    if row is not None and exercise is not None and row[0] != exercise:
        raise GraderError(
            f"{path} holds results of the exercise {row[0]}, not of {exercise}; "
            "choose another folder, or start over with --fresh"
        )


def _bring_up_to_date(db: sqlite3.Connection, path: Path) -> None:
    """The present form, in one go: whoever ends in the middle leaves the form of before."""
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another may have done it meanwhile.
        present = _tables(db, path)
        if not present or _version(db) < VERSION:
            for statement in () if present else _TABLES:
                db.execute(statement)
            for statement in (*(_ADDED_TABLES if _version(db) < 2 else ()), *_OPEN_TABLES):
                db.execute(statement)
            for table, added in _ADDED.items():
                columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
                for name in added:
                    if name not in columns:
                        db.execute(f"ALTER TABLE {table} ADD COLUMN {name} TEXT")
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _version(db: sqlite3.Connection) -> int:
    return _pragma(db, "user_version")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    value: int = db.execute(f"PRAGMA {name}").fetchone()[0]
    return value


# --- Faults ---------------------------------------------------------------------------------------


def fault(path: Path, error: Exception) -> GraderError:
    """What went wrong, what is kept, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        return damaged(path, "a text in it can't be read")
    kind = str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_").partition("_")[0]
    if kind == "FULL":
        return GraderError(f"{path} can't be written: the disk is full; {KEPT}: make room and {GO_ON}")
    if kind == "IOERR":
        return GraderError(
            f"{path} can't be read or written ({error}); {KEPT}: see that the disk has room and is sound, "
            f"and {GO_ON}"
        )
    if kind in ("BUSY", "LOCKED", "PROTOCOL"):
        return GraderError(
            f"{path} is in use by another program ({error}); {KEPT}: close what else has the file open, "
            f"and {GO_ON}"
        )
    if kind in ("READONLY", "CANTOPEN", "PERM", "AUTH"):
        return GraderError(
            f"{path} can't be written ({error}); {KEPT}: check the permissions of its folder and of the file"
        )
    if kind in ("CORRUPT", "NOTADB"):
        return damaged(path, str(error))
    return GraderError(
        f"{path} can't be used ({error}); what it holds is kept: move it away, or start over with --fresh"
    )


def damaged(path: Path, why: str) -> GraderError:
    """The file as a whole is damaged."""
    return GraderError(
        f"{path} is damaged ({why}); nothing was written to it, so what can still be read of it is kept: "
        "put a copy of the whole folder in its place, or move it away and grade again, or start over with "
        "--fresh; results.jsonl beside it has the results as they were at the end of the last run"
    )
