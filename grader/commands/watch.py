"""``grader check --watch``: a check again whenever something is saved, and what that changed."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from grader.commands.shared import console, say
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.exercise.pack import Pack
    from grader.intake.collect import Intake
    from grader.intake.submission import Submission
    from grader.result import Result

# How often it is looked whether a watched folder is still the same one.
TICK_MS = 500
MAX_FOLDERS = 2_000

# A folder, and what tells it from another of the same name; None where there is none.
Places = dict[Path, tuple[int, int] | None]


def require_watch(chosen: argparse.Namespace) -> None:
    """Raises GraderError where the options don't go together or there is no watchfiles."""
    for other in ("json", "snippet"):
        if getattr(chosen, other):
            raise GraderError(f"--watch shows reports one after another; leave out --{other}")
    if chosen.format != "text":
        raise GraderError(f"--watch shows reports one after another; leave out --format {chosen.format}")
    try:
        import watchfiles  # noqa: F401
    except ImportError:
        raise GraderError('--watch needs the package watchfiles: pip install "mlm-grader[watch]"') from None


@dataclass
class _Seen:
    """What is known of a submission.

    Attributes:
        content: What of it decides the result.
        result: Its newest result.
        judged: Its newest result for which the file could be loaded.
    """

    content: tuple[Any, ...]
    result: Result
    judged: Result | None = None


@dataclass
class Watch:
    """Checks what changed, and tells what that changed.

    Args:
        collect: Gives what is there now.
        grade: Gives the record of a submission.
        show: Shows a record; gives how many lines of the window that took.
        finished: Gets the newest record of every submission after each round.
    """

    chosen: argparse.Namespace
    collect: Callable[[], Intake]
    grade: Callable[[Submission], Result]
    show: Callable[[Result, Submission], int]
    finished: Callable[[list[Result]], None]
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _problems: tuple[str, ...] | None = None
    _shield: Callable[[], AbstractContextManager[None]] = nullcontext

    def run(self) -> NoReturn:
        """Go on until it is interrupted.

        Raises:
            KeyboardInterrupt: That is its end.
            GraderError: Nothing can be watched here.
        """
        from grader.batch.interrupts import Interrupts

        with Interrupts() as interrupts:
            # No page is left half written.
            self._shield = interrupts.shield
            submissions = self.look()
            while True:
                places = _places(self.chosen.paths, submissions)
                with closing(_changes(places)) as changes:
                    # It watches from here on. What was saved before is found now.
                    changed = next(changes)
                    submissions = self.look()
                    if changed or places.keys() != _folders(self.chosen.paths, submissions):
                        continue
                    while not next(changes) and not _moved(places):
                        pass
                    submissions = self.look()
                # A folder that is removed and made again may look like the one it was: after each change what
                # is there then is watched.

    def look(self) -> Sequence[Submission]:
        """Check what is new; gives all submissions that are there."""
        try:
            intake = self.collect()
            submissions, problems = intake.submissions, intake.problems
        except GraderError as error:
            submissions, problems = (), (str(error),)
        anew = [s for s in submissions if s.id not in self._seen or self._seen[s.id].content != _content(s)]
        first = self._problems is None
        if not anew and problems == self._problems:
            return submissions
        self._problems = problems
        self._begin(anew, first=first)
        lines = 0
        for number, submission in enumerate(anew):
            if number:
                console().print()
            lines += self._check(submission) + 1
        self._close([self._seen[s.id].result for s in anew], lines)
        if not anew and not problems:
            # What was in the way is gone, and what was checked before holds again: it needs no second run.
            lines = sum(self.show(self._seen[s.id].result, s) for s in submissions)
            self._close([self._seen[s.id].result for s in submissions], lines)
        for problem in problems:
            say(problem)
        if anew:
            with self._shield():
                self.finished([self._seen[s.id].result for s in submissions])
        # Who reads a pipe waits for it too.
        sys.stdout.flush()
        if not self.chosen.quiet:
            say(f"watching {', '.join(map(str, self.chosen.paths))}; Ctrl-C ends")
        return submissions

    def _begin(self, anew: Sequence[Submission], *, first: bool) -> None:
        terminal = console()
        if first or self.chosen.quiet:
            return
        if terminal.is_terminal and not terminal.is_dumb_terminal:
            terminal.clear()
        else:
            terminal.print()
        if anew:
            names = ", ".join(submission.filename for submission in anew)
            terminal.print(f"{time.strftime('%H:%M:%S')}  {names} changed", markup=False)

    def _check(self, submission: Submission) -> int:
        """Check one; gives how many lines of the window are filled with it."""
        from grader.report.terminal.console import height, show
        from grader.report.terminal.since import JUDGED, since, since_report

        result = self.grade(submission)
        known = self._seen.get(submission.id)
        judged = result if result.status in JUDGED else known.judged if known is not None else None
        lines = self.show(result, submission)
        if known is not None and not self.chosen.quiet:
            terminal = console()
            terminal.print()
            if result.status in JUDGED and known.result.status not in JUDGED and known.judged is not None:
                # A file that could not be loaded in between says nothing of the checks.
                told = since_report(since(known.judged, result), "the last run that got so far")
            else:
                told = since_report(since(known.result, result))
            show(terminal, told)
            lines += height(terminal, told) + 1
        self._seen[submission.id] = _Seen(_content(submission), result, judged)
        return lines

    def _close(self, results: Sequence[Result], lines: int) -> None:
        """Say what matters of reports that run out of the window below them: nobody scrolls at every save."""
        from grader.report.terminal.console import show
        from grader.report.terminal.since import closing

        terminal = console()
        if not results or self.chosen.quiet or not terminal.is_terminal:
            return
        # Below it stand what is in the way and what is watched.
        room = terminal.height - 2 - len(self._problems or ())
        if lines > room - 1:
            terminal.print()
            show(terminal, closing(results, room - 1))


