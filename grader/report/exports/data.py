"""Plain tables for people who work with data: CSV, JSON Lines and Parquet, with hidden cases and all.

These are the teacher's: they hold everything.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import ToolMissingError
from grader.people import Person
from grader.report.exports.base import Exported, ExportOptions, members_of, save, unwritable
from grader.report.texts import csv_cell, one_line
from grader.result import CaseResult, Result, dumps
from grader.result import one_line as json_line

if TYPE_CHECKING:
    import pyarrow

CSV, JSONL, CASES_JSONL = "scores.csv", "results.jsonl", "cases.jsonl"
SUBMISSIONS, CASES = "submissions.parquet", "cases.parquet"
ABOUT = [
    "id",
    "name",
    "student_id",
    "email",
    "status",
    "score",
    "max_score",
    "late",
    "submitted_at",
    "attempts",
]
BATCH = 500


# --- CSV ------------------------------------------------------------------------------------------


def write_csv(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``scores.csv``: a row a member, a column ``case.ID`` with the points of each case. Raises GraderError.

    A case that could not be judged is an empty cell; so is a score where the grader failed.
    """
    kept = list(results)
    ids = list(dict.fromkeys(case.id for result in kept for case in result.cases))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*ABOUT, *(_cell(f"case.{name}") for name in ids)])
    for result in kept:
        points = {case.id: _points(case) for case in result.cases}
        for person, _ in members_of(result):
            row = [*_about(result, person), *(points.get(name) for name in ids)]
            writer.writerow([_cell(value) for value in row])
    for person in options.missing:
        row = ["", person.name, person.id, person.email, "not_submitted"]
        writer.writerow([_cell(value) for value in row] + [""] * (len(ABOUT) - len(row) + len(ids)))
    # Excel takes a CSV without a byte order mark for the system's own encoding.
    return Exported((save(folder / CSV, ["\ufeff", text.getvalue()]),))


def _about(result: Result, person: Person) -> list[Any]:
    info = result.submission
    late = "" if info.late is None else "yes" if info.late else "no"
    about = [info.id, person.name, person.id, person.email, result.status, result.score, result.max_score]
    return [*about, late, info.submitted_at, info.attempts]


def _points(case: CaseResult) -> float | None:
    return None if case.verdict == "grader_fault" else case.points


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return csv_cell(one_line(value, 1_000)) if isinstance(value, str) else value


# --- JSON Lines -----------------------------------------------------------------------------------


def write_jsonl(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``results.jsonl``, the records, or flat ``cases.jsonl``, a row a case. Raises GraderError."""
    if options.flat:
        lines = (json_line(dumps(row)) + "\n" for result in results for row in case_rows(result))
        return Exported((save(folder / CASES_JSONL, lines),))
    return Exported((save(folder / JSONL, (result.to_json() + "\n" for result in results)),))


def submission_row(result: Result) -> dict[str, Any]:
    """A record without its cases, flat."""
    info, timing = result.submission, result.timing
    return {
        "exercise": str(result.exercise.get("name", "")),
        "pack": str(result.exercise.get("pack", "")),
        "submission": info.id,
        "name": info.name,
        "members": list(info.members),
        "student_ids": [person.id for person in info.people],
        "digest": info.digest,
        "layout": info.layout,
        "submitted_at": info.submitted_at,
        "late": info.late,
        "attempts": info.attempts,
        "task": info.task,
        "status": result.status,
        "score": result.score,
        "max_score": result.max_score,
        "adjustments": math.fsum(adjustment.points for adjustment in result.adjustments),
        "policy": result.policy.status,
        "violations": [violation.helper for violation in result.policy.violations],
        "suspicions": [violation.helper for violation in result.policy.suspicions],
        "diagnoses": ["+".join(map(str, found.get("ids", ()))) for found in result.diagnoses],
        "message": result.message,
        "isolation": result.isolation.level,
        "wall_s": timing.wall_s,
        "cpu_s": timing.cpu_s,
    }


def case_rows(result: Result) -> Iterator[dict[str, Any]]:
    """A flat row for each case."""
    for case in result.cases:
        error = case.error
        yield {
            "exercise": str(result.exercise.get("name", "")),
            "pack": str(result.exercise.get("pack", "")),
            "submission": result.submission.id,
            "task": result.submission.task,
            "status": result.status,
            "case": case.id,
            "group": case.group,
            "title": case.title,
            "clause": case.clause,
            "visibility": case.visibility,
            "drawn": case.drawn,
            "extra": case.extra,
            "verdict": case.verdict,
            "points": _points(case),
            "max_points": case.max_points,
            "max_abs": error.max_abs if error else None,
            "max_rel": error.max_rel if error else None,
            "tolerance": error.tolerance if error else None,
            "message": case.message,
        }


# --- Parquet --------------------------------------------------------------------------------------


def write_parquet(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``submissions.parquet`` and ``cases.parquet``, with typed columns. Raises GraderError."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ToolMissingError(
            "the format parquet needs the package pyarrow: pip install 'mlm-grader[parquet]'"
        ) from None
    first, second = _schemas(pyarrow)
    paths = folder / SUBMISSIONS, folder / CASES
    new = [path.with_name(f".{path.name}.new") for path in paths]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            parquet.ParquetWriter(new[0], first) as submissions,
            parquet.ParquetWriter(new[1], second) as cases,
        ):
            kept = iter(results)
            while batch := list(islice(kept, BATCH)):
                submissions.write_table(_table(pyarrow, map(submission_row, batch), first))
                rows = (row for result in batch for row in case_rows(result))
                cases.write_table(_table(pyarrow, rows, second))
        for made, path in zip(new, paths, strict=True):
            made.replace(path)
    except OSError as error:
        raise unwritable(folder, error) from None
    return Exported(paths)


def _table(arrow: Any, rows: Iterable[dict[str, Any]], schema: pyarrow.Schema) -> pyarrow.Table:
    return arrow.Table.from_pylist([_encodable(row) for row in rows], schema=schema)


def _encodable(row: dict[str, Any]) -> dict[str, Any]:
    """The row for UTF-8: names of files may hold lone surrogates, which it has not."""

    def text(value: Any) -> Any:
        if isinstance(value, str):
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        return [text(v) for v in value] if isinstance(value, list) else value

    return {key: text(value) for key, value in row.items()}


def _schemas(arrow: Any) -> Sequence[pyarrow.Schema]:
    text, number, whole, truth = arrow.string(), arrow.float64(), arrow.int64(), arrow.bool_()
    texts = arrow.list_(text)
    submissions = {
        **dict.fromkeys(("exercise", "pack", "submission", "name"), text),
        **dict.fromkeys(("members", "student_ids"), texts),
        **dict.fromkeys(("digest", "layout", "submitted_at"), text),
        "late": truth,
        "attempts": whole,
        **dict.fromkeys(("task", "status"), text),
        **dict.fromkeys(("score", "max_score", "adjustments"), number),
        "policy": text,
        **dict.fromkeys(("violations", "suspicions", "diagnoses"), texts),
        **dict.fromkeys(("message", "isolation"), text),
        **dict.fromkeys(("wall_s", "cpu_s"), number),
    }
    cases = {
        **dict.fromkeys(("exercise", "pack", "submission", "task", "status", "case", "group", "title"), text),
        **dict.fromkeys(("clause", "visibility"), text),
        **dict.fromkeys(("drawn", "extra"), truth),
        "verdict": text,
        **dict.fromkeys(("points", "max_points", "max_abs", "max_rel", "tolerance"), number),
        "message": text,
    }
    return arrow.schema(list(submissions.items())), arrow.schema(list(cases.items()))
