"""The table of a class: a row for each submission, and the same as data for the page's script."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from grader.report.class_page.groups import Groups, page_id
from grader.report.class_page.marks import ClassMarks
from grader.report.class_page.mistakes import explanation
from grader.report.figures import points
from grader.report.submission_page.view import share_of_marks
from grader.report.texts import STATUS_WORDS, one_line
from grader.result import Adjustment, SubmissionInfo
from grader.summary import FAILED, PASSED, Summary

# So many rows are in the page itself and on a page of the table; the script shows the others.
ROWS_SHOWN = 25

# In a script element's text these could end it, or a line of it.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Row:
    """A line of the class's table.

    Attributes:
        href: The id as it stands in links.
        reason: The named mistakes, else the clause that holds least, else what the grader says.
        adjusted: What was taken or given after the checks, each with its reason.
        failed: Checks that failed.
        judged: Checks that passed or failed.
        percent: The score's percentage of the full marks, within 0 and 100; None where one is missing.
        handed_in: When, and whether that was late.
    """

    href: str
    id: str
    name: str
    status: str
    score: float | None
    policy: str
    reason: str
    adjusted: str
    failed: int
    judged: int
    percent: float | None
    seconds: float
    handed_in: str


def class_table(summaries: Iterable[Summary], titles: Mapping[str, str]) -> list[Row]:
    """A row for each submission, in their order; ``titles`` are those of the clauses, by name."""
    return [_row(summary, titles) for summary in summaries]


def _row(summary: Summary, titles: Mapping[str, str]) -> Row:
    info = summary.submission
    failed = summary.marks.count(FAILED)
    # A record from elsewhere may hold what is no number, and JSON has no word for it.
    score = summary.score if summary.score is not None and math.isfinite(summary.score) else None
    return Row(
        href=page_id(info.id),
        id=one_line(info.id, 80),
        name=one_line(info.name or info.id, 80),
        status=summary.status,
        score=score,
        policy=summary.policy.status,
        reason=_reason(summary, titles),
        adjusted="; ".join(map(_adjusted, summary.adjustments)),
        failed=failed,
        judged=failed + summary.marks.count(PASSED),
        # Where there are no points to be had, nobody has any share of them.
        percent=100 * share_of_marks(summary) if score is not None and summary.max_score > 0 else None,
        seconds=summary.wall_s if math.isfinite(summary.wall_s) else 0.0,
        handed_in=_handed_in(info),
    )


def _reason(summary: Summary, titles: Mapping[str, str]) -> str:
    if summary.status in ("not_loadable", "grader_fault"):
        return one_line(summary.message, 160)
    if summary.diagnoses and (told := explanation(summary)):
        return one_line(told, 240)
    return f"Clause: {titles[summary.broken[0]]}" if summary.broken else ""


def _adjusted(one: Adjustment) -> str:
    return f"{points(one.points, signed=True)} {one_line(one.reason, 160)}"


def _handed_in(info: SubmissionInfo) -> str:
    """When it was handed in, and whether that was late; empty where nobody tells."""
    when = one_line(info.submitted_at, 40)[:16].replace("T", " ")
    return " ".join(filter(None, (when, "late" if info.late else "")))


def table_data(
    rows: Sequence[Row],
    marks: ClassMarks,
    clusters: Sequence[int | None],
    titles: Mapping[str, str],
    groups: Groups,
) -> dict[str, Any]:
    """What the page's script needs of all submissions, a list for each column of the table.

    Args:
        rows: The table.
        marks: How each fared in each case.
        clusters: For each row the number of its cluster, or None.
        titles: Of the clauses, by name, in the statement's order.
        groups: Those that the page can show.
    """
    clauses = {name: number for number, name in enumerate(titles)}
    reasons: dict[str, int] = {}
    return {
        "clauses": list(titles.values()),
        "cases": [[one_line(case.id, 120), clauses[case.clause]] for case in marks.cases],
        "patterns": marks.patterns,
        "groups": groups.listed,
        "reasons": reasons,
        "href": [row.href for row in rows],
        # What is as in the link, or as the name, is not said twice.
        "id": [0 if row.id == row.href else row.id for row in rows],
        "name": [0 if row.name == row.href else row.name for row in rows],
        "status": [row.status for row in rows],
        "score": [row.score for row in rows],
        "percent": [row.percent for row in rows],
        "policy": [row.policy for row in rows],
        "reason": [reasons.setdefault(row.reason, len(reasons)) for row in rows],
        "adjusted": [reasons.setdefault(row.adjusted, len(reasons)) for row in rows],
        "failed": [row.failed for row in rows],
        "judged": [row.judged for row in rows],
        "seconds": [round(row.seconds, 3) for row in rows],
        "handed_in": [row.handed_in for row in rows],
        "pattern": marks.of,
        "cluster": clusters,
        "status_words": STATUS_WORDS,
        "size": ROWS_SHOWN,
    } | {"reasons": list(reasons)}


def data_block(data: Mapping[str, Any]) -> Markup:
    """Data as the text of a ``<script type="application/json">`` that no text in it can end."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(_UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text))
