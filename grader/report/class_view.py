"""What the class page shows, made ready for its template."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader import __version__
from grader.report.figures import number, short_digest
from grader.report.submission_view import MAX_LISTED, clause_titles, share_of_marks
from grader.report.texts import STATUS_WORDS, one_line
from grader.result import CaseResult, Result


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
class _Bin:
    """A bar of the histogram; ``x``, ``y``, ``height`` in the drawing's units."""

    label: str
    count: int
    x: float
    y: float
    height: float


BINS = 10
PLOT_HEIGHT = 120.0
BAR_STEP = 34.0


def _bins(results: Iterable[Result]) -> list[_Bin]:
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


def _row(result: Result, titles: Mapping[str, str]) -> _Row:
    broken = result.broken_clauses()
    return _Row(
        id=one_line(result.submission.id, 80),
        href=result.submission.id,
        name=one_line(result.submission.name or result.submission.id, 80),
        status=result.status,
        score=result.score,
        policy=result.policy.status,
        clause=titles[broken[0]] if broken else "",
        failed=sum(c.failed for c in result.cases),
        seconds=f"{result.timing.wall_s:.3f}",
    )


def class_view(results: Sequence[Result], title: str, version: str) -> dict[str, Any]:
    """Everything that the page of a class shows."""
    titles: dict[str, str] = {}
    passed: dict[str, int] = {}
    judged: dict[str, int] = {}
    failing: dict[str, int] = {}
    sample: dict[str, CaseResult] = {}
    counts = dict.fromkeys(STATUS_WORDS, 0)
    for result in results:
        counts[result.status] += 1
        for name, told in clause_titles(result.exercise, result.cases).items():
            titles.setdefault(name, told)
        broken = set()
        for case in result.cases:
            if case.verdict == "grader_fault":
                continue
            sample.setdefault(case.id, case)
            judged[case.id] = judged.get(case.id, 0) + 1
            if case.verdict == "passed":
                passed[case.id] = passed.get(case.id, 0) + 1
            elif case.failed:
                broken.add(case.clause)
        for clause in broken:
            failing[clause] = failing.get(clause, 0) + 1
    examined = len(results) - counts["grader_fault"] - counts["not_loadable"]
    shares = [
        _Share(
            one_line(name, 120),
            one_line(c.title, 200),
            passed.get(name, 0),
            judged[name],
            c.visibility == "hidden",
        )
        for name, c in sample.items()
    ]
    first = results[0].exercise if results else {}
    scores = sorted(r.score for r in results if r.score is not None)
    return {
        "title": one_line(title or str(first.get("title") or first.get("name", "")) or "Class", 200),
        "exercise": one_line(str(first.get("name", "")), 120),
        "packs": [short_digest(p) for p in dict.fromkeys(str(r.exercise.get("pack", "")) for r in results)][
            :5
        ],
        "graded_by": one_line(version or __version__, 80),
        "total": len(results),
        "counts": counts,
        "bins": _bins(results),
        "scored": len(scores),
        "median": _median(scores),
        "mean": math.fsum(scores) / len(scores) if scores else None,
        "max_score": max((r.max_score for r in results), default=0.0),
        "rows": [_row(r, titles) for r in results],
        "clauses": sorted(
            (_Share(titles[name], "", count, examined) for name, count in failing.items()),
            key=lambda share: -share.count,
        ),
        "cases": sorted(shares, key=lambda share: share.count / share.of),
        "faults": _named(r for r in results if r.status == "grader_fault"),
        "policy": _policies(results),
        "isolation": _isolation(results),
    }


def _median(scores: Sequence[float]) -> float | None:
    if not scores:
        return None
    middle = len(scores) // 2
    return scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2


def _named(results: Iterable[Result]) -> dict[str, Any]:
    found = list(results)
    rows = [
        {
            "href": r.submission.id,
            "name": one_line(r.submission.name or r.submission.id, 80),
            "message": one_line(r.message, 300),
        }
        for r in found[:MAX_LISTED]
    ]
    return {"rows": rows, "more": len(found) - len(rows)}


def _policies(results: Iterable[Result]) -> dict[str, Any]:
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
                "href": result.submission.id,
                "name": one_line(result.submission.name or result.submission.id, 80),
                "status": result.policy.status,
                "findings": [
                    {
                        "violation": violation,
                        "helper": one_line(v.helper, 120),
                        "line": number(v.line) if v.line > 0 else "",
                        "message": one_line(v.message, 240),
                    }
                    for violation, v in findings[:3]
                ],
                "more": len(findings) - 3,
            }
        )
    return {"rows": rows, "more": len(found) - len(rows)}


def _isolation(results: Iterable[Result]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.isolation.level] = counts.get(result.isolation.level, 0) + 1
    return [(level, counts[level]) for level in ("full", "partial", "none") if level in counts]
