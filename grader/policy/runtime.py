"""Findings of the run-time check: how they look, and how they join the static report.

They come from the process in which the student's code runs, so whatever arrives is checked, and every
sentence is made anew from the rules.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from grader.policy.pieces import name_line
from grader.policy.rules import LONGEST_NAME, Rule, Rules

TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from typing import Any

    Finding = dict[str, Any]
else:
    Finding = dict

MOST_FINDINGS = 50
LAST_LINE = 2_000_000
TAMPERING = "tampering"
# Of a violation that stands only where cells ended early: their first lines, one of each list.
IF_FAILED = "if_failed"
# The phase whose findings say no more than the rule.
HIDDEN = "hidden"
# What a submission can interfere with, and how it is told.
TAMPERED: Mapping[str, str] = {
    "function mode": "took away what watches torch's functions",
    "dispatch mode": "took away what watches torch's operators",
    "handlers": "replaced what watches torch",
    "wrapper": "put other functions in the place of a library's, or undid what watches them",
    "recorder": "turned off what watches library calls",
    "failed": "could not be watched, perhaps for a fault of the grader's own",
    "unwatched": "crashed or ran out of time in a call that was watched, and not when it was made unwatched",
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+\Z")
_OPERATOR = re.compile(r"[A-Za-z0-9_.:<>]{1,200}\Z")


def finding(
    rule: Rule, helper: str, operator: str, line: int, parts: Sequence[tuple[str, int]] = ()
) -> Finding:
    """A banned helper that ran.

    Args:
        rule: The rule that bans it.
        helper: Its canonical name.
        operator: The name under which it was seen, "" for the same.
        line: The student's line that called it, 0 when unknown.
        parts: Name and first line of each part of the text.
    """
    seen = f" (as {operator})" if operator and operator != helper else ""
    told = f"{helper}{seen}, {rule.kind}"
    if line:
        message = f"{name_line(parts, line)} ran {told}; {rule.advice}"
    else:
        message = f"While it ran, {told}, was used; {rule.advice}"
    return {"rule": rule.id, "helper": helper, "operator": operator, "line": line, "message": message}


def tampering(what: str, line: int = 0, parts: Sequence[tuple[str, int]] = ()) -> Finding:
    """A sign of interference; ``what`` is a key of `TAMPERED`."""
    start = name_line(parts, line) if line else "While it ran, the submission"
    message = f"{start} {TAMPERED[what]}; this costs nothing by itself, but is shown to the teacher."
    return {"rule": TAMPERING, "helper": what, "operator": "", "line": line, "message": message}


def merge(report: Mapping[str, object], findings: object, rules: Rules) -> dict[str, object]:
    """A static report with what was found while the submission ran.

    Args:
        report: What `grader.policy.analysis.analyze` gave.
        findings: What `Recorder.findings` and `Recorder.tampered` gave, in one list. Hostile: what has not
            their form or names no rule's helper is dropped. ``phase`` says in which phase one was seen.
        rules: The rules of the exercise.

    Returns:
        The report with further `violations` and `suspicious` entries, whose `found` is "runtime". A helper
        that the static check has named, or whose rule it has found broken on that line, is not repeated.
        A note that a helper is never reached goes when it was reached.
    """
    parts = _parts(report)
    # What stands only where a cell ended early is no reason to leave out what ran: see `settle`.
    violations, suspicious, notes = (_entries(report, key) for key in ("violations", "suspicious", "notes"))
    ran: list[dict[str, object]] = []
    signs: list[dict[str, object]] = []
    standing = [entry for entry in violations if IF_FAILED not in entry]
    named = {rules.canonical(str(entry.get("helper"))) for entry in standing}
    broken = {(entry.get("rule"), entry.get("line")) for entry in standing}
    broken |= {(entry.get("rule"), 0) for entry in standing}
    for item in findings[: 2 * MOST_FINDINGS] if isinstance(findings, list) else []:
        sign = _sign(item, parts)
        if sign is not None:
            if all(sign["helper"] != other["helper"] for other in signs):
                signs.append(sign)
            continue
        entry = _violation(item, rules, parts)
        if entry is None:
            continue
        if item.get("phase") == HIDDEN:
            # Names and lines come from a process that has seen hidden inputs: only the rule may be told.
            if all(entry["rule"] != other["rule"] for other in [*standing, *ran]):
                ran.append(_entry(_hidden(rules, str(entry["rule"]))))
            continue
        place = entry["rule"], entry["line"]
        notes = [note for note in notes if not _same(note, entry)]
        if place in broken or entry["helper"] in named:
            continue
        named_here = entry["helper"], entry["line"]
        if len(ran) < MOST_FINDINGS and named_here not in {(e["helper"], e["line"]) for e in ran}:
            ran.append(entry)
    return {
        **report,
        "violations": sorted([*violations, *ran], key=_by_place),
        "suspicious": sorted([*suspicious, *signs], key=_by_place),
        "notes": notes,
    }


def settle(report: Mapping[str, object], failed: Collection[int] | None) -> dict[str, object]:
    """A report in which no violation hangs on whether a cell ended early any more.

    Args:
        report: What `grader.policy.analysis.analyze` or `merge` gave.
        failed: The first lines of the cells that ended early; None when any may have.

    Returns:
        The report with the violations that stand; the others are suspicious, since it is the submission's
        own process that tells which cells ended early.
    """
    violations, suspicious = _entries(report, "violations"), _entries(report, "suspicious")
    standing: list[dict[str, object]] = []
    for entry in violations:
        groups = entry.pop(IF_FAILED, None)
        if failed is None or not isinstance(groups, list) or all(_any_of(group, failed) for group in groups):
            standing.append(entry)
            continue
        uses = str(entry.get("message", "")).partition("; ")[0]
        told = "which a later cell replaces; this costs nothing by itself, but is shown to the teacher."
        suspicious.append(entry | {"message": f"{uses}, {told}"})
    return {**report, "violations": standing, "suspicious": sorted(suspicious, key=_by_place)}


def _any_of(group: object, failed: Collection[int]) -> bool:
    return not isinstance(group, list) or any(first in failed for first in group)


def _entries(report: Mapping[str, object], key: str) -> list[dict[str, object]]:
    listed = report.get(key)
    return [dict(entry) for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def _parts(report: Mapping[str, object]) -> list[tuple[str, int]]:
    """Name and first line of each part of the text, as the static check told them."""
    listed = report.get("parts")
    return [(str(name), int(first)) for name, first in listed] if isinstance(listed, list) else []


def _violation(item: object, rules: Rules, parts: Sequence[tuple[str, int]]) -> dict[str, object] | None:
    if type(item) is not dict:
        return None
    rule_id, helper, operator = item.get("rule"), item.get("helper"), item.get("operator")
    if type(rule_id) is not str or type(helper) is not str or len(helper) > LONGEST_NAME:
        return None
    if _NAME.match(helper) is None:
        return None
    rule = rules.helper(helper)
    if rule is None or rule.id != rule_id:
        return None
    if type(operator) is not str or _OPERATOR.match(operator) is None:
        operator = ""
    return _entry(finding(rule, rules.canonical(helper), operator, _line(item), parts))


def _sign(item: object, parts: Sequence[tuple[str, int]]) -> dict[str, object] | None:
    if type(item) is not dict or item.get("rule") != TAMPERING:
        return None
    what = item.get("helper")
    return _entry(tampering(what, _line(item), parts)) if type(what) is str and what in TAMPERED else None


def _hidden(rules: Rules, rule_id: str) -> Finding:
    """What is told of a helper that ran only in hidden checks."""
    rule = next(rule for rule in rules.rules if rule.id == rule_id)
    message = f"In a hidden check, {rule.kind} ran; {rule.advice}"
    return {"rule": rule.id, "helper": rule.title, "operator": "", "line": 0, "message": message}


def _line(item: dict[object, object]) -> int:
    line = item.get("line")
    return line if type(line) is int and 0 <= line <= LAST_LINE else 0


def _entry(found: Finding) -> dict[str, object]:
    keys = ("rule", "helper", "operator", "line")
    return {**{key: found[key] for key in keys}, "column": 0, "found": "runtime", "message": found["message"]}


def _same(note: Mapping[str, object], entry: Mapping[str, object]) -> bool:
    return note.get("helper") == entry["helper"] or (
        note.get("rule") == entry["rule"] and note.get("line") == entry["line"]
    )


def _by_place(entry: Mapping[str, object]) -> tuple[int, int]:
    line, column = entry.get("line"), entry.get("column")
    return line if isinstance(line, int) else 0, column if isinstance(column, int) else 0
