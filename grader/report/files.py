"""What a run writes into its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.gradebook.journal import FILE as GRADEBOOK
from grader.gradebook.journal import Gradebook
from grader.report.class_view import ClassRow, class_rows
from grader.report.html import page_of_rows, student_page, teacher_page
from grader.report.submission_view import Memo
from grader.report.tables import gradebook_csv, jsonl
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
            # A run that was killed at its very beginning left empty folders only.
            present = sorted(p.name for p in folder.iterdir() if not _is_empty_folder_of_ours(p))
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
    for name in (GRADEBOOK, f"{GRADEBOOK}-wal", f"{GRADEBOOK}-shm", RESULTS, CSV, INDEX):
        (folder / name).unlink(missing_ok=True)
    for name in (STUDENTS, TEACHER):
        for page in (folder / name).glob("*.html"):
            page.unlink()


def write_pages(folder: Path, result: Result) -> None:
    """The student's and the teacher's page of one submission. Raises OSError."""
    name = f"{result.submission.id}.html"
    memo = Memo()
    (folder / STUDENTS / name).write_bytes(student_page(result, memo).encode())
    (folder / TEACHER / name).write_bytes(teacher_page(result, memo).encode())


def pages_missing(folder: Path, identifier: str) -> bool:
    """Whether a submission has no pages yet."""
    name = f"{identifier}.html"
    return not ((folder / STUDENTS / name).is_file() and (folder / TEACHER / name).is_file())


def write_class(folder: Path, results: Sequence[Result], version: str) -> None:
    """The class page and the plain files of a whole run.

    Raises:
        GraderError: They can't be written.
    """
    _write_class(folder, jsonl(results), class_rows(results), version)


def write_gradebook(folder: Path, gradebook: Gradebook, version: str) -> list[Summary]:
    """The same from a gradebook, without holding all its records in memory; what it holds, in short, by id.

    Raises:
        GraderError: They can't be written, or a record is damaged.
    """
    rows = list(gradebook.summaries())
    _write_class(folder, gradebook.lines(), rows, version)
    return [summary for summary, _ in rows]


def _write_class(folder: Path, lines: Iterable[str], rows: Sequence[ClassRow], version: str) -> None:
    try:
        _replace(folder / RESULTS, lines)
        # Excel takes a CSV without a byte order mark for the system's own encoding.
        _replace(folder / CSV, ["\ufeff", gradebook_csv(summary for summary, _ in rows)])
        _replace(folder / INDEX, [page_of_rows(rows, version=version)])
    except OSError as error:
        raise GraderError(f"{folder} can't be written: {error.strerror}; the gradebook is kept") from None


def _replace(path: Path, parts: Iterable[str]) -> None:
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.writelines(parts)
    new.replace(path)
