"""A run of ``grader grade``: what is new is graded, what is known is kept, everything is reported."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ParamSpec

import grader
from grader.batch.interrupts import Interrupts
from grader.batch.jobs import Graded, Job
from grader.batch.plan import Plan, timeless
from grader.batch.pool import default_workers, grade_all
from grader.batch.runner import info_of
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.journal import Execution, Gradebook
from grader.gradebook.lock import hold
from grader.gradebook.roster import settled
from grader.intake.submission import Submission
from grader.people import ListFile, Person
from grader.report import files
from grader.result import Result
from grader.sandbox.levels import LEVELS, probe
from grader.summary import Summary

# How many warnings of one kind are told one by one.
MAX_TOLD = 5
FULL = LEVELS[-1]


@dataclass(frozen=True)
class Run:
    """What a run did.

    Attributes:
        folder: Where everything is.
        summaries: The newest result of every submission in the gradebook in short, by id.
        ran: How many submissions were run this time.
        rejudged: How many were judged again from what running them gave before.
        kept: How many were left as they are.
        warnings: What the teacher should know about ids and files, a sentence each.
        seconds: How long that took.
        interrupted: The user stopped it; the same command goes on.
        missing: Who of the class list handed in nothing, in this run or an earlier one.
    """

    folder: Path
    summaries: tuple[Summary, ...]
    ran: int
    rejudged: int
    kept: int
    seconds: float
    interrupted: bool
    warnings: tuple[str, ...] = ()
    missing: tuple[Person, ...] = ()

    @property
    def graded(self) -> int:
        """How many submissions have a new result."""
        return self.ran + self.rejudged

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The whole records, read from the gradebook when they are first asked for. Raises GraderError."""
        with Gradebook(self.folder, None, reading=True) as gradebook:
            return tuple(gradebook.newest())


def kept_list(out: Path) -> ListFile | None:
    """The class list of an earlier run into a folder; None where there was none.

    Raises:
        GraderError: It is damaged.
    """
    try:
        gradebook = Gradebook(out, None, reading=True)
    except GraderError:
        # There is none, or what is wrong with it is told when it is opened to be continued.
        return None
    with gradebook:
        return gradebook.list_file()


