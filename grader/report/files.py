"""What a run writes into its folder."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from grader.errors import GraderError
from grader.gradebook.changes import Changes
from grader.gradebook.journal import FILE as GRADEBOOK
from grader.gradebook.journal import Gradebook
from grader.gradebook.lock import LOCK
from grader.people import Person
from grader.report.html import (
    DOWNLOADS,
    END_OF_DOWNLOADS,
    downloads_section,
    page_of_rows,
    student_page,
    teacher_page,
)
from grader.report.submission_page.view import Memo
from grader.report.tables import gradebook_csv
from grader.result import Result
from grader.summary import Summary

RESULTS, CSV, INDEX = "results.jsonl", "gradebook.csv", "index.html"
STUDENTS, TEACHER = "students", "teacher"


def prepare_folder(folder: Path, *, fresh: bool) -> None:
    """Make sure that a run may write into a folder.

    Args:
        folder: Made when it is missing; continued when it holds a gradebook.
        fresh: Remove what an earlier run wrote there.

    Raises:
        GraderError: It holds something else, or can't be written.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise GraderError(f"{folder} is no folder; name one for --out")
        if folder.is_dir():
            # A run that was killed at its very beginning left empty folders and its lock only.
            present = sorted(
                p.name for p in folder.iterdir() if p.name != LOCK and not _is_empty_folder_of_ours(p)
            )
            if present and GRADEBOOK not in present:
                shown = ", ".join(present[:3]) + (" …" if len(present) > 3 else "")
                raise GraderError(
                    f"{folder} holds other files ({shown}); choose a new or empty folder for --out"
                )
            if fresh:
                _remove_earlier(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STUDENTS).mkdir(exist_ok=True)
        (folder / TEACHER).mkdir(exist_ok=True)
    except OSError as error:
        raise GraderError(f"{folder} can't be written: {error.strerror}") from None


def _is_empty_folder_of_ours(path: Path) -> bool:
    return path.name in (STUDENTS, TEACHER) and path.is_dir() and not any(path.iterdir())


def _remove_earlier(folder: Path) -> None:
    for name in (RESULTS, CSV, INDEX):
        (folder / name).unlink(missing_ok=True)
        _unfinished(folder / name).unlink(missing_ok=True)
    for name in (STUDENTS, TEACHER):
        for page in (folder / name).glob("*.html"):
            page.unlink()
    remove_unfinished(folder)
    # The gradebook goes last: by it the folder is known as ours, also where this is ended half-way.
    for name in (f"{GRADEBOOK}-wal", f"{GRADEBOOK}-shm", GRADEBOOK):
        (folder / name).unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Take away pages that a run which was killed had not finished. Raises OSError."""
    for name in (STUDENTS, TEACHER):
        for page in (folder / name).glob(_unfinished(Path("*.html")).name):
            page.unlink(missing_ok=True)


def page_paths(identifier: str) -> tuple[str, str]:
    """The student's and the teacher's page of a submission below a run's folder."""
    return f"{STUDENTS}/{identifier}.html", f"{TEACHER}/{identifier}.html"


def write_pages(folder: Path, result: Result) -> None:
    """The student's and the teacher's page of one submission. Raises OSError."""
    student, teacher = page_paths(result.submission.id)
    memo = Memo()
    _write(folder / student, [student_page(result, memo).encode()])
    _write(folder / teacher, [teacher_page(result, memo).encode()])


def write_made_pages(folder: Path, identifier: str, pages: Mapping[str, bytes]) -> None:
    """The pages of one submission, made elsewhere; a path that is none of its pages is not written.

    Raises:
        OSError: They can't be written.
    """
    for path in page_paths(identifier):
        if path in pages:
            _write(folder / path, [pages[path]])


def remove_pages(folder: Path, identifier: str) -> None:
    """Take away the pages of a submission that tell of an earlier result. Raises OSError."""
    for path in page_paths(identifier):
        (folder / path).unlink(missing_ok=True)


def pages_missing(folder: Path, identifier: str) -> bool:
    """Whether a submission has no pages yet; after a power cut they may be there and empty."""
    try:
        found = [(folder / path).stat() for path in page_paths(identifier)]
    except OSError:
        return True
    return not all(stat.S_ISREG(page.st_mode) and page.st_size for page in found)


class Written(NamedTuple):
    """What a gradebook holds: the newest results in short, by id, and who of the class handed in nothing."""

    summaries: tuple[Summary, ...]
    missing: tuple[Person, ...]


def write_gradebook(
    folder: Path, gradebook: Gradebook, version: str, changes: Changes | None = None
) -> Written:
    """The class page and the plain files of a run, without holding all its records in memory; what it holds.

    Args:
        folder: A run's folder.
        gradebook: Its gradebook.
        version: What graded the class.
        changes: What another pack has changed, where the class page is to tell it.

    Raises:
        GraderError: They can't be written, or a record is damaged.
    """
    # All exports are loaded with it, which a worker that makes pages does not need.
    from grader.report.downloads import downloads

    rows = list(gradebook.summaries())
    summaries = [summary for summary, _ in rows]
    missing = gradebook.not_submitted([summary.submission for summary in summaries])
    told = changes.to_dict() if changes is not None else None
    try:
        _write(folder / RESULTS, (line.encode() for line in gradebook.lines()))
        # Excel takes a CSV without a byte order mark for the system's own encoding.
        _write(folder / CSV, [f"\ufeff{gradebook_csv(summaries, missing)}".encode()])
        page = page_of_rows(
            rows,
            version=version,
            missing=missing,
            changes=told,
            pending=len(gradebook.waiting()),
            formats=downloads(folder),
        )
        _write(folder / INDEX, [page.encode()])
    except OSError as error:
        raise GraderError(
            f"{error.filename or folder} can't be written: {error.strerror}; the gradebook is kept, and "
            f"grader report {folder} writes the class's files anew"
        ) from None
    return Written(tuple(summaries), tuple(missing))


def refresh_downloads(folder: Path) -> None:
    """Write anew what the class page says of the exports in its folder, and leave the rest of it alone.

    Where there is no page yet, or one of an earlier version, nothing is done.

    Raises:
        GraderError: The page can't be read or written.
    """
    from grader.report.downloads import downloads

    page = folder / INDEX
    try:
        if not page.is_file():
            return
        before, begin, rest = page.read_bytes().decode().partition(DOWNLOADS)
        _, end, after = rest.partition(END_OF_DOWNLOADS)
        if begin and end:
            _write(page, [f"{before}{downloads_section(downloads(folder))}{after}".encode()])
    except (OSError, ValueError) as error:
        raise GraderError(
            f"{page} can't be written: {error}; grader report {folder} writes the class's files anew"
        ) from None


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that whoever reads it sees whole, as it was or as it is now. Raises OSError."""
    new = _unfinished(path)
    try:
        with new.open("wb") as file:
            file.writelines(parts)
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")
