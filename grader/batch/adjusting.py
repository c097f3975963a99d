"""Points that a teacher gives or takes by hand: noted in the gradebook, and counted at once."""

from __future__ import annotations

import contextlib
import getpass
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import grader
from grader.batch.made import inputs_of
from grader.batch.runner import Runner
from grader.batch.stored import Ran
from grader.batch.who import find
from grader.errors import GraderError
from grader.exercise import pack as packs
from grader.exercise.pack import Pack
from grader.gradebook.database import require_gradebook
from grader.gradebook.journal import Entry, Gradebook, Made
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
        before = _find(who, gradebook, list(class_.values()))
        given = [*gradebook.adjustments().get(before.submission.id, ()), Adjustment(said, points)]
        judged = _judged(gradebook, before, given)
        place = judged[1].place if judged else ""
        note = partial(gradebook.adjust, before.submission.id, points, said, made_by or _user(), place)
        return _written(folder, gradebook, before, judged, note)


def remove(folder: Path, number: int, *, made_by: str = "") -> Adjusted:
    """Take back an adjustment; that it was made stays on record.

    Where that adjustment or another one is damaged it counts from the next run on.

    Raises:
        GraderError: There is none of that number, or as for `adjust`.
    """
    with _opened(folder) as (gradebook, class_):
        entry = gradebook.entry(number)
        counting = [one for one in gradebook.entries() if one.number != number and not one.removed_at]
        before = class_.get(entry.submission)
        if before is None or any(one.damaged for one in [entry, *counting]):
            # What else counts is not known for certain: it is judged again when it is.
            gradebook.remove(entry, made_by or _user())
            gradebook.commit()
            if before is None:
                raise GraderError(f"adjustment {number} is taken back; nobody here is {entry.submission}")
            return Adjusted(before, before)
        left = [one.adjustment for one in counting if one.submission == entry.submission]
        judged = _judged(gradebook, before, left)
        note = partial(gradebook.remove, entry, made_by or _user())
        return _written(folder, gradebook, before, judged, note)


def entries(folder: Path, who: str = "") -> list[Entry]:
    """All adjustments that were ever made in a run's folder, by number.

    Args:
        folder: A run's folder.
        who: Those of one student alone, as `grader.batch.who.find` takes it.

    Raises:
        GraderError: The folder holds no gradebook, or the student is not found.
    """
    with Gradebook(folder, None, reading=True) as gradebook:
        found = gradebook.entries()
        if not who:
            return found
        # Who is no longer in the class is known by the id.
        if not any(entry.submission == who for entry in found):
            who = _find(who, gradebook, [summary for summary, _ in gradebook.summaries()]).submission.id
        return [entry for entry in found if entry.submission == who]


def _find(who: str, gradebook: Gradebook, class_: Sequence[Summary]) -> Summary:
    """The newest result of a student. Raises GraderError."""
    try:
        name = find(who, [summary.submission for summary in class_]).id
    except GraderError:
        listed = {key.casefold() for p in gradebook.roster() for key in (p.name, p.id, p.email) if key}
        if " ".join(who.split()).casefold() in listed:
            raise GraderError(
                f"{who!r} is on the class list and handed in nothing; points by hand go to a submission"
            ) from None
        raise
    return next(summary for summary in class_ if summary.submission.id == name)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[tuple[Gradebook, dict[str, Summary]]]:
    """The gradebook of a folder, and the newest results in short by id."""
    require_gradebook(folder)
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
    pack = _loaded(data)
    if pack is None or pack.id != before.pack:
        raise _unknown(name, "the pack that is kept is damaged")
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


def _loaded(data: bytes) -> Pack | None:
    """A pack; None for bytes that are none any more."""
    try:
        return packs.loads(data)
    except Exception:
        # Its parser has errors of its own.
        return None


def _unknown(name: str, why: str) -> GraderError:
    return GraderError(
        f"{name} can't be judged again without running it ({why}); nothing was changed: "
        f"run grader grade once more, with --only {name} --force, then adjust it"
    )


def _written(
    folder: Path,
    gradebook: Gradebook,
    before: Summary,
    judged: tuple[Result, Made] | None,
    note: Callable[[], None],
) -> Adjusted:
    """Result and adjustment, which is noted here, on disk together, and whatever shows them."""
    if judged is None:
        note()
        gradebook.commit()
        return Adjusted(before, before)
    result, made = judged
    paged = any((folder / path).is_file() for path in files.page_paths(result.submission.id))
    try:
        # Who is ended in between leaves no page that tells of other points than the gradebook: one that is
        # missing is made by the next run.
        files.remove_pages(folder, result.submission.id)
    except OSError as error:
        raise GraderError(
            f"{error.filename or folder} can't be taken away ({error.strerror}); nothing was changed: check "
            "the permissions"
        ) from None
    note()
    gradebook.add(result, made, settles=False)
    gradebook.commit()
    try:
        if paged:
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
