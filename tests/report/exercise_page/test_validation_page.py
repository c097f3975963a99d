"""The page of a validation: its figures are the record's, and nothing in a record can act."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from authoring import stepped
from hypothesis import given, settings
from pages import ANY_TEXT, Page
from support.commands import grader
from support.small import freeze_exercise, write_exercise
from validations import LIBRARY, RECORDS, WEAK, hostile

from grader.authoring.validation import Validator
from grader.report.exercise_page.margin_plot import margin_scale, poorest_first, times
from grader.report.exercise_page.view import percent, validation_view
from grader.report.html import validation_page
from grader.validation import (
    CaseInfo,
    CaseMargin,
    KillMatrix,
    MistakeInfo,
    PublicShare,
    Weakness,
)

TAGS = """
html head meta title style body a header nav p h1 h2 h3 main section b span div ul ol li dl dt dd strong small
code table caption colgroup col thead tbody tfoot tr th td wbr label input details summary svg rect path
circle text footer script
"""
ATTRIBUTES = """
lang charset http-equiv content name class href aria-labelledby aria-label aria-hidden id role tabindex scope
colspan title viewbox preserveaspectratio focusable width height x y d r cx cy type hidden for placeholder
autocomplete spellcheck
"""
EVERY = pytest.mark.parametrize("kind", RECORDS)


def assert_inert(source: str) -> Page:
    """Only elements and attributes of the templates, and links within the page."""
    page = Page(source)
    assert {tag for tag, _ in page.elements} <= set(TAGS.split())
    assert {name for _, attributes in page.elements for name in attributes} <= set(ATTRIBUTES.split())
    assert all(re.fullmatch(r"#[a-z]+(-\d+)?", href) for href in page.values("href"))
    assert len(page.raw["script"]) == len(page.raw["style"]) == 1
    return page


def table(page: Page, head: str) -> list[list[str]]:
    """The rows of the table whose first row has a cell with that text, in plain blanks."""
    rows = [[[" ".join(cell.split()) for cell in row] for row in rows] for rows in page.tables]
    (found,) = [t for t in rows if head in t[0]]
    return found


def kill_table(source: str) -> list[list[str]]:
    """The rows of the kill matrix."""
    return table(Page(source), "Case file")


# --- What holds of every page ---------------------------------------------------------------------


@EVERY
def test_a_page_is_well_formed_and_asks_for_nothing(kind: str) -> None:
    source = validation_page(RECORDS[kind])
    source.encode()  # no lone surrogate is left
    page = assert_inert(source)
    assert "url(" not in page.raw["style"][0]
    assert "@import" not in page.raw["style"][0]
    assert not {"fetch(", "XMLHttpRequest", "import(", "WebSocket"} & set(page.raw["script"][0].split())
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    assert {h[1:] for h in page.values("href")} <= set(ids)
    assert set(" ".join(page.values("aria-labelledby")).split()) <= set(ids)


@EVERY
def test_the_policy_allows_its_own_style_and_script_and_nothing_else(kind: str) -> None:
    page = Page(validation_page(RECORDS[kind]))
    (policy,) = [
        a["content"] or "" for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    assert set(rules) == {"style-src", "script-src"}
    for kind_of, rule in (("style", "style-src"), ("script", "script-src")):
        digest = hashlib.sha256(page.raw[kind_of][0].encode()).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"


@EVERY
def test_a_page_can_be_found_ones_way_in(kind: str) -> None:
    page = Page(validation_page(RECORDS[kind]))
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("footer")) == 1
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))


@EVERY
def test_a_page_is_a_function_of_the_record(kind: str) -> None:
    record = RECORDS[kind]
    copy = pickle.loads(pickle.dumps(record))
    assert copy == record and copy is not record
    assert validation_page(record) == validation_page(copy)
    assert record == copy


# --- Texts of an author ---------------------------------------------------------------------------


def test_hostile_texts_are_shown_as_text() -> None:
    page = assert_inert(
        validation_page(hostile('<script>alert("x")</script>{{ 7*7 }}\x1b[31mred\x00\u202e\ud800'))
    )
    assert '<script>alert("x")</script>' in page.text
    assert "{{ 7*7 }}" in page.text
    for sign in "\x1b\x00\u202e\ud800":
        assert sign not in page.text
        assert all(sign not in title for title in page.values("title"))


@settings(max_examples=30, deadline=None)
@given(ANY_TEXT)
def test_no_text_of_a_record_can_become_markup(text: str) -> None:
    for planted in (
        text,
        f"<i onclick=x>{text}",
        f"'\"><b id=planted {text}>",
        f"--></style></script>{text}<img>",
    ):
        source = validation_page(hostile(planted))
        source.encode()
        assert_inert(source)
        # What was drawn alone may be a sign that every page has.
        assert planted == text or planted not in source


# --- Verdict and weaknesses -----------------------------------------------------------------------


def test_every_weakness_is_told_with_its_place_code_and_message() -> None:
    page = Page(validation_page(WEAK))
    text = page.text
    assert "3 weaknesses found" in text and "#weaknesses" in page.values("href")
    for weakness in WEAK.weaknesses:
        for told in (f"{weakness.file}:{weakness.line}", weakness.code, weakness.message):
            assert told in text
    plain = " ".join(text.split())
    often, seldom = plain.index("✗ mistake_survives 2 places"), plain.index("✗ case_kills_nothing 1 place ")
    assert often < plain.index("causal_again: no case") < seldom < plain.index("kept: nothing fails it")
    assert "Weaknesses" not in Page(validation_page(RECORDS["sound"])).text


def test_a_file_without_a_line_is_told_without_one() -> None:
    text = Page(
        validation_page(replace(WEAK, weaknesses=(Weakness("cases/a.yaml", 0, "code", "words"),)))
    ).text
    assert "cases/a.yaml" in text and "cases/a.yaml:0" not in text
    assert "1 weakness found" in text


def test_the_counts_are_the_records() -> None:
    text = " ".join(Page(validation_page(WEAK)).text.split())
    assert "4 cases (3 public, 1 hidden), 7.5 points (5.5 public)" in text
    assert "5 known mistakes, 2 of them meant to stay inside rounding" in text
    assert "75 % 3 of 4 mistakes caught" in text
    for tile in ("Mistakes caught3 / 4", "With margin2 / 4", "Mutants killed8 / 12", "Open holes2"):
        assert tile in text
    assert "By public cases alone3 / 4" in text


def test_a_share_is_whole_only_where_nothing_is_missing() -> None:
    assert [percent(s) for s in (0.0, 1e-9, 0.5, 0.996, 1 - 1e-9, 1.0)] == [
        "0 %",
        "1 %",
        "50 %",
        "99 %",
        "99 %",
        "100 %",
    ]


def test_what_fast_leaves_out_is_told() -> None:
    page = Page(validation_page(RECORDS["fast"]))
    assert "were left out (--fast)" in page.text
    assert "Mutants of the reference" not in page.text
    assert "were left out" not in Page(validation_page(WEAK)).text


def test_an_exercise_without_a_library_says_so_and_has_no_matrix() -> None:
    page = Page(validation_page(RECORDS["nothing"]))
    assert "There is no library of known mistakes" in page.text
    assert "no mistake tried" in page.text
    assert "Kill matrix" not in page.text


# --- The kill matrix ------------------------------------------------------------------------------


def test_limits_that_follow_the_reference_are_told_where_there_are_any() -> None:
    page = Page(validation_page(RECORDS["weak"])).text
    assert "Time limit here of the longest call, in one_row: 32 s, 10 times 150 workloads" in page
    assert "A workload takes 0.021 s of processor time here." in page
    assert "workload" not in Page(validation_page(RECORDS["nothing"])).text


def test_columns_go_by_case_file_and_clause_and_are_marked() -> None:
    files, numbers, cases, public, chosen, kills = kill_table(validation_page(WEAK))[:6]
    assert files == ["Case file", "isolating", "random", "relations"]
    assert numbers == ["Clause", "1", "2", "2", "3"]
    assert cases == ["Case", "one_row", "two_keys", "drawn_1", "kept"]
    assert public == ["Public", "✓", "✓", "", "✓"]
    assert chosen == ["Small set", "★", "", "★", ""]
    assert kills == ["Mistakes it kills", "2", "1", "2", "0"]


def test_rows_go_by_clause_and_a_cell_says_by_its_sign_how_the_case_kills() -> None:
    assert kill_table(validation_page(WEAK))[6:] == [
        ["2 Attention scores 2 mistakes"],
        ["no_scale", "2", "●", "", "○", ""],
        ["scale_twice", "1", "○", "", "", ""],
        ["3 Separate examples 1 mistake"],
        ["causal", "0", "", "", "", ""],
        ["Worked wrong submissions 1 mistake"],
        ["worked_wrong", "2", "", "●", "●", ""],
    ]


@EVERY
def test_the_signs_in_the_matrix_are_the_kills_of_the_record(kind: str) -> None:
    record = RECORDS[kind]
    if not record.matrix.mistakes:
        return
    rows = kill_table(validation_page(record))
    ids = rows[2][1:]
    assert sorted(ids) == sorted(record.matrix.cases)
    found = {row[0]: dict(zip(ids, row[2:], strict=True)) for row in rows[6:] if len(row) > 1}
    assert sorted(found) == sorted(record.matrix.mistakes)
    for mistake, cells in found.items():
        assert {c for c, sign in cells.items() if sign} == set(record.matrix.killed[mistake])
        assert {c for c, sign in cells.items() if sign == "●"} == set(record.matrix.with_margin[mistake])


def test_the_case_and_the_mistake_of_a_clause_are_shaded() -> None:
    source = validation_page(WEAK)
    shaded = re.findall(r'<td class="([km] )?o">', source)
    # Two mistakes of the scores, two cases of theirs; one mistake and one case of the examples.
    assert len(shaded) == 2 * 2 + 1


def test_a_header_cell_tells_what_the_case_or_the_mistake_is() -> None:
    titles = Page(validation_page(WEAK)).values("title")
    assert "A single row" in titles
    assert f"Scores are not scaled. · {LIBRARY}:10" in titles


def test_survivors_and_cases_that_kill_nothing_are_named() -> None:
    text = " ".join(Page(validation_page(WEAK)).text.split())
    assert "1 mistake not caught causal" in text
    assert "1 case that kills nothing kept" in text


def test_a_large_library_stays_below_a_megabyte_and_a_half() -> None:
    cases = tuple(f"a_case_with_a_rather_long_name_{n:03}" for n in range(100))
    mistakes = tuple(f"a_mistake_with_a_rather_long_name_{n:03}" for n in range(274))
    every = dict.fromkeys(mistakes, cases)
    public = PublicShare(KillMatrix(mistakes, cases, every, every))
    large = replace(
        WEAK,
        matrix=KillMatrix(mistakes, cases, every, every),
        public=public,
        suite=tuple(CaseInfo(c, "t" * 60, "scores", "random", "public", 1.0) for c in cases),
        mistakes=tuple(MistakeInfo(m, "misconception", "t" * 60, "scores", LIBRARY, 1) for m in mistakes),
        margins=tuple(CaseMargin(c, "scores", 6e-8, 6e-7, mistakes[0], 1e-6, "w" * 300) for c in cases),
    )
    source = validation_page(large)
    assert len(source.encode()) < 1_500_000
    assert source.count("●</td>") == 27_400


# --- Mutants --------------------------------------------------------------------------------------


def test_mutants_are_counted_by_operator() -> None:
    assert table(Page(validation_page(WEAK)), "Operator")[1:] == [
        ["axis", "10", "7", "5", "0", "1", "2"],
        ["constant", "2", "1", "1", "1", "0", "0"],
        ["All", "12", "8", "6", "1", "1", "2"],
    ]
    unknown = replace(WEAK, mutants=replace(WEAK.mutants, with_margin={}))
    assert [row[3] for row in table(Page(validation_page(unknown)), "Operator")[1:]] == ["–", "–", "6"]


def test_survivors_are_listed_with_reason_and_figures_holes_first() -> None:
    page = Page(validation_page(WEAK))
    survivors, equivalent = [t for t in page.tables if t[0][0] == "Place"]
    assert [row[0] for row in survivors[1:]] == [f"{LIBRARY}:31", "model.py:12", "model.py:9"]
    assert ["open hole" in row[2] for row in survivors[1:]] == [True, True, False]
    assert survivors[3][1:] == ["0.04 -> 0.05", "≈ inside rounding", "at most 0.2 × it"]
    assert "known mistake causal" in survivors[1][1]
    assert [row[0] for row in equivalent[1:]] == ["model.py:3"]


# --- Margins --------------------------------------------------------------------------------------


def test_the_poorest_margin_comes_first_and_what_has_none_last() -> None:
    assert [m.case for m in poorest_first(WEAK.margins)] == ["one_row", "two_keys", "drawn_1"]
    rows = table(Page(validation_page(WEAK)), "Nearest mistake")
    assert [row[0] for row in rows[1:]] == ["one_row", "two_keys", "drawn_1"]
    assert rows[1][2:] == ["6e-08", "6e-07", "10 ×", "no_scale", "1.2e-06", "2 ×"]
    assert rows[3][5:] == ["–", "–", "–"]


def test_advice_is_shown_and_never_folded_away() -> None:
    many = tuple(
        CaseMargin(f"c{n}", "scores", 6e-8, 6e-7, "no_scale", 1e-6 * (n + 1), f"advice {n}.")
        for n in range(40)
    )
    view = validation_view(replace(WEAK, margins=many))
    assert [i.margin.case for i in view["first_margins"]] == [f"c{n}" for n in range(40)]
    assert view["more_margins"] == []
    text = Page(validation_page(replace(WEAK, margins=many))).text
    assert all(f"advice {n}." in text for n in range(40))


def test_margins_are_drawn_on_one_scale() -> None:
    scale = margin_scale(WEAK.margins)
    assert (scale.low, scale.high) == (-8, 0)
    assert scale.at(1e-8) < scale.at(6e-8) < scale.at(6e-7) < scale.at(1.2e-6) < scale.at(1.0)
    assert scale.at(1e-4) == pytest.approx((scale.at(1e-8) + scale.at(1.0)) / 2)
    assert scale.at(0.0) == scale.at(1e-8) and scale.at(1e9) == scale.at(1.0)


@pytest.mark.parametrize(
    "odd",
    [
        CaseMargin("c", "scores", 0.0, 0.0),
        CaseMargin("c", "scores", 0.0, 6e-7, "m", 0.0),
        CaseMargin("c", "scores", 1e-7, 1e-7, "m", 1e300),
        CaseMargin("c", "", 1.0, 1.0, "m", 1.0),
    ],
)
def test_margins_of_any_size_are_drawn(odd: CaseMargin) -> None:
    page = assert_inert(validation_page(replace(WEAK, margins=(odd,))))
    across = [place for path in page.values("d") for place in re.findall(r"[MH]([^ vlH]+)", path)]
    across += page.values("cx") + page.values("x")
    assert across and all(0 <= float(place) <= 420 for place in across)


def test_ratios_are_short() -> None:
    assert [times(r) for r in (0.123, 2.345, 29.3, 1472.3, 3.1e9, None)] == [
        "0.12 ×",
        "2.3 ×",
        "29 ×",
        "1,472 ×",
        "3e+09 ×",
        "",
    ]


# --- Clauses, public cases, sets ------------------------------------------------------------------


def test_clauses_tell_cases_mistakes_points_and_whether_their_own_cases_fail() -> None:
    rows = table(Page(validation_page(WEAK)), "Known mistakes")
    assert rows[1:] == [
        ["1", "Token embeddings embedding", "1", "0", "3", "0", "– no known mistake"],
        ["2", "Attention scores scores", "1", "1", "4", "2", "✓ yes for 1 of 2"],
        ["3", "Separate examples examples", "1", "0", "0.5", "1", "✗ no for 0 of 1"],
        ["", "All", "3", "1", "7.5", "3", ""],
    ]


def test_public_cases_alone_stand_beside_all_cases() -> None:
    assert table(Page(validation_page(WEAK)), "All cases")[1:] == [
        ["Cases", "4", "3"],
        ["Mistakes caught", "3 of 4, 75 %", "3 of 4, 75 %"],
        ["Caught with margin", "2 of 4, 50 %", "2 of 4, 50 %"],
        ["Cases that kill nothing", "1 of 4, 25 %", "1 of 3, 33 %"],
        ["Mutants killed, of those that can be", "8 of 10, 80 %", "6 of 10, 60 %"],
        ["Cases that kill as much as all do", "2", "2"],
    ]


def test_sets_groups_and_what_public_cases_miss_are_named() -> None:
    text = " ".join(Page(validation_page(WEAK)).text.split())
    assert "All cases: 2 of 4 kill as much as all of them" in text
    assert "Found by greedy set cover; mutants count too. drawn_1 one_row" in text
    assert "Public cases alone: 2 of 3" in text
    assert "Mistakes that no public case kills causal" in text
    assert "Mutants that no public case kills model.py:12:axis:1 model.py:13:axis:1" in text
    assert "no_scale scale_twice" in text and "first second third" in text
    none = " ".join(Page(validation_page(replace(WEAK, indistinguishable=()))).text.split())
    assert "There are none: any two known mistakes" in none


# --- The record, and the command ------------------------------------------------------------------


def test_the_record_says_what_its_cases_mistakes_and_clauses_are(tmp_path: Path) -> None:
    stepped.write(tmp_path)
    freeze_exercise(tmp_path)
    record = Validator(stepped.load_source(tmp_path)).run(fast=True)
    assert [c.id for c in record.suite] == list(record.matrix.cases)
    assert [m.name for m in record.mistakes] == list(record.matrix.mistakes)
    assert {c.clause for c in record.suite} | {m.clause for m in record.mistakes} <= set(record.clauses)
    assert all(m.kind == "misconception" and m.title and m.line for m in record.mistakes)
    assert sum(c.points for c in record.suite) == record.cases["points"]
    assert sum(c.visibility == "public" for c in record.suite) == record.cases["public"]
    document = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert document["title"] == record.title
    assert [c["id"] for c in document["suite"]] == list(record.matrix.cases)
    assert [m["name"] for m in document["mistakes"]] == list(record.matrix.mistakes)
    assert_inert(validation_page(record))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder with the small exercise."""
    write_exercise(tmp_path / "root")
    freeze_exercise(tmp_path / "root")
    return tmp_path / "root"


