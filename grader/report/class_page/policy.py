"""What the policy found in a class, by what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.class_page.groups import Group, Groups, who
from grader.report.texts import one_line
from grader.result import Violation
from grader.summary import Summary

MAX_FINDINGS = 100


@dataclass(frozen=True)
class Finding:
    """A helper that was found, and where.

    Attributes:
        violation: A rule is broken; else it is to be looked at.
        message: What was said of it first.
        group: The submissions in which it was found, with the places.
    """

    violation: bool
    helper: str
    rule: str
    message: str
    group: Group


def class_policy(summaries: Sequence[Summary], groups: Groups) -> tuple[list[Finding], int]:
    """The findings by helper and rule, and how many more there are; what is to be looked at comes first.

    A violation has cost its points already; about a suspicion the teacher decides.
    """
    found: dict[tuple[bool, str, str], dict[int, list[Violation]]] = {}
    for at, summary in enumerate(summaries):
        for violation, listed in ((False, summary.policy.suspicions), (True, summary.policy.violations)):
            for one in listed:
                key = violation, one.helper, one.rule
                found.setdefault(key, {}).setdefault(at, []).append(one)
    keys = sorted(found, key=lambda key: (key[0], -len(found[key]), key[1:]))
    rows = []
    for key in keys[:MAX_FINDINGS]:
        violation, helper, rule = key
        where = found[key]
        helper, rule = one_line(helper, 120), one_line(rule, 80)
        named = (who(summaries[at], _places(summaries[at], listed)) for at, listed in where.items())
        label = f"{'Violation' if violation else 'Suspicion'}: {helper}"
        group: Group = groups.add(label, list(where), named)
        (first, *_), *_ = where.values()
        rows.append(Finding(violation, helper, rule, one_line(first.message, 240), group))
    return rows, len(keys) - len(rows)


def _places(summary: Summary, found: Sequence[Violation]) -> str:
    """``line 12, line 40``; what has no place was found while it ran."""
    positions = summary.submission.positions
    places = [one_line(positions.name(v.line), 200) if v.line > 0 else "while it ran" for v in found]
    told = list(dict.fromkeys(places))
    return ", ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")
