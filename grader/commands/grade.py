"""``grader grade``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.commands.shared import (
    GRADER_FAULT,
    INTERRUPTED,
    OK,
    USER_FAULT,
    console,
    print_json,
    say,
)
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.batch.grading import Run
    from grader.exercise.pack import Pack
    from grader.intake.collect import Intake

MAX_LEFT_OUT = 10


def grade(chosen: argparse.Namespace) -> int:
    """``grader grade``."""
    from grader.batch.grading import grade_class
    from grader.commands.intake import collected
    from grader.exercise.resolve import resolve_pack
    from grader.intake.collect import require_some
    from grader.report.terminal import batch_summary, show
    from grader.sandbox.levels import require

    if chosen.scheduler is not None and chosen.workers is not None:
        raise GraderError("--workers is for this machine; with --scheduler the cluster's own workers grade")
    pack = resolve_pack(chosen.exercise, chosen.root)
    intake = collected(chosen, pack)
    require_some(intake)
    _tell(intake)
    if not chosen.allow_weak_isolation and chosen.scheduler is None:
        require("full", "--allow-weak-isolation grades all the same: only files of people you trust")
    out: Path = chosen.out
    with _Progress() as progress:
        run = grade_class(
            pack,
            intake.submissions,
            out,
            workers=chosen.workers,
            fresh=chosen.fresh,
            only=chosen.only,
            faults=chosen.faults,
            force=chosen.force,
            scheduler=chosen.scheduler,
            roster=intake.roster if chosen.roster is not None else None,
            missing=intake.missing,
            replaced=intake.replaced,
            reports=not chosen.no_pages,
            weak_isolation=chosen.allow_weak_isolation,
            notify=progress.say,
            progress=progress.update,
        )
    for warning in run.warnings:
        say(warning)
    if run.missing:
        say(f"{len(run.missing)} of the class list handed in nothing")
    faults = [r.submission.id for r in run.summaries if r.status == "grader_fault"]
    if chosen.json:
        print_json(_document(pack, intake, run, out, faults))
    else:
        terminal = console()
        show(terminal, batch_summary(run.summaries, run.seconds, run.ran, run.rejudged))
        terminal.print(f"class page: {out / 'index.html'}", soft_wrap=True)
    if faults:
        say(f"the grader failed on {', '.join(faults[:10])}; run the same command again")
    if run.interrupted:
        say("interrupted; the same command goes on where it was")
        return INTERRUPTED
    return GRADER_FAULT if faults else USER_FAULT if intake.problems else OK


def _tell(intake: Intake) -> None:
    for problem in intake.problems:
        say(problem)
    for note in intake.notes:
        say(note)
    for left in intake.left_out[:MAX_LEFT_OUT]:
        say(f"left out {left}")
    if len(intake.left_out) > MAX_LEFT_OUT:
        say(f"left out {len(intake.left_out) - MAX_LEFT_OUT} more files; grader intake lists them all")


def _document(pack: Pack, intake: Intake, run: Run, out: Path, faults: list[str]) -> dict[str, Any]:
    """The ``grader.batch/1`` document."""
    from grader.report.twins import twins

    counts: dict[str, int] = {}
    for result in run.summaries:
        counts[result.status] = counts.get(result.status, 0) + 1
    names = ("index.html", "results.jsonl", "gradebook.csv", "gradebook.sqlite", "students")
    return {
        "schema": "grader.batch/1",
        "exercise": {"name": pack.exercise.name, "pack": pack.id},
        "submissions": len(run.summaries),
        "graded": run.graded,
        "ran": run.ran,
        "rejudged": run.rejudged,
        "kept": run.kept,
        "counts": counts,
        "faults": faults,
        "missing": [vars(person) for person in run.missing],
        "alike": [group.to_dict() for group in twins(r.submission for r in run.summaries)],
        "layouts": list(intake.layouts),
        "problems": list(intake.problems),
        "left_out": list(intake.left_out),
        "warnings": [*intake.notes, *run.warnings],
        "interrupted": run.interrupted,
        "seconds": round(run.seconds, 3),
        "paths": {name: str(out / name) for name in names},
    }


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

        terminal = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=terminal,
            transient=True,
            disable=not terminal.is_terminal,
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

    def say(self, message: str) -> None:
        """A message above the bar."""
        if self._bar.disable:
            say(message)
        else:
            self._bar.console.print(f"grader: {message}", markup=False, soft_wrap=True)

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()
