"""Plain files of a run: results.jsonl and gradebook.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from grader.people import Person
from grader.report.texts import csv_cell, one_line
from grader.result import Result, SubmissionInfo
from grader.summary import Summary

NOT_SUBMITTED = "not_submitted"

# Later columns are added at the end: other people's scripts may count.
COLUMNS = (
    *("id", "name", "status", "score", "max_score", "policy", "message", "diagnosis", "isolation"),
    *("student_id", "email", "late", "submitted_at", "attempts", "file", "adjustments"),
)
LATE = {None: "", True: "yes", False: "no"}


def jsonl(results: Iterable[Result]) -> Iterator[str]:
    """One record a line."""
    for result in results:
        yield result.to_json() + "\n"


def gradebook_csv(results: Iterable[Result | Summary], missing: Iterable[Person] = ()) -> str:
    """One row a member; an empty score where the grader failed, never a 0.

    The ids of mistakes that come together stand with ``+`` between them, explanations between which the cases
    can't decide with ``|``. Of points taken or given after the cases each reason stands before its points.

    Args:
        results: The class.
        missing: Who has handed in nothing: a row each, of the status ``not_submitted``, without a score.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    most: float | str = ""
    for result in results:
        summary = result if isinstance(result, Summary) else Summary.of(result)
        info = result.submission
        diagnosis = "|".join(["+".join(ids) for ids in summary.explanations])
        score = "" if result.score is None else result.score
        adjusted = "; ".join([f"{one.reason} ({one.points:+g})" for one in summary.adjustments])
        most = result.max_score
        for person in members(info):
            row = [info.id, person.name, result.status, score, result.max_score]
            row += [result.policy.status, result.message, diagnosis, result.isolation.level]
            row += [person.id, person.email, LATE[info.late], info.submitted_at, info.attempts, info.filename]
            row += [adjusted]
            writer.writerow([_cell(cell) for cell in row])
    for person in missing:
        row = ["", person.name, NOT_SUBMITTED, "", most, "", "", "", ""]
        row += [person.id, person.email, "", "", 0, "", ""]
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def members(info: SubmissionInfo) -> list[Person]:
    """Everyone who gets a row for a submission, with as much as is known of each."""
    names = info.members or tuple(person.name for person in info.people) or (info.name,)
    if len(info.people) == len(names):
        return list(info.people)
    # Nobody twice and nobody left out, whatever two sources say of a group.
    left = list(info.people)
    found = []
    for name in names:
        known = next((person for person in left if person.name == name), None)
        if known is not None:
            left.remove(known)
        found.append(known or Person(name))
    return [*found, *left]


def _cell(value: str | float) -> str | float:
    return csv_cell(one_line(value, 1_000)) if isinstance(value, str) else value
