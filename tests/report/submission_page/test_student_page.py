"""What a student's page says where: the words, the order of its parts, the sum, and what is folded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from pages import ANY_TEXT, Page, assert_inert
from samples import (
    EXERCISE,
    class_of,
    diagnosed,
    every_kind,
    failing,
    named,
    passing,
    result,
    undiagnosed,
    violated,
)

from grader.report.html import student_page, teacher_page
from grader.result import Adjustment, CaseResult, Result

KINDS = every_kind()
VISIBLE = tuple(c for c in result().cases if c.visibility == "public")


def section(source: str, name: str) -> str:
    """The section with a heading of this id."""
    return source.split(f'<h2 id="{name}">')[1].split("</section>")[0]


def words(source: str) -> str:
    return " ".join(Page(source).text.split())


def of_a_students_pack(cases: tuple[CaseResult, ...] = VISIBLE) -> Result:
    score = sum(c.points for c in cases)
    maximum = sum(c.max_points for c in cases)
    said = "All visible checks passed; hidden checks were not run here."
    return result(
        exercise=EXERCISE | {"visible_only": True},
        cases=cases,
        score=score,
        max_score=maximum,
        status="passed" if score == maximum else "failed",
        message=said if score == maximum else "12 of 13 visible checks passed.",
    )


def test_a_page_of_a_students_pack_says_that_hidden_checks_were_not_run() -> None:
    for page in (student_page, teacher_page):
        text = words(page(of_a_students_pack()))
        assert "✓ Full marks, hidden checks aside All visible checks passed; hidden checks were not" in text
        assert "Hidden checks were not run here: only those that you see count on this page." in text
        assert "without the hidden checks" in text
    wrong = replace(VISIBLE[3], verdict="wrong_value", points=0.0)
    text = words(student_page(of_a_students_pack((*VISIBLE[:3], wrong, *VISIBLE[4:]))))
    assert "Hidden checks were not run here" in text and "1 check did not pass" in text
    assert "not run here" not in words(student_page(passing()))


def test_the_parts_stand_in_their_order() -> None:
    source = student_page(diagnosed())
    order = [
        source.index(f'<h2 id="{name}"')
        for name in ("verdict", "first", "clauses", "failing", "hidden", "total", "ran")
    ]
    assert order == sorted(order)
    links = re.findall(r'href="#(\w+)"', source.split('class="contents"')[1].split("</nav>")[0])
    assert links == ["first", "clauses", "failing", "hidden", "total", "ran"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("page", [student_page, teacher_page])
def test_every_link_on_a_page_leads_somewhere(page: object, kind: str) -> None:
    read = Page(page(KINDS[kind]))  # type: ignore[operator]
    assert {h[1:] for h in read.values("href") if h.startswith("#")} <= set(read.values("id"))


def test_what_is_added_and_taken_has_its_sign_and_reason() -> None:
    changes = (
        Adjustment("handed in 2 h late: 1 day begun", -5.0),
        Adjustment("the statement was unclear", 2.5),
        Adjustment("required: Softmax", 0.0),
    )
    table = section(student_page(result(adjustments=changes)), "total")
    rows = [re.sub(r"<.*?>", "|", row) for row in table.split("<tr>")]
    assert any("Handed in 2 h late: 1 day begun" in row and "|−5|" in row for row in rows)
    assert any("The statement was unclear" in row and "|+2.5|" in row for row in rows)
    assert any("Required: Softmax" in row and "|0|" in row for row in rows)


def test_without_a_known_mistake_the_page_begins_with_the_clause_that_holds_least() -> None:
    demand = "Each row of scores is normalized over the <keys>."
    record = replace(failing(), demands={"softmax": demand, "unknown": "x"})
    clause = record.broken_clauses()[0]
    first = section(student_page(replace(record, demands={clause: demand})), "first")
    text = " ".join(re.sub(r"<.*?>", " ", first).split())
    assert record.exercise["clauses"][clause] in text and "did not pass" in text
    assert "normalized over the &lt;keys&gt;." in text
    (anchor,) = set(re.findall(r"#case-(\d+)", first))
    assert record.cases[int(anchor) - 1].clause == clause and record.cases[int(anchor) - 1].failed
    # The list of clauses tells what those that don't hold demand.
    assert "normalized over the &lt;keys&gt;." in section(student_page(record), "clauses")
    assert "What to fix first" not in student_page(violated()) + student_page(passing())
    assert "No known mistake" in section(student_page(undiagnosed()), "first")


def test_many_checks_of_which_little_is_told_are_folded() -> None:
    short = replace(named("two_heads"), verdict="wrong_value", points=0.0, message="Off.", hint="A hint.")
    for count, folded in ((3, False), (40, True)):
        cases = (*failing().cases, *[replace(short, id=f"short_{n}") for n in range(count)])
        source = student_page(replace(failing(), cases=cases))
        assert ('<details class="rest">' in source) == folded
        assert source.count("<strong>Two heads</strong>") == count
        assert_inert(source)


def test_the_snippet_of_a_check_is_folded_beside_its_button_and_that_of_the_example_is_not() -> None:
    source = student_page(diagnosed())
    example, rest = section(source, "first"), section(source, "failing")
    assert "Show the text" not in example and 'class="copy"' in example
    assert rest.count("Show the text") == rest.count('class="copy"') > 0


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=40, deadline=None)
def test_no_demand_and_no_reason_breaks_a_page(demand: str, reason: str) -> None:
    record = replace(
        failing(),
        demands=dict.fromkeys(failing().exercise["clauses"], demand * 200),
        adjustments=(Adjustment(reason, 1.0),),
        loading={"exception": reason, "traceback": [[1, demand]]},
    )
    source = student_page(record)
    assert_inert(source)
    assert len(source.encode()) < 200_000


def test_sizes_of_a_class() -> None:
    assert max(len(student_page(one).encode()) for one in class_of(40)) < 200_000


def test_many_checks_that_are_not_counted_are_folded() -> None:
    skipped = replace(named("two_heads"), verdict="skipped", points=0.0, message="Not counted.")
    for count, folded in ((3, False), (40, True)):
        cases = (*result().cases, *[replace(skipped, id=f"s{n}") for n in range(count)])
        part = section(student_page(result(cases=cases)), "skipped")
        assert ("<summary>40 checks</summary>" in part) == folded
        assert part.count("Not counted.") == count
