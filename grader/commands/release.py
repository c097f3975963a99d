"""``grader release``."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.shared import OK, console
from grader.exercise import source as sources
from grader.exercise.cached import cached_pack
from grader.exercise.roots import exercise_folder, require_root
from grader.report.figures import plural


def release(chosen: argparse.Namespace) -> int:
    """``grader release``."""
    from grader.handout.bundle import make, write

    out: Path = chosen.out
    root = require_root(chosen.root)
    source = sources.load(exercise_folder(root, chosen.name))
    with console(stderr=True).status("making the student's pack"):
        pack = cached_pack(root, source.name, student=True)
    handout = make(source, pack, chosen.wheel)
    write(handout, out)
    kept = f"; {plural(handout.hidden, 'check')} kept back" if handout.hidden else ""
    print(f"hand-out of {handout.name}: {plural(len(pack.cases), 'check')}{kept}")
    for file, data in handout.files.items():
        print(f"  {file}  {len(data):,} bytes")
    print(f"written to {out}")
    return OK
