"""``grader demo``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from grader.commands.shared import OK, console, print_json, require_writable
from grader.demonstration import Demonstration
from grader.errors import GraderError
from grader.exercise.near import did_you_mean


def demo(chosen: argparse.Namespace) -> int:
    """``grader demo``."""
    from grader.authoring.demo import demonstration_of
    from grader.exercise import source as sources

    page: Path | None = chosen.html
    if page is not None:
        require_writable(page)
    source = sources.load(_folder(chosen))
    errors = console(stderr=True)
    errors.quiet = chosen.quiet or chosen.json
    with errors.status("running the reference"):
        demonstration = _asked(demonstration_of(source), chosen.example)
    if page is not None:
        _write(page, demonstration)
    if chosen.json:
        print_json({"exercise": source.name} | demonstration.to_dict())
    elif not chosen.quiet:
        _tell(demonstration, source.name, page)
    return OK


def _folder(chosen: argparse.Namespace) -> Path:
    """The exercise's folder. A pack, which a student has in its place, holds no reference."""
    from grader.exercise.roots import exercise_folder, find_root, require_root

    name: str | None = chosen.name
    author = "it works where cases/ and reference/ of its author are"
    if name is not None and name.endswith(".pack"):
        raise GraderError(f"{name} is a pack, which holds no reference; {author}")
    if find_root(chosen.root) is None and (packs := sorted(Path().glob("*.pack"))):
        raise GraderError(f"there is a pack here, {packs[0]}, which holds no reference; {author}")
    return exercise_folder(require_root(chosen.root), name)


def _asked(demonstration: Demonstration, ids: list[str]) -> Demonstration:
    """The examples that are asked for, in their order; all of them when none is named."""
    known = [example.id for example in demonstration.examples]
    for name in ids:
        if name not in known:
            raise GraderError(f"no example {name!r}{did_you_mean(name, known)}")
    examples = [example for example in demonstration.examples if example.id in ids]
    return replace(demonstration, examples=examples) if ids else demonstration


def _write(page: Path, demonstration: Demonstration) -> None:
    from grader.report.html import demonstration_page

    try:
        page.write_text(demonstration_page(demonstration), "utf-8")
    except OSError as error:
        raise GraderError(f"{page} can't be written: {error.strerror}") from None


def _tell(demonstration: Demonstration, name: str, page: Path | None) -> None:
    from rich.text import Text

    from grader.report.terminal.console import Trimmed, show
    from grader.report.terminal.demonstration import demonstration_report

    terminal = console()
    show(terminal, Trimmed(demonstration_report(demonstration)))
    terminal.print()
    last = f"page: {page}" if page is not None else f"as a page: grader demo {name} --html {name}-demo.html"
    terminal.print(Text(last), soft_wrap=True)
