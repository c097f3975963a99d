"""Results as GitHub Classroom's autograding reporter takes them.

A step of a workflow gives its results as an output, JSON in Base64, and the reporter
(``classroom-resources/autograding-grading-reporter``) gets it in the environment as ``ID_RESULTS``. What is
relied on was read from its source (``src/main.js``, ``src/notify-classroom.js``,
``src/helpers/test-helpers.js``): ``status`` is ``pass``, ``fail`` or ``error``; the points are the sum of
``score`` over ``tests``, out of ``max_score``; of a test ``name``, ``status`` and ``line_no`` are printed.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from grader.report.exports.saying import clause_title
from grader.report.figures import points
from grader.report.texts import STATUS_WORDS, one_line
from grader.result import UNJUDGED, CaseResult, Result

# The system takes no single variable of 128 KiB; Base64 makes four bytes of three.
MAX_BYTES = 90_000


def document(result: Result) -> dict[str, Any] | None:
    """The results of one submission, with what its student may see; None when the grader failed.

    A line for each clause tells its points in words; the score is that of one line more, so that the sum is
    the score to the last digit, whatever gates, adjustments and rounding made of the cases' points.
    """
    if result.score is None:
        return None
    result = result.for_student()
    clauses: dict[str, list[CaseResult]] = {}
    for case in result.cases:
        if case.verdict not in UNJUDGED:
            clauses.setdefault(case.clause, []).append(case)
    # Of a file that can't be loaded every line would say the same.
    told = {} if result.status == "not_loadable" else clauses
    tests = [_clause(result, cases) for cases in told.values()]
    name = one_line(str(result.exercise.get("title") or result.exercise.get("name", "")), 160)
    total = f"{name}: {points(result.score)} of {points(result.max_score)} points"
    tests.append(_test(total, result.status == "passed", result.score, STATUS_WORDS[result.status]))
    found = {
        "version": 1,
        "status": "pass" if result.status == "passed" else "fail",
        "max_score": result.max_score,
        "tests": tests,
    }
    excess = len(_dumps(found)) - MAX_BYTES
    while excess > 0 and len(tests) > 1:
        excess -= len(_dumps(tests.pop(0))) + len(", ")
    return found


def nothing_handed_in(name: str, max_score: float, message: str) -> dict[str, Any]:
    """The results where there is nothing that could be graded, which is worth nothing."""
    test = _test(one_line(name, 160), False, 0, one_line(message, 300)) | {"status": "error"}
    return {"version": 1, "status": "error", "max_score": max_score, "tests": [test]}


def encoded(found: dict[str, Any] | None) -> str:
    """The output of the step; empty when the grader failed, which is never a mark."""
    return "" if found is None else base64.b64encode(_dumps(found)).decode("ascii")


def _dumps(found: Any) -> bytes:
    return json.dumps(found, allow_nan=False).encode("ascii")


def _clause(result: Result, cases: list[CaseResult]) -> dict[str, Any]:
    got, most = sum(c.points for c in cases), sum(c.max_points for c in cases)
    name = f"{clause_title(result, cases[0])}: {points(round(got, 4))} of {points(round(most, 4))} points"
    failing = [c for c in cases if c.failed]
    return _test(name, not failing, 0, one_line(failing[0].message, 300) if failing else "")


def _test(name: str, passed: bool, score: float | None, message: str) -> dict[str, Any]:
    return {
        "name": name,
        "status": "pass" if passed else "fail",
        "score": score,
        "message": message,
        "test_code": "",
        "filename": "",
        "line_no": 0,
        "duration": 0,
    }
