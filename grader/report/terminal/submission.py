"""What ``grader check`` shows of a submission in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from grader.excerpt import source_lines
from grader.frames import read_frames
from grader.listing import Listing, labelled
from grader.positions import Positions
from grader.report.advice import read_advice, read_texts
from grader.report.figures import plural, points
from grader.report.terminal.advice import advice_report, answer_texts
from grader.report.terminal.console import VERDICT_STYLES, Trimmed, signed_status, words
from grader.report.terminal.matrices import cell, side_by_side
from grader.report.texts import VERDICT_SIGNS, clean
from grader.result import HIDDEN_MESSAGES, ONLY_FILE, Adjustment, CaseResult, Isolation, Result

HOLDS = "✓ holds"
# In such a window there is room for names of clauses.
NAMED = 72
MAX_LISTED = 8
MAX_PRINTED = 12
MAX_FRAMES = 6
# What a submission may print is limited by the exercise; this bounds what is made of it.
MOST_PRINTED = 100_000


def check_report(
    result: Result,
    *,
    show_all: bool = False,
    source: str = "",
    command: str = "",
    checks: int | None = None,
    again: bool = False,
) -> RenderableType:
    """What ``grader check`` shows of one submission: verdict, what to fix first, clauses, a failing case.

    Where a small example is shown, the failing case goes without its own inputs and answers, and where it is
    said what to fix first, the clauses that hold are only counted. Of a part of the checks every visible one
    is listed with all that its calls printed.

    Args:
        result: The record; printed in its student view.
        show_all: Leave nothing out, and explain every failing public case.
        source: The submission's text, for the lines of her traceback.
        command: The command that checks this submission, to which ``--case ID --snippet`` is added.
        checks: How many checks the exercise has, where only a part of them was run.
        again: The report of another submission stands above; what holds of both is not said again.
    """
    if not result.submission.digest:
        # A live function has no file that could be checked.
        command = ""
    elif not command:
        file = result.submission.file or result.submission.path
        command = f"grader check {shlex.quote(clean(file, 200))}"
    result = result.for_student()
    parts: list[RenderableType] = [_headline(result)]
    if checks is not None:
        if not again:
            fewer = "; what explains these need not explain the others" if result.diagnosed_clauses() else ""
            parts.append(Text(f"This is a part of the checks: {len(result.cases)} of {checks}{fewer}."))
    elif result.exercise.get("visible_only") and any(c.failed for c in result.cases):
        parts.append(Text("Hidden checks were not run here."))
    for violation in result.policy.violations:
        parts.append(Text.assemble(("✗ policy  ", "red"), clean(violation.message, 500)))
    if result.notes:
        parts.append(labelled([("note", Text(clean(note, 500))) for note in result.notes]))
    parts += map(_adjustment, result.adjustments)
    advice = read_advice(result)
    if advice:
        parts += [advice_report(advice), Text("")]
    if result.status in ("failed", "passed") and result.cases:
        parts.append(_Clauses(result, brief=advice is not None and not show_all))
        ranks = {clause: number for number, clause in enumerate(result.broken_clauses())}
        failing = [c for c in result.cases if c.failed]
        failing.sort(key=lambda c: (c.drawn, ranks[c.clause]))
        explained = [c for c in failing if c.visibility == "public"]
        shown = explained if show_all or checks is not None else explained[:1]
        brief = advice is not None and advice.example is not None and not show_all and checks is None
        told = _explanations(shown, source, command, result.submission.positions, brief=brief)
        if checks is not None:
            parts += _part(result, told)
        else:
            parts += told.values()
        parts += _others([c.id for c in explained[len(shown) :]], failing)
        parts += _not_counted(result.cases)
    elif result.output.stdout or result.output.stderr:
        parts += _printed("printed", result.output.stdout)
        parts += _printed("printed to stderr", result.output.stderr)
    chosen = _chosen(result)
    if chosen:
        parts.append(Text(chosen, style="dim"))
    parts.append(Text(_isolation(result.isolation), style="dim"))
    return Trimmed(Group(*parts))


def check_line(result: Result) -> Text:
    """What ``grader check --quiet`` shows of one submission: id, status and points."""
    return _status(result, result.submission.id)


def _explanations(
    cases: Sequence[CaseResult], source: str, command: str, positions: Positions, *, brief: bool
) -> dict[str, RenderableType]:
    """What is told of each failing case, by its id; a hint of several in a row once."""
    told = {}
    hint = ""
    for case in cases:
        shown = replace(case, hint="") if case.hint == hint else case
        told[case.id] = _explain(shown, source, command, positions, brief=brief)
        hint = case.hint
    return told


def _part(result: Result, told: Mapping[str, RenderableType]) -> list[RenderableType]:
    """Every visible check of a part with what was printed: while the file was loaded, then call by call."""
    visible = [case for case in result.cases if case.visibility == "public"]
    calls = [call for case in visible for call in case.details.get("printed", ())]
    parts: list[RenderableType] = []
    for name, label in (("stdout", "printed"), ("stderr", "printed to stderr")):
        whole = getattr(result.output, name)
        in_calls = sum(len(call[name]) for call in calls)
        parts += _printed(f"{label} while the file was loaded", whole[: len(whole) - in_calls], whole=True)
    for case in visible:
        if case.id in told:
            parts.append(told[case.id])
            continue
        title = f"  {clean(case.title, 100)}" if case.title else ""
        line = Text.assemble(_sign(case.verdict), (case.id, "bold"), title, f"  ({words(case.verdict)})")
        parts += [Text(""), line, *_printed_by(case)]
    if result.output.truncated:
        parts.append(Text("More was printed than is kept; the rest is lost."))
    return parts


def _sign(verdict: str) -> tuple[str, str]:
    """The sign of a verdict that is no failure, and its colour."""
    return f"{VERDICT_SIGNS[verdict]} ", VERDICT_STYLES[verdict]


def _adjustment(adjustment: Adjustment) -> Text:
    """Points given or taken, with the sign and the reason."""
    given = adjustment.points
    style = "green" if given > 0 else "red" if given < 0 else ""
    unit = "point" if abs(given) == 1 else "points"
    return Text.assemble(
        (f"{points(given, signed=True)} {unit}", style), f"  {clean(adjustment.reason, 300)}"
    )


def _chosen(result: Result) -> str:
    """Which file ran and why, and its modules; empty for a file that was named by itself."""
    submission = result.submission
    modules = [clean(part.name, 120) for part in submission.parts if part.kind == "module"]
    if not modules and submission.rule in ("", ONLY_FILE):
        return ""
    beside = f"; with {', '.join(modules)}" if modules else ""
    return f"file: {clean(submission.filename, 200)}, {clean(submission.rule, 200)}{beside}"


def _isolation(isolation: Isolation) -> str:
    layers = f" ({', '.join(isolation.layers)})" if isolation.layers else ""
    said = f"isolation: {clean(isolation.level + layers, 200)}"
    return f"{said}; {isolation.warning}" if isolation.warning else said


def _others(more: Sequence[str], failing: Sequence[CaseResult]) -> list[RenderableType]:
    """Which other checks fail: the visible ones by id, the hidden ones counted."""
    lines: list[RenderableType] = []
    if more:
        listed = f"{', '.join(more[:MAX_LISTED])}{' …' if len(more) > MAX_LISTED else ''}"
        lines.append(Text(f"{plural(len(more), 'more failing check')}: {listed} (--all explains them)"))
    hidden = sum(c.visibility == "hidden" for c in failing)
    if hidden:
        too = " too" if hidden < len(failing) else ""
        lines.append(Text(plural(hidden, "hidden check fails", "hidden checks fail") + too))
    return lines


def _not_counted(cases: Sequence[CaseResult]) -> list[RenderableType]:
    """Why checks were skipped, each reason once."""
    reasons: dict[str, int] = {}
    for case in cases:
        if case.verdict == "skipped":
            reasons[case.message] = reasons.get(case.message, 0) + 1
    shown = sorted(reasons.items(), key=lambda item: -item[1])[:3]
    return [Text(f"– {count} {_left_out(clean(reason, 200))}") for reason, count in shown]


def _left_out(reason: str) -> str:
    if reason == HIDDEN_MESSAGES["skipped"]:
        return "hidden not counted"
    return f"n{reason[1:]}" if reason.startswith("Not counted") else f"not counted: {reason}"


def _headline(result: Result) -> Text:
    text = _status(result, clean(result.submission.name, 80))
    text.append(f"\n{clean(result.message, 600)}")
    return text


def _status(result: Result, name: str) -> Text:
    return Text.assemble(
        (name, "bold"),
        "  ",
        signed_status(result.status),
        f"  {points(result.score)} of {points(result.max_score)} points",
    )


class _Clauses:
    """One row a clause, in the statement's order, with a word for its verdict.

    A narrow window shows no names beside the titles: ``--clause`` takes both.

    Args:
        brief: Clauses that hold are only counted.
    """

    def __init__(self, result: Result, *, brief: bool) -> None:
        titles = result.exercise.get("clauses", {})
        order = {name: n for n, name in enumerate(titles)}
        cases = sorted(result.cases, key=lambda c: order.get(c.clause, len(order)))
        self.holding = 0
        self.rows: list[tuple[Text, str, str, Text, Text]] = []
        for clause, group in groupby(cases, key=lambda c: c.clause):
            row = _clause(list(group), clean(str(titles.get(clause, clause)), 60), clean(clause, 40))
            if brief and row[0].plain == HOLDS:
                self.holding += 1
            else:
                self.rows.append(row)

    def _listing(self, named: bool) -> Listing:
        rows = [
            (sign, Text.assemble(title, (f"  {name}" if named else "", "dim")), *counts)
            for sign, title, name, *counts in self.rows
        ]
        columns = ("verdict", "clause", "checks", "points")
        return Listing(columns, rows, right=("checks", "points"), whole=("verdict",))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.rows:
            yield self._listing(named=options.max_width >= NAMED)
        if self.holding:
            hold = plural(self.holding, "clause holds", "clauses hold")
            yield Text.assemble(_sign("passed"), f"{hold} (--all lists them)")


def _clause(cases: Sequence[CaseResult], title: str, name: str) -> tuple[Text, str, str, Text, Text]:
    """The row of a clause: sign and word, title, name, checks, points."""
    passed = sum(c.verdict == "passed" for c in cases)
    if any(c.failed for c in cases):
        verdict = Text("✗ fails", "red")
    elif passed == len(cases):
        verdict = Text(HOLDS, "green")
    elif all(c.verdict == "grader_fault" for c in cases):
        verdict = Text("? fault", "magenta")
    else:
        verdict = Text("– skipped")
    got, most = sum(c.points for c in cases), sum(c.max_points for c in cases)
    return verdict, title, name, Text(f"{passed}/{len(cases)}"), Text(f"{points(got)}/{points(most)}")


def _explain(
    case: CaseResult, source: str, command: str, positions: Positions, *, brief: bool
) -> RenderableType:
    title = f"  {clean(case.title, 100)}" if case.title else ""
    parts: list[RenderableType] = [
        Text.assemble(("✗ ", "red"), (case.id, "bold"), title, (f"  ({words(case.verdict)})", "red")),
        Text(clean(case.message, 600)),
    ]
    if case.hint:
        parts.append(labelled([("hint", Text(clean(case.hint, 600)))]))
    details = case.details
    if "traceback" in details:
        parts.append(_traceback(details, source, positions))
    shown = [_input(entry) for entry in details.get("inputs", [])]
    if shown and not brief:
        parts.append(Text("\n".join(shown)))
    if ("obtained" in details or "expected" in details) and not brief:
        parts.append(side_by_side(details))
    if not brief:
        parts += answer_texts(read_texts(details.get("texts")))
    parts += _changed(details.get("changed"))
    if details.get("worst") and not brief:
        parts.append(_worst(details["worst"]))
    parts += _printed_by(case)
    if details.get("snippet") and command:
        # Not wrapped, as it is there to be copied.
        said = f"reproduce it: {command} --case {case.id} --snippet"
        parts.append(Text(said, no_wrap=True, overflow="ignore"))
    return Group(Text(""), *parts)


def _input(entry: Mapping[str, Any]) -> str:
    name = entry["name"]
    if "value" in entry:
        return f"{name} = {entry['value']}"
    shape = tuple(entry["shape"])
    values = _values(entry["values"]) if "values" in entry else ""
    if values and len(values) <= 60:
        return f"{name} = {values}"
    return f"{name}: {entry['dtype']} {shape}"


def _values(value: Any) -> str:
    """Nested lists on one line; seven digits, as 0.2 in float32 is 0.20000000298023224."""
    if isinstance(value, list):
        return f"[{', '.join(_values(v) for v in value)}]"
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _traceback(details: Mapping[str, Any], source: str, positions: Positions) -> RenderableType:
    lines = source_lines(source)
    text = Text()
    for line, function in read_frames(details)[-MAX_FRAMES:]:
        text.append(f"  {clean(positions.name(line), 200)}, in {clean(function, 60)}\n")
        if 0 < line <= len(lines):
            text.append(f"    {clean(lines[line - 1].strip(), 120)}\n", style="bold")
    text.append(f"  {clean(str(details.get('exception', '')), 400)}", style="red")
    return text


def _changed(changed: Any) -> Iterator[RenderableType]:
    """An argument before and after a call, or the part of it around the largest change."""
    if not isinstance(changed, Mapping):
        return
    part = changed.get("part")
    before, after = ("expected", "obtained") if isinstance(part, Mapping) else ("before", "after")
    values = part if isinstance(part, Mapping) else changed
    if before in values and after in values:
        yield Text(f"{clean(str(changed.get('name', '')), 60)}:")
        yield side_by_side({"before the call": values[before], "after the call": values[after]})


def _worst(rows: Sequence[Mapping[str, Any]]) -> Listing:
    names = ("index", "obtained", "expected")
    cells = [
        [Text(text) for text in (str(tuple(row["index"])), cell(row["obtained"]), cell(row["expected"]))]
        for row in rows
    ]
    return Listing(names, cells, right=names)


def _printed_by(case: CaseResult) -> Iterator[RenderableType]:
    """What a case's calls printed: each call's own where that is known, else all together and in short."""
    calls = case.details.get("printed")
    for name, label in (("stdout", "printed"), ("stderr", "printed to stderr")):
        if calls is None:
            yield from _printed(label, case.details.get(name, ""))
            continue
        for call in calls:
            where = f" in call {call['call']} of {call['of']}" if call["of"] > 1 else ""
            yield from _printed(f"{label}{where}", call[name], whole=True)


def _printed(label: str, text: str, *, whole: bool = False) -> Iterator[RenderableType]:
    if not text:
        return
    lines = clean(text, MOST_PRINTED if whole else 2_000).splitlines()
    if not whole and len(lines) > MAX_PRINTED:
        lines[MAX_PRINTED:] = [f"… {len(lines) - MAX_PRINTED} more lines (--case ID shows all)"]
    yield Text.assemble((f"{label}:\n", "bold"), "\n".join(f"  {line}" for line in lines))


def case_report(case: CaseResult, source: str, command: str, positions: Positions) -> RenderableType:
    """What `check_report` shows of one failing public case, with the same arguments."""
    return Trimmed(_explain(case, source, command, positions, brief=False))
