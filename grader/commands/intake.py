"""``grader intake``: what would be graded, before anything runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.commands.shared import OK, USER_FAULT, lines_console, print_json

if TYPE_CHECKING:
    from grader.exercise.pack import Pack
    from grader.intake.collect import Intake


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


def intake(chosen: argparse.Namespace) -> int:
    """``grader intake``."""
    from grader.exercise.resolve import resolve_pack
    from grader.intake.preview import preview, to_dict
    from grader.report.terminal import Trimmed

    found = collected(chosen, resolve_pack(chosen.exercise, chosen.root))
    if chosen.json:
        print_json(to_dict(found))
    else:
        lines_console().print(Trimmed(preview(found)))
    return USER_FAULT if found.problems or not found.submissions else OK
