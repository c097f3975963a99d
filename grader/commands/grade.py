"""``grader grade``."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.shared import (
    GRADER_FAULT,
    INTERRUPTED,
    OK,
    USER_FAULT,
    console,
    print_json,
    require_isolation,
    say,
)

MAX_LEFT_OUT = 10


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
        say(problem)
    for left in intake.left_out[:MAX_LEFT_OUT]:
        say(f"left out {left}")
    if len(intake.left_out) > MAX_LEFT_OUT:
        say(f"left out {len(intake.left_out) - MAX_LEFT_OUT} more files")
    if not chosen.allow_weak_isolation:
        require_isolation(
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
        say(warning)
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
        terminal = console()
        show(terminal, batch_summary(run.summaries, run.seconds, run.graded))
        terminal.print(f"class page: {out / 'index.html'}", soft_wrap=True)
    if faults:
        say(f"the grader failed on {', '.join(faults[:10])}; run the same command again")
    if run.interrupted:
        say("interrupted; the same command goes on where it was")
        return INTERRUPTED
    return GRADER_FAULT if faults else USER_FAULT if intake.problems else OK


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

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()
