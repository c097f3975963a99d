"""``grader release``."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.shared import OK, console
from grader.exercise import source as sources
from grader.exercise.roots import exercise_folder, require_root
from grader.report.figures import plural


def release(chosen: argparse.Namespace) -> int:
    """``grader release``."""
    from grader.handout.bundle import make, write

    out: Path = chosen.out
    source = sources.load(exercise_folder(require_root(chosen.root), chosen.name))
    errors = console(stderr=True)
    errors.quiet = chosen.quiet
    with errors.status("making the hand-out"):
        handout = make(source, chosen.wheel)
    write(handout, out)
    if chosen.quiet:
        return OK
    kept = f"; {plural(handout.hidden, 'check')} kept back" if handout.hidden else ""
    print(f"hand-out of {handout.name}: {plural(handout.cases, 'check')}{kept}")
    for file, data in handout.files.items():
        print(f"  {file}  {len(data):,} bytes")
    print(f"written to {out}")
    return OK
