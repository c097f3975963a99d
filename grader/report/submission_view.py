"""What the pages of one submission show, made ready for the templates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.positions import Positions
from grader.report.advice import read_advice
from grader.report.advice_markup import ADVICE_BYTES, advice_section
from grader.report.arrays import ShownArray, shape_words, shown_array
from grader.report.figures import number, plural
from grader.report.room import Room, byte_count
from grader.report.safe import safe_line
from grader.report.texts import one_line, place_words
from grader.result import UNJUDGED, Adjustment, CaseResult, Output, Result, Shared, SubmissionInfo, Violation
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

MAX_SNIPPET = 40_000
MAX_FINDINGS = 30
MAX_NOTES = 20
MAX_LISTED = 200


# --- One submission -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Worst:
    index: str
    obtained: str
    expected: str
    difference: str


@dataclass(frozen=True)
class Details:
    """What is shown of a failing case beside its message; ``made`` keeps what was written of it."""

    inputs: Shared | None = None
    obtained: ShownArray | None = None
    expected: ShownArray | None = None
    worst: Sequence[_Worst] = ()
    frames: Sequence[tuple[str, str]] = ()
    exception: str = ""
    stdout: str = ""
    stderr: str = ""
    snippet: str = ""
    made: dict[str, Markup] = field(default_factory=dict)


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
        Clause(title, t.state, t.passed, t.total, math.fsum(t.points), math.fsum(t.max_points), t.first)
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


def _text_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _details(room: Room, details: Mapping[str, Any], memo: Memo, positions: Positions) -> Details | None:
    """What there is to show of a case's details; unknown keys and odd values are passed over."""
    if not details or not room.take(DETAIL_BYTES):
        return None
    _, known, cost = memo.details.get(id(details), (None, None, 0))
    if known is not None and room.take(cost):
        return known
    before, ample, room.ample = room.used, room.ample, True
    made = _made_details(room, details, positions)
    if room.ample:
        memo.details[id(details)] = details, made, room.used - before
    room.ample = room.ample and ample
    return made


def _made_details(room: Room, details: Mapping[str, Any], positions: Positions) -> Details:
    worst = [w for w in _text_list(details.get("worst")) if isinstance(w, Mapping)][:10]
    indices = [_index(w) for w in worst]
    snippet = details.get("snippet")

    def text(key: str, limit: int) -> str:
        value = details.get(key)
        return room.text(value, limit) if isinstance(value, str) and value else ""

    return Details(
        exception=text("exception", 1_000),
        frames=[_frame(room, f, positions) for f in _text_list(details.get("traceback"))[-20:]],
        worst=[_worst(w, index) for w, index in zip(worst, indices, strict=True)],
        obtained=shown_array(room, "Obtained", details["obtained"], worst=indices)
        if "obtained" in details
        else None,
        expected=shown_array(room, "Expected", details["expected"], worst=indices)
        if "expected" in details
        else None,
        inputs=_inputs(room, details.get("inputs")),
        stdout=text("stdout", 4_000),
        stderr=text("stderr", 4_000),
        # A snippet that is cut can't be run.
        snippet=room.whole(snippet, MAX_SNIPPET) if isinstance(snippet, str) else "",
    )


def _index(worst: Mapping[str, Any]) -> tuple[int, ...]:
    index = _text_list(worst.get("index"))
    return tuple(i for i in index if type(i) is int)[:32]


def _worst(worst: Mapping[str, Any], index: tuple[int, ...]) -> _Worst:
    obtained, expected = worst.get("obtained"), worst.get("expected")
    difference = "–"
    if isinstance(obtained, int | float) and isinstance(expected, int | float):
        try:
            difference = number(float(abs(obtained - expected)))
        except OverflowError:
            difference = "inf"
    where = f"[{', '.join(number(i) for i in index)}]"
    return _Worst(where, number(obtained), number(expected), difference)


