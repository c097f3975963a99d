"""What the class page shows, made ready for its template."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader import __version__
from grader.people import Person
from grader.report.class_page.alike import class_clusters
from grader.report.class_page.changes import changes_view
from grader.report.class_page.groups import Groups, Who, page_id, told_apart, who
from grader.report.class_page.hints import class_hints
from grader.report.class_page.item_analysis import MIN_SUBMISSIONS, NEGLIGIBLE, Flag, Item, item_analysis
from grader.report.class_page.marks import ClassMarks, class_marks
from grader.report.class_page.mistakes import class_mistakes
from grader.report.class_page.policy import class_policy
from grader.report.class_page.table import ROWS_SHOWN, Row, class_table, data_block, table_data
from grader.report.class_page.twins import twins
from grader.report.figures import short_digest
from grader.report.submission_page.view import MAX_LISTED, clause_titles
from grader.report.texts import STATUS_WORDS, one_line
from grader.result import Result
from grader.summary import CaseOutline, Outline, Summary

# A submission's line, and what it shares with others; one object for all that share it.
ClassRow = tuple[Summary, Outline]

FLAG_WORDS: Mapping[Flag, str] = {
    "": "",
    "negative": "Strong submissions fail it more often than weak ones",
    "nobody": "Nobody passes",
    "everybody": "Everybody passes",
}


@dataclass(frozen=True)
class ClauseShare:
    """How many submissions fail in a clause, and its ``number`` in the page's data."""

    number: int
    title: str
    count: int
    of: int


@dataclass(frozen=True)
class CaseView:
    """A case in the table and in the plot; ``x`` and ``y`` in its units, None where it has no place."""

    number: int
    id: str
    title: str
    clause: str
    hidden: bool
    item: Item
    flag: str
    x: float | None
    y: float | None


@dataclass(frozen=True)
class Bin:
    """A bar of the histogram: scores from ``low`` to below ``high`` percent; ``height`` of 100."""

    label: str
    low: int
    high: int | None
    count: int
    height: float


BINS = 10


def class_rows(results: Iterable[Result]) -> list[ClassRow]:
    """What the class's page and the gradebook need of whole records."""
    outlines: dict[str, Outline] = {}
    rows = []
    for result in results:
        summary = Summary.of(result)
        if summary.outline not in outlines:
            outlines[summary.outline] = Outline.of(result)
        rows.append((summary, outlines[summary.outline]))
    return rows


