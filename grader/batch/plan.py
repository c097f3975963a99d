"""What is to be done for a class: who is run, who is judged, who is left alone, and what to know before."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.batch.ids import is_key, keep_ids
from grader.batch.jobs import Job
from grader.batch.made import Need, made_of, need
from grader.batch.runner import info_of
from grader.batch.surroundings import surroundings
from grader.batch.who import find
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.journal import Gradebook, Made
from grader.intake.submission import Submission
from grader.people import Person
from grader.report import files
from grader.result import Adjustment, SubmissionInfo


@dataclass(frozen=True)
class Task:
    """A submission, what it needs, and of what its result will be made."""

    submission: Submission
    need: Need
    made: Made


class Plan:
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
        replaced: Collection[str] = (),
    ) -> None:
        self._out = out
        self.reports = reports
        self._gradebook = gradebook
        self.known = gradebook.graded()
        self.adjustments = gradebook.adjustments()
        self.pending = gradebook.waiting()
        self.withdrawn = self._withdrawn(replaced, submissions)
        kept, self.warnings = keep_ids(submissions, self.known)
        if self.withdrawn:
            self.warnings.append(
                f"counts no more, since all of them handed in again: {', '.join(self.withdrawn)}"
            )
        if by_hand := [name for name in self.withdrawn if name in self.adjustments]:
            self.warnings.append(
                f"points by hand for {', '.join(by_hand)} do not count for what they handed in since: "
                "grader adjust gives them anew"
            )
        stored = gradebook.executions()
        around = surroundings(pack.exercise.packages, level)
        self.tasks: list[Task] = []
        for submission in kept:
            made = made_of(submission, pack, self.adjustments.get(submission.id, ()), around)
            before = self.known.get(submission.id)
            self.tasks.append(Task(submission, need(submission, made, before, stored, pack.id, force), made))
        self.chosen = self.tasks

    def _withdrawn(self, replaced: Collection[str], submissions: Sequence[Submission]) -> list[str]:
        """Whose results count no more, as all their authors have newer work; they are so from now on."""
        places = {one.place for one in submissions}
        here = {key for one in submissions for person in one.people for key in _keys(person)}
        names = []
        for name, one in self.known.items():
            if one.withdrawn or one.place in places or not is_key(one.place):
                continue
            if one.place in replaced or self._handed_in_again(name, here):
                names.append(name)
                self.known[name] = one._replace(withdrawn=True)
        return names

    def _handed_in_again(self, name: str, here: Collection[str]) -> bool:
        """Whether all authors of a result are those of submissions now, with others or without."""
        # Of whom a damaged record was is not known.
        with contextlib.suppress(GraderError):
            result = self._gradebook.result(name)
            people = result.submission.people if result is not None else ()
            return bool(people) and all(any(key in here for key in _keys(person)) for person in people)
        return False

    def open(self) -> list[SubmissionInfo]:
        """Those that are to get a result, by this run or, where it leaves them out, by another."""
        known = {name for name, one in self.known.items() if not one.withdrawn}
        chosen = {task.submission.id for task in self.chosen if task.need != "keep"}
        every = [task.submission for task in self.tasks]
        return [info_of(one) for one in every if one.id in chosen or one.id not in known]

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

    def to_page(self) -> list[str]:
        """The ids of those that need nothing but their pages.

        What a run left open that was ended before its time may have pages of another text or pack.
        """
        kept = [task.submission.id for task in self.chosen if task.need == "keep"]
        return [
            name
            for name in kept
            if name in self.pending or (self.reports and files.pages_missing(self._out, name))
        ]

    def jobs(self) -> Sequence[Job]:
        """What is to be asked of those who grade: those with the same text at once."""
        groups: dict[tuple[str, str], list[Task]] = {}
        for task in self.chosen:
            if task.need != "keep":
                # What has no text to run is judged by itself.
                shared = task.made.text or task.submission.id
                groups.setdefault((task.need, shared), []).append(task)
        return _Jobs(list(groups.values()), self.adjustments, self._gradebook, reports=self.reports)


def _keys(person: Person) -> Iterator[str]:
    """What tells a person from all others, whoever handed in what."""
    if person.id:
        yield f"id:{person.id}"
    if person.email:
        yield f"email:{person.email.casefold()}"


class _Jobs(Sequence[Job]):
    """Jobs that are made when they are asked for: what running a whole class gave may fill the memory."""

    def __init__(
        self,
        groups: Sequence[Sequence[Task]],
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


def timeless(pack: Pack, submissions: Sequence[Submission]) -> list[str]:
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