def _content(submission: Submission) -> tuple[Any, ...]:
    s = submission
    return s.digest, s.source, s.path, s.filename, s.parts, s.problem, s.fault, s.notes


def _changes(places: Places) -> Generator[bool, None, NoReturn]:
    """Whether something may have changed in folders, now or within a while. Raises GraderError."""
    import watchfiles

    there = [folder for folder, identity in places.items() if identity is not None]
    # One that is not there can't be watched: it may come, and go again, at any time.
    missing = len(there) < len(places)
    try:
        if there:
            for found in watchfiles.watch(
                *there, watch_filter=None, recursive=False, rust_timeout=TICK_MS, yield_on_timeout=True
            ):
                yield bool(found) or missing
    except FileNotFoundError:
        # One went just now, and none of them is watched.
        yield True
    except (OSError, RuntimeError) as error:
        raise GraderError(
            f"what is saved can't be watched: {error}; WATCHFILES_FORCE_POLLING=1 looks at the files instead"
        ) from None
    while True:
        time.sleep(TICK_MS / 1_000)
        yield True


def _places(paths: Sequence[Path], submissions: Sequence[Submission]) -> Places:
    """The folders in which something may be saved that the submissions are made of."""
    return {folder: _identity(folder) for folder in _folders(paths, submissions)}


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _moved(places: Places) -> bool:
    """Whether a folder is another one now, or is gone, or came."""
    return any(_identity(folder) != identity for folder, identity in places.items())


def _folders(paths: Sequence[Path], submissions: Sequence[Submission]) -> set[Path]:
    folders: set[Path] = set()
    for path in paths:
        if path.is_dir():
            folders |= set(_below(path))
            folders.add(path.absolute().parent)
        else:
            linked = Path(os.path.realpath(path))
            folders |= {path.absolute().parent, linked.parent}
    for submission in submissions:
        folder = Path(submission.path).absolute().parent
        if folder not in folders or not submission.source:
            continue
        # The folder of a package may be made before its files are.
        for name in set(re.findall(r"[^\W\d]\w*", submission.source)):
            if (folder / name).is_dir():
                folders |= set(_below(folder / name))
    return folders


def _below(folder: Path) -> Iterator[Path]:
    """A folder and the folders in it, but for hidden ones and those of compiled files."""
    waiting, count = [folder.absolute()], 0
    while waiting and count < MAX_FOLDERS:
        one = waiting.pop()
        count += 1
        yield one
        try:
            waiting += [
                inner
                for inner in one.iterdir()
                if inner.is_dir()
                and not inner.is_symlink()
                and not inner.name.startswith((".", "__pycache__"))
            ]
        except OSError:
            continue


def watch_pack(
    chosen: argparse.Namespace,
    pack: Pack,
    grade: Callable[[Submission], Result],
    show: Callable[[Result, Submission], int],
    finished: Callable[[list[Result]], None],
) -> NoReturn:
    """Check the command's paths again and again."""
    from grader.commands.intake import collected

    Watch(chosen, lambda: collected(chosen, pack, single=True), grade, show, finished).run()
