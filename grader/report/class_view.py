"""What the class page shows, made ready for its template."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader import __version__
from grader.people import Person
from grader.report.figures import short_digest
from grader.report.submission_view import MAX_LISTED, clause_titles, share_of_marks
from grader.report.texts import STATUS_WORDS, VERDICT_WORDS, one_line
from grader.report.twins import twins
from grader.result import Result, SubmissionInfo
from grader.summary import FAILED, FAULT, PASSED, CaseOutline, Named, Outline, Summary

# A submission's line, and what it shares with others; one object for all that share it.
ClassRow = tuple[Summary, Outline]


@dataclass(frozen=True)
class _Row:
    """A line of the class's table."""

    id: str
    href: str
    name: str
    status: str
    score: float | None
    policy: str
    clause: str
    failed: int
    seconds: str
    handed_in: str


@dataclass(frozen=True)
class _Share:
    """How many of how many."""

    label: str
    title: str
    count: int
    of: int
    hidden: bool = False

    @property
    def percent(self) -> int:
        return round(100 * self.count / self.of) if self.of else 0


@dataclass(frozen=True)
class _Mistake:
    """A known mistake and who has it.

    Attributes:
        sure: Students that have it; of the others, ``perhaps``, it is one of several explanations.
        rows: Some of their submissions.
    """

    title: str
    clause: str
    sure: int
    perhaps: int
    rows: list[dict[str, str]]
    more: int


@dataclass(frozen=True)
class _Bin:
    """A bar of the histogram; ``x``, ``y``, ``height`` in the drawing's units."""

    label: str
    count: int
    x: float
    y: float
    height: float


BINS = 10
PLOT_HEIGHT = 120.0
MAX_MISTAKES = 200
MAX_NAMES = 20
BAR_STEP = 34.0


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


def _bins(results: Iterable[Summary]) -> list[_Bin]:
    """Tenths of the full marks, and full marks on their own."""
    counts = [0] * (BINS + 1)
    for result in results:
        if result.score is None:
            continue
        share = share_of_marks(result)
        full = result.max_score > 0 and result.score >= result.max_score
        counts[BINS if full else min(BINS - 1, int(share * BINS))] += 1
    labels = [f"{at * 10} % to below {at * 10 + 10} %" for at in range(BINS)] + ["full marks"]
    most = max(max(counts), 1)
    bins = []
    for at, (label, count) in enumerate(zip(labels, counts, strict=True)):
        # A single student must be seen beside hundreds.
        height = round(max(PLOT_HEIGHT * count / most, 2.0), 1) if count else 0.0
        bins.append(_Bin(label, count, 8 + at * BAR_STEP, round(18 + PLOT_HEIGHT - height, 1), height))
    return bins


def _row(result: Summary, titles: Mapping[str, str]) -> _Row:
    broken = result.broken
    return _Row(
        id=one_line(result.submission.id, 80),
        href=result.submission.id,
        name=one_line(result.submission.name or result.submission.id, 80),
        status=result.status,
        score=result.score,
        policy=result.policy.status,
        clause=titles[broken[0]] if broken else "",
        failed=result.marks.count(FAILED),
        seconds=f"{result.wall_s:.3f}",
        handed_in=_handed_in(result.submission),
    )


