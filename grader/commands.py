"""What each command does."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grader
from grader import warm
from grader.errors import GraderError
from grader.exercise.near import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from grader.exercise.pack import Pack
    from grader.intake.submission import Submission
    from grader.result import Result

OK, LESS_THAN_FULL, USER_FAULT, GRADER_FAULT, INTERRUPTED = 0, 1, 2, 3, 130
MAX_LEFT_OUT = 10

json_written = False


def _console(*, stderr: bool = False) -> Console:
    from grader.report.terminal import console

    return console(stderr=stderr)


def print_json(value: Any) -> None:
    """Write the command's one JSON document."""
    global json_written
    json_written = True
    # Escapes for everything beyond ASCII: right under every locale.
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


# --- check ------------------------------------------------------------------------------------


def check(chosen: argparse.Namespace) -> int:
    """``grader check``."""
    from grader.exercise.resolve import resolve_pack

    pack = resolve_pack(chosen.exercise, chosen.root)
    if chosen.case or chosen.clause:
        from grader.exercise.select import select

        pack = select(pack, cases=chosen.case, clauses=chosen.clause)
    if chosen.snippet:
        _print_snippets(pack, chosen.paths[0], bool(chosen.case))
        return OK
    from grader.batch.runner import Runner
    from grader.intake.folders import collect

    _require_isolation(chosen.require_isolation, "--require-isolation LEVEL asks for less")
    intake = collect(chosen.paths, pack.exercise.entry)
    console = _console()
    results: list[Result] = []
    # The runner ends it.
    started, warm.server = warm.server, None
    with Runner(pack, started) as runner:
        for submission in intake.submissions:
            result = runner.grade(submission)
            results.append(result)
            if not chosen.json:
                _show(console, result, submission, chosen, first=len(results) == 1)
    for problem in intake.problems:
        print(f"grader: {problem}", file=sys.stderr)
    if chosen.json:
        print_json([result.for_student().to_dict() for result in results])
    if chosen.html is not None:
        _write_pages(chosen.html, results)
    return _check_status(results, bool(intake.problems) or not results)


def _show(
    console: Console, result: Result, submission: Submission, chosen: argparse.Namespace, *, first: bool
) -> None:
    from grader.report.terminal import check_report, show

    if not first:
        console.print()
    words = ["grader", "check", submission.path]
    words += ["--exercise", chosen.exercise] if chosen.exercise else []
    words += ["--root", str(chosen.root)] if chosen.root else []
    show(
        console,
        check_report(
            result, show_all=chosen.all, source=submission.source or "", command=" ".join(map(_quoted, words))
        ),
    )


