"""Folders of graded classes, filled with records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader.gradebook.journal import Gradebook
from grader.report import files
from grader.result import Result


def write_class(folder: Path, records: Iterable[Result]) -> files.Written:
    """The class's files of a folder whose gradebook has these records, added to those that it has."""
    with Gradebook(folder, "mlm_forward") as book:
        for record in records:
            book.add(record)
        return files.write_gradebook(folder, book, "1.0")
