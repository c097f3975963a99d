"""A run of ``grader grade``: what is new is graded, what is known is kept, everything is reported."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, ParamSpec

import grader
from grader.batch.interrupts import Interrupts
from grader.batch.jobs import Graded, Job
from grader.batch.pool import default_workers, grade_all
from grader.batch.runner import info_of
from grader.batch.surroundings import surroundings
from grader.batch.who import find
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.journal import Execution, Gradebook, Known, Made, place_of
from grader.gradebook.lock import hold
from grader.gradebook.roster import not_submitted, settled
from grader.intake.ids import with_suffix
from grader.intake.submission import Submission
from grader.people import Person
from grader.report import files
from grader.result import Adjustment, Result, SubmissionInfo
from grader.sandbox.levels import LEVELS, probe
from grader.summary import Summary

Need = Literal["run", "judge", "keep"]

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
    missing: Sequence[Person] | None = None,
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
        missing: Who of it handed in nothing for certain; by default told by what the submissions tell.
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
            plan = _Plan(pack, submissions, gradebook, out, force=force, reports=reports, level=level)
            plan.warnings += lost
            plan.choose(only, faults=faults)
            plan.warnings += _timeless(pack, submissions)
            if roster is None and gradebook.roster():
                plan.warnings.append(
                    "the class list of an earlier run still tells who handed in nothing; without --roster "
                    "numbers and addresses are only those that the download tells"
                )
            gradebook.keep_pack(pack.id, pack.data)
            absent = missing
            if roster is not None and absent is None:
                absent = not_submitted(roster, map(info_of, submissions))
            _keep_roster(gradebook, roster, absent or ())
            jobs = plan.jobs()
            doubtful = gradebook.begin() if jobs or plan.kept else False
            work = _Work(plan, gradebook, out, interrupts, progress, doubtful=doubtful)
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
                    _keep_roster(gradebook, roster, absent or ())
                    gradebook.prune()
                    if work.settled and not interrupted and failed is None:
                        gradebook.finish()
            except KeyboardInterrupt:
                interrupted = True
            except GraderError as error:
                failed = failed or error
            seconds = time.monotonic() - begin
            # Who interrupts once has the files all the same; who does so again does not want to wait.
            shield = contextlib.nullcontext() if interrupted else _unhindered(interrupts)
            try:
                with shield:
                    summaries = files.write_gradebook(out, gradebook, grader.__version__)
                    nothing = not_submitted(gradebook.roster(), [one.submission for one in summaries])
            except GraderError as error:
                raise (failed or error) from None
            if failed is not None:
                raise failed
    return Run(
        folder=out,
        summaries=tuple(summaries),
        ran=work.ran,
        rejudged=work.rejudged,
        kept=plan.kept,
        seconds=seconds,
        interrupted=interrupted,
        warnings=(*plan.warnings, *_few(work.warnings)),
        missing=tuple(nothing),
    )


def _timeless(pack: Pack, submissions: Sequence[Submission]) -> list[str]:
    """What to know where the course has a deadline and nothing tells who kept it."""
    late = pack.exercise.grading.get("late")
    if late is None:
        return []
    untold = [one for one in submissions if not one.submitted_at and not one.late]
    marked = [one for one in submissions if not one.submitted_at and one.late and late.get("marked") is None]
    told = []
    if untold and not any(one.late is not None for one in submissions):
        told.append(
            f"{len(untold)} of {len(submissions)} submissions do not tell when they were handed in: nothing "
            "is taken from them for being late"
        )
    if marked:
        told.append(
            f"{len(marked)} submissions are late by what the platform says, which tells no time; "
            "grading.late says in marked what that costs, and doesn't so far"
        )
    return told


def _keep_roster(gradebook: Gradebook, roster: Sequence[Person] | None, absent: Sequence[Person]) -> None:
    """Keep the class list without those who handed in something that has no result yet.

    Whatever is made of a run that was ended before its time, nobody of them is said to be missing.
    """
    if roster is None:
        return
    infos: list[SubmissionInfo] = []
    # Of whom a damaged record was is not known.
    with contextlib.suppress(GraderError):
        infos = [summary.submission for summary, _ in gradebook.summaries()]
    gradebook.keep_roster(settled(roster, absent, infos))


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


# --- What is to be done ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """A submission, what it needs, and of what its result will be made."""

    submission: Submission
    need: Need
    made: Made


class _Plan:
    """What each submission of a class needs."""

    def __init__(
        self,
        pack: Pack,
        submissions: Sequence[Submission],
        gradebook: Gradebook,
        out: Path,
        *,
        force: bool,
        reports: bool,
        level: str,
    ) -> None:
        self._out = out
        self._reports = reports
        self._gradebook = gradebook
        self.known = gradebook.graded()
        self.adjustments = gradebook.adjustments()
        kept, self.warnings = keep_ids(submissions, self.known)
        stored = gradebook.executions()
        around = surroundings(pack.exercise.packages, level)
        self.tasks: list[_Task] = []
        for submission in kept:
            made = made_of(submission, pack, self.adjustments.get(submission.id, ()), around)
            before = self.known.get(submission.id)
            self.tasks.append(_Task(submission, need(submission, made, before, stored, pack.id, force), made))
        self.chosen = self.tasks

    def choose(self, only: Sequence[str], *, faults: bool) -> None:
        """Leave all but some out. Raises GraderError."""
        if only:
            every = [task.submission for task in self.tasks]
            names = {find(who, every).id for who in only}
            self.chosen = [task for task in self.chosen if task.submission.id in names]
        if faults:
            failed = {name for name, one in self.known.items() if one.status == "grader_fault"}
            self.chosen = [task for task in self.chosen if task.submission.id in failed]

    @property
    def kept(self) -> int:
        """How many of those that were chosen need nothing."""
        return sum(task.need == "keep" for task in self.chosen)

    @property
    def whole(self) -> bool:
        """Nobody was left out, and there are pages."""
        return self._reports and len(self.chosen) == len(self.tasks)

    def without_pages(self, *, doubtful: bool) -> list[str]:
        """The ids of those that need nothing but their pages.

        Args:
            doubtful: A run was ended before its time: pages that it wrote and the results of which it did not
                keep are of another text or pack.
        """
        if not self._reports:
            return []
        kept = [task.submission.id for task in self.chosen if task.need == "keep"]
        when = self._gradebook.graded_at() if doubtful else {}
        return [
            name
            for name in kept
            if files.pages_missing(self._out, name) or _written_after(self._out, name, when.get(name))
        ]

    def jobs(self) -> Sequence[Job]:
        """What is to be asked of those who grade: those with the same text at once."""
        groups: dict[tuple[str, str], list[_Task]] = {}
        for task in self.chosen:
            if task.need != "keep":
                # What has no text to run is judged by itself.
                shared = task.made.text or task.submission.id
                groups.setdefault((task.need, shared), []).append(task)
        return _Jobs(list(groups.values()), self.adjustments, self._gradebook, reports=self._reports)


def _written_after(out: Path, name: str, when: float | None) -> bool:
    """Whether a page is newer than the result that it should tell of. Raises OSError."""
    return when is not None and any((out / page).stat().st_mtime > when for page in files.page_paths(name))


class _Jobs(Sequence[Job]):
    """Jobs that are made when they are asked for: what running a whole class gave may fill the memory."""

    def __init__(
        self,
        groups: Sequence[Sequence[_Task]],
        adjustments: Mapping[str, tuple[Adjustment, ...]],
        gradebook: Gradebook,
        *,
        reports: bool,
    ) -> None:
        self._groups = groups
        self._adjustments = adjustments
        self._gradebook = gradebook
        self._reports = reports

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        group = self._groups[number]
        submissions = tuple([task.submission for task in group])
        text = group[0].made.text
        stored = self._gradebook.execution(text) if text and group[0].need == "judge" else None
        return Job(
            submissions,
            {s.id: self._adjustments[s.id] for s in submissions if s.id in self._adjustments},
            stored.gave if stored is not None else None,
            self._reports,
        )


def need(
    submission: Submission,
    made: Made,
    before: Known | None,
    stored: Mapping[str, str],
    pack_id: str,
    force: bool = False,
) -> Need:
    """Whether a submission has to be run, to be judged from what running it gave, or is as it should be.

    Args:
        submission: As it is now.
        made: Of what its result would be made now.
        before: Its newest result.
        stored: The texts whose executions are kept, with their execution digests.
        pack_id: The pack by which it would be judged now.
        force: It is to be run whatever is known.
    """
    if force or (before is not None and before.status == "grader_fault"):
        return "run"
    if before is not None and _unchanged(submission, made, before, pack_id):
        return "keep"
    if not made.text or stored.get(made.text) == made.execution_digest:
        return "judge"
    return "run"


def _unchanged(submission: Submission, made: Made, before: Known, pack_id: str) -> bool:
    if before.inputs:
        return (before.text, before.execution_digest, before.inputs) == (
            made.text,
            made.execution_digest,
            made.inputs,
        )
    # An earlier version of the gradebook tells no more.
    now = submission.digest, pack_id, place_of(submission.path)
    return bool(submission.digest) and (before.digest, before.pack, before.place) == now


def made_of(submission: Submission, pack: Pack, given: Sequence[Adjustment], around: str = "") -> Made:
    """Of what a submission's result is made: of what is run, and of all else by which it is judged.

    Args:
        submission: The submission.
        pack: The pack.
        given: What a teacher gave or took by hand.
        around: Of what else running it hangs, see `grader.batch.surroundings`.
    """
    runs = submission.source is not None and not submission.fault
    told = submission.to_dict()
    del told["source"]
    told["absolute"] = place_of(submission.path)
    return Made(
        place=submission.place,
        text=_digest([submission.source, submission.filename, told["parts"]]) if runs else "",
        execution_digest=_digest([pack.execution_digest, around]) if runs else "",
        inputs=inputs_of(told, pack, given),
        submitted=json.dumps(told),
    )


def inputs_of(submitted: Mapping[str, Any], pack: Pack, given: Sequence[Adjustment]) -> str:
    """The digest of all by which a submission is judged beside its text, as `Made.submitted` tells of it."""
    # The path as it is shown hangs on the folder in which the command was run.
    told = {key: value for key, value in submitted.items() if key != "path"}
    return _digest([told, pack.id, grader.__version__, [[a.reason, a.points] for a in given]])


def _digest(value: object) -> str:
    # JSON's escapes make texts of any kind fit for bytes.
    return f"sha256:{hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()}"


# --- Doing it -------------------------------------------------------------------------------------


class _Work:
    """The results as they come in."""

    def __init__(
        self,
        plan: _Plan,
        gradebook: Gradebook,
        out: Path,
        interrupts: Interrupts,
        progress: Callable[[int, int], None],
        *,
        doubtful: bool,
    ) -> None:
        self._gradebook = gradebook
        self._out = out
        self._interrupts = interrupts
        self._progress = progress
        self._reports = plan._reports
        self._unpaged = plan.without_pages(doubtful=doubtful)
        # A run of a part settles nothing that an earlier one left open.
        self._settles = plan.whole or not doubtful
        self._open = {task.submission.id: task for task in plan.chosen if task.need != "keep"}
        self._total = len(plan.chosen)
        self.ran = 0
        self.rejudged = 0
        self.warnings: list[str] = []

    @property
    def settled(self) -> bool:
        """All that was to be done is done, and nothing is left of an earlier run."""
        return self._settles and not self._open and not self.warnings

    def write_missing_pages(self) -> None:
        """The pages of results that are as they should be."""
        self._tell()
        with contextlib.suppress(OSError):
            files.remove_unfinished(self._out)
        for name in self._unpaged:
            # A damaged record keeps nobody else from being graded; it is told of at the end.
            try:
                # In between there is none rather than one of another result.
                files.remove_pages(self._out, name)
                result = self._gradebook.result(name)
                assert result is not None
                files.write_pages(self._out, result)
            except (OSError, GraderError) as error:
                self._warn_of_pages(name, error)

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


# --- Identity -------------------------------------------------------------------------------------


def keep_ids(
    submissions: Sequence[Submission], known: Mapping[str, Known]
) -> tuple[list[Submission], list[str]]:
    """The submissions under the ids that they had before, and what a teacher should know.

    Who was graded before keeps the id, whichever other paths are named this time: a student or group by the
    platform's own id, anything else by where it lies. The id of a file that is not among the submissions any
    more goes to the file that now has its name: a folder was moved, or downloaded anew. Of two whom the
    platform tells apart none gets the other's.
    """
    before = {one.place: name for name, one in known.items()}
    ids = list(_known_ids(submissions, before))
    taken = {name.lower() for name in ids if name is not None}
    lower = {name.lower() for name in known}

    def free(new: str, keyed: bool) -> bool:
        # Pages of two ids that differ in case only are one file on some file systems.
        if new.lower() in taken:
            return False
        return new.lower() not in lower or (new in known and not (keyed and _is_key(known[new].place)))

    kept: list[Submission] = []
    warnings: list[str] = []
    for submission, given in zip(submissions, ids, strict=True):
        new = given
        if new is None:
            new, keyed = submission.id, bool(submission.key)
            if not free(new, keyed):
                while not free(new, keyed):
                    new = with_suffix(new, submission.place)
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


def _known_ids(submissions: Sequence[Submission], before: Mapping[str, str]) -> Iterator[str | None]:
    """Of each submission the id that it had; None for a new one."""
    named = {submission.place for submission in submissions}
    for submission in submissions:
        place = place_of(submission.path)
        # A gradebook of before there were keys knows it by where it lies.
        if submission.place not in before and place not in named:
            yield before.get(place)
        else:
            yield before.get(submission.place)


def _is_key(place: str) -> bool:
    return not Path(place).is_absolute()
