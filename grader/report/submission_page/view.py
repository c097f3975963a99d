"""What the pages of one submission show, made ready for the templates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.report.advice import Advice, read_advice
from grader.report.figures import plural
from grader.report.markup.room import Room, byte_count
from grader.report.markup.safe import safe_line
from grader.report.submission_page.advice_markup import ADVICE_BYTES, Broken, advice_section
from grader.report.submission_page.details import Details, made_details
from grader.report.submission_page.source import Source, findings, frame_rows
from grader.report.texts import one_line
from grader.result import UNJUDGED, Adjustment, CaseResult, Output, Result, SubmissionInfo
from grader.summary import CaseOutline, Summary

# A student page stays below 200 KB whatever a submission prints or answers: what the frame, the prose and the
# output leave is for the details of failing cases, of which the first come first.
PAGE_BYTES = 190_000
PROSE_BYTES = 36_000
OUTPUT_BYTES = 24_000
CASE_BYTES = 800
CLAUSE_BYTES = 350
FRAME_BYTES = 24_000
DETAIL_BYTES = 1_500
TEACHER_FACTOR = 3

MAX_ADJUSTMENTS = 30
MAX_NOTES = 20
MAX_LISTED = 200


@dataclass(frozen=True)
class CaseView:
    """A case as it is shown.

    ``number`` makes its anchor, since an id may hold anything; ``made`` keeps what was written of it.
    """

    number: int
    case: CaseResult
    clause: str
    id: str
    title: str
    message: str = ""
    hint: str = ""
    details: Details | None = None
    made: dict[str, Markup] = field(default_factory=dict)


class Clause(NamedTuple):
    """How a clause of the statement fared: ``holds``, ``fails``, ``open`` (not counted) or ``fault``."""

    name: str
    title: str
    state: str
    passed: int
    total: int
    points: float
    max_points: float
    anchor: int | None


@dataclass(frozen=True)
class _Sum:
    """A line of the sum that makes the score."""

    label: str
    checks: str
    points: float
    max_points: float | None = None
    signed: bool = False


@dataclass
class _Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    faults: int = 0
    points: list[float] = field(default_factory=list)
    max_points: list[float] = field(default_factory=list)
    first: int | None = None

    def add(self, number: int, case: CaseResult) -> None:
        """Count a case in."""
        self.points.append(case.points)
        self.max_points.append(case.max_points)
        if case.verdict == "passed":
            self.passed += 1
        elif case.verdict == "skipped":
            self.skipped += 1
        elif case.verdict == "grader_fault":
            self.faults += 1
        else:
            self.failed += 1
            if self.first is None:
                self.first = number

    @property
    def total(self) -> int:
        """How many cases the clause has."""
        return self.passed + self.failed + self.skipped + self.faults

    @property
    def state(self) -> str:
        """Whether the clause holds, as far as the cases tell."""
        if self.failed:
            return "fails"
        if self.faults:
            return "fault"
        return "open" if self.skipped else "holds"


def _clauses(cases: Iterable[CaseResult], titles: Mapping[str, str]) -> list[Clause]:
    tallies: dict[str, _Tally] = {}
    for at, case in enumerate(cases, 1):
        tally = tallies.get(case.clause)
        if tally is None:
            tally = tallies[case.clause] = _Tally()
        tally.add(at, case)
    return [
        Clause(name, title, t.state, t.passed, t.total, math.fsum(t.points), math.fsum(t.max_points), t.first)
        for name, title in titles.items()
        if (t := tallies.get(name))
    ]


def clause_titles(exercise: Mapping[str, Any], cases: Iterable[CaseResult | CaseOutline]) -> dict[str, str]:
    """Titles of the clauses: those of the statement in its order, then what else the cases name."""
    listed = exercise.get("clauses")
    known = listed if isinstance(listed, Mapping) else {}
    titles = {str(name): one_line(str(title), 120) for name, title in known.items()}
    for name in {case.clause: None for case in cases}:
        if name not in titles:
            titles[name] = one_line(name, 120)
    return titles


def _details(room: Room, case: CaseResult, memo: Memo, source: Source) -> Details | None:
    """What there is to show of a case's details; unknown keys and odd values are passed over."""
    details = case.details
    if not details or not room.take(DETAIL_BYTES):
        return None
    _, known, cost = memo.details.get(id(details), (None, None, 0))
    if known is not None and room.take(cost):
        return known
    before, ample, room.ample = room.used, room.ample, True
    made = made_details(room, case, details, source)
    if room.ample:
        memo.details[id(details)] = details, made, room.used - before
    room.ample = room.ample and ample
    return made


