"""What a pack has to say about each of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.small import build

from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.judge.explanations import PAGES
from grader.judge.terms import TERMS, VERDICT_WORDS
from grader.judge.topics import KINDS, OTHER_VERDICTS, caught, find, listing
from grader.report import texts
from grader.result import HIDDEN_MESSAGES
from judge.answering import KNOWN, judged


@pytest.fixture(scope="module")
def student(stepped_root: Path) -> Pack:
    return build(stepped_root, student=True)


def test_everything_that_is_listed_can_be_found_by_its_id(stepped: Pack) -> None:
    listed = listing(stepped)
    assert {topic["kind"] for topic in listed} == set(KINDS)
    for topic in listed:
        found = find(stepped, topic["id"])
        assert (topic["kind"], topic["id"], topic["title"]) in [
            (f["kind"], f["id"], f["title"]) for f in found
        ]


def test_every_verdict_has_a_page() -> None:
    assert set(HIDDEN_MESSAGES) | {"not_loadable"} == set(PAGES) | set(OTHER_VERDICTS)


@pytest.mark.parametrize(
    "name", ["a row of equal numbers", "A row of  equal numbers.", "ONES-ROW", "ones row"]
)
def test_a_title_and_another_spelling_do_as_well(stepped: Pack, name: str) -> None:
    assert [(t["kind"], t["id"]) for t in find(stepped, name)] == [("case", "ones_row")]


def test_a_name_of_two_kinds_gives_both(stepped: Pack) -> None:
    rule = {**stepped.exercise.policy["rules"][0], "id": "scale"}
    policy = {**stepped.exercise.policy, "rules": [rule]}
    both = replace(stepped, exercise=replace(stepped.exercise, policy=policy))
    assert [t["kind"] for t in find(both, "scale")] == ["clause", "rule"]


def test_an_id_goes_before_a_title(stepped: Pack) -> None:
    # Scale is the title of the clause scale, and would be that of nothing else.
    (clause,) = find(stepped, "Scale")
    assert clause["kind"] == "clause" and clause["text"].startswith("Each row")


def test_a_case_tells_what_it_asks_and_gives(stepped: Pack) -> None:
    (case,) = find(stepped, "ones_row")
    assert case["dims"] == {"N": 1, "D": 4, "K": 3, "factor": 2}
    assert [i["name"] for i in case["inputs"]] == ["x", "w", "factor"]
    assert case["hint"] == "With x all ones the divisor is 2."
    assert case["expected"] == stepped.expected(stepped.cases[0]).tolist()
    assert case["allowed"] == stepped.cases[0].tolerance * stepped.cases[0].scale  # type: ignore[operator]
    (alone,) = find(stepped, "row_alone")
    assert alone["changes"] == ["x"] and "expected" not in alone
    assert alone["asks"] == (
        "Two calls are made: rows 0, 2 of the first answer must equal rows 1, 0 of the second."
    )
    assert alone["requires"] == ["ones_row"]


def test_every_check_has_a_sentence(stepped: Pack) -> None:
    said = {case.check: find(stepped, case.id)[0]["asks"] for case in stepped.cases}
    assert {
        "compare",
        "equals",
        "differs",
        "inputs_unchanged",
        "same_on_repeat",
        "output_not_aliased",
    } <= set(said)
    assert len(set(said.values())) == len(said)
    finite = replace(stepped.cases[0], check="finite")
    kept = replace(stepped.cases[0], check="earlier_answer_kept")
    for case in (finite, kept):
        changed = replace(stepped, cases=(case,))
        assert find(changed, case.id)[0]["asks"] not in said.values()


@pytest.mark.parametrize("mistake", [m for m in KNOWN if m != "half"])
def test_a_mistake_fails_every_case_that_is_said_to_catch_it(stepped: Pack, mistake: str) -> None:
    failed = {case.id for case in judged(stepped, KNOWN[mistake]).cases if case.failed}
    said = {case.id for case in stepped.cases if mistake in [one.id for one in caught(stepped, case)]}
    assert said <= failed
    # What is left unsaid is about two calls, or too close to be sure.
    values = {case.id for case in stepped.cases if case.check == "compare" and case.id in failed}
    assert mistake in ("noise", "in_place") or said >= values


def test_a_mistake_has_its_page_its_checks_and_its_smallest_input(stepped: Pack) -> None:
    (mistake,) = find(stepped, "mean_of_batch")
    assert [mistake[key].strip() for key in ("what", "why", "looks", "instead")] == ["a", "b", "c", "d"]
    assert mistake["clause_title"] == "Scale"
    assert "large_rows" in [case["id"] for case in mistake["caught_by"]]
    assert mistake["caught_by"][0]["id"] == "large_rows", "its own clause comes first"
    assert mistake["hidden"] == 3
    assert mistake["example"]["dims"] and mistake["example"]["expected"]


def test_a_mistake_that_stays_inside_rounding_has_a_page_too(stepped: Pack) -> None:
    (mistake,) = find(stepped, "last_digits")
    assert mistake["small"] and mistake["caught_by"] == [] and mistake["what"].strip() == "a"
    assert "last_digits" in [m["id"] for m in find(stepped, "scale")[0]["mistakes"]]
    assert not find(stepped, "mean_of_batch")[0]["small"]


def test_a_rule_has_the_form_of_a_page(stepped: Pack) -> None:
    (rule,) = find(stepped, "product_helpers")
    assert rule["why"] == "The product is what the exercise asks for." and rule["names"] == ["numpy.einsum"]
    assert rule["what"] and rule["looks"] == "" and rule["effect"] == {"no_points": True}


def test_a_students_pack_says_nothing_of_hidden_cases(stepped: Pack, student: Pack) -> None:
    hidden = [case.id for case in stepped.cases if case.visibility == "hidden"]
    assert hidden
    for name in hidden:
        assert find(stepped, name)[0]["visibility"] == "hidden"
        with pytest.raises(GraderError, match="nothing is called"):
            find(student, name)
    whole = {(t["kind"], t["id"]) for t in listing(stepped)}
    listed = {(t["kind"], t["id"]) for t in listing(student)}
    assert whole - listed == {("case", name) for name in hidden} and listed < whole
    text = str([find(student, topic["id"]) for topic in listing(student)])
    assert not [name for name in hidden if name in text]
    assert all(
        topic["hidden"] == 0
        for t in listing(student)
        for topic in find(student, t["id"])
        if "hidden" in topic
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ones_rows", "'ones_row'"),
        ("mean of batches", "'mean_of_batch'"),
        ("separate row", "'rows'"),
        ("wrong_valu", "'wrong_value'"),
        ("helpers", "'product_helpers'"),
    ],
)
def test_a_near_name_of_any_kind_is_told(stepped: Pack, name: str, near: str) -> None:
    with pytest.raises(GraderError) as raised:
        find(stepped, name)
    assert near in str(raised.value).partition("did you mean")[2]


@pytest.mark.parametrize("name", ["x_matter", "drawn_1", "drawn_x", "nothing at all", "", "?"])
def test_names_of_hidden_cases_are_not_told_to_someone_who_guesses(stepped: Pack, name: str) -> None:
    with pytest.raises(GraderError) as raised:
        find(stepped, name)
    told = str(raised.value).replace(repr(name), "")
    assert "x_matters" not in told and "drawn_0" not in told


# What someone reads in a report and looks up, and the page that says what it is.
LOOKED_UP = {
    "policy": "policy",
    "hidden": "hidden",
    "Hidden checks": "hidden",
    "public": "public",
    "visible": "public",
    "isolation": "isolation",
    "full": "isolation",
    "tolerance": "tolerance",
    "clause": "clause",
    "counterexample": "counterexample",
    "small example": "counterexample",
    "example": "counterexample",
    "influence map": "influence_map",
    "moves": "influence_map",
    "adjustment": "adjustment",
    "status": "status",
    "failed": "failed",
    "passed": "passed",
    "not loadable": "not_loadable",
    "grader fault": "grader_fault",
    "not counted": "skipped",
    "points": "score",
    "drawn": "check",
    "diagnosis": "mistake",
}


@pytest.mark.parametrize("name", LOOKED_UP)
def test_a_word_of_the_reports_has_a_page(stepped: Pack, student: Pack, name: str) -> None:
    for pack in (stepped, student):
        (topic,) = find(pack, name)
        assert topic["id"] == LOOKED_UP[name] and topic["what"]


@pytest.mark.parametrize("words", [texts.VERDICT_WORDS, texts.STATUS_WORDS], ids=["verdicts", "statuses"])
def test_every_verdict_and_status_is_found_as_reports_write_it(
    stepped: Pack, words: Mapping[str, str]
) -> None:
    for name, shown in words.items():
        assert [topic["id"] for topic in find(stepped, shown)] == [name]
        assert [topic["id"] for topic in find(stepped, name.replace("_", " "))] == [name]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("isolaton", "isolation"),
        ("hiden", "hidden"),
        ("influence mp", "influence_map"),
        ("wrong valus", "wrong_value"),
        ("small exampel", "counterexample"),
    ],
)
def test_a_mistyped_word_of_the_reports_is_known(stepped: Pack, name: str, near: str) -> None:
    with pytest.raises(GraderError, match=f"did you mean '{near}'"):
        find(stepped, name)


@pytest.mark.parametrize("name", TERMS)
def test_a_term_leads_to_pages_that_are_there(stepped: Pack, name: str) -> None:
    (topic,) = [t for t in find(stepped, name) if t["kind"] == "term"]
    term = TERMS[name]
    assert not term.see or topic["see"]
    listed = {(t["id"], t["title"]) for t in listing(stepped)}
    assert {(one["id"], one["title"]) for one in topic["see"]} <= listed
    for word in term.see:
        if word not in ("rules", "clauses", "verdicts"):
            assert word in [one["id"] for one in topic["see"]]
    for word in term.also:
        assert word not in TERMS and word not in VERDICT_WORDS and word == word.lower()


def test_a_name_of_the_exercise_goes_before_another_word_for_a_term(stepped: Pack) -> None:
    clauses = {**stepped.exercise.clauses, "map": {"title": "The map", "text": "A map."}}
    pack = replace(stepped, exercise=replace(stepped.exercise, clauses=clauses))
    assert [topic["kind"] for topic in find(pack, "map")] == ["clause"]
    assert [topic["id"] for topic in find(stepped, "map")] == ["influence_map"]
