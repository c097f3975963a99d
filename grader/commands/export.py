"""What other systems take: ``export`` of a graded class, and ``gradescope-bundle`` of an exercise."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader.commands.shared import OK, USER_FAULT, say
from grader.errors import GraderError

# What the files of exports end in: such a path names a file, any other a folder.
FILES = frozenset({".csv", ".json", ".jsonl", ".xml", ".md", ".parquet", ".zip"})


def export(chosen: argparse.Namespace) -> int:
    """``grader export``."""
    from grader.gradebook.database import require_gradebook
    from grader.gradebook.journal import Gradebook
    from grader.report.exports import ExportOptions, find
    from grader.report.exports import export as write

    # Before a word about the folder: the formats are what one gets wrong.
    find(chosen.format)
    require_gradebook(chosen.folder)
    out: Path = chosen.out or chosen.folder / "exports" / chosen.format
    with Gradebook(chosen.folder, None, reading=True) as gradebook:
        pending = len(gradebook.waiting())
        submissions = [summary.submission for summary, _ in gradebook.summaries()]
        options = ExportOptions(
            template=chosen.template,
            assignment=chosen.assignment,
            missing=tuple(gradebook.not_submitted(submissions)),
            zero_missing=chosen.missing == "zero",
            hidden=chosen.hidden,
            decimal=chosen.decimal,
            base=chosen.base,
            flat=chosen.flat,
            ks=tuple(chosen.k or (1, 5, 10)),
        )
        with _place(out) as folder:
            done = write(chosen.format, gradebook.newest(), folder, options)
            if folder != out:
                done = replace(done, paths=_as_file(done.paths, out, chosen.format))
    if pending:
        say(
            f"{pending} submission{'s wait' if pending > 1 else ' waits'} for a result, and not all who "
            "handed in are in this export: run grader grade again"
        )
    for warning in done.warnings:
        say(warning)
    if chosen.format == "github":
        _tell_github(done.paths)
    if done.paths and out.resolve().is_relative_to(chosen.folder.resolve()):
        _list_on_class_page(chosen.folder)
    if done.text:
        sys.stdout.write(done.text if done.text.endswith("\n") else done.text + "\n")
    elif not chosen.quiet:
        shown = done.paths[0] if len(done.paths) == 1 else out
        print(f"{len(done.paths)} file{'s' if len(done.paths) != 1 else ''}: {shown}")
    return OK if done.paths or done.text else USER_FAULT


def _list_on_class_page(folder: Path) -> None:
    """Let the class page list an export that lies in its folder; that it can't is no reason to fail."""
    from grader.gradebook.lock import hold
    from grader.report.files import INDEX, refresh_downloads

    try:
        with hold(folder, "grader export"):
            refresh_downloads(folder)
    except GraderError as error:
        say(f"{folder / INDEX} does not list this export yet: {error}")


@contextlib.contextmanager
def _place(out: Path) -> Iterator[Path]:
    """The folder to write into: ``out``, or one that passes where ``out`` is the name of a file."""
    if out.is_dir() or not (out.is_file() or out.suffix.lower() in FILES):
        yield out
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        passing = tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.")
    except OSError as error:
        raise GraderError(f"{out.parent} can't be written: {error.strerror}; name another place") from None
    with passing as name:
        yield Path(name)


def _as_file(paths: Sequence[Path], out: Path, name: str) -> tuple[Path, ...]:
    """What was written, as the one file that was named. Raises GraderError."""
    if not paths:
        return ()
    if len(paths) > 1:
        raise GraderError(
            f"{name} writes {len(paths)} files, but {out} is the name of one; name a folder for --out"
        )
    if paths[0].suffix.lower() != out.suffix.lower():
        raise GraderError(
            f"{name} writes a {paths[0].suffix} file; expected such a name, or a folder, not {out}"
        )
    try:
        paths[0].replace(out)
    except OSError as error:
        raise GraderError(f"{out} can't be written: {error.strerror}; name another file for --out") from None
    return (out,)


def _tell_github(paths: Sequence[Path]) -> None:
    """Add the summary to the page of the job that runs this, where GitHub says which that is."""
    from grader.commands.job import add_summary

    for path in paths:
        if path.suffix == ".md":
            add_summary(path.read_text("utf-8"))


def gradescope_bundle(chosen: argparse.Namespace) -> int:
    """``grader gradescope-bundle``."""
    from grader.exercise.resolve import resolve_pack
    from grader.report.exports.bundle import write_bundle

    pack = resolve_pack(chosen.exercise, chosen.root)
    if pack.student:
        raise GraderError(
            "this is a student's pack, which lacks the hidden cases; name the exercise, or a pack made by "
            "grader pack NAME --out FILE"
        )
    done = write_bundle(
        chosen.out,
        pack.data,
        pack.exercise.packages,
        hidden=chosen.hidden,
        allow_weak_isolation=chosen.allow_weak_isolation,
    )
    for warning in done.warnings:
        say(warning)
    if chosen.quiet:
        return OK
    print(f"bundle for {pack.exercise.name}: {chosen.out}; upload it as the assignment's autograder")
    return OK
