"""A run of ``grader grade``: what is new is graded, what is known is kept, everything is reported."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import grader
from grader.batch.pool import default_workers, grade_all
from grader.exercise.pack import Pack
from grader.gradebook.journal import Gradebook
from grader.intake.submission import Submission
from grader.report import files
from grader.result import Result


@dataclass(frozen=True)
class Run:
    """What a run did.

    Attributes:
        results: The newest result of every submission in the gradebook, by id.
        graded: How many submissions were run this time.
        seconds: How long that took.
        interrupted: The user stopped it; the same command goes on.
    """

    results: tuple[Result, ...]
    graded: int
    seconds: float
    interrupted: bool


def grade_class(
    pack: Pack,
    submissions: Sequence[Submission],
    out: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Grade a class into a folder.

    Args:
        pack: The exercise's pack.
        submissions: The class.
        out: The run's folder; continued when it holds a gradebook of the exercise.
        workers: Number of processes; by default as many as pay.
        fresh: Forget what the folder holds.
        progress: Told how many of how many are done.

    Raises:
        GraderError: The folder can't be used.
    """
    files.prepare_folder(out, fresh=fresh)
    with Gradebook(out, pack.exercise.name) as gradebook, contextlib.ExitStack() as stack:
        known = gradebook.graded()
        todo = [s for s in submissions if _needs_grading(s, known, pack, out)]
        done = len(submissions) - len(todo)
        total = len(submissions)
        progress(done, total)
        graded, interrupted, begin = 0, False, time.monotonic()
        if todo:
            count = workers if workers is not None else default_workers(len(todo))
            results = stack.enter_context(
                contextlib.closing(grade_all(pack, todo, workers=count, reports=out))
            )
            try:
                for result in results:
                    gradebook.add(result)
                    if result.status == "grader_fault":
                        # What failed may be the very worker that writes the pages.
                        files.write_pages(out, result)
                    graded += 1
                    progress(done + graded, total)
            except KeyboardInterrupt:
                interrupted = True
        gradebook.commit()
        seconds = time.monotonic() - begin
        everything = tuple(gradebook.newest())
        files.write_class(out, everything, grader.__version__)
    return Run(everything, graded, seconds, interrupted)


def _needs_grading(
    submission: Submission, known: dict[str, tuple[str, str, str, str]], pack: Pack, out: Path
) -> bool:
    """Whether a submission is new or changed, was not graded by this pack, or met a fault of the grader."""
    before = known.get(submission.id)
    if before is None or before[0] != submission.digest or not submission.digest:
        return True
    return before[1] != pack.id or before[2] == "grader_fault" or files.pages_missing(out, submission.id)
