"""``grader check``."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grader import warm
from grader.commands.shared import (
    GRADER_FAULT,
    LESS_THAN_FULL,
    OK,
    USER_FAULT,
    check_command,
    console,
    print_json,
    say,
)
from grader.commands.waiting import Waiting
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.batch.runner import Runner
    from grader.exercise.pack import Pack
    from grader.intake.submission import Submission
    from grader.result import Result


def check(chosen: argparse.Namespace) -> int:
    """``grader check``."""
    if chosen.format != "github":
        return _check(chosen)
    from grader.commands.check_job import tell_fault
    from grader.commands.job import faults_told

    with faults_told(tell_fault):
        return _check(chosen)


def _check(chosen: argparse.Namespace) -> int:
    from grader.exercise.resolve import resolve_pack

    if chosen.watch:
        from grader.commands.watch import require_watch

        require_watch(chosen)
    pack = resolve_pack(chosen.exercise, chosen.root, beside=chosen.paths)
    checks = None
    if chosen.case or chosen.clause:
        from grader.exercise.select import select

        checks = len(pack.cases)
        pack = select(pack, cases=chosen.case, clauses=chosen.clause)
    if chosen.debug:
        from grader.commands.debug import debug

        return debug(pack, chosen)
    if chosen.snippet:
        _print_snippets(pack, chosen)
        return OK
    from grader.batch.runner import Runner
    from grader.sandbox.levels import require

    require(chosen.require_isolation, "--require-isolation LEVEL asks for less")
    # The runner ends it.
    started, warm.server = warm.server, None
    waiting = Waiting(quiet=chosen.quiet or chosen.json)
    with Runner(pack, started, prints=checks is not None, tell=waiting.update) as runner:
        if chosen.watch:
            from grader.commands.watch import watch_pack

            grade = partial(_grade, runner, waiting)
            watch_pack(chosen, pack, grade, partial(_show, chosen, checks), partial(_finish, chosen))
        return _check_once(chosen, pack, runner, waiting, checks)


def _grade(runner: Runner, waiting: Waiting, submission: Submission) -> Result:
    with waiting.during():
        return runner.grade(submission)


def _check_once(
    chosen: argparse.Namespace, pack: Pack, runner: Runner, waiting: Waiting, checks: int | None
) -> int:
    from grader.commands.intake import collected

    intake = collected(chosen, pack, single=True)
    results: list[Result] = []
    with _log(chosen):
        for number, submission in enumerate(intake.submissions, start=1):
            with waiting.during(number, len(intake.submissions)):
                result = runner.grade(submission)
            if results and not (chosen.json or chosen.quiet):
                console().print()
            results.append(result)
            if not chosen.json:
                _show(chosen, checks, result, submission, again=len(results) > 1)
    for problem in intake.problems:
        say(problem)
    if chosen.json:
        print_json([result.for_student().to_dict() for result in results])
    if chosen.format == "github":
        from grader.commands.check_job import tell_results

        tell_results(pack, list(zip(intake.submissions, results, strict=True)), intake.problems)
    _finish(chosen, results)
    if chosen.html is not None and results and chosen.format == "text" and not (chosen.json or chosen.quiet):
        console().print(f"page: {chosen.html}", soft_wrap=True, markup=False)
    return _check_status(results, bool(intake.problems) or not results)


def _log(chosen: argparse.Namespace) -> AbstractContextManager[None]:
    """What a submission says is no command of the job that runs this."""
    if chosen.format != "github":
        return nullcontext()
    from grader.commands.job import for_people

    return for_people()


def _finish(chosen: argparse.Namespace, results: list[Result]) -> None:
    if chosen.html is not None:
        _write_pages(chosen.html, results)


def _show(
    chosen: argparse.Namespace,
    checks: int | None,
    result: Result,
    submission: Submission,
    *,
    again: bool = False,
) -> int:
    """Show a report; gives how many lines of the window it fills, where someone watches one."""
    from grader.report.terminal.console import height, show
    from grader.report.terminal.submission import check_line, check_report

    terminal = console()
    if chosen.quiet:
        terminal.print(check_line(result), soft_wrap=True)
        return 0
    # What only a platform's download calls so is no file that the student has.
    words = check_command(chosen, submission.file or _here(submission))
    report = check_report(
        result,
        show_all=chosen.all,
        source=submission.source or "",
        command=" ".join(map(_quoted, words)),
        checks=checks,
        again=again,
    )
    show(terminal, report)
    return height(terminal, report) if chosen.watch and terminal.is_terminal else 0


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
            html.parent.mkdir(parents=True, exist_ok=True)
            html.write_text(student_page(results[0]), "utf-8")
            return
        html.mkdir(parents=True, exist_ok=True)
        for result in results:
            (html / f"{result.submission.id}.html").write_text(student_page(result), "utf-8")
    except OSError as error:
        raise GraderError(f"{html} can't be written: {error.strerror}") from None


def _here(submission: Submission) -> str:
    """The path of the file that is graded; of one that is no file here, as in an archive, its own name."""
    try:
        found = Path(submission.path).exists()
    except OSError:
        found = False
    return submission.path if found else submission.filename


def _print_snippets(pack: Pack, chosen: argparse.Namespace) -> None:
    from grader.commands.intake import single_submission
    from grader.judge.details import snippet

    if not chosen.case:
        raise GraderError("--snippet needs --case ID; grader explain CLAUSE lists the ids")
    for case in pack.cases:
        if case.visibility == "hidden":
            raise GraderError(f"{case.id} is hidden; its inputs are not shown")
    path = _here(single_submission(chosen, pack, "--snippet"))
    for case in pack.cases:
        text = snippet(pack, case, path)
        if not text:
            raise GraderError(
                f"{case.id} has no snippet: its arguments are too large to be written out; try --debug"
            )
        sys.stdout.write(text)