class Memo:
    """What the pages of one record share; never used for another record.

    Attributes:
        titles, clauses: As in `submission_view`; None until they are made.
        broken: As `Result.broken_clauses`; None until it is asked for.
        advice: The section on what to fix first; None until it is made, empty where there is none.
        cases, details: What was made of a case or of its details, by the number of that object; with the
            object, so that no other gets its number, and with the bytes that it takes on a page.
    """

    def __init__(self) -> None:
        self.titles: Mapping[str, str] | None = None
        self.clauses: Sequence[Clause] | None = None
        self.broken: tuple[str, ...] | None = None
        self.advice: Markup | None = None
        self.cases: dict[int, tuple[CaseResult, CaseView, int]] = {}
        self.details: dict[int, tuple[Mapping[str, Any], Details, int]] = {}


def submission_view(result: Result, factor: int, memo: Memo | None = None) -> dict[str, Any]:
    """Everything that the pages of one submission show.

    Args:
        result: The record, as the page's reader may see it.
        factor: How many times the usual room the page has.
        memo: What the pages of one record share.
    """
    memo = Memo() if memo is None else memo
    prose = Room(PROSE_BYTES * factor)
    message = prose.text(result.message, 1_500, least=400)
    titles = memo.titles = memo.titles or clause_titles(result.exercise, result.cases)
    clauses = memo.clauses = memo.clauses or _clauses(result.cases, titles)
    cases = [
        _case_view(prose, at, case, titles[case.clause], memo)
        for at, case in enumerate(result.cases, 1)
        if case.verdict != "passed"
    ]
    notes = [prose.text(n, 1_000, least=80) for n in result.notes[:MAX_NOTES]]
    source = Source(result.excerpt, result.submission.positions)
    violations = findings(prose, result.policy.violations, source)
    suspicions = findings(prose, result.policy.suspicions, source)
    loading = _loading(prose, result, source)
    demands = {
        name: prose.text(one_line(text, 600), 600, least=40)
        for name, text in result.demands.items()
        if name in titles and isinstance(text, str)
    }
    printing = Room(OUTPUT_BYTES * factor)
    printed, hidden_printed = _output(printing, result.output), _output(printing, result.hidden_output)
    advice = _advice(result, memo)
    frame = FRAME_BYTES + byte_count(advice) + CASE_BYTES * len(cases) + CLAUSE_BYTES * len(titles)
    room = Room(PAGE_BYTES * factor - frame - prose.used - printing.used)
    for at, view in enumerate(cases):
        if view.case.details:
            cases[at] = replace(view, details=_details(room, view.case, memo, source))
    broken = memo.broken = result.broken_clauses() if memo.broken is None else memo.broken
    ranks = {clause: number for number, clause in enumerate(broken)}
    failing = [c for c in cases if c.case.verdict not in UNJUDGED]
    failing.sort(key=lambda c: (c.case.drawn, ranks[c.case.clause]))
    visible = [c for c in failing if c.case.visibility != "hidden"]
    hidden = [c for c in result.cases if c.visibility == "hidden"]
    return {
        "result": result,
        "exercise": one_line(str(result.exercise.get("title") or result.exercise.get("name", "")), 200),
        "name": one_line(result.submission.name or result.submission.id, 200),
        "message": message,
        "headline": _headline(result, failing),
        "share": share_of_marks(result),
        "notes": notes,
        "violations": violations,
        "suspicions": suspicions,
        "loading": loading,
        "advice": advice,
        "titles": titles,
        "demands": demands,
        "clauses": clauses if result.status not in ("not_loadable", "grader_fault") else [],
        "failing": failing,
        "visible": visible,
        "visible_detailed": sum(c.details is not None for c in visible),
        "hidden": len(hidden),
        "left_out": result.exercise.get("visible_only") is True and not hidden,
        "hidden_passed": sum([c.verdict == "passed" for c in hidden]),
        "hidden_failing": [
            c for c in cases if c.case.visibility == "hidden" and c.case.verdict not in UNJUDGED
        ],
        "skipped": [c for c in cases if c.case.verdict == "skipped"],
        "faults": [c for c in cases if c.case.verdict == "grader_fault"],
        "sums": _sums(result),
        "counting": _counting(result),
        "handed_in": _handed_in(result.submission),
        "printed": printed,
        "hidden_printed": hidden_printed,
    }


def _case_view(room: Room, at: int, case: CaseResult, clause: str, memo: Memo) -> CaseView:
    _, known, cost = memo.cases.get(id(case), (None, None, 0))
    if known is not None and room.take(cost):
        return known
    before, ample, room.ample = room.used, room.ample, True
    view = CaseView(
        at,
        case,
        clause,
        safe_line(case.id, 120),
        safe_line(case.title, 200),
        room.text(case.message, 800, least=120) if case.message else "",
        room.text(case.hint, 1_200, least=120) if case.hint else "",
    )
    if room.ample:
        memo.cases[id(case)] = case, view, room.used - before
    room.ample = room.ample and ample
    return view


