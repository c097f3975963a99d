"""Worked submissions: each with the result that it must get, and the ways in which it may not get it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.authoring.worked import (
    Disagreement,
    Expected,
    disagreements,
    failing_clauses,
    read_worked,
    unknown_names,
)
from grader.errors import Problem
from grader.result import CaseResult, Isolation, PolicyResult, Result, SubmissionInfo, Violation


def case(clause: str, verdict: Any) -> CaseResult:
    return CaseResult("x", "g", "", clause, "public", verdict, 0, 1)


CASES = (
    case("softmax", "wrong_value"),
    case("scores", "passed"),
    case("inputs", "skipped"),
    case("gelu", "grader_fault"),
)
RESULT = Result(
    exercise={},
    submission=SubmissionInfo("a", "a", ("a",), "a.py", ""),
    status="failed",
    score=2.0,
    max_score=4.0,
    message="m",
    isolation=Isolation("none", ()),
    cases=CASES,
)
VIOLATED = replace(
    RESULT,
    score=0.0,
    policy=PolicyResult("violated", (Violation("softmax", "torch.softmax", 12, 4, "static", "m"),)),
)


def expected(**keys: Any) -> Expected:
    return Expected.model_validate({"status": "failed", "score": "partial"} | keys)


def said_of(found: list[Disagreement]) -> list[str]:
    return [one.message for one in found]


def test_what_is_as_expected_disagrees_in_nothing() -> None:
    assert disagreements(expected(loses=["softmax"], keeps=["scores", "inputs", "gelu"]), RESULT) == []
    named = replace(RESULT, diagnoses=({"ids": ["causal", "no_scale"]}, {"message": "it raised"}))
    assert disagreements(expected(names=["no_scale"]), named) == []
    violated = expected(score="zero", policy={"status": "violated", "rules": ["softmax"], "lines": [12]})
    assert disagreements(violated, VIOLATED) == []


PARTIAL = "partial (more than 0 and less than 4)"
BELOW = "below full (less than 4)"


@pytest.mark.parametrize(
    ("keys", "result", "said"),
    [
        ({"status": "passed"}, RESULT, "status failed, expected passed (m)"),
        ({"score": "full"}, RESULT, "score 2 of 4, expected full (4 or more)"),
        ({"score": "zero"}, RESULT, "score 2 of 4, expected zero"),
        ({"score": "partial"}, replace(RESULT, score=0.0), f"score 0 of 4, expected {PARTIAL}"),
        ({"score": "partial"}, replace(RESULT, score=4.0), f"score 4 of 4, expected {PARTIAL}"),
        ({"score": "below_full"}, replace(RESULT, score=4.0), f"score 4 of 4, expected {BELOW}"),
        ({"score": "below_full"}, replace(RESULT, score=4.5), f"score 4.5 of 4, expected {BELOW}"),
        ({"loses": ["scores"]}, RESULT, "loses nothing in the clause scores"),
        ({"loses": ["inputs"]}, RESULT, "loses nothing in the clause inputs"),
        ({"keeps": ["softmax"]}, RESULT, "loses points in the clause softmax, which it should keep"),
        ({"names": ["causal"]}, RESULT, "the report does not name the mistake causal"),
        ({"score": "zero"}, VIOLATED, "policy violated, expected clean"),
        ({"policy": {"status": "violated"}}, RESULT, "policy clean, expected violated"),
        (
            {"score": "zero", "policy": {"status": "violated", "rules": ["gelu"]}},
            VIOLATED,
            "no violation of the rule gelu",
        ),
        (
            {"score": "zero", "policy": {"status": "violated", "lines": [13]}},
            VIOLATED,
            "no violation named in line 13",
        ),
    ],
)
def test_each_way_to_disagree_is_told(keys: Any, result: Result, said: str) -> None:
    assert said_of(disagreements(expected(**keys), result)) == [said]


LINES = """\
status: failed
score: zero
loses:
  - scores
  - softmax
keeps:
  - scores
  - softmax
names: [causal,
  casual]
policy:
  status: violated
  rules: [softmax,
    gelu]
  lines:
    - 12
    - 13