def class_view(
    rows: Sequence[ClassRow],
    title: str,
    version: str,
    missing: Iterable[Person] = (),
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that the page of a class shows.

    Args:
        rows: The submissions.
        title: The heading; the exercise's title when empty.
        version: What graded them.
        missing: Those of the roster who handed in nothing.
        changes: What another pack has changed, as `grader.gradebook.changes.Changes.to_dict` gives it.
    """
    summaries = [summary for summary, _ in rows]
    titles: dict[str, str] = {}
    for outline in {summary.outline: outline for summary, outline in rows}.values():
        for name, told in clause_titles(outline.exercise, outline.cases).items():
            titles.setdefault(name, told)
    counts = dict.fromkeys(STATUS_WORDS, 0)
    for summary in summaries:
        counts[summary.status] += 1
    groups = Groups()
    marks = class_marks(rows)
    table = class_table(summaries, titles)
    mistakes, more_mistakes = class_mistakes(summaries, titles, groups)
    clusters = class_clusters(summaries, marks, titles, groups)
    findings, more_findings = class_policy(summaries, groups)
    alike = _alike(summaries, groups)
    cases = _cases(summaries, marks, titles)
    first = rows[0][1].exercise if rows else {}
    scores = sorted(row.score for row in table if row.score is not None)
    view = {
        "title": one_line(title or str(first.get("title") or first.get("name", "")) or "Class", 200),
        "exercise": one_line(str(first.get("name", "")), 120),
        "packs": [short_digest(p) for p in dict.fromkeys(s.pack for s in summaries)][:5],
        "graded_by": one_line(version or __version__, 80),
        "total": len(summaries),
        "counts": counts,
        "bins": _bins(table),
        "scored": len(scores),
        "charted": any(row.percent is not None for row in table),
        "median": _median(scores),
        "mean": math.fsum(scores) / len(scores) if scores else None,
        "max_score": max((s.max_score for s in summaries), default=0.0),
        "rows": table[:ROWS_SHOWN],
        "timed": any(row.handed_in for row in table),
        "ids": any(row.id != row.name for row in table),
        "helpers": sorted({row.policy for row in table} - {"clean"}, reverse=True),
        "missing": _missing(missing),
        "alike": alike,
        "hints": class_hints(
            table,
            [one.item.flag for one in cases],
            len(alike["rows"]) + alike["more"],
            findings=bool(findings),
        ),
        "changes": changes_view(changes) if changes else None,
        "clauses": _clauses(summaries, titles),
        "cases": cases,
        "few": MIN_SUBMISSIONS,
        "negligible": NEGLIGIBLE,
        "mistakes": mistakes,
        "more_mistakes": more_mistakes,
        "perhaps": any(one.perhaps for one in mistakes),
        "clusters": clusters,
        "faults": _faults(summaries, groups),
        "findings": findings,
        "more_findings": more_findings,
        "isolation": _isolation(summaries),
    }
    view["data"] = data_block(table_data(table, marks, clusters.of, titles, groups))
    return view


def _bins(rows: Iterable[Row]) -> list[Bin]:
    """Tenths of the full marks, and full marks on their own."""
    edges = [100 * at // BINS for at in range(1, BINS + 1)]
    counts = [0] * (BINS + 1)
    for row in rows:
        if row.percent is not None:
            counts[bisect.bisect_right(edges, row.percent)] += 1
    most = max(max(counts), 1)
    bins = []
    for low, high, count in zip([0, *edges], [*edges, None], counts, strict=True):
        label = "full marks" if high is None else f"{low} % to below {high} %"
        # A single student must be seen beside hundreds.
        height = round(max(100 * count / most, 2.0), 1) if count else 0.0
        bins.append(Bin(label, low, high, count, height))
    return bins


def _examined(summaries: Iterable[Summary]) -> list[bool]:
    """Whose cases say something about the cases: those that ran, and whom the grader did not fail."""
    return [summary.status in ("passed", "failed") for summary in summaries]


def _clauses(summaries: Sequence[Summary], titles: Mapping[str, str]) -> list[ClauseShare]:
    """Clauses in which someone fails, those of most submissions first."""
    examined = sum(_examined(summaries))
    failing = Counter([clause for summary in summaries for clause in summary.broken])
    numbered = enumerate(titles.items())
    shares = [ClauseShare(at, told, failing[name], examined) for at, (name, told) in numbered]
    return sorted([share for share in shares if share.count], key=lambda share: -share.count)


def _cases(summaries: Sequence[Summary], marks: ClassMarks, titles: Mapping[str, str]) -> list[CaseView]:
    """Cases that were judged at all, the hardest first."""
    counted = [
        marks.patterns[number]
        for number, examined in zip(marks.of, _examined(summaries), strict=True)
        if examined
    ]
    items = item_analysis(counted, len(marks.cases))
    found = [
        _case(number, case, item, titles)
        for number, (case, item) in enumerate(zip(marks.cases, items, strict=True))
        if item.judged
    ]
    return sorted(found, key=lambda one: one.item.difficulty or 0.0)


def _case(number: int, case: CaseOutline, item: Item, titles: Mapping[str, str]) -> CaseView:
    x = y = None
    if item.discrimination is not None:
        x, y = round(40 + 320 * (item.difficulty or 0.0), 1), round(110 - 90 * item.discrimination, 1)
    return CaseView(
        number,
        one_line(case.id, 120),
        one_line(case.title, 200),
        titles[case.clause],
        case.visibility == "hidden",
        item,
        FLAG_WORDS[item.flag],
        x,
        y,
    )


def _missing(persons: Iterable[Person]) -> dict[str, Any]:
    found = list(persons)
    rows = [
        {"name": one_line(p.name, 80), "id": one_line(p.id or p.platform_id, 80)} for p in found[:MAX_LISTED]
    ]
    return {"rows": rows, "total": len(found), "more": len(found) - len(rows)}


def _alike(summaries: Sequence[Summary], groups: Groups) -> dict[str, Any]:
    """Groups of submissions that are alike, for the teacher to look at."""
    # By identity, as two records from elsewhere may have the same id.
    places = {id(summary.submission): at for at, summary in enumerate(summaries)}
    found = twins(summary.submission for summary in summaries)
    rows = []
    for one in found[:MAX_LISTED]:
        members = [places[id(info)] for info in one.submissions]
        named = [Who(page_id(info.id), told_apart(info)) for info in one.submissions]
        rows.append((one.exact, groups.add("Same file" if one.exact else "Same text", members, named)))
    return {"rows": rows, "more": len(found) - len(rows)}


def _faults(summaries: Sequence[Summary], groups: Groups) -> dict[str, Any] | None:
    """On whom the grader failed, and with which message; None when on nobody."""
    at = [number for number, summary in enumerate(summaries) if summary.status == "grader_fault"]
    if not at:
        return None
    messages = Counter([one_line(summaries[number].message, 300) for number in at])
    group = groups.add("Grader fault", at, (who(summaries[number]) for number in at))
    return {"group": group, "messages": messages.most_common(10), "more": len(messages) - 10}


def _median(scores: Sequence[float]) -> float | None:
    if not scores:
        return None
    middle = len(scores) // 2
    return scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2


def _isolation(summaries: Iterable[Summary]) -> list[tuple[str, int]]:
    counts = Counter(summary.isolation.level for summary in summaries)
    return [(level, counts[level]) for level in ("full", "partial", "none") if level in counts]
