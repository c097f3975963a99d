"""The page of a class: what is on it, that its parts say the same, and that no text in it can act."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import ANY_TEXT, Page, assert_inert
from samples import (
    CASES,
    CLAUSES,
    HOSTILE,
    changed_result,
    class_of,
    every_kind,
    hostile,
    info,
    named,
    result,
    twins_of_three,
)

from grader.people import Person
from grader.report.class_page.table import ROWS_SHOWN
from grader.report.class_page.view import class_rows, class_view
from grader.report.html import TEMPLATES, class_page, page_of_rows
from grader.report.texts import STATUS_SIGNS
from grader.result import Adjustment, PolicyResult, Result, Violation

KINDS = every_kind()
SOME = ("passing", "failing", "not_loadable", "violated", "grader_fault", "suspicious")


def table(page: Page, *head: str) -> list[list[str]]:
    """The one table whose head begins so, its texts without needless blanks."""
    (found,) = [t for t in page.tables if t[0][: len(head)] == list(head)]
    return [[" ".join(cell.split()) for cell in row] for row in found]


def data_of(source: str) -> dict[str, Any]:
    (text,) = Page(source).raw["data"]
    data: dict[str, Any] = json.loads(text)
    return data


def submissions(page: Page) -> list[dict[str, str]]:
    """The rows of the table of submissions, by its heads."""
    head, *rows = table(page, "Name")
    return [dict(zip(head, row, strict=True)) for row in rows]


def numbered(records: list[Result]) -> list[Result]:
    """The same, each handed in by another."""
    return [
        replace(r, submission=replace(r.submission, id=f"n{k}", name=f"N {k}", digest=str(k), alike=""))
        for k, r in enumerate(records)
    ]


def test_a_class_of_5000_is_all_on_the_page_and_the_first_stand_in_the_table() -> None:
    records = class_of(5_000)
    source = class_page(records)
    assert len(source.encode()) < 2_000_000
    data = data_of(source)
    assert data["href"] == [r.submission.id for r in records]
    assert data["score"] == [r.score for r in records]
    page = Page(source)
    assert len(submissions(page)) == ROWS_SHOWN
    assert f"These are the first {ROWS_SHOWN} of 5000" in page.text
    assert "These are the first" not in Page(class_page(records[:ROWS_SHOWN])).text


def test_an_empty_class_has_a_page() -> None:
    source = class_page([], title="Week 3")
    assert_inert(source)
    assert "All 0 submissions." in Page(source).text


def test_a_class_page_counts_and_links() -> None:
    results = [KINDS[kind] for kind in SOME]
    page = Page(class_page(results, title="Week 3", version="9.9"))
    hrefs = page.values("href")
    for one in results:
        assert f"teacher/{one.submission.id}.html" in hrefs
        assert f"students/{one.submission.id}.html" in hrefs
    assert {"gradebook.csv", "results.jsonl"} <= set(hrefs)
    assert "Week 3" in page.text
    assert "mlm-grader 9.9" in page.text
    scores = table(page, "Share of the full marks")
    assert sum(int(row[1]) for row in scores[1:]) == 5  # a fault has no score
    checks = table(page, "Check")
    assert len(checks) - 1 == len(CASES)
    shares = [int(count) / int(of) for count, of in (re.findall(r"\d+", row[2])[:2] for row in checks[1:])]
    assert shares == sorted(shares)
    # Of the six nobody was judged whose file did not load, or on whom the grader failed.
    assert [row[:2] for row in table(page, "Clause")][1:3] == [
        ["Softmax", "1 of 4 25 %"],
        ["Attention output", "1 of 4 25 %"],
    ]
    rows = submissions(page)
    assert [row["Score"] for row in rows] == ["20", "11.5", "0", "0", "–", "20"]
    assert [row["Failed checks"] for row in rows] == ["0 / 17", "6 / 16", "–", "0 / 17", "–", "0 / 17"]
    for href in hrefs:
        if href.startswith("#"):
            assert href[1:] in page.values("id")


def test_the_reason_is_the_mistake_else_the_clause_else_what_the_grader_says() -> None:
    late = replace(KINDS["diagnosed"], adjustments=(Adjustment("late by 2 days", -4.0),))
    kinds = ("undiagnosed", "paired", "undecided", "not_loadable", "violated", "passing")
    page = Page(class_page(numbered([late, *[KINDS[kind] for kind in kinds]])))
    assert [row["Reason"] for row in submissions(page)] == [
        "Scores are not divided −4 late by 2 days",
        "Clause: Softmax",
        "Scores are not divided + Later positions are hidden + w_emb is changed in place",
        "perhaps Scores are not divided, or one of 2 others",
        "Line 12 is not valid Python: '(' was never closed.",
        "−20 a banned helper is used (torch.nn.functional.softmax, line 31)",
        "",
    ]


def test_the_first_rows_of_the_table_are_those_of_the_data() -> None:
    records = [*class_of(40), *every_kind().values()]
    view = class_view(class_rows(records), "", "")
    data = json.loads(view["data"])
    for at, row in enumerate(view["rows"]):
        assert row.name == (data["name"][at] or data["href"][at])
        assert row.id == (data["id"][at] or data["href"][at])
        assert row.reason == data["reasons"][data["reason"][at]]
        assert row.adjusted == data["reasons"][data["adjusted"][at]]
        for key in ("status", "score", "percent", "policy", "failed", "judged", "handed_in"):
            assert getattr(row, key) == data[key][at], key
        pattern = data["patterns"][data["pattern"][at]]
        assert (row.failed, row.judged) == (pattern.count("x"), pattern.count("x") + pattern.count("+"))


@given(st.lists(st.sampled_from(sorted(KINDS)), max_size=14))
def test_what_the_parts_of_a_page_count_adds_up(kinds: list[str]) -> None:
    records = numbered([KINDS[kind] for kind in kinds])
    view = class_view(class_rows(records), "", "")
    data = json.loads(view["data"])
    assert view["total"] == len(records) == sum(view["counts"].values()) == len(data["href"])
    assert sum(one.count for one in view["bins"]) == view["scored"]
    assert sum(count for _, count in view["isolation"]) == len(records)
    for clause in view["clauses"]:
        title = data["clauses"][clause.number]
        failing = [r for r in records if clause.title in (CLAUSES.get(c, c) for c in r.broken_clauses())]
        assert title == clause.title
        # The hostile record calls its clauses otherwise.
        assert clause.count == len(failing) or clause.title not in CLAUSES.values()
    for case in view["cases"]:
        assert 0 <= case.item.passed <= case.item.judged <= len(records)
        assert data["cases"][case.number][0] == case.id
    clusters = view["clusters"]
    assert sum(c.group.count for c in clusters.rows) + clusters.alone == sum(
        any(c.failed for c in r.cases) for r in records
    )
    parts = [m.group for m in view["mistakes"]] + [c.group for c in clusters.rows]
    parts += [f.group for f in view["findings"]] + ([view["faults"]["group"]] if view["faults"] else [])
    parts += [group for _, group in view["alike"]["rows"]]
    assert sorted(group.number for group in parts) == list(range(len(data["groups"])))
    for group in parts:
        _, members, told = data["groups"][group.number]
        assert [one.told for one in group.first] == (told or [""] * len(members))[: len(group.first)]
        assert len(members) == group.count == len(set(members))
        assert [one.href for one in group.first] == [data["href"][at] for at in members][: len(group.first)]


def test_who_is_alike_who_handed_in_nothing_and_what_changed_stand_on_the_class_page() -> None:
    one, two, three = twins_of_three()
    change = changed_result()
    weighed = {**change, "id": "bob", "name": "bob", "cases": [], "anew": False}
    source = page_of_rows(
        class_rows([one, two, three]),
        missing=[Person("Nora <b>", "0017"), Person("Max")],
        changes={"compared": 3, "changed": [change, weighed]},
    )
    assert_inert(source)
    page = Page(source)
    assert re.search(r"Same file\s+ann, bob\s+Show in the table\s+≈", page.text)
    assert re.search(r"Same text\s+ann, bob, cem", page.text)
    assert re.search(r"Handed in nothing\s+Nora <b> 0017, Max", page.text)
    _, first, second = table(page, "Submission", "Score before")
    assert first[1].startswith("1.5") and first[2].startswith("3.25")
    assert "one_case" in first[3] and "not there" in first[3] and "meanwhile" in first[3]
    assert second[3] == "no check changed, so points, weights or deductions did"
    assert {row["Handed in"] for row in submissions(page)} == {"late"}
    alone = Page(class_page([one])).text
    assert not [part for part in ("Twins", "Handed in nothing", "newer pack") if part in alone]


def test_mistakes_stand_by_the_number_of_students_that_have_them() -> None:
    kinds = ("diagnosed", "paired", "undecided", "undiagnosed", "raising", "passing")
    records = [
        replace(r, submission=replace(r.submission, digest=kind))
        for kind, r in ((kind, KINDS[kind]) for kind in kinds)
    ]
    team = replace(
        records[0], submission=replace(records[0].submission, id="team", digest="", members=("A", "B", "C"))
    )
    page = Page(class_page([*records, team]))
    found = table(page, "Mistake", "Clause", "Students", "Perhaps")
    assert [row[:4] for row in found[1:]] == [
        ["Scores are not divided", "Attention scores", "5", "1"],
        ["Later positions are hidden", "Attention output", "1", "1"],
        ["The call raises an exception", "Shape", "1", "0"],
        ["w_emb is changed in place", "Inputs stay as they are", "1", "0"],
        ["Scores are divided by sqrt(D) instead of sqrt(d_head)", "Attention scores", "0", "1"],
    ]
    assert found[1][4].startswith(
        "4 submissionsNoether, Emmy, Two at once, Noether, Emmy, One of three perhaps"
    )
    assert "Perhaps: the checks" in page.text
    sure = Page(class_page([KINDS["diagnosed"]]))
    assert "erhaps" not in sure.text and table(sure, "Mistake")[0][:3] == ["Mistake", "Clause", "Students"]
    assert "Mistakes by number" not in Page(class_page([KINDS["failing"]])).text


def test_a_mistake_of_a_whole_class_names_the_first_who_have_it() -> None:
    one = KINDS["diagnosed"]
    records = [replace(one, submission=replace(one.submission, id=f"s{n}")) for n in range(50)]
    _, found = table(Page(class_page(records)), "Mistake")
    assert found[2] == "50" and "and 45 more" in found[3]


def test_submissions_that_fail_alike_are_named_by_their_mistake_else_by_clauses() -> None:
    def wrong(*cases: str, **more: Any) -> Result:
        return result({c: replace(named(c), verdict="wrong_value", points=0.0) for c in cases}, **more)

    told = KINDS["diagnosed"].diagnoses
    alike = [wrong("two_heads", "drawn_02", diagnoses=told) for _ in range(3)]
    other = [wrong("peaked_rows", "drawn_01"), wrong("peaked_rows", "drawn_01")]
    alone = [wrong("tanh_gelu"), KINDS["passing"], KINDS["grader_fault"], KINDS["not_loadable"]]
    page = Page(class_page(numbered([*alone, *other, *alike])))
    assert [row[:3] for row in table(page, "What they have in common")[1:]] == [
        ["Scores are not divided", "the same 2", "3"],
        ["Clause: Softmax", "the same 2", "2"],
    ]
    assert "1 submission fails like no other." in page.text


def test_what_is_to_be_looked_at_comes_before_what_has_cost_points() -> None:
    page = Page(class_page(numbered([KINDS["violated"], KINDS["suspicious"], KINDS["suspicious"]])))
    rules = " ".join(page.text.split()).partition("Banned helpers and suspicions")[2]
    first, violation = re.split(r"(?=torch\.nn\.functional\.softmax ✗)", rules, maxsplit=1)
    assert "exec ! Suspicion, to be looked at" in first and "3 submissions" in first
    assert "N 1 line 44, N 2 line 44" in first
    assert "N 0 line 31" in violation
    assert "N 0 while it ran" in violation


def test_where_to_look_first_counts_what_its_filters_show() -> None:
    alike = [
        replace(KINDS["passing"], submission=replace(info(name, name), alike="same", digest=name))
        for name in ("ann", "bob")
    ]
    records = numbered([KINDS[kind] for kind in (*SOME, "not_loadable")]) + alike
    view = class_view(class_rows(records), "", "")
    hints = {(hint.key, hint.value) if hint.key else hint.place: hint for hint in view["hints"]}
    assert {key: hint.count for key, hint in hints.items()} == {
        ("status", "not_loadable"): 2,
        ("policy", "suspicious"): 1,
        ("policy", "violated"): 1,
        "alike": 1,
    }
    assert hints["alike"].words == "group with the same text"
    assert hints["status", "not_loadable"].words == "files that can’t be loaded"
    source = class_page(records)
    assert all(f'id="{hint.place}"' in source for hint in hints.values())
    assert 'id="look"' not in class_page([KINDS["passing"]])


def test_grader_faults_stand_apart_from_failures() -> None:
    page = Page(class_page([KINDS["grader_fault"], KINDS["failing"]]))
    assert "They are no failures of the students." in page.text
    assert "--faults" in page.text and "(no space left)" in page.text
    assert "Grader faults" not in Page(class_page([KINDS["failing"]])).text


def test_discrimination_is_shown_where_it_is_defined() -> None:
    few = table(Page(class_page(class_of(9))), "Check")
    assert {row[3] for row in few[1:]} == {"–"}
    page = Page(class_page(class_of(200)))
    rows = table(page, "Check")[1:]
    figures = [row for row in rows if row[3] != "–"]
    assert figures and all(-1 <= float(row[3].replace("−", "-")) <= 1 for row in figures)
    assert len(page.all("circle")) == len(figures)


def test_cases_that_say_nothing_are_to_be_looked_at() -> None:
    changes = {"two_heads": replace(named("two_heads"), verdict="wrong_value", points=0.0)}
    rows = table(Page(class_page(numbered([result(changes)] * 12))), "Check")[1:]
    assert rows[0][4] == "Nobody passes" and "two_heads" in rows[0][0]
    assert {row[4] for row in rows[1:]} == {"Everybody passes"}


@given(ANY_TEXT)
def test_no_text_can_end_the_data_or_begin_an_element(text: str) -> None:
    for planted in (text, f"</script><b id=planted>{text}", f"<!--<script>{text}", f"{text}]]>\u2028"):
        source = class_page([hostile(planted), KINDS["failing"]])
        source.encode()
        page = assert_inert(source)
        (data,) = page.raw["data"]
        assert "<" not in data and "planted" not in page.values("id")
        assert len(json.loads(data)["href"]) == 2


def test_hostile_texts_are_cleaned_in_the_data_too() -> None:
    (text,) = Page(class_page([hostile(HOSTILE)])).raw["data"]
    written = json.dumps(json.loads(text), ensure_ascii=False)
    for sign in "\x1b\x00\x07\u202e\u2066\ud800":
        assert sign not in written and sign not in text


def test_a_score_that_is_no_number_breaks_no_page() -> None:
    for score in (float("inf"), float("nan"), -3.0):
        source = class_page([replace(KINDS["failing"], score=score)])
        assert len(data_of(source)["score"]) == 1


def test_where_there_are_no_points_there_is_no_share_of_them() -> None:
    records = [replace(r, score=0.0, max_score=0.0) for r in numbered([KINDS["passing"], KINDS["failing"]])]
    source = class_page(records)
    page = assert_inert(source)
    assert data_of(source)["percent"] == [None, None] and data_of(source)["score"] == [0, 0]
    assert "scores" not in page.values("id") and "low" not in page.values("id")
    assert [row["Score"] for row in submissions(page)] == ["0", "0"]
    # What a person should look at does not hang on points.
    looked = replace(KINDS["suspicious"], score=0.0, max_score=0.0)
    assert {"look", "rules"} <= set(Page(class_page([*records, looked])).values("id"))


def test_two_records_of_the_same_id_are_two_rows() -> None:
    records = [KINDS["failing"], KINDS["diagnosed"]]
    assert records[0].submission.id == records[1].submission.id
    data = data_of(class_page(records))
    assert len(data["href"]) == 2 and ["Same file", [0, 1], []] in data["groups"]


def test_packs_with_other_cases_stand_over_the_same_columns() -> None:
    one = KINDS["failing"]
    fewer = replace(one, cases=one.cases[3:8], exercise={**one.exercise, "pack": "sha256:other"})
    data = data_of(class_page(numbered([one, fewer])))
    assert [case for case, _ in data["cases"]] == [c.id for c in one.cases]
    first, second = (data["patterns"][number] for number in data["pattern"])
    assert second == " " * 3 + first[3:8] + " " * (len(first) - 8)


@pytest.mark.parametrize("count", [1, 5])
def test_a_finding_of_several_shows_one_message_for_instance(count: int) -> None:
    found = Violation("dynamic_code", "exec", 4, 1, "static", "Line 4 runs text.")
    record = result(policy=PolicyResult("suspicious", (), (found,)))
    text = Page(class_page(numbered([record] * count))).text
    assert ("For instance: Line 4 runs text." in text) == (count > 1)


def test_the_script_writes_the_signs_of_every_other_report() -> None:
    (found,) = re.findall(r"^const signs = \{(.+)\};$", (TEMPLATES / "class.js").read_text(), re.MULTILINE)
    signs = dict(re.findall(r'(\w+): "(.)', found))
    assert {status: signs[status] for status in STATUS_SIGNS} == STATUS_SIGNS
