"""Lines of cells and helper modules are named as a student knows them, on pages and in the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from pages import Page
from rich.console import Console
from samples import violated

from grader.positions import Part
from grader.report.html import class_page, student_page, teacher_page
from grader.report.terminal.console import show
from grader.report.terminal.submission import check_report
from grader.result import CaseResult, Result

PARTS = (
    Part("cell", "cell 1", 1, 30),
    Part("cell", "cell 3", 31, 9),
    Part("module", "heads.py", 40, 9, "heads"),
)


def in_parts(record: Result) -> Result:
    return replace(record, submission=replace(record.submission, parts=PARTS))


def raising() -> Result:
    """A record whose first failing case raised in a helper module."""
    record = in_parts(violated())
    details = {"traceback": [[32, "f"], [41, "g"]], "exception": "ValueError: no"}
    first = replace(record.cases[0], verdict="raised", visibility="public", points=0.0, details=details)
    cases: tuple[CaseResult, ...] = (first, *record.cases[1:])
    return replace(record, cases=cases, status="failed")


def test_findings_name_the_part_on_every_page() -> None:
    record = in_parts(violated())
    for page in (student_page(record), teacher_page(record)):
        assert "Cell 3, line 1, column 12" in Page(page).text
    plain = violated()
    assert "Line 31, column 12" in Page(student_page(plain)).text
    assert "Evariste Galois cell 3, line 1" in " ".join(Page(class_page([record])).text.split())
    assert "Evariste Galois line 31" in " ".join(Page(class_page([plain])).text.split())


def test_tracebacks_name_the_part() -> None:
    text = " ".join(Page(student_page(raising())).text.split())
    assert "cell 3, line 2, in f" in text and "heads.py, line 2, in g" in text


def test_the_terminal_names_the_part_and_shows_the_line() -> None:
    source = "\n".join(f"line_{number}()" for number in range(1, 49))
    out = io.StringIO()
    console = Console(file=out, width=100)
    show(console, check_report(raising(), source=source))
    text = " ".join(out.getvalue().split())
    assert "cell 3, line 2, in f line_32()" in text and "heads.py, line 2, in g line_41()" in text
