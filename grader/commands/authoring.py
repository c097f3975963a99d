"""The commands of an exercise's author: ``validate``, ``pack``, ``schema``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import LESS_THAN_FULL, OK, console, print_json, require_writable
from grader.errors import ExerciseError, GraderError, Problem
from grader.exercise.near import did_you_mean

if TYPE_CHECKING:
    from grader.validation import Validation


def validate(chosen: argparse.Namespace) -> int:
    """``grader validate``."""
    if chosen.format == "github":
        return _validate_for_github(chosen)
    from grader.report.terminal.validation import validation_report

    validation = _validated(chosen, _named_exercise(chosen))
    if chosen.json:
        print_json(validation.to_dict())
    elif chosen.quiet:
        for weakness in validation.weaknesses:
            print(weakness)
    else:
        terminal = console()
        # Where a program reads the lines, they are whole.
        terminal.print(validation_report(validation), soft_wrap=not terminal.is_terminal)
    _write_page(chosen.html, validation)
    return OK if validation.sound else LESS_THAN_FULL


def _validate_for_github(chosen: argparse.Namespace) -> int:
    """The report in the job's log, annotations at the lines at fault, and the job's summary."""
    from grader.commands import job
    from grader.report.github import validation_job
    from grader.report.github.workflow import as_many_as_shown
    from grader.report.terminal.validation import validation_report

    name, file = chosen.name or "exercise", ""

    def tell(error: GraderError) -> None:
        problems = list(error.problems) if isinstance(error, ExerciseError) else []
        # What is of no file is told at the exercise.
        problems = [replace(p, file=p.file or file) for p in problems] or [Problem(file, 0, "", str(error))]
        job.annotate(as_many_as_shown(validation_job.problem_commands(problems, job.where)))
        job.add_summary(validation_job.problem_summary(name, problems, job.where))

    with job.faults_told(tell):
        folder = _named_exercise(chosen)
        name, file = folder.name, str(folder / "exercise.yaml")
        validation = _validated(chosen, folder)
        _write_page(chosen.html, validation)
    with job.for_people():
        console().print(validation_report(validation), soft_wrap=True)
    commands = validation_job.weakness_commands(validation.weaknesses, job.where)
    job.annotate(as_many_as_shown(commands))
    job.add_summary(validation_job.summary(validation, job.where))
    return OK if validation.sound else LESS_THAN_FULL


def _named_exercise(chosen: argparse.Namespace) -> Path:
    """The folder of the exercise; what would only show after a minute of work is looked at first."""
    from grader.exercise.roots import exercise_folder, require_root

    if chosen.html is not None:
        require_writable(chosen.html)
    return exercise_folder(require_root(chosen.root), chosen.name)


def _validated(chosen: argparse.Namespace, folder: Path) -> Validation:
    from grader.authoring.validation import Validator
    from grader.exercise import source as sources
    from grader.exercise.cache import write_atomically

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
        return Validator(source, lambda what: status.update(f"checking {what}")).run(fast=chosen.fast)


def _write_page(page: Path | None, validation: Validation) -> None:
    if page is None:
        return
    from grader.report.html import validation_page

    try:
        page.write_text(validation_page(validation), "utf-8")
    except OSError as error:
        raise GraderError(f"{page} can't be written: {error.strerror}") from None


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
