"""Answers that are no arrays, as terminal and page show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import grader
from grader.report.advice import read_texts
from grader.report.html import student_page, teacher_page
from grader.report.terminal.advice import MOST_LINES, answer_texts
from grader.report.terminal.submission import check_report

ROOT = Path(__file__).resolve().parents[1] / "exercises" / "root"
console = Console(width=100, color_system=None)
HOSTILE = "<script>alert(1)</script>\x1b[31m‮" + "x" * 5_000


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> grader.api.Checked:
    path = tmp_path_factory.mktemp("texts") / "solution.py"
    text = (ROOT / "submissions" / "urn" / "right_vectorized.py").read_text("utf-8")
    path.write_text(text.replace('label + "!"', 'label + "?"'), "utf-8")
    return grader.check(path, exercise="urn", root=ROOT)


def test_the_terminal_shows_both(checked: grader.api.Checked) -> None:
    with console.capture() as capture:
        console.print(check_report(checked.result, show_all=True))
    told = capture.get()
    assert "obtained:" in told and "'label': 'hello?'" in told
    assert "expected:" in told and "'label': 'hello!'" in told
    assert "Most at label." in told


def test_the_page_shows_both(checked: grader.api.Checked) -> None:
    page = checked.html()
    assert "&#39;label&#39;: &#39;hello?&#39;" in page
    assert "&#39;label&#39;: &#39;hello!&#39;" in page


def test_the_page_shows_an_argument_in_all_its_digits(checked: grader.api.Checked) -> None:
    """A rate just below 1 would read as 1, which means something else."""
    inputs = [{"name": "rate", "value": 0.999999999999}]
    cases = tuple(
        replace(case, details={**case.details, "inputs": inputs}) if case.details else case
        for case in checked.result.cases
    )
    assert "0.999999999999" in student_page(replace(checked.result, cases=cases))


def test_hostile_texts_stay_texts(checked: grader.api.Checked) -> None:
    result = checked.result
    texts = [["Obtained", HOSTILE], ["Expected", HOSTILE]]
    cases = tuple(
        replace(case, details={**case.details, "texts": texts}) if case.details else case
        for case in result.cases
    )
    hostile = replace(result, cases=cases)
    for page in (student_page(hostile), teacher_page(hostile)):
        assert "<script>alert(1)" not in page
        assert "\x1b" not in page and "‮" not in page


@pytest.mark.parametrize("odd", [None, "x", [["a"]], [[1, 2]], [["a", "b", "c"]], {"a": "b"}, [None]])
def test_what_is_of_another_form_is_passed_over(odd: object) -> None:
    assert read_texts(odd) == ()


def test_a_long_text_is_cut_and_a_short_one_stands_on_its_line() -> None:
    (short,) = answer_texts([("Obtained", "3")])
    assert str(short) == "obtained: 3"
    (long,) = answer_texts([("Obtained", "\n".join(map(str, range(200))))])
    assert str(long).splitlines()[MOST_LINES:] == [
        f"  {MOST_LINES - 1}",
        f"  … {200 - MOST_LINES} more lines",
    ]
