"""Findings and tracebacks in the lines of the submission."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ANY_TEXT, Page, assert_inert
from samples import failing, info, named, result, violated

from grader.excerpt import SourceLine, excerpt
from grader.positions import Part
from grader.report.html import student_page, teacher_page
from grader.result import PolicyResult, Result, Violation

TEXT = """\
import torch


def attend(q, k):
    scores = q @ k
    # ünïcode before
    return torch.softmax(scores, -1)


def mlm_forward(x):
    exec("pass")
    return x
"""


def finding(line: int, column: int = 0, helper: str = "torch.softmax") -> Violation:
    return Violation("softmax", helper, line, column, "static", f"Line {line} uses it.")


def broken(*found: Violation, suspicions: tuple[Violation, ...] = (), text: str = TEXT) -> Result:
    lines = [v.line for v in (*found, *suspicions)]
    return replace(
        violated(), policy=PolicyResult("violated", found, suspicions), excerpt=excerpt(text, lines)
    )


def blocks(source: str) -> list[str]:
    return re.findall(r'<pre class="source".*?</pre>', source, re.DOTALL)


def test_a_finding_is_shown_in_its_line_with_those_around_it() -> None:
    source = student_page(broken(finding(7, 12)))
    assert_inert(source)
    (block,) = blocks(source)
    assert re.findall(r"</span>(\d+)</b>|<b>(\d+)</b>", block) == [("", "5"), ("", "6"), ("7", "")]
    hits = re.findall(r'<span class="hit">(.*?)\n</span>', block)
    assert len(hits) == 1 and "return <mark>torch.softmax</mark>(scores, -1)" in hits[0]
    assert 'aria-label="Lines 5 to 7"' in block


def test_findings_in_near_lines_share_the_lines() -> None:
    assert len(blocks(student_page(broken(finding(4), finding(7))))) == 1
    assert len(blocks(student_page(broken(finding(1), finding(7))))) == 2
    twice = student_page(broken(finding(7, 12), finding(7, 26, "scores")))
    assert blocks(twice)[0].count('class="hit"') == 1 and twice.count("<mark>") == 2


@pytest.mark.parametrize("column", [0, 1, 7, 40, 10**6])
def test_a_column_that_points_at_no_name_marks_what_is_there_or_nothing(column: int) -> None:
    (block,) = blocks(student_page(broken(finding(7, column))))
    assert re.sub(r"<.*?>", "", block).count("return torch.softmax(scores, -1)") == 1


def test_what_only_the_teacher_sees_is_in_her_lines_alone() -> None:
    record = broken(finding(1), suspicions=(finding(11, 5, "exec"),))
    student, teacher = student_page(record), teacher_page(record)
    assert "exec(" not in student and "<mark>exec</mark>" in teacher


def test_a_cell_and_a_module_have_their_own_numbers() -> None:
    parts = (
        Part("cell", "cell 1", 1, 3),
        Part("cell", "cell 2", 4, 4),
        Part("module", "heads.py", 8, 5, "heads"),
    )
    record = replace(broken(finding(7, 12), finding(11)), submission=replace(info(), parts=parts))
    source = student_page(record)
    first, second = blocks(source)
    assert 'aria-label="cell 2, lines 2 to 4"' in first and "def mlm" not in first
    assert 'aria-label="heads.py, lines 3 to 5"' in second
    # Lines near each other, of two parts.
    record = replace(broken(finding(7), finding(8)), submission=replace(info(), parts=parts))
    assert len(blocks(student_page(record))) == 2


def test_a_traceback_shows_its_lines() -> None:
    details = {"exception": "ValueError: no", "traceback": [[10, "mlm_forward"], [5, "attend"]]}
    case = replace(named("two_heads"), verdict="raised", points=0.0, details=details)
    record = replace(result({"two_heads": case}), excerpt=excerpt(TEXT, [10, 5]))
    source = student_page(record)
    assert '<pre class="line">def mlm_forward(x):</pre>' in source
    (block,) = blocks(source)
    assert "scores = q @ k" in re.findall(r'class="hit">(.*?)\n</span>', block)[0]


def test_a_file_that_can_not_be_loaded_shows_where_loading_ended() -> None:
    record = replace(
        failing(),
        status="not_loadable",
        loading={"exception": "SyntaxError: '(' was never closed", "traceback": [[7, ""]]},
        excerpt=excerpt(TEXT, [7]),
    )
    page = Page(student_page(record))
    assert "Where loading ended" in page.text and "SyntaxError: '(' was never closed" in page.text
    assert "line 7, in" not in page.text and "torch.softmax(scores, -1)" in page.text


def test_a_record_without_lines_tells_the_finding_all_the_same() -> None:
    source = student_page(replace(broken(finding(7, 12)), excerpt=()))
    assert "Line 7, column 12" in source and not blocks(source)


@given(
    st.lists(st.tuples(st.integers(1, 40), ANY_TEXT), max_size=12),
    st.lists(st.tuples(st.integers(-1, 45), st.integers(-1, 70)), max_size=6),
)
@settings(max_examples=80, deadline=None)
def test_no_line_breaks_a_page(lines: list[tuple[int, str]], places: list[tuple[int, int]]) -> None:
    found = tuple(finding(*place) for place in places)
    shown = tuple(SourceLine(*line) for line in lines)
    details = {"traceback": [[line, "f"] for line, _ in places]}
    case = replace(named("two_heads"), verdict="raised", points=0.0, details=details)
    record = replace(result({"two_heads": case}), policy=PolicyResult("violated", found), excerpt=shown)
    source = student_page(record)
    assert_inert(source)
    source.encode()


def test_lines_leave_the_page_small() -> None:
    text = "\n".join(["<" * 400] * 500)
    found = tuple(finding(n, 1) for n in range(1, 200))
    source = student_page(broken(*found, text=text))
    assert len(source.encode()) < 200_000
