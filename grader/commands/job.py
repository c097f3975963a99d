"""The GitHub job that runs a command: what is told there with ``--format github``."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.commands.shared import say
from grader.errors import GraderError, OwnFaultError
from grader.report.github.workflow import SUMMARY_BYTES, command, cut, repository_path


def where(file: str) -> str:
    """A file's path from the top of the repository, by which annotations go."""
    return repository_path(file, os.environ.get("GITHUB_WORKSPACE", ""))


def annotate(commands: Iterable[str]) -> None:
    """Print workflow commands."""
    for line in commands:
        print(line, flush=True)


@contextmanager
def for_people() -> Iterator[None]:
    """What is printed meanwhile is for the log: the runner reads no command in it."""
    # Nothing that is printed can know the token, which lets commands be read again.
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def add_summary(markdown: str) -> None:
    """Add to the page of the job, where GitHub says which that is."""
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if not page:
        return
    try:
        with Path(page).open("a", encoding="utf-8", errors="replace") as file:
            # The page of a step that is longer is not shown at all.
            file.write(cut(markdown, SUMMARY_BYTES - file.tell()))
    except OSError as error:
        say(f"the job's summary {page} can't be written: {error.strerror}")


def set_output(name: str, value: str) -> None:
    """Set an output of the step, where GitHub says how."""
    outputs = os.environ.get("GITHUB_OUTPUT")
    if not outputs:
        return
    ending = secrets.token_hex(16)
    try:
        with Path(outputs).open("a", encoding="utf-8") as file:
            file.write(f"{name}<<{ending}\n{value}\n{ending}\n")
    except OSError as error:
        raise GraderError(f"the step's output {outputs} can't be written: {error.strerror}") from None


@contextmanager
def faults_told(tell: Callable[[GraderError], None]) -> Iterator[None]:
    """Tells of what ends a command, too, and lets it end the command."""
    try:
        yield
    except GraderError as error:
        tell(error)
        raise
    except Exception as error:
        said = str(error) if isinstance(error, OwnFaultError) else f"{type(error).__name__}: {error}"
        annotate([command("error", said, {"title": "The grader failed"})])
        raise
