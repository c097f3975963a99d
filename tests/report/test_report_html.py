"""The pages: what is on them, what is not, and that nothing in a record can act."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError
from pages import ANY_TEXT, Page, assert_inert
from samples import (
    HOSTILE,
    details,
    every_kind,
    failing,
    hostile,
    info,
    named,
    result,
    violated,
)

from grader.positions import Part
from grader.report.figures import number, points
from grader.report.html import _environment, class_page, student_page, teacher_page
from grader.report.submission_page.view import Memo
from grader.result import CaseError, CaseResult, Output, PolicyResult, Result, Shared, Violation

KINDS = every_kind()
PAGES: dict[str, Callable[[Result], str]] = {
    "student": student_page,
    "teacher": teacher_page,
    "class": lambda one: class_page([one]),
}
EVERY_PAGE = pytest.mark.parametrize(
    ("page", "kind"), [(page, kind) for page in PAGES for kind in KINDS], ids=lambda v: str(v)
)


@EVERY_PAGE
def test_a_page_is_well_formed_and_asks_for_nothing(page: str, kind: str) -> None:
    source = PAGES[page](KINDS[kind])
    source.encode()  # no lone surrogate is left
    read = assert_inert(source)
    assert not read.values("src")
    assert not read.values("style")
    assert "url(" not in read.raw["style"][0]
    assert "@import" not in read.raw["style"][0]
    ids = read.values("id")
    assert len(set(ids)) == len(ids)
    assert {h[1:] for h in read.values("href") if h.startswith("#")} <= set(ids)
    assert set(" ".join(read.values("aria-labelledby")).split()) <= set(ids)


@EVERY_PAGE
def test_the_policy_of_a_page_allows_its_own_style_and_script_and_nothing_else(page: str, kind: str) -> None:
    read = Page(PAGES[page](KINDS[kind]))
    (policy,) = [
        a["content"] or "" for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    for kind_of, rule in (("style", "style-src"), ("script", "script-src")):
        digest = hashlib.sha256(read.raw[kind_of][0].encode()).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"


@EVERY_PAGE
def test_a_page_can_be_found_ones_way_in(page: str, kind: str) -> None:
    read = Page(PAGES[page](KINDS[kind]))
    assert read.all("html") == [{"lang": "en"}]
    assert len(read.all("main")) == len(read.all("header")) == len(read.all("footer")) == 1
    assert read.headings[0] == 1
    assert read.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(read.headings, read.headings[1:], strict=False))


def test_hostile_texts_are_shown_as_text() -> None:
    page = Page(student_page(hostile()))
    assert '<script>alert("x")</script>' in page.text
    assert "{{ 7*7 }}" in page.text
    for sign in "\x1b\x00\x07\u202e\u2066\ud800":
        assert sign not in page.text
    assert "\\u202egnp.exe" in page.text
    assert "red" in page.text


def test_a_template_that_forgets_to_clean_is_safe_all_the_same() -> None:
    template = _environment().from_string("<p>{{ text }}</p>{{ 3 }}")
    assert template.render(text="\x1b[31m<b>\x00\u202e\ud800") == "<p>&lt;b&gt;␀\\u202e\\ud800</p>3"
    with pytest.raises(UndefinedError):
        template.render()


@settings(max_examples=40, deadline=None)
@given(ANY_TEXT, st.sampled_from(sorted(PAGES)))
def test_no_text_of_a_record_can_become_markup(text: str, page: str) -> None:
    for planted in (
        text,
        f"<i onclick=x>{text}",
        f"'\"><b id=planted {text}>",
        f"--></style></script>{text}<img>",
    ):
        source = PAGES[page](hostile(planted))
        source.encode()
        assert_inert(source)
        # A text such as "<p" stands in every page; the planted ones stand in none.
        assert planted is text or planted not in source


def test_fifty_megabytes_of_text_are_cut() -> None:
    assert len(student_page(hostile("<" * 50_000_000)).encode()) < 200_000


def test_a_student_page_stays_below_200_kilobytes() -> None:
    row = [0.123456789012] * 12
    full = {
        "inputs": [
            {"name": f"a{k}", "dtype": "float64", "shape": [20, 12], "values": [row] * 20} for k in range(7)
        ],
        "obtained": [row] * 20,
        "expected": [row] * 20,
        "worst": [{"index": [1, 1], "obtained": 1.5, "expected": 1.25}] * 5,
        "stdout": "<" * 4_000,
        "snippet": "x = [" + "0.123456789012, " * 1_200 + "]\n",
    }
    failed = replace(
        named("whole_block"),
        verdict="wrong_value",
        points=0.0,
        message="&" * 300,
        hint="h" * 200,
        details=full,
    )
    cases = tuple(replace(failed, id=f"c{k}", details=full if k < 5 else {}) for k in range(60))
    source = student_page(replace(failing(), cases=cases, output=Output("<" * 65_536, "&" * 65_536, True)))
    assert len(source.encode()) < 200_000
    page = Page(source)
    assert all(f"c{k}" in page.text for k in range(60))


# --- What a student sees --------------------------------------------------------------------------


def test_a_student_page_reveals_nothing_of_hidden_cases() -> None:
    marker = "PLANTED"
    planted = CaseResult(
        marker,
        marker,
        marker,
        "softmax",
        "hidden",
        "wrong_value",
        0.0,
        2.0,
        CaseError(0.987654, 0.876543, 0.765432),
        marker,
        marker,
        {"stdout": marker, "snippet": marker, "exception": marker} | details(),
    )
    verdicts = ("wrong_value", "raised", "skipped", "passed", "grader_fault", "wrong_shape")
    record = replace(
        failing(),
        cases=tuple(replace(planted, verdict=verdict) for verdict in verdicts),
        hidden_output=Output(marker, marker),
        policy=PolicyResult("suspicious", (), (Violation(marker, marker, 1, 1, "static", marker),)),
    )
    for view in (record, replace(record, view="student"), record.for_student()):
        source = student_page(view)
        for secret in (marker, "0.987654", "0.876543", "0.765432", "blocks_weights", "row sums"):
            assert secret not in source
    assert teacher_page(record).count(marker) > 10


def test_of_hidden_cases_clause_and_verdict_are_told() -> None:
    page = Page(student_page(failing()))
    assert "2 of 4 passed" in page.text
    assert "A hidden check of this clause found wrong values." in page.text
    assert "Timed out" in page.text


def test_every_case_that_did_not_pass_is_on_the_page() -> None:
    record = failing()
    page = Page(student_page(record))
    for case in record.cases:
        if case.visibility == "public" and case.verdict != "passed":
            assert case.id in page.text
            assert case.message in page.text
            assert case.hint in page.text
    anchors = [at for at, case in enumerate(record.cases, 1) if case.verdict != "passed"]
    assert {f"case-{at}" for at in anchors} <= set(page.values("id"))


def test_a_failing_case_tells_its_inputs_its_errors_and_how_to_repeat_it() -> None:
    page = Page(student_page(failing()))
    for told in (
        "blocks_weights",
        "float64 (64, 1100)",
        "[1, 4]",
        "from solution import mlm_forward",
        "line 41, in _pick_rows",
        "ValueError: need at least one array to concatenate",
        "row sums [1.31 0.97 0.88]",
        "not finite",
        "0.213457",
    ):
        assert told in page.text
    # Four worst elements in both answers of two cases and in their difference.
    assert len(page.all("mark")) == 2 * 3 * 4


def test_clauses_stand_in_the_statements_order() -> None:
    record = failing()
    text = student_page(record).split('id="clauses"')[1].split("</section>")[0]
    told = [title for title in record.exercise["clauses"].values() if title in text]
    assert sorted(told, key=text.index) == told
    assert len(told) > 10


@pytest.mark.parametrize(
    "record", [failing(), violated(), KINDS["passing"]], ids=["failing", "violated", "passing"]
)
@pytest.mark.parametrize("page", ["student", "teacher"])
def test_the_lines_of_the_sum_add_up_to_the_score(page: str, record: Result) -> None:
    (table,) = [t for t in Page(PAGES[page](record)).tables if t[0] == ["Part", "Checks", "Points", "Of"]]
    figures = [float(row[2].replace("−", "-")) for row in table[1:]]
    assert sum(figures[:-1]) == pytest.approx(figures[-1])
    assert figures[-1] == record.score
    assert sum(float(row[3]) for row in table[1:-1] if row[3]) == record.max_score == float(table[-1][3])


def test_a_file_that_can_not_be_loaded_gets_its_message_and_no_empty_tables() -> None:
    page = Page(student_page(KINDS["not_loadable"]))
    assert "Line 12 is not valid Python: '(' was never closed." in page.text
    assert page.tables == []
    assert "holds" not in page.text


def test_a_grader_fault_costs_nothing_and_shows_no_score() -> None:
    page = Page(student_page(KINDS["grader_fault"]))
    assert "costs nothing" in page.text
    assert "run again" in page.text
    assert "no score" in page.text
    assert "of 20 points" not in page.text


def test_findings_are_told_with_their_lines_and_suspicions_to_the_teacher_only() -> None:
    student, teacher = Page(student_page(violated())), Page(teacher_page(violated()))
    for page in (student, teacher):
        assert "Line 31, column 12" in page.text
        assert "write the exponentials" in page.text
        assert "−20" in page.text
    assert "Text is run as code" not in student.text
    assert "Text is run as code" in teacher.text


def test_details_of_any_form_are_shown_or_passed_over() -> None:
    for odd in (
        {
            "inputs": 3,
            "worst": "x",
            "traceback": {},
            "obtained": None,
            "expected": [[1], [1, 2]],
            "snippet": 7,
        },
        {
            "inputs": [{}, 4, {"values": [], "shape": "no"}],
            "worst": [{}, {"index": [None, 1, "a"]}],
            "traceback": [[]],
        },
        {
            "obtained": [10**5000, -(10**400), True],
            "expected": 1e400,
            "worst": [{"obtained": 10**400, "expected": 1}],
        },
        {"obtained": [[[]]], "expected": [[[[1.5]]]], "unknown": object()},
        {"worst": [{"index": [10**5000], "obtained": 10**400, "expected": 0.5}]},
    ):
        case = replace(named("two_heads"), verdict="wrong_value", points=0.0, details=odd)
        Page(student_page(result({"two_heads": case})))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_no_value_in_the_details_breaks_a_page(value: object) -> None:
    keys = (
        "inputs",
        "obtained",
        "expected",
        "worst",
        "traceback",
        "exception",
        "stdout",
        "stderr",
        "snippet",
    )
    odd = dict.fromkeys(keys, value)
    odd_inputs = {
        "inputs": [{"name": value, "dtype": value, "shape": value, "values": value}],
        "worst": [odd],
    }
    for given_ in (odd, odd_inputs):
        case = replace(named("two_heads"), verdict="wrong_value", points=0.0, details=given_)
        assert_inert(student_page(result({"two_heads": case})))


@pytest.mark.parametrize("kind", KINDS)
def test_what_two_pages_share_changes_neither(kind: str) -> None:
    record = KINDS[kind]
    memo = Memo()
    for _ in range(2):
        assert student_page(record, memo) == student_page(record)
        assert teacher_page(record, memo) == teacher_page(record)


def test_what_records_share_changes_no_page() -> None:
    plain = failing()
    cases = tuple(
        replace(c, details=c.details | {"inputs": Shared(c.details["inputs"])}) if c.details else c
        for c in plain.cases
    )
    for _ in range(2):
        assert student_page(replace(plain, cases=cases)) == student_page(plain)
        assert teacher_page(replace(plain, cases=cases)) == teacher_page(plain)


def test_shared_inputs_are_left_out_where_a_page_has_no_room_for_them() -> None:
    row = [0.123456789012] * 12
    inputs = [{"name": "a", "dtype": "float64", "shape": [20, 12], "values": [row] * 20} for _ in range(7)]

    def page(given: list[object]) -> str:
        full = replace(named("whole_block"), verdict="wrong_value", details={"inputs": given})
        return student_page(replace(failing(), cases=tuple(replace(full, id=f"c{k}") for k in range(12))))

    shared = Shared(inputs)
    assert page(shared) == page(shared) == page(inputs)
    assert len(page(shared).encode()) < 200_000


# --- Links ----------------------------------------------------------------------------------------


def test_a_link_stays_in_its_folder_whatever_the_id() -> None:
    record = replace(failing(), submission=replace(failing().submission, id="../../x?y#z/javascript:1"))
    for source in (class_page([record]), teacher_page(record)):
        assert_inert(source)


# --- Figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1, "0.1"),
        (1 / 3, "0.333333"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ("nan", "nan"),
        (True, "True"),
    ],
)
def test_numbers_have_six_digits(value: object, shown: str) -> None:
    assert number(value) == shown


@given(st.floats(-1e6, 1e6))
def test_points_are_written_without_trailing_zeros(value: float) -> None:
    shown = points(value)
    assert float(shown.replace("−", "-")) == pytest.approx(value, abs=6e-5)
    assert not re.search(r"\.\d*0$|\.$|^−0$", shown)


def test_the_texts_that_are_planted_are_hostile_enough() -> None:
    assert {"<", ">", '"', "'", "&", "\x1b", "\x00", "\u202e", "\ud800"} <= set(HOSTILE)


def test_a_finding_names_only_the_place_that_is_known() -> None:
    def found(line: int, column: int) -> str:
        one = Violation("softmax", "torch.softmax", line, column, "runtime", "It ran.")
        return Page(student_page(result(policy=PolicyResult("violated", (one,))))).text

    assert "Line 3, column 7" in found(3, 7)
    assert "Line 3" in found(3, 0) and "column 0" not in found(3, 0)
    assert "Line not known" in found(0, 0) and "Line 0" not in found(0, 0)


@pytest.mark.parametrize("page", [student_page, teacher_page])
def test_which_file_ran_by_which_rule_and_when_it_came_stand_on_the_page(
    page: Callable[[Result], str],
) -> None:
    submission = replace(
        info(),
        file="final <b>.py",
        rule="of the files with mlm_forward in them the one that is called final",
        parts=(Part("main", "final.py", 1, 3), Part("module", "tools/heads.py", 4, 2, "tools.heads")),
        submitted_at="2026-10-01T12:00:00+02:00",
        late=True,
        attempts=3,
    )
    source = page(replace(KINDS["failing"], submission=submission))
    assert_inert(source)
    text = " ".join(Page(source).text.split())
    assert f"final <b>.py, {submission.rule}; with tools/heads.py" in text
    assert "2026-10-01 12:00:00+02:00, late, attempt 3, the newest" in text
    assert "attempt" not in Page(page(KINDS["passing"])).text.partition("What ran")[2]


@pytest.mark.parametrize(
    ("failed", "headline"),
    [
        (("drawn_01",), "1 hidden check did not pass"),
        (("drawn_01", "drawn_02"), "2 hidden checks did not pass"),
        (("tanh_gelu",), "1 check did not pass"),
        (("tanh_gelu", "drawn_01"), "2 checks did not pass, 1 of them hidden"),
    ],
)
def test_the_headline_counts_what_did_not_pass(failed: tuple[str, ...], headline: str) -> None:
    changes = {name: replace(named(name), verdict="wrong_value", points=0.0) for name in failed}
    for page in (student_page, teacher_page):
        assert f"✗ {headline} " in " ".join(Page(page(result(changes))).text.split())


def test_a_live_function_has_no_file() -> None:
    path = "/tmp/ipykernel_777/1234567.py"
    live = replace(info(), path=path, digest="")
    assert "<dt>File</dt>" not in student_page(result(submission=live))
    assert "1234567.py" not in student_page(result(submission=live))
    unread = replace(live, rule="the only file")
    assert "1234567.py" in student_page(result(submission=unread))
