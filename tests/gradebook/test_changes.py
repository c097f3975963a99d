"""What another pack has changed is told submission by submission."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradebook.books import case, result
from grader.errors import GraderError
from grader.gradebook.changes import CaseChange, Changes, Side, changes
from grader.gradebook.journal import Gradebook
from grader.result import Result

P, Q, R = ("sha256:" + letter * 64 for letter in "pqr")


def told(tmp_path: Path, *results: Result, since: str = "") -> Changes:
    with Gradebook(tmp_path, "row_scale") as book:
        for one in results:
            book.add(one)
        return changes(book, since)


def judged(name: str, pack: str, score: float | None = 1.0, **verdicts: Any) -> Result:
    return result(name, score, pack, cases=tuple(case(key, verdict) for key, verdict in verdicts.items()))


def test_scores_statuses_and_verdicts_are_held_against_those_of_the_pack_before(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        judged("ann", P, 2.0, one="passed", two="wrong_value", gone="passed"),
        judged("bob", P, 1.0, one="passed"),
        judged("cem", P, 1.0, one="passed"),
        judged("dan", Q, 1.0, one="passed"),
        judged("ann", Q, 2.5, one="passed", two="raised", new="passed"),
        judged("bob", Q, 1.0, one="passed"),
        judged("bob", Q, 1.0, one="passed"),
    )
    assert found.compared == 2
    (ann,) = found.changed
    assert ann.submission.id == "ann" and not ann.anew
    assert (ann.before, ann.after) == (Side(P, "passed", 2.0, 2.0), Side(Q, "passed", 2.5, 2.0))
    assert ann.cases == (
        CaseChange("two", "wrong_value", "raised"),
        CaseChange("new", "", "passed"),
        CaseChange("gone", "passed", ""),
    )
    assert json.loads(json.dumps(found.to_dict())) == {
        "compared": 2,
        "changed": [
            {
                "id": "ann",
                "name": "Ann",
                "before": {"pack": P, "status": "passed", "score": 2.0, "max_score": 2.0},
                "after": {"pack": Q, "status": "passed", "score": 2.5, "max_score": 2.0},
                "cases": [
                    {"id": "two", "before": "wrong_value", "after": "raised"},
                    {"id": "new", "before": "", "after": "passed"},
                    {"id": "gone", "before": "passed", "after": ""},
                ],
                "anew": False,
            }
        ],
    }


def test_of_several_packs_it_is_the_last_other_one_or_the_one_that_is_named(tmp_path: Path) -> None:
    results = [judged("ann", pack, score) for pack, score in ((P, 0.0), (Q, 0.5), (R, 1.0), (R, 2.0))]
    (last,) = told(tmp_path, *results).changed
    assert (last.before.score, last.after.score) == (0.5, 2.0)
    for since in (P, P[:12], "pppp", "p" * 64):
        (named,) = told(tmp_path, since=since).changed
        assert (named.before.score, named.after.score) == (0.0, 2.0)
    assert told(tmp_path, since=R) == Changes(0, ()), "nothing is newer"


def test_the_last_result_by_the_other_pack_counts(tmp_path: Path) -> None:
    results = [judged("ann", pack, score) for pack, score in ((P, 0.0), (P, 0.5), (Q, 1.0))]
    (found,) = told(tmp_path, *results).changed
    assert found.before.score == 0.5


def test_faults_of_the_grader_are_passed_over(tmp_path: Path) -> None:
    results = [judged("ann", P, 0.0), judged("ann", Q, None), judged("ann", R, 1.0)]
    (found,) = told(tmp_path, *results).changed
    assert found.before == Side(P, "passed", 0.0, 2.0)
    assert told(tmp_path, judged("ann", Q, None)) == Changes(0, ())


def test_a_file_that_was_handed_in_anew_is_told(tmp_path: Path) -> None:
    after = judged("ann", Q, 2.0)
    after = replace(after, submission=replace(after.submission, digest="sha256:other"))
    (found,) = told(tmp_path, judged("ann", P, 0.0), after).changed
    assert found.anew


def test_a_pack_that_is_not_there_or_not_one_is_told(tmp_path: Path) -> None:
    other = P[:-1] + "x"
    results = [judged("ann", pack) for pack in (P, other, Q)]
    with pytest.raises(GraderError) as caught:
        told(tmp_path, *results, since="sha256:zzzz")
    assert str(caught.value) == (
        f"no pack begins with 'sha256:zzzz'; {tmp_path / 'gradebook.sqlite'} has results by these, "
        f"the last one first: {Q[:19]}, {other[:19]}, {P[:19]}"
    )
    with pytest.raises(GraderError, match="several packs begin with 'pppp'"):
        told(tmp_path, since="pppp")
    with pytest.raises(GraderError, match="name at least 4 characters of the pack that begins with 'q'"):
        told(tmp_path, since="q")
    assert told(tmp_path, since=P).compared == 1


def test_an_empty_gradebook_has_no_changes(tmp_path: Path) -> None:
    assert told(tmp_path) == Changes(0, ())