def _headline(result: Result, failing: Sequence[CaseView]) -> str:
    if result.status == "passed":
        if result.exercise.get("visible_only") is True:
            return "Full marks, hidden checks aside"
        return "Full marks"
    if result.status == "not_loadable":
        return "The file could not be loaded"
    if result.status == "grader_fault":
        return "The grader failed"
    if failing:
        hidden = sum(c.case.visibility == "hidden" for c in failing)
        only_hidden = hidden == len(failing)
        checks = plural(len(failing), "hidden check" if only_hidden else "check")
        of_these = f", {hidden} of them hidden" if hidden and not only_hidden else ""
        skipped = sum(case.verdict == "skipped" for case in result.cases)
        not_run = f", {skipped} not counted" if skipped else ""
        return f"{checks} did not pass{of_these}{not_run}"
    return "A rule was broken" if result.policy.status == "violated" else "Not full marks"


def share_of_marks(result: Result | Summary) -> float:
    """The score's share of the full marks, within 0 and 1."""
    if result.score is None or not result.max_score > 0 or not math.isfinite(result.score):
        return 0.0
    return min(1.0, max(0.0, result.score / result.max_score))


def _advice(result: Result, memo: Memo) -> Markup:
    """The section on what to fix first, which is the same on all pages of a record."""
    if memo.advice is None:
        advice = read_advice(result)
        broken = _broken(result)
        if advice is None and broken is not None:
            advice = Advice((), "", (), "", broken.title, None, None)
        memo.advice = advice_section(advice, Room(ADVICE_BYTES), broken) if advice else Markup()
    return memo.advice


def _broken(result: Result) -> Broken | None:
    """The clause that holds least, with what it demands and the first of its checks that failed."""
    ranked = result.broken_clauses()
    if not ranked:
        return None
    own = [(at, c) for at, c in enumerate(result.cases, 1) if c.clause == ranked[0]]
    failing = [(at, c) for at, c in own if c.failed]
    public = [at for at, c in failing if c.visibility != "hidden"]
    titles = result.exercise.get("clauses")
    title = titles.get(ranked[0], ranked[0]) if isinstance(titles, Mapping) else ranked[0]
    demand = result.demands.get(ranked[0], "")
    return Broken(
        one_line(str(title), 120),
        demand if isinstance(demand, str) else "",
        (public or [failing[0][0]])[0],
        len(failing),
        len(own),
    )


def _loading(room: Room, result: Result, source: Source) -> Details | None:
    """How a file that can't be loaded ended."""
    exception = result.loading.get("exception")
    frames = frame_rows(room, result.loading, source)
    said = room.text(exception, 1_000) if isinstance(exception, str) else ""
    return Details(exception=said, frames=frames) if said or frames else None


def _output(room: Room, output: Output) -> dict[str, Any]:
    return {
        "stdout": room.text(output.stdout, 20_000, least=200) if output.stdout else "",
        "stderr": room.text(output.stderr, 20_000, least=200) if output.stderr else "",
        "truncated": output.truncated,
    }


def _sums(result: Result) -> list[_Sum]:
    """The lines that add up to the score: visible cases, hidden cases, extra credit, adjustments."""
    lines = []
    regular = [c for c in result.cases if not c.extra]
    for label, cases in (
        ("Visible checks", [c for c in regular if c.visibility != "hidden"]),
        ("Hidden checks", [c for c in regular if c.visibility == "hidden"]),
        ("Extra credit", [c for c in result.cases if c.extra]),
    ):
        if cases:
            passed = sum(c.verdict == "passed" for c in cases)
            lines.append(
                _Sum(
                    label,
                    f"{passed} of {len(cases)} passed",
                    math.fsum(c.points for c in cases),
                    math.fsum(c.max_points for c in cases),
                )
            )
    lines += [_adjustment(a) for a in result.adjustments[:MAX_ADJUSTMENTS]]
    rest = result.adjustments[MAX_ADJUSTMENTS:]
    if rest:
        lines.append(
            _Sum(plural(len(rest), "more adjustment"), "", math.fsum(a.points for a in rest), signed=True)
        )
    return lines


def _handed_in(submission: SubmissionInfo) -> dict[str, Any]:
    """Which file ran, by which rule it was chosen, and when it came."""
    when = [one_line(submission.submitted_at, 40).replace("T", " ")]
    when += ["late"] if submission.late else []
    when += [f"attempt {submission.attempts}, the newest"] if submission.attempts > 1 else []
    # A live function has no file, whatever Python calls the text that it is from.
    file = submission.filename if submission.digest or submission.rule else ""
    return {
        "file": one_line(file, 200),
        "rule": one_line(submission.rule, 200),
        "modules": [one_line(p.name, 120) for p in submission.parts if p.kind == "module"][:MAX_NOTES],
        "when": ", ".join(filter(None, when)),
    }


def _counting(result: Result) -> list[str]:
    """What the course makes of the points, in sentences."""
    said = result.exercise.get("counting", ())
    return [one_line(str(text), 400) for text in said[:20]] if isinstance(said, list | tuple) else []


def _adjustment(adjustment: Adjustment) -> _Sum:
    reason = one_line(adjustment.reason, 400)
    return _Sum(reason[:1].upper() + reason[1:], "", adjustment.points, signed=True)
