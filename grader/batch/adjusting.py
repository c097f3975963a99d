"""Points that a teacher gives or takes by hand: noted in the gradebook, and counted at once."""

from __future__ import annotations

import contextlib
import getpass
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import grader
from grader.batch.grading import inputs_of
from grader.batch.runner import Runner
from grader.batch.stored import Ran
from grader.batch.who import find
from grader.errors import GraderError
from grader.exercise import pack as packs
from grader.gradebook.journal import FILE, Entry, Gradebook, Made
from grader.gradebook.lock import hold
from grader.intake.submission import Submission
from grader.report import files
from grader.result import Adjustment, Result
from grader.summary import Summary

MAX_REASON = 300
# Points are kept to a millionth.
SMALLEST, LARGEST = 1e-6, 1e6


@dataclass(frozen=True)
class Adjusted:
    """What an adjustment has done.

    Attributes:
        before, after: The submission's result in short.
    """

    before: Summary
    after: Summary


def adjust(folder: Path, who: str, points: float, reason: str, *, made_by: str = "") -> Adjusted:
    """Give points to a submission, or take them; it counts at once and in every later run.

    Args:
        folder: A run's folder.
        who: The student, as `grader.batch.who.find` takes it.
        points: What is added to the score; below 0 to take.
        reason: A sentence, which the student sees too.
        made_by: Who says so; the user of this machine when empty.

    Raises:
        GraderError: The student is not found, there is no reason, the result can't be judged again without
            running it, or the folder can't be written.
    """
    if not (SMALLEST <= abs(points) <= LARGEST):
        raise GraderError(
            f"{points:g} is no number of points to give or take; expected one such as -2 or 1.5, from a "
            "millionth to a million"
        )
    said = " ".join(reason.split())
    if not said:
        raise GraderError("an adjustment needs a reason, which the student sees too: --reason TEXT")
    if len(said) > MAX_REASON:
        raise GraderError(
            f"the reason has {len(said)} characters; at most {MAX_REASON} are kept, so say it shorter"
        )
    with _opened(folder) as (gradebook, class_):
        before = class_[find(who, [summary.submission for summary in class_.values()]).id]
        given = [*gradebook.adjustments().get(before.submission.id, ()), Adjustment(said, points)]
        judged = _judged(gradebook, before, given)
        place = judged[1].place if judged else ""
        gradebook.adjust(before.submission.id, points, said, made_by or _user(), place)
        return _written(folder, gradebook, before, judged)


def remove(folder: Path, number: int, *, made_by: str = "") -> Adjusted:
    """Take back an adjustment; that it was made stays on record.

    Raises:
        GraderError: There is none of that number, or as for `adjust`.
    """
    with _opened(folder) as (gradebook, class_):
        entry = gradebook.entry(number)
        before = class_[entry.submission]
        left = [
            one.adjustment
            for one in gradebook.entries()
            if one.submission == entry.submission and one.number != number and not one.removed_at
        ]
        judged = _judged(gradebook, before, left)
        gradebook.remove(entry, made_by or _user())
        return _written(folder, gradebook, before, judged)


def entries(folder: Path) -> list[Entry]:
    """All adjustments that were ever made in a run's folder, by number. Raises GraderError."""
    with Gradebook(folder, None, reading=True) as gradebook:
        return gradebook.entries()


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[tuple[Gradebook, dict[str, Summary]]]:
    """The gradebook of a folder, and the newest results in short by id."""
    if not (folder / FILE).is_file():
        raise GraderError(f"{folder} holds no {FILE}; name the --out folder of a grader grade")
    with hold(folder, "grader adjust"), Gradebook(folder, None) as gradebook:
        yield gradebook, {summary.submission.id: summary for summary, _ in gradebook.summaries()}


def _judged(gradebook: Gradebook, before: Summary, given: Sequence[Adjustment]) -> tuple[Result, Made] | None:
    """The result with other adjustments, without running anything; None for a fault, which has no score."""
    if before.status == "grader_fault":
        return None
    name = before.submission.id
    made = gradebook.made(name)
    data = gradebook.pack(before.pack)
    if made is None or not made.submitted or data is None:
        raise _unknown(name, "an earlier version of the grader graded it")
    pack = packs.loads(data)
    told = json.loads(made.submitted)
    made = replace(made, inputs=inputs_of(told, pack, given))
    with Runner(pack) as runner:
        if not made.text:
            # There is nothing to run.
            return runner.grade(Submission.from_dict({**told, "source": None}), given), made
        execution = gradebook.execution(made.text)
        if execution is None:
            raise _unknown(name, "what running it gave is not kept")
        submission = Submission.from_dict({**told, "source": execution.source})
        try:
            return runner.judge(submission, Ran.from_bytes(execution.gave), given), made
        except ValueError as error:
            raise _unknown(name, str(error)) from None


def _unknown(name: str, why: str) -> GraderError:
    return GraderError(
        f"{name} can't be judged again without running it ({why}); nothing was changed: "
        f"run grader grade once more, with --only {name} --force, then adjust it"
    )


def _written(
    folder: Path, gradebook: Gradebook, before: Summary, judged: tuple[Result, Made] | None
) -> Adjusted:
    """Result and adjustment on disk together, and whatever shows them."""
    if judged is None:
        gradebook.commit()
        return Adjusted(before, before)
    result, made = judged
    gradebook.add(result, made)
    gradebook.commit()
    try:
        if any((folder / path).is_file() for path in files.page_paths(result.submission.id)):
            files.write_pages(folder, result)
    except OSError as error:
        raise GraderError(
            f"the adjustment is kept, but {error.filename or folder} can't be written ({error.strerror}); "
            f"grader report {folder} writes all pages anew"
        ) from None
    files.write_gradebook(folder, gradebook, grader.__version__)
    return Adjusted(before, Summary.of(result))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
