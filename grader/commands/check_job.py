"""What ``grader check --format github`` tells the job that runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grader.commands import job
from grader.errors import GraderError
from grader.report.exports import classroom, github
from grader.report.github.workflow import code, command

if TYPE_CHECKING:
    from grader.exercise.pack import Pack
    from grader.intake.submission import Submission
    from grader.result import Result


def tell_fault(error: GraderError) -> None:
    """What keeps a check from being made, or its page from being written."""
    job.annotate([command("error", str(error), {"title": "The check could not be finished"})])
    job.add_summary(f"### Grader\n\nThe check could not be finished: {code(str(error), 1_000)}\n")


def tell_results(pack: Pack, checked: Sequence[tuple[Submission, Result]], problems: Sequence[str]) -> None:
    """Annotations, the summary, and the outputs of the step.

    The outputs are ``passed``, ``true`` when all has full marks, and of a single submission ``score`` and
    ``max-score`` (empty when the grader failed) and ``result``, what Classroom's reporter takes.
    """
    entry = pack.exercise.entry
    for submission, result in checked:
        path = Path(submission.path)
        # What lies within an archive is no file of the repository.
        base = str(PurePosixPath(job.where(str(path))).parent) if path.is_file() else ""
        line = entry_line(submission.source or "", entry)
        job.annotate(github.annotate(result, "" if base == "." else base, line))
    job.annotate(command("error", problem, {"title": "Not graded"}) for problem in problems)
    results = [result for _, result in checked]
    if results:
        job.add_summary(github.summary([result.for_student() for result in results]))
    for problem in problems:
        job.add_summary(f"\nNot graded: {code(problem, 1_000)}\n")
    passed = bool(results) and not problems and all(result.status == "passed" for result in results)
    job.set_output("passed", str(passed).lower())
    if len(results) == 1:
        (result,) = results
        scored = result.score is not None
        job.set_output("score", _mark(result.score) if scored else "")
        job.set_output("max-score", _mark(result.max_score) if scored else "")
        job.set_output("result", classroom.encoded(classroom.document(result)))
    elif not results:
        told = classroom.nothing_handed_in(
            pack.exercise.title, pack.max_score, "; ".join(problems) or "there is nothing to grade"
        )
        job.set_output("score", "0")
        job.set_output("max-score", _mark(pack.max_score))
        job.set_output("result", classroom.encoded(told))


def _mark(value: float | None) -> str:
    return f"{value:.10g}"


def entry_line(source: str, entry: str) -> int:
    """The line of the last function of a name at the top of a text; 0 where there is none."""
    # Parsing is for the analyst's process: a text can be made to break a parser.
    found = list(re.finditer(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(entry)}\b", source, re.MULTILINE))
    return source.count("\n", 0, found[-1].start()) + 1 if found else 0
