"""What an intake found, shown before anything is run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from grader import documents
from grader.intake.submission import Submission
from grader.listing import Listing
from grader.people import Person

if TYPE_CHECKING:
    from grader.intake.collect import Intake


def preview(intake: Intake) -> RenderableType:
    """Who was found, from which file, by which rule, and everything that was left out and why."""
    found = len(intake.submissions)
    parts: list[RenderableType] = []
    layouts = f", layout: {', '.join(intake.layouts)}" if intake.layouts else ""
    parts.append(Text(f"{found} submission{'s' if found != 1 else ''}{layouts}", style="bold"))
    if found:
        parts.append(_table(intake.submissions))
    notes = [(s, note) for s in intake.submissions for note in (s.problem or s.fault, *s.notes) if note]
    if notes:
        parts += [Text(""), Text("what the students will be told", style="bold")]
        parts += [_plain(f"  {submission.id}: {note}") for submission, note in notes]
    if intake.missing:
        parts += [Text(""), Text(f"{len(intake.missing)} of the roster handed in nothing", style="bold")]
        parts += [_plain(f"  {_person(person)}") for person in intake.missing]
    if intake.notes:
        parts += [Text(""), Text("to be looked at", style="bold")]
        parts += [_plain(f"  {note}") for note in intake.notes]
    if intake.left_out:
        parts += [Text(""), Text("left out", style="bold")]
        parts += [_plain(f"  {left}") for left in intake.left_out]
    if intake.problems:
        parts += [Text(""), Text("problems", style="bold red")]
        parts += [_plain(f"  {problem}") for problem in intake.problems]
    return Group(*parts)


def to_dict(intake: Intake) -> dict[str, Any]:
    """The same as plain data, without the sources."""
    rows = []
    for submission in intake.submissions:
        row = submission.to_dict()
        row.pop("source")
        rows.append({**row, "file": submission.filename, "lines": _lines(submission)})
    return {
        "schema": documents.INTAKE,
        "layouts": list(intake.layouts),
        "submissions": rows,
        "missing": [vars(person) for person in intake.missing],
        "notes": list(intake.notes),
        "left_out": [str(left) for left in intake.left_out],
        "problems": list(intake.problems),
    }


def _table(submissions: Sequence[Submission]) -> Listing:
    above = _above([s.path for s in submissions if not s.key])
    columns = {
        "who": [_who(s) for s in submissions],
        "id": [s.id for s in submissions],
        "file": [_file(s, above) for s in submissions],
        "handed in": [_when(s) for s in submissions],
        "chosen by": [s.rule for s in submissions],
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [list(map(_plain, row)) for row in zip(*kept.values(), strict=True)]
    return Listing(tuple(kept), rows, whole=("id",))


def _above(paths: Sequence[str]) -> str:
    """The folder in which all of them lie."""
    if not paths:
        return ""
    common = os.path.commonpath([os.path.dirname(path) for path in paths]) if len(paths) > 1 else ""  # noqa: PTH120
    return f"{common}/" if common else ""


def _who(submission: Submission) -> str:
    return ", ".join(map(_person, submission.people)) or ", ".join(submission.members) or submission.name


def _file(submission: Submission, above: str) -> str:
    """The file as the student called it; where no platform tells who it is, where it lies."""
    modules = [part.name for part in submission.parts if part.kind == "module"]
    file = submission.filename if submission.key else submission.path.removeprefix(above)
    return file + (f" with {', '.join(modules)}" if modules else "")


def _when(submission: Submission) -> str:
    parts = [submission.submitted_at.replace("T", " ")]
    parts += ["late"] if submission.late else []
    parts += [f"attempt {submission.attempts}"] if submission.attempts > 1 else []
    return ", ".join(filter(None, parts))


def _person(person: Person) -> str:
    told = person.id or person.platform_id
    return f"{person.name} ({told})" if told and told != person.name else person.name


def _lines(submission: Submission) -> int:
    return submission.source.count("\n") + 1 if submission.source is not None else 0


def _plain(text: str) -> Text:
    """Text that can't act on the terminal."""
    return Text("".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text))