def _quoted(word: str) -> str:
    """A word for a shell; signs that would act on the terminal are written as escapes."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + word.encode("unicode_escape").decode("ascii").replace("'", "\\'") + "'"


def _check_status(results: list[Result], fault: bool) -> int:
    if any(r.status == "grader_fault" for r in results):
        return GRADER_FAULT
    if fault:
        return USER_FAULT
    return LESS_THAN_FULL if any(r.status != "passed" for r in results) else OK


def _write_pages(html: Path, results: list[Result]) -> None:
    from grader.report.html import student_page

    if not results:
        return
    try:
        if len(results) == 1 and not html.is_dir():
            html.write_text(student_page(results[0]), "utf-8")
            return
        html.mkdir(parents=True, exist_ok=True)
        for result in results:
            (html / f"{result.submission.id}.html").write_text(student_page(result), "utf-8")
    except OSError as error:
        raise GraderError(f"{html} can't be written: {error.strerror}") from None


def _print_snippets(pack: Pack, path: Path, chosen: bool) -> None:
    from grader.judge.details import snippet

    if not chosen:
        raise GraderError("--snippet needs --case ID; the ids stand in the report of grader check")
    for case in pack.cases:
        if case.visibility == "hidden":
            raise GraderError(f"{case.id} is hidden; its inputs are not shown")
        text = snippet(pack, case, str(path))
        if not text:
            raise GraderError(f"the arrays of {case.id} are too large to be written out")
        sys.stdout.write(text)


# --- grade ------------------------------------------------------------------------------------


def grade(chosen: argparse.Namespace) -> int:
    """``grader grade``."""
    from grader.batch.grading import grade_class
    from grader.exercise.resolve import resolve_pack
    from grader.intake.folders import collect, require_some
    from grader.report.terminal import batch_summary, show

    pack = resolve_pack(chosen.exercise, chosen.root)
    intake = collect(chosen.paths, pack.exercise.entry)
    require_some(intake)
    for problem in intake.problems:
        print(f"grader: {problem}", file=sys.stderr)
    for left in intake.left_out[:MAX_LEFT_OUT]:
        print(f"grader: left out {left}", file=sys.stderr)
    if len(intake.left_out) > MAX_LEFT_OUT:
        print(f"grader: left out {len(intake.left_out) - MAX_LEFT_OUT} more files", file=sys.stderr)
    if not chosen.allow_weak_isolation:
        _require_isolation(
            "full", "--allow-weak-isolation grades all the same: only files of people you trust"
        )
    out: Path = chosen.out
    with _Progress() as progress:
        run = grade_class(
            pack,
            intake.submissions,
            out,
            workers=chosen.workers,
            fresh=chosen.fresh,
            progress=progress.update,
        )
    for warning in run.warnings:
        print(f"grader: {warning}", file=sys.stderr)
    faults = [r.submission.id for r in run.summaries if r.status == "grader_fault"]
    if chosen.json:
        counts: dict[str, int] = {}
        for result in run.summaries:
            counts[result.status] = counts.get(result.status, 0) + 1
        print_json(
            {
                "schema": "grader.batch/1",
                "exercise": {"name": pack.exercise.name, "pack": pack.id},
                "submissions": len(run.summaries),
                "graded": run.graded,
                "counts": counts,
                "faults": faults,
                "problems": list(intake.problems),
                "left_out": list(intake.left_out),
                "warnings": list(run.warnings),
                "interrupted": run.interrupted,
                "seconds": round(run.seconds, 3),
                "paths": {
                    name: str(out / name)
                    for name in (
                        "index.html",
                        "results.jsonl",
                        "gradebook.csv",
                        "gradebook.sqlite",
                        "students",
                    )
                },
            }
        )
    else:
        console = _console()
        show(console, batch_summary(run.summaries, run.seconds, run.graded))
        console.print(f"class page: {out / 'index.html'}", soft_wrap=True)
    if faults:
        print(
            f"grader: the grader failed on {', '.join(faults[:10])}; run the same command again",
            file=sys.stderr,
        )
    if run.interrupted:
        print("grader: interrupted; the same command goes on where it was", file=sys.stderr)
        return INTERRUPTED
    return GRADER_FAULT if faults else USER_FAULT if intake.problems else OK


def _require_isolation(level: str, otherwise: str) -> None:
    """Raise GraderError when this machine can't keep submissions apart that well."""
    from grader.sandbox.levels import LEVELS, probe, why_not_full

    found, _layers = probe()
    if LEVELS.index(found) < LEVELS.index(level):
        raise GraderError(
            f"submissions can't be confined here as they should be: the isolation level is {found}, "
            f"{level} is asked for; {why_not_full()}\n{otherwise}"
        )


class _Progress:
    """A progress bar on standard error, shown only where someone can see it."""

    def __enter__(self) -> _Progress:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = _console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("grading", total=None, rate="")
        self._bar.start()
        return self

    def update(self, done: int, total: int) -> None:
        """Show how many of how many are done."""
        self._bar.update(self._task, completed=done, total=total)
        speed = self._bar.tasks[0].speed
        if speed:
            self._bar.update(self._task, rate=f"{speed:.0f}/s")

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()


# --- report -----------------------------------------------------------------------------------


def report(chosen: argparse.Namespace) -> int:
    """``grader report``."""
    from grader.gradebook.journal import FILE, Gradebook
    from grader.report import files

    folder: Path = chosen.folder
    if not (folder / FILE).is_file():
        raise GraderError(f"{folder} holds no {FILE}; name the --out folder of a grader grade")
    files.prepare_folder(folder, fresh=False)
    with Gradebook(folder, None) as gradebook:
        for result in gradebook.newest():
            try:
                files.write_pages(folder, result)
            except OSError as error:
                raise GraderError(f"{folder} can't be written: {error}") from None
        written = files.write_gradebook(folder, gradebook, grader.__version__)
    print(f"{len(written)} submissions: {folder / 'index.html'}")
    return OK


# --- authoring --------------------------------------------------------------------------------


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
    errors = _console(stderr=True)
    source = sources.load(folder)
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
    else:
        _console().print(validation_report(validation), soft_wrap=True)
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
    from grader.exercise.cache import cached_pack, write_atomically
    from grader.exercise.roots import exercise_folder, require_root

    out: Path = chosen.out
    found = require_root(chosen.root)
    built = cached_pack(found, exercise_folder(found, chosen.name).name, student=chosen.student)
    try:
        write_atomically(out, built.data)
    except OSError as error:
        raise GraderError(f"{out} can't be written: {error.strerror}") from None
    kind = "student pack" if built.student else "pack"
    print(f"{kind} of {built.exercise.name}: {len(built.cases)} cases, {len(built.data):,} bytes, {out}")
    return OK


def schema(chosen: argparse.Namespace) -> int:
    """``grader schema``."""
    from grader.exercise.schemas import SCHEMAS, json_schema

    if chosen.what not in SCHEMAS:
        raise GraderError(f"no schema {chosen.what!r}{did_you_mean(chosen.what, sorted(SCHEMAS))}")
    sys.stdout.write(json.dumps(json_schema(chosen.what), indent=2) + "\n")
    return OK
