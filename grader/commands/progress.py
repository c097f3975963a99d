"""How far a class is, how fast it goes and how long it still takes, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.commands.shared import console, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# A log gets a line so often: few enough to be read, and often enough to see that it goes on.
SECONDS_PER_LINE = 30.0
# In a narrower window the bar is short and shows no time so far: the figures come first.
WIDE = 64


def rate(done: int, seconds: float) -> str:
    """How fast it goes; empty when that can't be said.

    Example:
        >>> rate(90, 10.0), rate(30, 10.0), rate(1, 10.0), rate(0, 10.0)
        ('9.0/s', '3.0/s', '6.0/min', '')
    """
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    if speed >= 10:
        return f"{speed:.0f}/s"
    return f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min"


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    Example:
        >>> clock(75.4), clock(3_700)
        ('0:01:15', '1:01:40')
    """
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}"


class Progress:
    """A bar where someone can see it, a line now and then where a log is written, or nothing.

    Args:
        quiet: Show neither; messages are shown all the same.
        now: A clock, in seconds.
    """

    def __init__(self, *, quiet: bool = False, now: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._now = now
        self._begin = self._told = now()
        self._first: int | None = None
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._begin = self._told = self._now()
        terminal = console(stderr=True)
        if not self._quiet and terminal.is_terminal and not terminal.is_dumb_terminal:
            wide = terminal.width >= WIDE
            self._bar = Bar(
                *([TextColumn("grading")] if wide else []),
                BarColumn(bar_width=min(40, terminal.width - 56) if wide else 4),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                *([TimeElapsedColumn()] if wide else []),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=terminal,
                transient=True,
            )
            self._task = self._bar.add_task("grading", total=None, rate="")
            self._bar.start()
        return self

    def update(self, done: int, total: int) -> None:
        """Show how many of how many are done."""
        now = self._now()
        if self._first is None:
            # What it takes to begin says nothing of the rest.
            self._first, self._begin = done, now
        speed = rate(done - self._first, now - self._begin)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, rate=speed)
        elif not self._quiet and now - self._told >= SECONDS_PER_LINE and done < total:
            self._told = now
            self.say(
                ", ".join(filter(None, (f"{done} of {total} graded", speed, self._left(done, total, now))))
            )

    def _left(self, done: int, total: int, now: float) -> str:
        graded = done - (self._first or 0)
        return f"{clock((now - self._begin) * (total - done) / graded)} left" if graded > 0 else ""

    def say(self, message: str) -> None:
        """A message above the bar."""
        if self._bar is None:
            say(message)
        else:
            self._bar.console.print(f"grader: {message}", markup=False, soft_wrap=True)

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
