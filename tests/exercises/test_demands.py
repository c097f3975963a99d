"""What every exercise here has: enough cases, known mistakes, worked submissions, a statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.worked import Worked, read_worked
from grader.errors import Problem
from grader.exercise.misconceptions import load_misconceptions
from grader.exercise.source import ExerciseSource, load
from grader.handout.kept_back import told_of_hidden
from grader.handout.starter import starter_text
from grader.handout.statement import read_statement, statement_path

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.parent.name for path in (ROOT / "cases").glob("*/exercise.yaml"))
CASES, MISTAKES, RIGHT, WRONG = 25, 20, 3, 8


@pytest.fixture(params=NAMES, scope="module")
def source(request: pytest.FixtureRequest) -> ExerciseSource:
    return load(ROOT / "cases" / request.param)


def worked(source: ExerciseSource) -> list[Worked]:
    problems: list[Problem] = []
    found = list(read_worked(ROOT / "submissions" / source.name, problems))
    assert not problems
    return found


def test_it_is_frozen_from_what_is_there(source: ExerciseSource) -> None:
    source.require_fresh_frozen()


def test_it_has_enough_cases(source: ExerciseSource) -> None:
    cases = source.cases(source.require_fresh_frozen().batches)
    assert len(cases) >= CASES
    assert {case.case.visibility for case in cases} == {"public", "hidden"}


def test_every_single_public_case_has_a_hint(source: ExerciseSource) -> None:
    bare = [e.spec.id for e in source.entries if e.spec.visibility == "public" and not e.spec.hint.strip()]
    assert not bare


def test_it_has_enough_known_mistakes(source: ExerciseSource) -> None:
    library = load_misconceptions(source.reference_folder, list(source.exercise.clauses))
    assert sum(not one.small for one in library) >= MISTAKES


def test_it_has_worked_submissions_right_and_wrong(source: ExerciseSource) -> None:
    found = worked(source)
    right = [one for one in found if one.expected.status == "passed" and one.expected.score == "full"]
    wrong = [one for one in found if one.expected.status == "failed"]
    wrong = [one for one in wrong if one.expected.policy.status == "clean"]
    assert len(right) >= RIGHT
    assert len(wrong) >= WRONG
    assert all(one.expected.loses for one in wrong), "a wrong one says in which clause it fails"


def test_helpers_are_banned(source: ExerciseSource) -> None:
    assert source.policy.rules


def test_the_statement_can_be_shown(source: ExerciseSource) -> None:
    path = statement_path(source)
    assert not read_statement(path.read_bytes(), path.name).problems


def test_statement_and_starter_tell_nothing_of_hidden_cases(source: ExerciseSource) -> None:
    path = statement_path(source)
    statement = read_statement(path.read_bytes(), path.name)
    placed = source.cases(source.require_fresh_frozen().batches)
    assert not told_of_hidden(statement, starter_text(source), placed)


def test_the_rulings_are_written_down(source: ExerciseSource) -> None:
    assert len((ROOT / "cases" / source.name / "README.md").read_text("utf-8").split()) > 80
