"""Commands on the folder of a graded class: ``report`` and ``adjust``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import grader
from grader.commands.shared import OK, console, lines_console
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.gradebook.changes import Changes

MAX_CHANGES = 20


def report(chosen: argparse.Namespace) -> int:
    """``grader report``."""
    from grader.gradebook.changes import changes
    from grader.gradebook.database import require_gradebook
    from grader.gradebook.journal import Gradebook
    from grader.gradebook.lock import hold
    from grader.report import files

    folder: Path = chosen.folder
    require_gradebook(folder)
    files.prepare_folder(folder, fresh=False)
    with hold(folder, "grader report"), Gradebook(folder, None) as gradebook:
        for result in gradebook.newest():
            try:
                files.write_pages(folder, result)
            except OSError as error:
                raise GraderError(f"{folder} can't be written: {error}") from None
        changed = changes(gradebook, chosen.since or "")
        written = files.write_gradebook(
            folder, gradebook, grader.__version__, changed if changed.compared else None
        )
    if chosen.quiet:
        return OK
    print(f"{len(written.summaries)} submissions: {folder / 'index.html'}")
    if changed.compared:
        _show_changes(changed)
    return OK


def _show_changes(changed: Changes) -> None:
    """What another pack has changed, in lines."""
    from rich.text import Text

    terminal = console()
    count = len(changed.changed)
    terminal.print(f"{count} of {changed.compared} submissions with results by another pack changed")
    for change in changed.changed[:MAX_CHANGES]:
        scores = [
            "no score" if side.score is None else f"{side.score:g}" for side in (change.before, change.after)
        ]
        moved = ", ".join(f"{c.id} {c.before or 'absent'} → {c.after or 'absent'}" for c in change.cases[:3])
        more = f" and {len(change.cases) - 3} more" if len(change.cases) > 3 else ""
        anew = "; another file meanwhile" if change.anew else ""
        said = f"  {change.submission.id}: {scores[0]} → {scores[1]}  {moved}{more}{anew}"
        terminal.print(Text(said.rstrip()), soft_wrap=not terminal.is_terminal)
    if count > MAX_CHANGES:
        terminal.print(f"  and {count - MAX_CHANGES} more; the class page lists them")


def adjust(chosen: argparse.Namespace) -> int:
    """``grader adjust``."""
    from grader.batch import adjusting
    from grader.gradebook.database import require_gradebook

    require_gradebook(chosen.folder)
    if chosen.remove is not None:
        if chosen.student or chosen.points is not None or chosen.reason is not None:
            raise GraderError("--remove takes back one adjustment and goes alone; see grader adjust DIR")
        done = adjusting.remove(chosen.folder, chosen.remove)
    elif chosen.points is not None:
        if not chosen.student:
            raise GraderError("whom do the points go to? name the student: grader adjust DIR STUDENT")
        done = adjusting.adjust(chosen.folder, chosen.student, chosen.points, chosen.reason or "")
    elif chosen.reason is not None:
        raise GraderError(
            "a reason for how many points? --points N gives or takes them; without both, they are listed"
        )
    else:
        return _list_adjustments(chosen)
    if chosen.quiet:
        return OK
    before, after = (
        "no score" if one.score is None else f"{one.score:g}" for one in (done.before, done.after)
    )
    submission = done.after.submission
    group = f" for each of {', '.join(submission.members)}" if len(submission.members) > 1 else ""
    print(f"{submission.id}: {before} → {after} of {done.after.max_score:g}{group}")
    return OK


def _list_adjustments(chosen: argparse.Namespace) -> int:
    from rich.text import Text

    from grader.batch import adjusting
    from grader.listing import Listing
    from grader.report.terminal.console import Trimmed
    from grader.report.texts import clean

    found = adjusting.entries(chosen.folder, chosen.student or "")
    if not found:
        print("no adjustments by hand")
        return OK
    rows = []
    for entry in found:
        state = "damaged" if entry.damaged else "taken back" if entry.removed_at else "counts"
        style = "" if state != "counts" else "green" if entry.points > 0 else "red"
        row = [
            Text(str(entry.number)),
            Text(entry.submission),
            Text(f"{entry.points:+g}", style),
        ]
        rows.append([*row, Text(clean(entry.reason, 1_000)), Text(clean(entry.made_by, 200)), Text(state)])
    columns = ("number", "submission", "points", "reason", "by", "state")
    # An id is there to be copied.
    listing = Listing(columns, rows, right=("points",), whole=("number", "submission", "state"))
    lines_console().print(Trimmed(listing))
    return OK
