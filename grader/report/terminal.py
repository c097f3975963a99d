"""Reports for a terminal, by Rich."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from grader.positions import Positions
from grader.report.advice import read_advice
from grader.report.advice_terminal import advice_report
from grader.report.figures import points
from grader.report.matrices import cell, side_by_side
from grader.report.texts import clean
from grader.result import HIDDEN_MESSAGES, ONLY_FILE, CaseResult, Isolation, Result
from grader.summary import Summary

SIGNS: Mapping[str, tuple[str, str]] = {
    "passed": ("✓", "green"),
    "skipped": ("–", "dim"),
    "grader_fault": ("!", "yellow"),
}
STATUS_STYLES: Mapping[str, str] = {
    "passed": "bold green",
    "failed": "bold red",
    "not_loadable": "bold red",
    "grader_fault": "bold yellow",
}
MAX_LISTED = 8


def words(verdict: str) -> str:
    """``wrong_value`` as ``wrong value``."""
    return verdict.replace("_", " ")


def check_report(
    result: Result, *, show_all: bool = False, source: str = "", command: str = ""
) -> RenderableType:
    """What ``grader check`` shows of one submission: verdict, what to fix first, clauses, a failing case.

    Where a small example is shown, the failing case goes without its own inputs and answers, and where it is
    said what to fix first, the clauses that hold are only counted.

    Args:
        result: The record; printed in its student view.
        show_all: Leave nothing out, and explain every failing public case.
        source: The submission's text, for the lines of her traceback.
        command: The command that checks this submission, to which ``--case ID --snippet`` is added.
    """
    if not result.submission.digest:
        # A live function has no file that could be checked.
        command = ""
    elif not command:
        file = result.submission.file or result.submission.path
        command = f"grader check {shlex.quote(clean(file, 200))}"
    result = result.for_student()
    parts: list[RenderableType] = [_headline(result)]
    for violation in result.policy.violations:
        parts.append(Text.assemble(("✗ policy  ", "red"), clean(violation.message, 500)))
    for note in result.notes:
        parts.append(Text.assemble(("note  ", "cyan"), clean(note, 500)))
    for adjustment in result.adjustments:
        said = f"{points(adjustment.points)} points  {clean(adjustment.reason, 300)}"
        parts.append(Text(said, style="red"))
    advice = read_advice(result)
    if advice:
        parts += [advice_report(advice), Text("")]
    if result.status in ("failed", "passed") and result.cases:
        parts.append(_clauses(result, brief=advice is not None and not show_all))
        ranks = {clause: number for number, clause in enumerate(result.broken_clauses())}
        failing = [c for c in result.cases if c.failed]
        failing.sort(key=lambda c: (c.drawn, ranks[c.clause]))
        explained = [c for c in failing if c.visibility == "public"]
        for case in explained if show_all else explained[:1]:
            brief = advice is not None and advice.example is not None and not show_all
            parts.append(_explain(case, source, command, result.submission.positions, brief=brief))
        parts += _others([c.id for c in explained[1:]] if not show_all else [], failing)
        parts += _not_counted(result.cases)
    elif result.output.stdout or result.output.stderr:
        parts.append(_printed("printed", result.output.stdout))
        parts.append(_printed("printed to stderr", result.output.stderr))
    chosen = _chosen(result)
    if chosen:
        parts.append(Text(chosen, style="dim"))
    parts.append(Text(_isolation(result.isolation), style="dim"))
    return Trimmed(Group(*parts))


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
        checks = "check" if len(more) == 1 else "checks"
        lines.append(Text(f"{len(more)} more failing {checks}: {listed} (--all explains them)", style="dim"))
    hidden = sum(c.visibility == "hidden" for c in failing)
    if hidden:
        too = " too" if hidden < len(failing) else ""
        fail = "check fails" if hidden == 1 else "checks fail"
        lines.append(Text(f"{hidden} hidden {fail}{too}", style="dim"))
    return lines


def _not_counted(cases: Sequence[CaseResult]) -> list[RenderableType]:
    """Why checks were skipped, each reason once."""
    reasons: dict[str, int] = {}
    for case in cases:
        if case.verdict == "skipped":
            reasons[case.message] = reasons.get(case.message, 0) + 1
    shown = sorted(reasons.items(), key=lambda item: -item[1])[:3]
    return [Text(f"– {count} {_left_out(clean(reason, 200))}", style="dim") for reason, count in shown]


def _left_out(reason: str) -> str:
    if reason == HIDDEN_MESSAGES["skipped"]:
        return "hidden not counted"
    return f"n{reason[1:]}" if reason.startswith("Not counted") else f"not counted: {reason}"


def _headline(result: Result) -> Text:
    style = STATUS_STYLES[result.status]
    text = Text.assemble(
        (clean(result.submission.name, 80), "bold"),
        "  ",
        (words(result.status), style),
        f"  {points(result.score)} of {points(result.max_score)} points",
    )
    text.append(f"\n{clean(result.message, 600)}")
    return text


def _clauses(result: Result, *, brief: bool) -> RenderableType:
    """One row a clause, in the statement's order; ``brief`` counts those that hold."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
    table.add_column("")
    table.add_column("clause", overflow="fold")
    table.add_column("checks", justify="right")
    table.add_column("points", justify="right")
    titles = result.exercise.get("clauses", {})
    order = {name: n for n, name in enumerate(titles)}
    rows = sorted(result.cases, key=lambda c: order.get(c.clause, len(order)))
    holding = 0
    for clause, group in groupby(rows, key=lambda c: c.clause):
        cases = list(group)
        passed = sum(c.verdict == "passed" for c in cases)
        if brief and passed == len(cases):
            holding += 1
            continue
        failed = any(c.failed for c in cases)
        sign, style = ("✗", "red") if failed else SIGNS["passed" if passed == len(cases) else "skipped"]
        got, most = sum(c.points for c in cases), sum(c.max_points for c in cases)
        table.add_row(
            Text(sign, style=style),
            Text.assemble(
                (clean(str(titles.get(clause, clause)), 60), "" if failed else "dim"),
                (f"  {clean(clause, 40)}", "dim"),
            ),
            f"{passed}/{len(cases)}",
            f"{points(got)}/{points(most)}",
        )
    if not holding:
        return table
    said = f" {holding} {'clause holds' if holding == 1 else 'clauses hold'} (--all lists them)"
    return Group(table, Text.assemble(SIGNS["passed"], (said, "dim")))


