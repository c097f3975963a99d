"""Small records, and what a terminal shows of them."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from rich.console import Console

from grader.report.terminal.console import show
from grader.report.terminal.submission import check_report
from grader.result import CaseResult, Isolation, Result, SubmissionInfo

HOSTILE_TEXTS = st.text(
    st.sampled_from("ab\x1b[2J\x07\x00\r\n\t\u202e\u200b\ud800\x9b31m]0;[/bold][red]{}日🙂")
    | st.characters(),
    max_size=60,
)


def case(number: int = 1, **changes: Any) -> CaseResult:
    made = CaseResult(f"case_{number}", "checks", "A title", "product", "public", "passed", 1.0, 1.0)
    return replace(made, **changes)


def failing(number: int = 1, **changes: Any) -> CaseResult:
    defaults: dict[str, Any] = {"verdict": "wrong_value", "points": 0.0, "message": "2 of 3 values are off."}
    return case(number, **(defaults | changes))


def result(*cases: CaseResult, **changes: Any) -> Result:
    score = sum(c.points for c in cases)
    maximum = sum(c.max_points for c in cases)
    made = Result(
        exercise={
            "name": "e",
            "pack": "p",
            "title": "E",
            "clauses": {"scale": "Scale", "product": "Product"},
        },
        submission=SubmissionInfo("ann", "Ann", ("Ann",), "ann.py", "sha256:1"),
        status="passed" if score == maximum else "failed",
        score=score,
        max_score=maximum,
        message="A sentence.",
        isolation=Isolation("full", ("seccomp",)),
        cases=cases,
    )
    return replace(made, **changes)


def shown(record: Result, *, width: int = 80, color: bool = False, **options: Any) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        highlight=False,
        force_terminal=color,
        color_system="standard" if color else None,
    )
    show(console, check_report(record, **options))
    return out.getvalue()
