"""``grader explain``."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from grader import documents
from grader.commands.shared import OK, check_command, console, print_json


def explain(chosen: argparse.Namespace) -> int:
    """``grader explain``."""
    from grader.exercise.resolve import resolve_pack
    from grader.judge.topics import find, listing
    from grader.report.terminal.console import show
    from grader.report.terminal.explain import explanation, overview

    # In a hand-out's folder the pack of that hand-out is meant.
    pack = resolve_pack(chosen.exercise, chosen.root, beside=[Path()])
    exercise = pack.exercise
    # A title has blanks, and nobody wants to quote it.
    name = " ".join(chosen.name)
    topics = find(pack, name) if name else listing(pack)
    if chosen.json:
        print_json({"schema": documents.EXPLANATION, "exercise": exercise.name, "topics": topics})
    elif name:
        command = shlex.join(check_command(chosen, "solution.py"))
        show(console(), explanation(topics, command))
    else:
        show(console(), overview(exercise.name, exercise.title, topics))
    return OK
