"""Gradescope's ``results.json``.

Format: "Autograder Specifications", https://gradescope-autograders.readthedocs.io/en/latest/specs/. What is
relied on:

- A top-level ``score`` counts, whatever the tests' scores add up to.
- ``visibility`` of a test is ``visible``, ``after_due_date``, ``after_published`` or ``hidden``; while one is
  hidden, students do not see their total.
- ``stdout_visibility`` is ``hidden`` here: what the grader itself prints is for the teacher.
- ``text`` as ``output_format`` renders neither HTML nor Markdown.

A run in which the grader failed has no mark, and what becomes of that was read from the platform's harness,
which is part of its images (``harness.py``, version 0.15.1): it puts a 0 in place of a ``results.json`` that
is no JSON and of a run that takes too long, and passes a valid document on as it is. The specification
demands a score or tests. So the document of such a run is valid JSON with neither: the platform says that the
results are at fault, and nobody's 0 is written. The teacher reruns the autograder for that submission.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.report.exports.base import Exported, ExportOptions, save
from grader.report.exports.saying import case_lines, case_name, clause_title, summary, verdict
from grader.report.texts import clean, one_line
from grader.result import CaseResult, Result

FILE = "results.json"
# The platform cuts the middle out of longer texts.
MAX_OUTPUT = 50_000


def document(result: Result, options: ExportOptions | None = None) -> dict[str, Any]:
    """The document of one submission, with what its student may see; no score when the grader failed."""
    options = options or ExportOptions()
    result = result.for_student()
    if result.score is None:
        return failed(result.message)
    # Of a file that can't be loaded every line would say the same.
    told = () if result.status == "not_loadable" else result.cases
    tests = [_test(result, case, number, options) for number, case in enumerate(told, 1)]
    return {
        "score": result.score,
        "execution_time": round(result.timing.wall_s, 3),
        "output": clean("\n".join(summary(result)), MAX_OUTPUT),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "grader": {
                "exercise": one_line(str(result.exercise.get("name", "")), 200),
                "pack": one_line(str(result.exercise.get("pack", "")), 200),
                "status": result.status,
                "max_score": result.max_score,
                "isolation": one_line(result.isolation.level, 40),
            }
        },
        "tests": tests,
    }


def failed(message: str) -> dict[str, Any]:
    """The document of a run in which the grader failed: no score and no tests, so that no 0 is a mark."""
    return {
        "output": clean(
            f"The grader failed; this is not your fault and costs nothing. Your teacher has to run it again. "
            f"({message})",
            MAX_OUTPUT,
        ),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"grader": {"status": "grader_fault"}},
    }


def nothing_handed_in(message: str) -> dict[str, Any]:
    """The document of a submission without anything that could be graded, which is worth nothing."""
    return {
        "score": 0.0,
        "output": clean(message, MAX_OUTPUT),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"grader": {"status": "not_loadable"}},
        "tests": [],
    }


def dumps(results: dict[str, Any]) -> str:
    """The text of the file; plain ASCII, so that every reader takes it."""
    return json.dumps(results, allow_nan=False, indent=1) + "\n"


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``results.json`` of one record, or ``ID/results.json`` of several. Raises GraderError."""
    kept = list(results)
    if not kept:
        raise GraderError("there is no record to export")
    paths = []
    faults = []
    for result in kept:
        below = folder / result.submission.id if len(kept) > 1 else folder
        paths.append(save(below / FILE, dumps(document(result, options))))
        if result.score is None:
            faults.append(one_line(result.submission.id, 80))
    warnings = [f"without a score, since the grader failed: {', '.join(faults[:20])}"] if faults else []
    return Exported(tuple(paths), tuple(warnings))


def _test(result: Result, case: CaseResult, number: int, options: ExportOptions) -> dict[str, Any]:
    tags = [clause_title(result, case)] + (["extra credit"] if case.extra else [])
    lines = [verdict(case)]
    if case.verdict != "passed":
        lines += case_lines(result, case)
    return {
        "name": case_name(result, case),
        "number": str(number),
        "score": case.points,
        # What is beyond the full marks is not part of what can be had.
        "max_score": 0.0 if case.extra else case.max_points,
        "status": "passed" if case.verdict == "passed" else "failed",
        "output": clean("\n".join(lines), MAX_OUTPUT),
        "tags": tags,
        "visibility": options.hidden if case.visibility == "hidden" else "visible",
    }