"""


def test_a_disagreement_has_the_line_of_its_key(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "a.expected.yaml").write_text(LINES)
    (worked,) = read_worked(tmp_path, [])
    pack: Any = SimpleNamespace(
        exercise=SimpleNamespace(clauses={"scores": ""}, policy={}),
        known=SimpleNamespace(mistakes=[SimpleNamespace(id="causal")]),
    )
    told = [*unknown_names(worked.expected, pack), *disagreements(worked.expected, VIOLATED)]
    assert [(worked.item.line(*one.key), one.message) for one in told] == [
        (5, "unknown clause 'softmax'; known here: scores"),
        (8, "unknown clause 'softmax'; known here: scores"),
        (10, "unknown mistake 'casual'; did you mean 'causal'?"),
        (13, "unknown rule 'softmax'; known here: "),
        (14, "unknown rule 'gelu'; known here: "),
        (4, "loses nothing in the clause scores"),
        (8, "loses points in the clause softmax, which it should keep"),
        (9, "the report does not name the mistake causal"),
        (10, "the report does not name the mistake casual"),
        (14, "no violation of the rule gelu"),
        (17, "no violation named in line 13"),
    ]
    other = replace(RESULT, status="passed", score=1.0)
    told = disagreements(worked.expected, other)
    assert [worked.item.line(*one.key) for one in told] == [1, 2, 4, 8, 9, 10, 12, 13, 14, 16, 17]


@pytest.mark.parametrize(
    ("score", "fits"),
    # 4.5 is with extra credit.
    [("full", {4.0, 4.5}), ("zero", {0.0}), ("partial", {0.5, 3.5}), ("below_full", {0.0, 0.5, 3.5})],
)
def test_scores_are_full_zero_partial_or_below_full(score: str, fits: set[float]) -> None:
    for points in (0.0, 0.5, 3.5, 4.0, 4.5):
        said = disagreements(expected(score=score), replace(RESULT, score=points))
        assert (not said) == (points in fits)


def test_skipped_cases_and_faults_of_the_grader_lose_nothing() -> None:
    assert failing_clauses(CASES) == {"softmax"}


def test_submissions_are_read_with_what_stands_beside_them(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("x = 1\n")
    (tmp_path / "b.expected.yaml").write_text("status: failed\nscore: partial\nloses: [softmax]\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "a.expected.yaml").write_text("status: passed\nscore: full\n")
    problems: list[Problem] = []
    worked = list(read_worked(tmp_path, problems))
    assert problems == []
    assert [w.path.name for w in worked] == ["a.py", "b.py"]
    assert worked[1].expected.loses == ["softmax"]
    assert worked[1].expected.policy.status == "clean"
    assert worked[1].file.endswith("b.expected.yaml")


@pytest.mark.parametrize(
    ("text", "line", "key", "said"),
    [
        ("status: passed\nscore: half\n", 2, "score", "found 'half'"),
        ("status: passed\n", 1, "score", "is missing"),
        ("status: passed\nscore: full\nlooses: [a]\n", 3, "looses", "did you mean 'loses'?"),
        ("status: passed\nscore: full\npolicy: {status: dirty}\n", 3, "policy.status", "found 'dirty'"),
        ("", 1, "", "expected a mapping with the keys status, score"),
    ],
)
def test_faults_of_an_expectation_have_line_and_key(
    tmp_path: Path, text: str, line: int, key: str, said: str
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "a.expected.yaml").write_text(text)
    (tmp_path / "b.py").write_text("x = 1\n")
    (tmp_path / "b.expected.yaml").write_text("status: passed\nscore: full\n")
    problems: list[Problem] = []
    assert [w.path.name for w in read_worked(tmp_path, problems)] == ["b.py"], "the rest goes on"
    (problem,) = problems
    assert (problem.line, problem.key) == (line, key)
    assert said in problem.message


def test_a_submission_without_an_expectation_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    problems: list[Problem] = []
    assert list(read_worked(tmp_path, problems)) == []
    assert [p.message for p in problems] == ["has no a.expected.yaml beside it"]