def _handed_in(submission: SubmissionInfo) -> str:
    """When it was handed in, and whether that was late; empty where nobody tells."""
    when = one_line(submission.submitted_at, 40)[:16].replace("T", " ")
    return " ".join(filter(None, (when, "late" if submission.late else "")))


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
    results = [summary for summary, _ in rows]
    outlines = {summary.outline: outline for summary, outline in rows}
    titles: dict[str, str] = {}
    for outline in outlines.values():
        for name, told in clause_titles(outline.exercise, outline.cases).items():
            titles.setdefault(name, told)
    counts = dict.fromkeys(STATUS_WORDS, 0)
    for result in results:
        counts[result.status] += 1
    failing = Counter([clause for result in results for clause in result.broken])
    passed, judged, sample = _checks(results, outlines)
    examined = len(results) - counts["grader_fault"] - counts["not_loadable"]
    shares = [
        _Share(
            one_line(name, 120),
            one_line(c.title, 200),
            passed[name],
            judged[name],
            c.visibility == "hidden",
        )
        for name, c in sample.items()
    ]
    first = rows[0][1].exercise if rows else {}
    scores = sorted(r.score for r in results if r.score is not None)
    return {
        "title": one_line(title or str(first.get("title") or first.get("name", "")) or "Class", 200),
        "exercise": one_line(str(first.get("name", "")), 120),
        "packs": [short_digest(p) for p in dict.fromkeys(r.pack for r in results)][:5],
        "graded_by": one_line(version or __version__, 80),
        "total": len(results),
        "counts": counts,
        "bins": _bins(results),
        "scored": len(scores),
        "median": _median(scores),
        "mean": math.fsum(scores) / len(scores) if scores else None,
        "max_score": max((r.max_score for r in results), default=0.0),
        "rows": [_row(r, titles) for r in results],
        "timed": any(r.submission.submitted_at or r.submission.late is not None for r in results),
        "missing": _missing(missing),
        "alike": _alike(results),
        "changes": _changes(changes) if changes else None,
        "clauses": sorted(
            (_Share(told, "", failing[name], examined) for name, told in titles.items() if failing[name]),
            key=lambda share: -share.count,
        ),
        "cases": sorted(shares, key=lambda share: share.count / share.of),
        "mistakes": _mistakes(results, titles),
        "faults": _named(r for r in results if r.status == "grader_fault"),
        "policy": _policies(results),
        "isolation": _isolation(results),
    }


def _checks(
    results: Iterable[Summary], outlines: Mapping[str, Outline]
) -> tuple[Counter[str], Counter[str], dict[str, CaseOutline]]:
    """Of each check by id: how many passed it, how many it says something about, and what it is."""
    marks: dict[str, list[str]] = {}
    for result in results:
        marks.setdefault(result.outline, []).append(result.marks)
    passed: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    sample: dict[str, CaseOutline] = {}
    for digest, rows in marks.items():
        for case, column in zip(outlines[digest].cases, zip(*rows, strict=False), strict=False):
            count = len(column) - column.count(FAULT)
            if count:
                sample.setdefault(case.id, case)
                judged[case.id] += count
                passed[case.id] += column.count(PASSED)
    return passed, judged, sample


def _mistakes(results: Iterable[Summary], titles: Mapping[str, str]) -> list[_Mistake]:
    """The mistakes that were named, those of most students first."""
    known: dict[str, Named] = {}
    having: dict[str, list[tuple[Summary, bool]]] = {}
    for result in results:
        alternatives = sum([d.counted for d in result.diagnoses])
        told: dict[str, bool] = {}
        for diagnosis in result.diagnoses:
            sure = not diagnosis.counted or alternatives == 1
            for one in diagnosis.mistakes:
                known.setdefault(one.id, one)
                told[one.id] = told.get(one.id, False) or sure
        for name, sure in told.items():
            having.setdefault(name, []).append((result, sure))
    mistakes = []
    for name, found in having.items():
        one = known[name]
        counts = [0, 0]
        for result, sure in found:
            counts[sure] += max(len(result.submission.members), 1)
        mistakes.append(
            _Mistake(
                title=one_line(one.title or name, 200),
                clause=titles.get(one.clause) or one_line(one.clause, 120),
                sure=counts[True],
                perhaps=counts[False],
                rows=[_who(result) for result, _ in found[:MAX_NAMES]],
                more=len(found) - MAX_NAMES,
            )
        )
    mistakes.sort(key=lambda m: (-m.sure - m.perhaps, -m.sure, m.title))
    return mistakes[:MAX_MISTAKES]


