"""The pages: a submission for its student, a submission for the teacher, and the class.

Each page is one file that asks for nothing: styles and scripts are inside, and its Content-Security-Policy
allows them by their hashes and nothing else. Every text of a record passes `clean` and is escaped by Jinja2,
whatever the template says: see `_shown`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grader import __version__
from grader.report.texts import STATUS_WORDS, VERDICT_WORDS, clean, one_line
from grader.result import Adjustment, CaseResult, Output, Result, Violation

TEMPLATES = Path(__file__).parent / "templates"

# A student page stays below 200 KB whatever a submission prints or answers: what the frame, the prose and the
# output leave is for the details of failing cases, of which the first come first.
PAGE_BYTES = 190_000
PROSE_BYTES = 36_000
OUTPUT_BYTES = 24_000
CASE_BYTES = 800
CLAUSE_BYTES = 350
FRAME_BYTES = 22_000
DETAIL_BYTES = 1_500
TEACHER_FACTOR = 3

MAX_SHOWN = 1_000_000
MAX_SNIPPET = 40_000
MAX_CELL = 24
MAX_TABLE_CELLS = 240
MAX_TABLE_COLUMNS = 40
MAX_FINDINGS = 30
MAX_NOTES = 20
MAX_LISTED = 200

SIGNS: Mapping[str, str] = {"passed": "✓", "skipped": "–", "grader_fault": "?"}
STATUS_SIGNS: Mapping[str, str] = {"passed": "✓", "failed": "✗", "not_loadable": "!", "grader_fault": "?"}
TONES: Mapping[str, str] = {
    "passed": "good",
    "failed": "bad",
    "not_loadable": "warn",
    "grader_fault": "calm",
    "skipped": "calm",
    "holds": "good",
    "fails": "bad",
    "open": "calm",
    "fault": "calm",
    "clean": "good",
    "violated": "bad",
    "suspicious": "warn",
}


def student_page(result: Result) -> str:
    """The page of one submission for the one who wrote it.

    Args:
        result: Any view of the record; of hidden cases the page tells clause, verdict and points only.
    """
    # A record that calls itself a student's view is stripped all the same: that is cheap, and asks no trust.
    return _render("student.html", _submission(result.for_student(), 1) | {"linked": False})


def teacher_page(result: Result, *, linked: bool = True) -> str:
    """The page of one submission for the teacher: hidden cases, suspicions and hidden output too.

    Args:
        result: The full record.
        linked: Whether the page lies in a class's folder, as ``teacher/ID.html``, and links to others.
    """
    return _render("teacher.html", _submission(result, TEACHER_FACTOR) | {"linked": linked})


def class_page(results: Sequence[Result], *, title: str = "", version: str = "") -> str:
    """The page of a class, which links to ``students/ID.html`` and ``teacher/ID.html`` beside it.

    Args:
        results: The full records, in the order in which the table lists them.
        title: The heading; the exercise's title when empty.
        version: What graded them; this version when empty.
    """
    return _render("class.html", _class(results, title, version))


# --- Rendering ------------------------------------------------------------------------------------


def _shown(value: Any) -> Any:
    # Jinja2 passes the value of every expression through here before it is escaped; no template can forget.
    if isinstance(value, Markup) or type(value) is int:
        return value
    return clean(value if isinstance(value, str) else str(value), MAX_SHOWN)


def _source(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8").strip())


def _hash(source: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() + "'"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    style = _source("style.css")
    scripts = {"submission": _source("submission.js"), "class": _source("class.js")}
    policies = {
        name: "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
        for name, script in scripts.items()
    }
    environment.globals.update(
        style=style,
        scripts=scripts,
        policies=policies,
        verdict_words=VERDICT_WORDS,
        status_words=STATUS_WORDS,
        status_signs=STATUS_SIGNS,
        version=__version__,
    )
    environment.filters.update(
        line=one_line,
        number=number,
        points=points,
        sign=lambda verdict: SIGNS.get(verdict, "✗"),
        tone=lambda word: TONES.get(word, "bad"),
        href=lambda text: quote(clean(text, 300), safe=""),
        short=_short_digest,
        plural=_plural,
    )
    return environment


@functools.cache
def _template(name: str) -> Any:
    return _environment().get_template(name)


def _render(name: str, context: Mapping[str, Any]) -> str:
    text: str = _template(name).render(context)
    return text


# --- Words and figures ----------------------------------------------------------------------------


def number(value: Any) -> str:
    """A value of an array or an error figure, in six digits.

    Example:
        >>> number(0.1234567), number(3), number("nan"), number(None)
        ('0.123457', '3', 'nan', 'not finite')
    """
    if value is None:
        return "not finite"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        # Python refuses to write very long integers.
        return str(value) if value.bit_length() < 64 else f"an integer of {value.bit_length()} bits"
    return one_line(value if isinstance(value, str) else type(value).__name__, MAX_CELL)


def points(value: float | None, *, signed: bool = False) -> str:
    """Points as one writes them: at most four decimals and no trailing zeros.

    Example:
        >>> points(17.5), points(2.0), points(-2.5), points(None), points(1.0, signed=True)
        ('17.5', '2', '−2.5', '–', '+1')
    """
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    text = f"{abs(value):.4f}".rstrip("0").rstrip(".")
    if text == "0":
        return text
    return ("−" if value < 0 else "+" if signed else "") + text


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _short_digest(digest: str) -> str:
    kind, colon, rest = digest.partition(":")
    return one_line(kind + colon + rest[:12] if colon else digest[:12], 24)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


class _Room:
    """Bytes that a kind of content may take up on a page."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.used = 0

    def text(self, text: str, limit: int, *, least: int = 0) -> Markup:
        """The text, cleaned, escaped, cut to what there is room for, but never below ``least`` characters."""
        kept = escape(clean(text, limit))
        cost = _bytes(kept)
        if cost > self.left:
            kept = escape(clean(text, max(least, min(limit, self.left // 6), 1)))
            cost = _bytes(kept)
        self.left -= cost
        self.used += cost
        return kept

    def whole(self, text: str, limit: int) -> Markup:
        """The text, cleaned and escaped; empty when it is longer than the limit or finds no room."""
        if len(text) > limit:
            return Markup()
        kept = escape(clean(text, 2 * limit))
        return kept if self.take(_bytes(kept)) else Markup()

    def take(self, size: int) -> bool:
        """Whether there was room for so many bytes, which are then used up."""
        if size > self.left:
            return False
        self.left -= size
        self.used += size
        return True


# --- Arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Array:
    """What is shown of a value: a table, a text, or only what it is.

    Attributes:
        about: dtype and shape in words.
        inline: A value that fits into a line.
        columns: The numbers of the columns of a table.
        rows: Its cells, escaped.
        slices: For three dimensions and more: which slice, and its values as text.
    """

    name: str
    about: str
    inline: str = ""
    columns: int = 0
    rows: Sequence[Markup] = ()
    slices: Sequence[tuple[str, str]] = ()


def _shape(values: Any) -> tuple[int, ...] | None:
    """The shape of nested lists; None when they are ragged."""
    if not isinstance(values, list | tuple):
        return ()
    if not values:
        return (0,)
    inner = {_shape(v) for v in values}
    if len(inner) != 1 or None in inner:
        return None
    (only,) = inner
    return None if only is None else (len(values), *only)


def _cells(row: Iterable[Any], marked: frozenset[int]) -> Markup:
    cells = []
    for at, value in enumerate(row):
        shown = number(value)
        if not isinstance(value, int | float):
            shown = escape(shown)
        cells.append(f"<td><mark>{shown}</mark></td>" if at in marked else f"<td>{shown}</td>")
    return Markup("".join(cells))


def _array(
    room: _Room,
    name: str,
    values: Any,
    *,
    dtype: str = "",
    shape: Sequence[Any] | None = None,
    worst: Sequence[Sequence[int]] = (),
) -> _Array:
    """Values of nested lists as they are shown; ``worst`` are the indices to mark."""
    found = _shape(values)
    # Nested lists don't tell (0, 7) from (0,).
    told = tuple(shape) if shape is not None else found if found != (0,) else None
    words = _shape_words(told) if told is not None else "" if found else "nested lists of unequal length"
    about = one_line(" ".join(filter(None, (dtype, words))), 120)
    if found is None or 0 in found:
        return _Array(name, about, inline="no elements" if found is not None else "")
    if not found:
        return _Array(name, about, inline=number(values))
    size = math.prod(found)
    if size > 4 * MAX_TABLE_CELLS or not room.take(
        24 * size + 45 * (size // found[-1]) + 30 * found[-1] + 300
    ):
        return _Array(name, about)
    if len(found) == 1:
        if size <= 6:
            return _Array(name, about, inline="[" + ", ".join(map(number, values)) + "]")
        values, found = [values], (1, size)
        worst = [(0, *index) for index in worst]
    if len(found) == 2 and size <= MAX_TABLE_CELLS and found[1] <= MAX_TABLE_COLUMNS:
        marked: dict[int, set[int]] = {}
        for index in worst:
            if len(index) == 2:
                marked.setdefault(index[0], set()).add(index[1])
        rows = [_cells(row, frozenset(marked.get(at, ()))) for at, row in enumerate(values)]
        return _Array(name, about, columns=found[1], rows=rows)
    return _Array(name, about, slices=list(_slices(values, len(found), ())))


def _shape_words(shape: tuple[Any, ...]) -> str:
    if not shape:
        return ""
    return f"({', '.join(str(n) for n in shape)}{',' if len(shape) == 1 else ''})"


def _slices(values: Any, dimensions: int, index: tuple[int, ...]) -> Iterable[tuple[str, str]]:
    if dimensions > 2:
        for at, inner in enumerate(values):
            yield from _slices(inner, dimensions - 1, (*index, at))
        return
    rows = values if dimensions == 2 else [values]
    cells = [[number(v) for v in row] for row in rows]
    width = max((len(c) for row in cells for c in row), default=0)
    text = "\n".join("  ".join(c.rjust(width) for c in row) for row in cells)
    yield f"[{', '.join(map(str, index))}{', ' if index else ''}:, :]", text


# --- One submission -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Worst:
    index: str
    obtained: str
    expected: str
    difference: str


@dataclass(frozen=True)
class _Details:
    inputs: Sequence[_Array] = ()
    obtained: _Array | None = None
    expected: _Array | None = None
    worst: Sequence[_Worst] = ()
    frames: Sequence[tuple[str, str]] = ()
    exception: str = ""
    stdout: str = ""
    stderr: str = ""
    snippet: str = ""


@dataclass(frozen=True)
class _Case:
    """A case as it is shown; ``number`` makes its anchor, since an id may hold anything."""

    number: int
    case: CaseResult
    clause: str
    id: str
    title: str
    message: str = ""
    hint: str = ""
    details: _Details | None = None


@dataclass(frozen=True)
class _Clause:
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


def _titles(exercise: Mapping[str, Any], cases: Iterable[CaseResult]) -> dict[str, str]:
    """Titles of the clauses: those of the statement in its order, then what else the cases name."""
    listed = exercise.get("clauses")
    known = listed if isinstance(listed, Mapping) else {}
    titles = {str(name): one_line(str(title), 120) for name, title in known.items()}
    for case in cases:
        titles.setdefault(case.clause, one_line(case.clause, 120))
    return titles


def _text_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _details(room: _Room, details: Mapping[str, Any]) -> _Details | None:
    """What there is to show of a case's details; unknown keys and odd values are passed over."""
    if not details or not room.take(DETAIL_BYTES):
        return None
    worst = [w for w in _text_list(details.get("worst")) if isinstance(w, Mapping)][:10]
    indices = [_index(w) for w in worst]
    snippet = details.get("snippet")
    inputs = [i for i in _text_list(details.get("inputs")) if isinstance(i, Mapping)][:60]

    def text(key: str, limit: int) -> str:
        value = details.get(key)
        return room.text(value, limit) if isinstance(value, str) and value else ""

    return _Details(
        exception=text("exception", 1_000),
        frames=[_frame(room, f) for f in _text_list(details.get("traceback"))[-20:]],
        worst=[_worst(w, index) for w, index in zip(worst, indices, strict=True)],
        obtained=_array(room, "Obtained", details["obtained"], worst=indices)
        if "obtained" in details
        else None,
        expected=_array(room, "Expected", details["expected"], worst=indices)
        if "expected" in details
        else None,
        inputs=[_input(room, i) for i in inputs],
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


def _frame(room: _Room, frame: Any) -> tuple[str, str]:
    parts = _text_list(frame)
    line = number(parts[0]) if parts and isinstance(parts[0], int) else "?"
    function = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else "?"
    return line, room.text(one_line(function, 120), 120, least=1)


def _input(room: _Room, given: Mapping[str, Any]) -> _Array:
    name = one_line(str(given.get("name", "")), 80)
    if "value" in given:
        value = given["value"]
        return _Array(name, type(value).__name__, inline=number(value))
    dtype, shape = str(given.get("dtype", "")), _text_list(given.get("shape"))
    if "values" not in given:
        return _Array(name, one_line(f"{dtype} {_shape_words(tuple(shape[:32]))}".strip(), 120))
    return _array(room, name, given["values"], dtype=dtype, shape=shape[:32])


def _submission(result: Result, factor: int) -> dict[str, Any]:
    """Everything that the pages of one submission show."""
    prose = _Room(PROSE_BYTES * factor)
    message = prose.text(result.message, 1_500, least=400)
    titles = _titles(result.exercise, result.cases)
    tallies: dict[str, _Tally] = {}
    cases = []
    for at, case in enumerate(result.cases, 1):
        tallies.setdefault(case.clause, _Tally()).add(at, case)
        shown = case.verdict != "passed"
        cases.append(
            _Case(
                at,
                case,
                titles[case.clause],
                one_line(case.id, 120),
                one_line(case.title, 200),
                prose.text(case.message, 800, least=120) if shown and case.message else "",
                prose.text(case.hint, 1_200, least=120) if shown and case.hint else "",
            )
        )
    notes = [prose.text(n, 1_000, least=80) for n in result.notes[:MAX_NOTES]]
    violations = _findings(prose, result.policy.violations)
    suspicions = _findings(prose, result.policy.suspicions)
    diagnoses = [_diagnosis(prose, d) for d in result.diagnoses[:10]]
    printing = _Room(OUTPUT_BYTES * factor)
    printed, hidden_printed = _output(printing, result.output), _output(printing, result.hidden_output)
    frame = (
        FRAME_BYTES
        + CASE_BYTES * sum(c.verdict != "passed" for c in result.cases)
        + CLAUSE_BYTES * len(titles)
    )
    details = _Room(PAGE_BYTES * factor - frame - prose.used - printing.used)
    counterexample = _counterexample(details, result.counterexample)
    cases = [
        replace(c, details=_details(details, c.case.details)) if c.case.verdict != "passed" else c
        for c in cases
    ]
    clauses = [
        _Clause(title, t.state, t.passed, t.total, math.fsum(t.points), math.fsum(t.max_points), t.first)
        for name, title in titles.items()
        if (t := tallies.get(name))
    ]
    ranks = {clause: number for number, clause in enumerate(result.broken_clauses())}
    failing = [c for c in cases if c.case.verdict not in ("passed", "skipped", "grader_fault")]
    failing.sort(key=lambda c: ranks[c.case.clause])
    return {
        "result": result,
        "exercise": one_line(str(result.exercise.get("title") or result.exercise.get("name", "")), 200),
        "name": one_line(result.submission.name or result.submission.id, 200),
        "message": message,
        "headline": _headline(result, failing),
        "share": _share(result),
        "notes": notes,
        "violations": violations,
        "suspicions": suspicions,
        "diagnoses": diagnoses,
        "counterexample": counterexample,
        "clauses": clauses if result.status not in ("not_loadable", "grader_fault") else [],
        "cases": cases,
        "failing": failing,
        "visible": [c for c in failing if c.case.visibility != "hidden"],
        "hidden": [c for c in cases if c.case.visibility == "hidden"],
        "skipped": [c for c in cases if c.case.verdict == "skipped"],
        "faults": [c for c in cases if c.case.verdict == "grader_fault"],
        "sums": _sums(result),
        "printed": printed,
        "hidden_printed": hidden_printed,
    }


def _headline(result: Result, failing: Sequence[_Case]) -> str:
    if result.status == "passed":
        return "Full marks"
    if result.status == "not_loadable":
        return "The file could not be loaded"
    if result.status == "grader_fault":
        return "The grader failed"
    if failing:
        return f"{_plural(len(failing), 'check')} did not pass"
    return "A rule was broken" if result.policy.status == "violated" else "Not full marks"


def _share(result: Result) -> float:
    """The score's share of the full marks, within 0 and 1."""
    if result.score is None or not result.max_score > 0 or not math.isfinite(result.score):
        return 0.0
    return min(1.0, max(0.0, result.score / result.max_score))


def _findings(room: _Room, found: Sequence[Violation]) -> dict[str, Any]:
    rows = [
        {
            "rule": one_line(v.rule, 80),
            "helper": room.text(one_line(v.helper, 200), 200, least=40),
            "line": number(v.line) if v.line > 0 else "",
            "column": number(v.column),
            "found": "while it ran" if v.found == "runtime" else "in the source text",
            "message": room.text(v.message, 800, least=80),
        }
        for v in found[:MAX_FINDINGS]
    ]
    return {"rows": rows, "more": len(found) - len(rows), "count": len(found)}


def _diagnosis(room: _Room, diagnosis: Mapping[str, Any]) -> dict[str, str]:
    fits, of = diagnosis.get("fits"), diagnosis.get("of")
    told = f"fits {number(fits)} of {number(of)}" if isinstance(fits, int) and isinstance(of, int) else ""
    return {
        "title": room.text(one_line(str(diagnosis.get("title", "")), 200), 200, least=80),
        "message": room.text(str(diagnosis.get("message", "")), 1_500, least=120),
        "fits": told,
    }


def _counterexample(room: _Room, found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not found:
        return None
    return {"message": room.text(str(found.get("message", "")), 1_000), "details": _details(room, found)}


def _output(room: _Room, output: Output) -> dict[str, Any]:
    return {
        "stdout": room.text(output.stdout, 20_000, least=200) if output.stdout else "",
        "stderr": room.text(output.stderr, 20_000, least=200) if output.stderr else "",
        "truncated": output.truncated,
    }


def _sums(result: Result) -> list[_Sum]:
    """The lines that add up to the score: visible cases, hidden cases, adjustments."""
    lines = []
    for label, hidden in (("Visible checks", False), ("Hidden checks", True)):
        cases = [c for c in result.cases if (c.visibility == "hidden") is hidden]
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
        lines.append(_Sum(_plural(len(rest), "more adjustment"), "", math.fsum(a.points for a in rest)))
    return lines


def _adjustment(adjustment: Adjustment) -> _Sum:
    reason = one_line(adjustment.reason, 400)
    return _Sum(reason[:1].upper() + reason[1:], "", adjustment.points)


# --- The class ------------------------------------------------------------------------------------


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
        share = _share(result)
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
        failed=sum(c.verdict not in ("passed", "skipped", "grader_fault") for c in result.cases),
        seconds=f"{result.timing.wall_s:.3f}",
    )


def _class(results: Sequence[Result], title: str, version: str) -> dict[str, Any]:
    """Everything that the page of a class shows."""
    titles: dict[str, str] = {}
    passed: dict[str, int] = {}
    judged: dict[str, int] = {}
    failing: dict[str, int] = {}
    sample: dict[str, CaseResult] = {}
    counts = dict.fromkeys(STATUS_WORDS, 0)
    for result in results:
        counts[result.status] += 1
        for name, told in _titles(result.exercise, result.cases).items():
            titles.setdefault(name, told)
        broken = set()
        for case in result.cases:
            if case.verdict == "grader_fault":
                continue
            sample.setdefault(case.id, case)
            judged[case.id] = judged.get(case.id, 0) + 1
            if case.verdict == "passed":
                passed[case.id] = passed.get(case.id, 0) + 1
            elif case.verdict != "skipped":
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
        "packs": [_short_digest(p) for p in dict.fromkeys(str(r.exercise.get("pack", "")) for r in results)][
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