def grade_class(
    pack: Pack,
    submissions: Sequence[Submission],
    out: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    only: Sequence[str] = (),
    faults: bool = False,
    force: bool = False,
    scheduler: str | None = None,
    roster: Sequence[Person] | None = None,
    list_file: ListFile | None = None,
    missing: Sequence[Person] | None = None,
    replaced: Collection[str] = (),
    reports: bool = True,
    weak_isolation: bool = True,
    notify: Callable[[str], None] = lambda message: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Grade a class into a folder.

    Ctrl-C, and the signals by which a system ends a process, end it early: what was graded is kept.

    Args:
        pack: The exercise's pack.
        submissions: The class.
        out: The run's folder; continued when it holds a gradebook of the exercise.
        workers: Number of processes; by default as many as pay.
        fresh: Forget what the folder holds.
        only: Grade these alone, named as `grader.batch.who.find` takes them.
        faults: Grade those alone on which the grader failed.
        force: Run also what is unchanged.
        scheduler: The address of a Dask cluster that grades, in place of this machine.
        roster: The class list; None keeps that of an earlier run.
        list_file: The file of it, kept for a later run that names none.
        missing: Who of it handed in nothing for certain; by default told by what the submissions tell.
        replaced: By what submissions are known all authors of which have newer work.
        reports: Make the pages of each submission.
        weak_isolation: Run submissions also where they can't be confined fully.
        notify: Told in a sentence what the user should know while it goes on.
        progress: Told how many of how many are done.

    Raises:
        GraderError: The folder can't be used or is in use, a student is not found, or the cluster fails.
    """
    notify, progress = _heedless(notify), _heedless(progress)
    files.prepare_folder(out, fresh=False)
    with Interrupts() as interrupts, hold(out, "grader grade"):
        lost = _forgotten(out) if fresh else []
        files.prepare_folder(out, fresh=fresh)
        with Gradebook(out, pack.exercise.name) as gradebook:
            # A cluster's workers confine fully, or as this machine does where that may be less.
            level = probe()[0] if scheduler is None or weak_isolation else FULL
            plan = Plan(
                pack,
                submissions,
                gradebook,
                out,
                force=force,
                reports=reports,
                level=level,
                replaced=replaced,
            )
            plan.warnings += lost
            plan.choose(only, faults=faults)
            plan.warnings += timeless(pack, submissions)
            if roster is None and gradebook.roster():
                plan.warnings.append(
                    "the class list of an earlier run still tells who handed in nothing; without --roster "
                    "numbers and addresses are only those that the download tells"
                )
            gradebook.keep_pack(pack.id, pack.data)
            if roster is not None:
                infos = map(info_of, submissions)
                gradebook.keep_list_file(list_file)
                gradebook.keep_roster(roster if missing is None else settled(roster, missing, infos))
            gradebook.withdraw(plan.withdrawn)
            for name in plan.withdrawn:
                with contextlib.suppress(OSError):
                    files.remove_pages(out, name)
            gradebook.begin(plan.open())
            jobs = plan.jobs()
            work = _Work(plan, gradebook, out, interrupts, progress)
            begin = time.monotonic()
            interrupted, failed = False, None
            try:
                work.write_missing_pages()
                if jobs:
                    work.take(_grade(pack, jobs, out, workers, scheduler, reports, weak_isolation, notify))
            except KeyboardInterrupt:
                interrupted = True
            except GraderError as error:
                # What was graded until then is told all the same, where that can be done.
                failed = error
            try:
                with interrupts.shield():
                    gradebook.commit()
                    gradebook.prune()
            except KeyboardInterrupt:
                interrupted = True
            except GraderError as error:
                failed = failed or error
            seconds = time.monotonic() - begin
            # Who interrupts once has the files all the same; who does so again does not want to wait.
            shield = contextlib.nullcontext() if interrupted else _unhindered(interrupts)
            try:
                with shield:
                    written = files.write_gradebook(out, gradebook, grader.__version__)
            except GraderError as error:
                raise (failed or error) from None
            if failed is not None:
                raise failed
    return Run(
        folder=out,
        summaries=written.summaries,
        ran=work.ran,
        rejudged=work.rejudged,
        kept=plan.kept,
        seconds=seconds,
        interrupted=interrupted,
        warnings=(*plan.warnings, *_few(work.warnings)),
        missing=written.missing,
    )


@contextlib.contextmanager
def _unhindered(interrupts: Interrupts) -> Iterator[None]:
    """What an interrupt would find done anyway is done, and the interrupt is over."""
    with contextlib.suppress(KeyboardInterrupt), interrupts.shield():
        yield


_Told = ParamSpec("_Told")


def _heedless(tell: Callable[_Told, None]) -> Callable[_Told, None]:
    """The same, whether anybody listens or not: a terminal may be closed, or the reader of a pipe gone."""

    def told(*values: _Told.args, **named: _Told.kwargs) -> None:
        with contextlib.suppress(OSError):
            tell(*values, **named)

    return told


def _grade(
    pack: Pack,
    jobs: Sequence[Job],
    out: Path,
    workers: int | None,
    scheduler: str | None,
    reports: bool,
    weak_isolation: bool,
    notify: Callable[[str], None],
) -> Generator[Graded]:
    if scheduler is not None:
        from grader.batch.cluster import grade_on_cluster

        return grade_on_cluster(
            pack, jobs, scheduler, reports=reports, weak_isolation=weak_isolation, notify=notify
        )
    count = workers if workers is not None else default_workers(len(jobs))
    return grade_all(
        pack, jobs, workers=count, reports=out if reports else None, weak_isolation=weak_isolation
    )


def _few(warnings: Sequence[str]) -> list[str]:
    """A full disk spoils the pages of a whole class."""
    more = len(warnings) - MAX_TOLD
    return [*warnings[:MAX_TOLD], *([f"and {more} more of that kind"] if more > 0 else [])]


def _forgotten(out: Path) -> list[str]:
    """What a fresh start throws away though somebody has thought about it."""
    try:
        with Gradebook(out, None, reading=True) as gradebook:
            entries = [entry for entry in gradebook.entries() if not entry.removed_at]
    except GraderError:
        return []
    return [f"forgotten with --fresh: {e.points:+g} points for {e.submission} ({e.reason})" for e in entries]


class _Work:
    """The results as they come in."""

    def __init__(
        self,
        plan: Plan,
        gradebook: Gradebook,
        out: Path,
        interrupts: Interrupts,
        progress: Callable[[int, int], None],
    ) -> None:
        self._gradebook = gradebook
        self._out = out
        self._interrupts = interrupts
        self._progress = progress
        self._reports = plan.reports
        self._to_page = plan.to_page()
        self._open = {task.submission.id: task for task in plan.chosen if task.need != "keep"}
        self._total = len(plan.chosen)
        self.ran = 0
        self.rejudged = 0
        self.warnings: list[str] = []

    def write_missing_pages(self) -> None:
        """The pages of results that are as they should be."""
        self._tell()
        with contextlib.suppress(OSError):
            files.remove_unfinished(self._out)
        done = []
        for name in self._to_page:
            # A damaged record keeps nobody else from being graded; it is told of at the end.
            try:
                # In between there is none rather than one of another result.
                files.remove_pages(self._out, name)
                if self._reports:
                    result = self._gradebook.result(name)
                    assert result is not None
                    files.write_pages(self._out, result)
                done.append(name)
            except (OSError, GraderError) as error:
                self._warn_of_pages(name, error)
        self._gradebook.settle(done)

    def take(self, graded: Generator[Graded]) -> None:
        """Write down all results. Raises GraderError."""
        with contextlib.closing(graded):
            for one in graded:
                with self._interrupts.shield():
                    self._write(one)
                self._tell()

    def _write(self, graded: Graded) -> None:
        # Whoever grades may answer twice; the first answer is the one that counts.
        task = self._open.pop(graded.record.submission.id, None)
        if task is None:
            return
        name = task.submission.id
        try:
            # Pages come first: a result in the gradebook has them.
            if not self._reports:
                files.remove_pages(self._out, name)
            files.write_made_pages(self._out, name, graded.pages)
        except OSError as error:
            self._warn_of_pages(name, error)
        if graded.warning:
            self.warnings.append(graded.warning)
        gave = graded.execution
        ran = Execution(task.submission.source or "", gave) if gave is not None else None
        self._gradebook.add(graded.record, task.made, ran)
        if task.need == "run" or gave is not None:
            self.ran += 1
        else:
            self.rejudged += 1

    def _warn_of_pages(self, name: str, error: Exception) -> None:
        self.warnings.append(f"the pages of {name} can't be written: {error}")

    def _tell(self) -> None:
        self._progress(self._total - len(self._open), self._total)
