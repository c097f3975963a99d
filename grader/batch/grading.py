"""A run of ``grader grade``: what is new is graded, what is known is kept, everything is reported."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import grader
from grader.batch.pool import default_workers, grade_all
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.journal import Gradebook, Known, place_of
from grader.intake.folders import with_suffix
from grader.intake.submission import Submission
from grader.report import files
from grader.result import Result
from grader.summary import Record, Summary


@dataclass(frozen=True)
class Run:
    """What a run did.

    Attributes:
        folder: Where everything is.
        summaries: The newest result of every submission in the gradebook in short, by id.
        graded: How many submissions were run this time.
        warnings: What the teacher should know about ids and files, a sentence each.
        seconds: How long that took.
        interrupted: The user stopped it; the same command goes on.
    """

    folder: Path
    summaries: tuple[Summary, ...]
    graded: int
    seconds: float
    interrupted: bool
    warnings: tuple[str, ...] = ()

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The whole records, read from the gradebook when they are first asked for. Raises GraderError."""
        with Gradebook(self.folder, None) as gradebook:
            return tuple(gradebook.newest())


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
        submissions, warnings = keep_ids(submissions, known)
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
                        warnings += _write_fault_pages(out, result)
                    graded += 1
                    progress(done + graded, total)
            except KeyboardInterrupt:
                interrupted = True
        gradebook.commit()
        seconds = time.monotonic() - begin
        summaries = files.write_gradebook(out, gradebook, grader.__version__)
    return Run(out, tuple(summaries), graded, seconds, interrupted, tuple(warnings))


def keep_ids(
    submissions: Sequence[Submission], known: Mapping[str, Known]
) -> tuple[list[Submission], list[str]]:
    """The submissions under the ids that they had before, and what a teacher should know.

    A file that was graded before keeps its id, whichever other paths are named this time. An id whose file
    is not among the submissions any more goes to the file that now has its name: a folder was moved, or
    downloaded anew.
    """
    before = {one.place: name for name, one in known.items()}
    places = [place_of(s.path) for s in submissions]
    taken = {before[place].lower() for place in places if place in before}
    lower = {name.lower() for name in known}

    def free(new: str) -> bool:
        # Pages of two ids that differ in case only are one file on some file systems.
        return new.lower() not in taken and (new in known or new.lower() not in lower)

    kept: list[Submission] = []
    warnings: list[str] = []
    for submission, place in zip(submissions, places, strict=True):
        new = before.get(place)
        if new is None:
            new = submission.id
            if not free(new):
                while not free(new):
                    new = with_suffix(new, place)
                warnings.append(f"{submission.path} is called {new}, as {submission.id} is another file's")
            elif new in known:
                warnings.append(f"{new} is now {submission.path}; before it was {known[new].place}")
            taken.add(new.lower())
        kept.append(replace(submission, id=new))
    gone = sorted(set(known) - {s.id for s in kept})
    if gone:
        shown = ", ".join(gone[:5]) + (" …" if len(gone) > 5 else "")
        warnings.append(f"kept from earlier runs though not among the submissions now: {shown}")
    return kept, warnings


def _write_fault_pages(out: Path, result: Result | Record) -> list[str]:
    try:
        files.write_pages(out, result.result if isinstance(result, Record) else result)
    except (OSError, GraderError) as error:
        return [f"the pages of {result.submission.id} can't be written: {error}"]
    return []


def _needs_grading(submission: Submission, known: Mapping[str, Known], pack: Pack, out: Path) -> bool:
    """Whether a submission is new or changed, was not graded by this pack, or met a fault of the grader."""
    before = known.get(submission.id)
    if before is None or not submission.digest:
        return True
    if (before.digest, before.pack, before.place) != (submission.digest, pack.id, place_of(submission.path)):
        return True
    return before.status == "grader_fault" or files.pages_missing(out, submission.id)