def _frame(room: Room, frame: Any, positions: Positions) -> tuple[str, str]:
    parts = _text_list(frame)
    at = parts[0] if parts and isinstance(parts[0], int) else None
    # A record that was made elsewhere may hold a number that Python refuses to write.
    known = at is not None and at.bit_length() < 64
    line = one_line(positions.name(at), 200) if at is not None and known else "line ?"
    function = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else "?"
    return line, room.text(one_line(function, 120), 120, least=1)


def _inputs(room: Room, inputs: Any) -> Shared | None:
    """The inputs as they are shown; made once where many records hold them."""
    known, cost = inputs.made.get("shown", (None, 0)) if isinstance(inputs, Shared) else (None, 0)
    if known is not None and room.take(cost):
        shown: Shared = known
        return shown
    before, ample, room.ample = room.used, room.ample, True
    shown = Shared([_input(room, i) for i in _text_list(inputs)[:60] if isinstance(i, Mapping)])
    if room.ample and isinstance(inputs, Shared):
        inputs.made["shown"] = shown, room.used - before
    room.ample = room.ample and ample
    return shown or None


def _input(room: Room, given: Mapping[str, Any]) -> ShownArray:
    name = one_line(str(given.get("name", "")), 80)
    if "value" in given:
        value = given["value"]
        return ShownArray(name, type(value).__name__, inline=number(value))
    dtype, shape = str(given.get("dtype", "")), _text_list(given.get("shape"))
    if "values" not in given:
        return ShownArray(name, one_line(f"{dtype} {shape_words(tuple(shape[:32]))}".strip(), 120))
    # Nothing in an input is marked: text is enough, and made in a fraction of a table's time.
    return shown_array(room, name, given["values"], dtype=dtype, shape=shape[:32], table=False)


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
    positions = result.submission.positions
    violations = _findings(prose, result.policy.violations, positions)
    suspicions = _findings(prose, result.policy.suspicions, positions)
    printing = Room(OUTPUT_BYTES * factor)
    printed, hidden_printed = _output(printing, result.output), _output(printing, result.hidden_output)
    advice = _advice(result, memo)
    frame = FRAME_BYTES + byte_count(advice) + CASE_BYTES * len(cases) + CLAUSE_BYTES * len(titles)
    room = Room(PAGE_BYTES * factor - frame - prose.used - printing.used)
    for at, view in enumerate(cases):
        if view.case.details:
            cases[at] = replace(view, details=_details(room, view.case.details, memo, positions))
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
        "advice": advice,
        "titles": titles,
        "clauses": clauses if result.status not in ("not_loadable", "grader_fault") else [],
        "failing": failing,
        "visible": visible,
        "visible_detailed": sum(c.details is not None for c in visible),
        "hidden": len(hidden),
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


def _findings(room: Room, found: Sequence[Violation], positions: Positions) -> dict[str, Any]:
    rows = [
        {
            "rule": one_line(v.rule, 80),
            "helper": room.text(one_line(v.helper, 200), 200, least=40),
            "place": place_words(positions, v.line) if v.line > 0 else "",
            "column": number(v.column) if v.column > 0 else "",
            "found": "while it ran" if v.found == "runtime" else "in the source text",
            "message": room.text(v.message, 800, least=80),
        }
        for v in found[:MAX_FINDINGS]
    ]
    return {"rows": rows, "more": len(found) - len(rows), "count": len(found)}


def _advice(result: Result, memo: Memo) -> Markup:
    """The section on what to fix first, which is the same on all pages of a record."""
    if memo.advice is None:
        advice = read_advice(result)
        memo.advice = advice_section(advice, Room(ADVICE_BYTES)) if advice else Markup()
    return memo.advice


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
    lines += [_adjustment(a) for a in result.adjustments[:MAX_FINDINGS]]
    rest = result.adjustments[MAX_FINDINGS:]
    if rest:
        lines.append(_Sum(plural(len(rest), "more adjustment"), "", math.fsum(a.points for a in rest)))
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
    return _Sum(reason[:1].upper() + reason[1:], "", adjustment.points)


# --- The class ------------------------------------------------------------------------------------
