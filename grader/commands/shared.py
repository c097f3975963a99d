"""What the commands share: statuses, the one JSON document, consoles."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError

if TYPE_CHECKING:
    from rich.console import Console

OK, LESS_THAN_FULL, USER_FAULT, GRADER_FAULT, INTERRUPTED = 0, 1, 2, 3, 130

WIDE = 1_000

json_written = False


def console(*, stderr: bool = False) -> Console:
    """Standard output or error for tables and colours."""
    from grader.report.terminal.console import console

    return console(stderr=stderr)


def lines_console() -> Console:
    """Standard output for rows; whoever reads it line by line gets lines that are whole."""
    terminal = console()
    if not terminal.is_terminal:
        terminal.width = WIDE
    return terminal


def say(text: str) -> None:
    """A message of the grader's on standard error."""
    print(f"grader: {text}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Write the command's one JSON document."""
    global json_written
    json_written = True
    # Escapes for everything beyond ASCII: right under every locale.
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def require_writable(page: Path) -> None:
    """Raise GraderError where a page can't be written for a reason that shows before it is made."""
    if page.is_dir():
        raise GraderError(f"{page} is a folder; name a file for --html")
    if not page.parent.is_dir():
        raise GraderError(f"{page} can't be written: there is no folder {page.parent}")


def check_command(chosen: argparse.Namespace, file: str) -> list[str]:
    """The words of the command that checks a file, with the exercise named as in this command."""
    words = ["grader", "check", file]
    words += ["--exercise", chosen.exercise] if chosen.exercise else []
    words += ["--root", str(chosen.root)] if chosen.root else []
    return words
