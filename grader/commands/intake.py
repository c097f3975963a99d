"""``grader intake``: what would be graded, before anything runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.commands.shared import OK, USER_FAULT, lines_console, print_json
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.exercise.pack import Pack
    from grader.intake.collect import Intake
    from grader.intake.submission import Submission


def collected(chosen: argparse.Namespace, pack: Pack, *, single: bool = False) -> Intake:
    """The submissions that a command's paths and options name; ``single`` as for `collect`."""
    from grader.batch.asking import asked_of
    from grader.intake.collect import collect

    return collect(
        chosen.paths,
        asked_of(pack),
        layout=getattr(chosen, "layout", None),
        roster=getattr(chosen, "roster", None),
        single=single,
    )


def single_submission(chosen: argparse.Namespace, pack: Pack, option: str) -> Submission:
    """The submission that the paths name. Raises GraderError where there is none, or several."""
    found = collected(chosen, pack, single=True)
    if not found.submissions:
        raise GraderError("; ".join(found.problems) or f"there is no submission for {option}")
    if len(found.submissions) > 1:
        raise GraderError(f"{option} needs a single submission, found {len(found.submissions)}")
    return found.submissions[0]


def intake(chosen: argparse.Namespace) -> int:
    """``grader intake``."""
    from grader.exercise.resolve import resolve_pack
    from grader.intake.preview import preview, to_dict
    from grader.report.terminal.console import Trimmed

    found = collected(chosen, resolve_pack(chosen.exercise, chosen.root))
    if chosen.json:
        print_json(to_dict(found))
    else:
        lines_console().print(Trimmed(preview(found)))
    return USER_FAULT if found.problems or not found.submissions else OK