def _who(result: Summary) -> dict[str, str]:
    return {
        "href": result.submission.id,
        "name": one_line(result.submission.name or result.submission.id, 80),
    }


def _missing(persons: Iterable[Person]) -> dict[str, Any]:
    found = list(persons)
    rows = [
        {"name": one_line(p.name, 80), "id": one_line(p.id or p.platform_id, 80)} for p in found[:MAX_LISTED]
    ]
    return {"rows": rows, "total": len(found), "more": len(found) - len(rows)}


def _alike(results: Iterable[Summary]) -> dict[str, Any]:
    """Groups of submissions that are alike, for the teacher to look at."""
    groups = twins(result.submission for result in results)
    rows = [
        {
            "exact": group.exact,
            "rows": [{"href": s.id, "name": _told_apart(s)} for s in group.submissions[:MAX_NAMES]],
            "more": len(group.submissions) - MAX_NAMES,
        }
        for group in groups[:MAX_LISTED]
    ]
    return {"rows": rows, "more": len(groups) - len(rows)}


def _told_apart(submission: SubmissionInfo) -> str:
    """A name with what tells it from the same name of another student."""
    name = one_line(submission.name or submission.id, 80)
    return name if name == submission.id else f"{name} ({one_line(submission.id, 80)})"


def _changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What another pack has changed, those first whose score changed most."""

    def moved(change: Mapping[str, Any]) -> float:
        before, after = change["before"]["score"], change["after"]["score"]
        return math.inf if before is None or after is None else abs(after - before)

    changed = sorted(changes["changed"], key=moved, reverse=True)
    rows = [
        {
            "href": change["id"],
            "name": one_line(str(change["name"] or change["id"]), 80),
            "before": change["before"],
            "after": change["after"],
            "anew": change["anew"],
            "cases": [
                {
                    "id": one_line(case["id"], 80),
                    "before": VERDICT_WORDS.get(case["before"], "not there"),
                    "after": VERDICT_WORDS.get(case["after"], "not there"),
                }
                for case in change["cases"][:5]
            ],
            "more": len(change["cases"]) - 5,
        }
        for change in changed[:MAX_LISTED]
    ]
    return {
        "rows": rows,
        "compared": changes["compared"],
        "total": len(changed),
        "more": len(changed) - len(rows),
        "packs": sorted({short_digest(c["before"]["pack"]) for c in changed})[:5],
    }


def _median(scores: Sequence[float]) -> float | None:
    if not scores:
        return None
    middle = len(scores) // 2
    return scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2


def _named(results: Iterable[Summary]) -> dict[str, Any]:
    found = list(results)
    rows = [_who(r) | {"message": one_line(r.message, 300)} for r in found[:MAX_LISTED]]
    return {"rows": rows, "more": len(found) - len(rows)}


def _policies(results: Iterable[Summary]) -> dict[str, Any]:
    """Who broke a rule and who is to be looked at, violations first."""
    found = [r for r in results if r.policy.violations or r.policy.suspicions]
    found.sort(key=lambda r: not r.policy.violations)
    rows = []
    for result in found[:MAX_LISTED]:
        findings = [(True, v) for v in result.policy.violations] + [
            (False, v) for v in result.policy.suspicions
        ]
        rows.append(
            {
                **_who(result),
                "status": result.policy.status,
                "findings": [
                    {
                        "violation": violation,
                        "helper": one_line(v.helper, 120),
                        "place": one_line(result.submission.positions.name(v.line), 200)
                        if v.line > 0
                        else "",
                        "message": one_line(v.message, 240),
                    }
                    for violation, v in findings[:3]
                ],
                "more": len(findings) - 3,
            }
        )
    return {"rows": rows, "more": len(found) - len(rows)}


def _isolation(results: Iterable[Summary]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.isolation.level] = counts.get(result.isolation.level, 0) + 1
    return [(level, counts[level]) for level in ("full", "partial", "none") if level in counts]