def test_html_writes_the_page_and_json_the_document(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = grader("validate", "row_scale", "--fast", "--json", "--html", page, cwd=root)
    assert done.status == 0 and done.json["sound"] is True
    read = assert_inert(page.read_text("utf-8"))
    assert done.json["title"] in read.text and "Sound" in read.text


def test_html_writes_the_page_beside_the_terminals_report(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = grader("validate", "row_scale", "--fast", "--html", page, cwd=root)
    assert done.status == 0 and "sound" in done.out
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(("name", "said"), [("", "is a folder"), ("no/such/page.html", "there is no folder")])
def test_a_page_that_can_not_be_written_is_told_before_anything_is_checked(
    root: Path, tmp_path: Path, name: str, said: str
) -> None:
    done = grader("validate", "row_scale", "--fast", "--json", "--html", tmp_path / name, cwd=root)
    assert done.status == 2
    assert said in done.err and str(tmp_path) in done.err and "Traceback" not in done.err
    assert said in done.json["error"]


def test_a_page_that_turns_out_not_to_be_writable_leaves_the_document(root: Path) -> None:
    done = grader("validate", "row_scale", "--fast", "--json", "--html", "/dev/full", cwd=root)
    assert done.status == 2
    assert "/dev/full can't be written: No space left on device" in done.err
    assert done.json["sound"] is True
