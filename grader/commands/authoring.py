"""The commands of an exercise's author: ``validate``, ``pack``, ``schema``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from grader.commands.shared import LESS_THAN_FULL, OK, console, print_json
from grader.errors import GraderError
from grader.exercise.near import did_you_mean


def validate(chosen: argparse.Namespace) -> int:
    """``grader validate``."""
    from grader.authoring.validation import Validator
    from grader.exercise import source as sources
    from grader.exercise.cache import write_atomically
    from grader.exercise.roots import exercise_folder, require_root
    from grader.report.validation import validation_report

    if chosen.html is not None:
        _require_writable(chosen.html)
    folder = exercise_folder(require_root(chosen.root), chosen.name)
    errors = console(stderr=True)
    source = sources.load(folder)
    errors.quiet = chosen.quiet
    with errors.status("reading") as status:
        if chosen.write:
            from grader.authoring.freeze import freeze

            frozen = freeze(source, lambda case: status.update(f"measuring {case}"))
            try:
                write_atomically(source.frozen_path, frozen.dumps().encode())
            except OSError as error:
                raise GraderError(f"{source.frozen_path} can't be written: {error.strerror}") from None
            source = sources.load(folder)
        validation = Validator(source, lambda what: status.update(f"checking {what}")).run(fast=chosen.fast)
    if chosen.json:
        print_json(validation.to_dict())
    elif chosen.quiet:
        for weakness in validation.weaknesses:
            print(weakness)
    else:
        terminal = console()
        # Where a program reads the lines, they are whole.
        terminal.print(validation_report(validation), soft_wrap=not terminal.is_terminal)
    if chosen.html is not None:
        from grader.report.html import validation_page

        try:
            chosen.html.write_text(validation_page(validation), "utf-8")
        except OSError as error:
            raise GraderError(f"{chosen.html} can't be written: {error.strerror}") from None
    return OK if validation.sound else LESS_THAN_FULL


def _require_writable(page: Path) -> None:
    """Raise GraderError where a page can't be written for a reason that shows before a minute of work."""
    if page.is_dir():
        raise GraderError(f"{page} is a folder; name a file for --html")
    if not page.parent.is_dir():
        raise GraderError(f"{page} can't be written: there is no folder {page.parent}")


def pack(chosen: argparse.Namespace) -> int:
    """``grader pack``."""
    from grader.exercise.cache import write_atomically
    from grader.exercise.cached import cached_pack
    from grader.exercise.roots import exercise_folder, require_root

    out: Path = chosen.out
    found = require_root(chosen.root)
    built = cached_pack(found, exercise_folder(found, chosen.name).name, student=chosen.student)
    try:
        write_atomically(out, built.data)
    except OSError as error:
        raise GraderError(f"{out} can't be written: {error.strerror}") from None
    kind = "student pack" if built.student else "pack"
    if not chosen.quiet:
        print(f"{kind} of {built.exercise.name}: {len(built.cases)} cases, {len(built.data):,} bytes, {out}")
    return OK


def schema(chosen: argparse.Namespace) -> int:
    """``grader schema``."""
    from grader.exercise.schemas import SCHEMAS, json_schema

    if chosen.what not in SCHEMAS:
        raise GraderError(f"no schema {chosen.what!r}{did_you_mean(chosen.what, sorted(SCHEMAS))}")
    sys.stdout.write(json.dumps(json_schema(chosen.what), indent=2) + "\n")
    return OK
