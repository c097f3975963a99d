"""Plain files of a run: results.jsonl and gradebook.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from grader.report.texts import csv_cell, one_line
from grader.result import Result
from grader.summary import Summary


def jsonl(results: Iterable[Result]) -> Iterator[str]:
    """One record a line."""
    for result in results:
        yield result.to_json() + "\n"


def gradebook_csv(results: Iterable[Result | Summary]) -> str:
    """One row a member; an empty score where the grader failed, never a 0.

    The ids of mistakes that come together stand with ``+`` between them, explanations between which the cases
    can't decide with ``|``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["id", "name", "status", "score", "max_score", "policy", "message", "diagnosis", "isolation"]
    )
    for result in results:
        summary = result if isinstance(result, Summary) else Summary.of(result)
        diagnosis = "|".join(["+".join(ids) for ids in summary.explanations])
        score = "" if result.score is None else result.score
        for member in result.submission.members or (result.submission.name,):
            row = [result.submission.id, member, result.status, score, result.max_score]
            row += [result.policy.status, result.message, diagnosis, result.isolation.level]
            writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def _cell(value: str | float) -> str | float:
    return csv_cell(one_line(value, 1_000)) if isinstance(value, str) else value
