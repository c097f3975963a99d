"""``grader grade``."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import documents
from grader.commands.progress import Progress
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

FEW_LEFT_OUT = 3
MAX_REASONS = 4
MAX_NAMED = 10


def grade(chosen: argparse.Namespace) -> int:
    """``grader grade``."""
    from grader.batch.grading import grade_class, kept_list
    from grader.commands.intake import collected
    from grader.exercise.resolve import resolve_pack
    from grader.intake.collect import require_some
    from grader.report.terminal.batch import batch_summary
    from grader.report.terminal.console import show
    from grader.sandbox.levels import require

    if chosen.scheduler is not None and chosen.workers is not None:
        raise GraderError("--workers is for this machine; with --scheduler the cluster's own workers grade")
    pack = resolve_pack(chosen.exercise, chosen.root)
    again = None
    if chosen.roster is None and not chosen.fresh:
        again = chosen.roster = kept_list(chosen.out)
    intake = collected(chosen, pack)
    if again is not None:
        say(
            f"the class list {again.shown} of an earlier run counts, as it was then; "
            "--roster FILE gives another"
        )
    require_some(intake)
    _tell(intake, quiet=chosen.quiet)
    if not chosen.allow_weak_isolation and chosen.scheduler is None:
        require("full", "--allow-weak-isolation grades all the same: only files of people you trust")
    out: Path = chosen.out
    with Progress(quiet=chosen.quiet) as progress:
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
            roster=intake.roster if intake.list_file is not None else None,
            list_file=intake.list_file,
            missing=intake.missing,
            replaced=intake.replaced,
            reports=not chosen.no_pages,
            weak_isolation=chosen.allow_weak_isolation,
            notify=progress.say,
            progress=progress.update,
        )
    for warning in run.warnings:
        say(warning)
    if run.missing and not chosen.quiet:
        say(f"{len(run.missing)} of the class list handed in nothing")
    faults = [r.submission.id for r in run.summaries if r.status == "grader_fault"]
    if chosen.json:
        print_json(_document(pack, intake, run, out, faults))
    elif not chosen.quiet:
        terminal = console()
        show(terminal, batch_summary(run.summaries, run.seconds, run.ran, run.rejudged))
        terminal.print(f"class page: {out / 'index.html'}", soft_wrap=True)
    if faults:
        say(f"the grader failed on {', '.join(faults[:10])}; run the same command again")
    if run.interrupted:
        say("interrupted; the same command goes on where it was")
        return INTERRUPTED
    return GRADER_FAULT if faults else USER_FAULT if intake.problems else OK


def _tell(intake: Intake, *, quiet: bool) -> None:
    for problem in intake.problems:
        say(problem)
    for note in intake.notes:
        say(note)
    if intake.left_out and not quiet:
        for line in _left_out(intake):
            say(line)


def _left_out(intake: Intake) -> list[str]:
    """Which files are left out: those with a reason that many share by number, the others by name."""
    shared = {why: count for why, count in Counter(intake.reasons).most_common() if count > FEW_LEFT_OUT}
    lines = []
    if shared:
        told = [f"{count} × {why}" for why, count in list(shared.items())[:MAX_REASONS]]
        rest = sum(list(shared.values())[MAX_REASONS:])
        told += [f"{rest} × another reason"] if rest else []
        lines.append(f"left out {sum(shared.values())} files: {'; '.join(told)}; grader intake names them")
    single = [left for left, why in zip(intake.left_out, intake.reasons, strict=True) if why not in shared]
    lines += [f"left out {left}" for left in single[:MAX_NAMED]]
    if len(single) > MAX_NAMED:
        lines.append(f"left out {len(single) - MAX_NAMED} more files; grader intake names them")
    return lines


def _document(pack: Pack, intake: Intake, run: Run, out: Path, faults: list[str]) -> dict[str, Any]:
    """The ``grader.batch/1`` document."""
    from grader.report.class_page.twins import twins

    counts: dict[str, int] = {}
    for result in run.summaries:
        counts[result.status] = counts.get(result.status, 0) + 1
    names = ("index.html", "results.jsonl", "gradebook.csv", "gradebook.sqlite", "students")
    return {
        "schema": documents.BATCH,
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