def _explain(
    case: CaseResult, source: str, command: str, positions: Positions, *, brief: bool
) -> RenderableType:
    title = f"  {clean(case.title, 100)}" if case.title else ""
    parts: list[RenderableType] = [
        Text.assemble(("✗ ", "red"), (case.id, "bold"), title, (f"  ({words(case.verdict)})", "red")),
        Text(clean(case.message, 600)),
    ]
    if case.hint:
        parts.append(Text.assemble(("hint  ", "cyan"), clean(case.hint, 600)))
    details = case.details
    if "traceback" in details:
        parts.append(_traceback(details, source, positions))
    shown = [_input(entry) for entry in details.get("inputs", [])]
    if shown and not brief:
        parts.append(Text("\n".join(shown), style="dim"))
    if ("obtained" in details or "expected" in details) and not brief:
        parts.append(side_by_side(details))
    if details.get("worst") and not brief:
        parts.append(_worst(details["worst"]))
    for name, label in (("stdout", "printed"), ("stderr", "printed to stderr")):
        if details.get(name):
            parts.append(_printed(label, details[name]))
    if details.get("snippet") and command:
        # Not wrapped, as it is there to be copied.
        said = f"reproduce it: {command} --case {case.id} --snippet"
        parts.append(Text(said, style="dim", no_wrap=True, overflow="ignore"))
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
    # As Python counts them; others end a line at a form feed too.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = Text()
    for line, function in details["traceback"][-6:]:
        text.append(f"  {clean(positions.name(line), 200)}, in {clean(function, 60)}\n", style="dim")
        if 0 < line <= len(lines):
            text.append(f"    {clean(lines[line - 1].strip(), 120)}\n")
    text.append(f"  {clean(str(details.get('exception', '')), 400)}", style="red")
    return text


def _worst(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("index", "obtained", "expected"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(str(tuple(row["index"])), cell(row["obtained"]), cell(row["expected"]))
    return table


def _printed(label: str, text: str) -> RenderableType:
    if not text:
        return Text("")
    lines = clean(text, 2_000).splitlines()
    shown = lines[:12] + ([f"… {len(lines) - 12} more lines"] if len(lines) > 12 else [])
    return Text.assemble((f"{label}:\n", "cyan"), "\n".join(f"  {line}" for line in shown))


def batch_summary(
    results: Sequence[Result | Summary], seconds: float, graded: int, rejudged: int = 0
) -> RenderableType:
    """What ``grader grade`` shows at its end.

    Args:
        results: All that the gradebook holds.
        seconds: How long it took.
        graded: How many were run.
        rejudged: How many were judged without running: from what that gave before, or because
            nothing was there to run.
    """
    counts: dict[str, int] = {}
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("status")
    table.add_column("submissions", justify="right")
    for status in ("passed", "failed", "not_loadable", "grader_fault"):
        if counts.get(status):
            table.add_row(Text(words(status), style=STATUS_STYLES[status]), str(counts[status]))
    violated = sum(r.policy.status == "violated" for r in results)
    if violated:
        table.add_row(Text("of these with a banned helper", style="dim"), str(violated))
    scores = [r.score for r in results if r.score is not None]
    mean = (
        f"mean score {points(sum(scores) / len(scores))} of {points(results[0].max_score)}; "
        if scores
        else ""
    )
    rate = f" ({graded / seconds:.1f} a second)" if graded and seconds > 0 else ""
    kept = len(results) - graded - rejudged
    reused = f"{kept} kept from earlier runs" if kept else ""
    took = f"{graded} graded in {seconds:.1f} s{rate}" if graded else ""
    again = f"{rejudged} judged without running them" if rejudged else ""
    return Trimmed(Group(table, Text(mean + ", ".join(filter(None, (took, again, reused))))))


class Trimmed:
    """The same without blanks at the ends of lines, which tables leave and files need not hold."""

    def __init__(self, content: RenderableType) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in Segment.split_lines(console.render(self.content, options)):
            yield from _trim(line)
            yield Segment.line()


def _trim(line: Iterable[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].control and not kept[-1].text.rstrip(" "):
        kept.pop()
    if kept and not kept[-1].control:
        kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style)
    return kept


def show(console: Console, content: RenderableType) -> None:
    """Print what one of these functions made; a line that is there to be copied is not cut to the window."""
    console.print(content, crop=False)


def console(*, stderr: bool = False) -> Console:
    """A console that honours NO_COLOR and the window's width."""
    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def case_report(case: CaseResult, source: str, command: str, positions: Positions) -> RenderableType:
    """What `check_report` shows of one failing public case, with the same arguments."""
    return Trimmed(_explain(case, source, command, positions, brief=False))
